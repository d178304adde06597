//! A server that runs: its address, and how to stop it.
//!
//! Listens on 127.0.0.1 and nowhere else. Either a task of the caller's runtime or a thread with a
//! runtime of its own; both stop when this is dropped. Who answers is the host's business.

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
    /// The port cannot be had.
    #[error("cannot listen on 127.0.0.1:{port}: {source}; choose another port, or 0 for any")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the system says.
        source: io::Error,
    },
    /// No runtime or no thread for the server.
    #[error("cannot start the rehearsal server: {0}; the system is out of threads or files")]
    Runtime(io::Error),
}

/// A running server.
#[derive(Debug)]
pub(crate) struct RunningServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    done: watch::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl RunningServer {
    /// A task of the current runtime.
    pub(crate) fn start<H: RequestResponder>(
        host: Arc<H>,
        port: u16,
    ) -> Result<Self, ServerStartError> {
        let (running, bound) = BoundServer::new(host, port)?;
        let server =
            bound.into_server().map_err(|source| ServerStartError::Listen { port, source })?;
        tokio::spawn(server.run());
        Ok(running)
    }

    /// A thread of its own.
    pub(crate) fn start_blocking<H: RequestResponder>(
        host: Arc<H>,
        port: u16,
    ) -> Result<Self, ServerStartError> {
        let (mut running, bound) = BoundServer::new(host, port)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ServerStartError::Runtime)?;
        let entered = runtime.enter();
        let server =
            bound.into_server().map_err(|source| ServerStartError::Listen { port, source })?;
        drop(entered);
        let thread = std::thread::Builder::new()
            .name(H::NAME.to_owned())
            .spawn(move || runtime.block_on(server.run()))
            .map_err(ServerStartError::Runtime)?;
        running.thread = Some(thread);
        Ok(running)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops, and waits until every connection is closed (about a second at most) and the host has
    /// finished.
    pub(crate) async fn stop(&mut self) {
        self.stop.send_replace(true);
        // An error means that the server is gone, which is what is waited for.
        let _ = self.done.changed().await;
    }

    /// As [`Running::stop`], where there is no runtime. A server that is a task of somebody's
    /// runtime is told to stop and not waited for.
    pub(crate) fn stop_blocking(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has been printed already; there is nothing to undo.
            let _ = thread.join();
        }
    }
}

/// A server that has a port and no runtime yet.
struct BoundServer<H> {
    listener: std::net::TcpListener,
    responder: Arc<H>,
    stopped: watch::Receiver<bool>,
    finished: watch::Sender<()>,
}

impl<H: RequestResponder> BoundServer<H> {
    fn new(host: Arc<H>, port: u16) -> Result<(RunningServer, Self), ServerStartError> {
        let failed = |source| ServerStartError::Listen { port, source };
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let (finished, done) = watch::channel(());
        let running = RunningServer { address, stop, done, thread: None };
        Ok((running, Self { listener, responder: host, stopped, finished }))
    }

    /// Joins the current runtime.
    fn into_server(self) -> io::Result<LoopbackServer<H>> {
        let Self { listener, responder: host, stopped, finished } = self;
        Ok(LoopbackServer {
            listener: TcpListener::from_std(listener)?,
            responder: host,
            stopped,
            finished,
        })
    }
}
