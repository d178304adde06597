//! The server's handle: start, look at what was asked, stop.
//!
//! Listens on 127.0.0.1 and nowhere else. Either a task of the caller's runtime or a thread with a
//! runtime of its own; both stop when the handle is dropped.

mod connection;
mod http;
mod listen;
mod perform;
mod record;
mod respond;
mod stage;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

pub use record::Recorded;

use crate::script::Script;
use stage::Stage;

/// How to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartOptions {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
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

/// A running server. Dropping it stops it.
#[derive(Debug)]
#[must_use = "a rehearsal stops when it is dropped"]
pub struct Rehearsal {
    address: SocketAddr,
    stage: Arc<Stage>,
    stop: watch::Sender<bool>,
    done: watch::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Rehearsal {
    /// Starts the server as a task of the current runtime.
    ///
    /// # Errors
    ///
    /// When the port cannot be had.
    // Async so that it can only be called where there is a runtime to live in.
    #[expect(clippy::unused_async)]
    pub async fn start(script: Script, options: StartOptions) -> Result<Self, StartError> {
        let (rehearsal, server) = Self::prepare(script, options)?;
        let failed = |source| StartError::Listen { port: options.port, source };
        let server = server.listen().map_err(failed)?;
        tokio::spawn(server.run());
        Ok(rehearsal)
    }

    /// Starts the server on a thread of its own, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// When the port, a thread or a runtime cannot be had.
    pub fn start_blocking(script: Script, options: StartOptions) -> Result<Self, StartError> {
        let (mut rehearsal, server) = Self::prepare(script, options)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(StartError::Runtime)?;
        let entered = runtime.enter();
        let failed = |source| StartError::Listen { port: options.port, source };
        let server = server.listen().map_err(failed)?;
        drop(entered);
        let thread = std::thread::Builder::new()
            .name("rehearsal".to_owned())
            .spawn(move || runtime.block_on(server.run()))
            .map_err(StartError::Runtime)?;
        rehearsal.thread = Some(thread);
        Ok(rehearsal)
    }

    fn prepare(script: Script, options: StartOptions) -> Result<(Self, listen::Bound), StartError> {
        let failed = |source| StartError::Listen { port: options.port, source };
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stage = Arc::new(Stage::new(script));
        let (stop, stopped) = watch::channel(false);
        let (finished, done) = watch::channel(());
        let bound = listen::Bound { listener, stage: Arc::clone(&stage), stopped, finished };
        Ok((Self { address, stage, stop, done, thread: None }, bound))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base of every path, for example `http://127.0.0.1:4242`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The last requests, oldest first: at most 1,000, and at most 256 MiB of bodies.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.stage.requests()
    }

    /// How many requests have come in all, whatever they asked.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.stage.request_count()
    }

    /// The answers not used up, described for people. Empty when the script was played to its end.
    #[must_use]
    pub fn answers_left(&self) -> Vec<String> {
        self.stage.answers_left()
    }

    /// Waits until this many requests have come in all. False if they have not in time.
    pub async fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let mut counted = self.stage.counted();
        let wait = async { counted.wait_for(|seen| *seen >= count).await.is_ok() };
        tokio::time::timeout(within, wait).await.unwrap_or(false)
    }

    /// As [`Rehearsal::wait_for_requests`], for callers without a runtime.
    #[must_use]
    pub fn wait_for_requests_blocking(&self, count: usize, within: Duration) -> bool {
        self.stage.wait_for_requests(count, within)
    }

    /// Stops, and waits until every connection is closed; about a second at most. An answer being
    /// sent without pauses is sent to its end.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // An error means that the server is gone, which is what is waited for.
        let _ = self.done.changed().await;
    }

    /// As [`Rehearsal::stop`], for callers without a runtime. A server that was not started with
    /// [`Rehearsal::start_blocking`] is told to stop and not waited for.
    pub fn stop_blocking(mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has been printed already; there is nothing to undo.
            let _ = thread.join();
        }
    }
}
