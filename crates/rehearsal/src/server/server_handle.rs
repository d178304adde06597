//! The handle of a running server: its address, its responder, and how to stop it.
//!
//! Listens on 127.0.0.1 only. Runs as a task of the caller's runtime or on a thread with its own;
//! both stop when the handle is dropped. A rehearsal, a recorder and a replay are this handle with
//! different responders.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::sync::watch;

use super::loopback_server::LoopbackServer;
use super::request_responder::RequestResponder;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerStartError {
    #[error("cannot listen on 127.0.0.1:{port}: {source}; choose another port, or 0 for any")]
    Listen { port: u16, source: io::Error },
    /// No runtime or no thread for the server.
    #[error("cannot start the rehearsal server: {0}; the system is out of threads or files")]
    Runtime(io::Error),
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
#[must_use = "a server stops when its handle is dropped"]
pub struct ServerHandle<R> {
    pub(crate) responder: Arc<R>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    done: watch::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl<R> ServerHandle<R> {
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base of every path, for example `http://127.0.0.1:4242`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops, and waits until every connection is closed, about a second at most. An answer without
    /// pauses is sent to its end.
    pub async fn stop(mut self) {
        self.shut_down().await;
    }

    /// As [`ServerHandle::stop`], for callers without a runtime. Does not wait for a server that
    /// was not started with `start_blocking`.
    pub fn stop_blocking(mut self) {
        self.shut_down_blocking();
    }

    /// Stops, and waits until every connection is closed and the responder has finished.
    pub(crate) async fn shut_down(&mut self) {
        self.stop.send_replace(true);
        // An error means that the server has ended.
        let _ = self.done.changed().await;
    }

    pub(crate) fn shut_down_blocking(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread was printed already.
            let _ = thread.join();
        }
    }

    /// Serves as a task of the current runtime.
    pub(crate) fn spawn(responder: R, port: u16) -> Result<Self, ServerStartError>
    where
        R: RequestResponder,
    {
        let (handle, server) = Self::bind(responder, port)?;
        tokio::spawn(server.run());
        Ok(handle)
    }

    /// Serves on a thread of its own.
    pub(crate) fn spawn_thread(responder: R, port: u16) -> Result<Self, ServerStartError>
    where
        R: RequestResponder,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ServerStartError::Runtime)?;
        let entered = runtime.enter();
        let (mut handle, server) = Self::bind(responder, port)?;
        drop(entered);
        let thread = std::thread::Builder::new()
            .name(R::NAME.to_owned())
            .spawn(move || runtime.block_on(server.run()))
            .map_err(ServerStartError::Runtime)?;
        handle.thread = Some(thread);
        Ok(handle)
    }

    /// Takes the port. The listener registers with the current runtime.
    fn bind(responder: R, port: u16) -> Result<(Self, LoopbackServer<R>), ServerStartError>
    where
        R: RequestResponder,
    {
        let failed = |source| ServerStartError::Listen { port, source };
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let (finished, done) = watch::channel(());
        let responder = Arc::new(responder);
        let server =
            LoopbackServer { listener, responder: Arc::clone(&responder), stopped, finished };
        Ok((Self { responder, address, stop, done, thread: None }, server))
    }
}
