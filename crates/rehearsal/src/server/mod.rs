//! The server's handle: start, look at what was asked, stop.
//!
//! Listens on 127.0.0.1 and nowhere else. Either a task of the caller's runtime or a thread with a
//! runtime of its own; both stop when the handle is dropped.

mod connection;
mod http;
mod loopback_server;
mod plan_runner;
mod request_log;
mod request_responder;
mod response_planner;
mod running_server;
mod script_player;
mod scripted_responder;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use request_log::ReceivedRequest;
pub use running_server::ServerStartError;

pub(crate) use http::{HttpRequest, encode_response_head};
pub(crate) use loopback_server::wait_for_stop;
pub(crate) use plan_runner::SocketPlanRunner;
pub(crate) use request_responder::{ClientSocket, ConnectionDisposition, RequestResponder};
pub(crate) use running_server::RunningServer;
pub(crate) use script_player::shorten;

use crate::script::Script;
use script_player::ScriptPlayer;

/// How to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RehearsalOptions {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
#[must_use = "a rehearsal stops when it is dropped"]
pub struct Rehearsal {
    server: RunningServer,
    player: Arc<ScriptPlayer>,
}

impl Rehearsal {
    /// Starts the server as a task of the current runtime.
    ///
    /// # Errors
    ///
    /// When the port cannot be had.
    // Async so that it can only be called where there is a runtime to live in.
    #[expect(clippy::unused_async)]
    pub async fn start(
        script: Script,
        options: RehearsalOptions,
    ) -> Result<Self, ServerStartError> {
        let stage = Arc::new(ScriptPlayer::new(script));
        Ok(Self { server: RunningServer::start(Arc::clone(&stage), options.port)?, player: stage })
    }

    /// Starts the server on a thread of its own, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// When the port, a thread or a runtime cannot be had.
    pub fn start_blocking(
        script: Script,
        options: RehearsalOptions,
    ) -> Result<Self, ServerStartError> {
        let stage = Arc::new(ScriptPlayer::new(script));
        Ok(Self {
            server: RunningServer::start_blocking(Arc::clone(&stage), options.port)?,
            player: stage,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The base of every path, for example `http://127.0.0.1:4242`.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The last requests, oldest first: at most 1,000, and at most 256 MiB of bodies.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.player.requests()
    }

    /// How many requests have come in all, whatever they asked.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.player.request_count()
    }

    /// The answers not used up, described for people. Empty when the script was played to its end.
    #[must_use]
    pub fn answers_left(&self) -> Vec<String> {
        self.player.describe_unused_answers()
    }

    /// Waits until this many requests have come in all. False if they have not in time.
    pub async fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let mut counted = self.player.subscribe_request_count();
        let wait = async { counted.wait_for(|seen| *seen >= count).await.is_ok() };
        tokio::time::timeout(within, wait).await.unwrap_or(false)
    }

    /// As [`Rehearsal::wait_for_requests`], for callers without a runtime.
    #[must_use]
    pub fn wait_for_requests_blocking(&self, count: usize, within: Duration) -> bool {
        self.player.wait_for_requests(count, within)
    }

    /// Stops, and waits until every connection is closed; about a second at most. An answer being
    /// sent without pauses is sent to its end.
    pub async fn stop(mut self) {
        self.server.stop().await;
    }

    /// As [`Rehearsal::stop`], for callers without a runtime. A server that was not started with
    /// [`Rehearsal::start_blocking`] is told to stop and not waited for.
    pub fn stop_blocking(mut self) {
        self.server.stop_blocking();
    }
}
