//! The rehearsal server: start it with a script, inspect the requests, stop it.
//!
//! Listens on 127.0.0.1 only. Runs as a task of the caller's runtime or on a thread with its own;
//! both stop when the handle is dropped.

mod connection;
mod http;
mod loopback_server;
mod plan_runner;
mod request_log;
mod request_responder;
mod response_planner;
mod script_player;
mod scripted_responder;
mod server_handle;

use std::time::Duration;

pub use request_log::ReceivedRequest;
pub use server_handle::{ServerHandle, ServerStartError};

pub(crate) use http::{encode_response, encode_response_head};
pub(crate) use loopback_server::wait_for_stop;
pub(crate) use plan_runner::SocketPlanRunner;
pub(crate) use request_responder::{ClientSocket, ConnectionDisposition, RequestResponder};
pub(crate) use script_player::shorten;

use crate::script::Script;
use script_player::ScriptPlayer;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RehearsalOptions {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
}

/// A running rehearsal. Dropping it stops it.
pub type Rehearsal = ServerHandle<ScriptPlayer>;

impl Rehearsal {
    /// Starts the server as a task of the current runtime.
    ///
    /// # Errors
    ///
    /// The port is not available.
    // Async so that it can only be called inside of a runtime.
    #[expect(clippy::unused_async)]
    pub async fn start(
        script: Script,
        options: RehearsalOptions,
    ) -> Result<Self, ServerStartError> {
        Self::spawn(ScriptPlayer::new(script), options.port)
    }

    /// Starts the server on a separate thread, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// The port, a thread or a runtime is not available.
    pub fn start_blocking(
        script: Script,
        options: RehearsalOptions,
    ) -> Result<Self, ServerStartError> {
        Self::spawn_thread(ScriptPlayer::new(script), options.port)
    }

    /// The last requests, oldest first: at most 1,000, and at most 256 MiB of bodies.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.responder.requests()
    }

    /// The number of all requests received.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.responder.request_count()
    }

    /// Describes the unused answers. Empty when the script was played to its end.
    #[must_use]
    pub fn answers_left(&self) -> Vec<String> {
        self.responder.describe_unused_answers()
    }

    /// Waits until this many requests were received in total. Returns false at the timeout.
    pub async fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let mut counted = self.responder.subscribe_request_count();
        let wait = async { counted.wait_for(|seen| *seen >= count).await.is_ok() };
        tokio::time::timeout(within, wait).await.unwrap_or(false)
    }

    /// As [`Rehearsal::wait_for_requests`], for callers without a runtime.
    #[must_use]
    pub fn wait_for_requests_blocking(&self, count: usize, within: Duration) -> bool {
        self.responder.wait_for_requests(count, within)
    }
}
