//! The server's handle: start, look at what was asked, stop.
//!
//! Listens on 127.0.0.1 and nowhere else. Either a task of the caller's runtime or a thread with a
//! runtime of its own; both stop when the handle is dropped.

mod connection;
mod host;
mod http;
mod listen;
mod perform;
mod record;
mod respond;
mod running;
mod scripted;
mod stage;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use record::Recorded;
pub use running::StartError;

pub(crate) use host::{After, Host, Line};
pub(crate) use http::{Request, response_head};
pub(crate) use listen::stop;
pub(crate) use perform::Performer;
pub(crate) use running::Running;
pub(crate) use stage::shortened;

use crate::script::Script;
use stage::Stage;

/// How to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartOptions {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
#[must_use = "a rehearsal stops when it is dropped"]
pub struct Rehearsal {
    running: Running,
    stage: Arc<Stage>,
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
        let stage = Arc::new(Stage::new(script));
        Ok(Self { running: Running::start(Arc::clone(&stage), options.port)?, stage })
    }

    /// Starts the server on a thread of its own, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// When the port, a thread or a runtime cannot be had.
    pub fn start_blocking(script: Script, options: StartOptions) -> Result<Self, StartError> {
        let stage = Arc::new(Stage::new(script));
        Ok(Self { running: Running::start_blocking(Arc::clone(&stage), options.port)?, stage })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// The base of every path, for example `http://127.0.0.1:4242`.
    #[must_use]
    pub fn url(&self) -> String {
        self.running.url()
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
        self.running.stop().await;
    }

    /// As [`Rehearsal::stop`], for callers without a runtime. A server that was not started with
    /// [`Rehearsal::start_blocking`] is told to stop and not waited for.
    pub fn stop_blocking(mut self) {
        self.running.stop_blocking();
    }
}
