//! The replay's handle: start, answer from a cassette, get the summary.
//!
//! Listens on 127.0.0.1, and answers only recorded requests with the recorded answers.
//! `normalized_request` compares requests, `exchange_selector` selects, `exchange_player` sends.

mod exchange_player;
mod exchange_selector;
mod normalized_request;

use super::cassette_file::Cassette;
use super::scrub::{CassetteScrubber, ScrubOptions};
use crate::server::{ServerHandle, ServerStartError};
use exchange_selector::ExchangeSelector;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    pub pace: ReplayPace,
    /// The local secrets and the local values of stand-ins. A recorded stand-in without a local
    /// value stays a placeholder, also when requests are compared.
    pub scrub: ScrubOptions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayPace {
    #[default]
    AtOnce,
    /// With the recorded pauses.
    AsRecorded,
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplaySummary {
    /// The number of requests received.
    pub requests: usize,
    pub used: usize,
    /// Describes the unused exchanges.
    pub unused: Vec<String>,
    /// Why requests were rejected; the first hundred.
    pub refusals: Vec<String>,
}

impl ReplaySummary {
    /// Were all recorded requests made, and no others?
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.unused.is_empty() && self.refusals.is_empty()
    }
}

/// A running replay. Dropping it stops it.
pub type Replay = ServerHandle<ReplayResponder>;

#[derive(Debug)]
pub struct ReplayResponder {
    selector: ExchangeSelector,
    pace: ReplayPace,
}

impl Replay {
    /// Starts the replay as a task of the current runtime.
    ///
    /// # Errors
    ///
    /// The port is not available.
    // Async so that it can only be called inside of a runtime.
    #[expect(clippy::unused_async)]
    pub async fn start(
        cassette: Cassette,
        options: ReplayOptions,
    ) -> Result<Self, ServerStartError> {
        let port = options.port;
        Self::spawn(ReplayResponder::new(cassette, options), port)
    }

    /// Starts the replay on a separate thread, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// The port, a thread or a runtime is not available.
    pub fn start_blocking(
        cassette: Cassette,
        options: ReplayOptions,
    ) -> Result<Self, ServerStartError> {
        let port = options.port;
        Self::spawn_thread(ReplayResponder::new(cassette, options), port)
    }

    /// Describes the unused exchanges. Empty when the cassette was played to its end.
    #[must_use]
    pub fn exchanges_left(&self) -> Vec<String> {
        self.responder.selector.describe_unused()
    }

    /// The summary so far.
    #[must_use]
    pub fn summary(&self) -> ReplaySummary {
        let selector = &self.responder.selector;
        ReplaySummary {
            requests: selector.request_count(),
            used: selector.used_count(),
            unused: selector.describe_unused(),
            refusals: selector.refusals(),
        }
    }

    /// Stops, waits until every connection is closed (about a second at most), and returns the
    /// summary.
    pub async fn finish(mut self) -> ReplaySummary {
        self.shut_down().await;
        self.summary()
    }

    /// As [`Replay::finish`], for callers without a runtime. Does not wait for a replay that was
    /// not started with [`Replay::start_blocking`].
    pub fn finish_blocking(mut self) -> ReplaySummary {
        self.shut_down_blocking();
        self.summary()
    }
}

impl ReplayResponder {
    fn new(cassette: Cassette, options: ReplayOptions) -> Self {
        // It is unknown whether e-mail addresses were scrubbed from the recording, so none are
        // compared.
        let scrub = ScrubOptions { emails: true, ..options.scrub };
        Self {
            selector: ExchangeSelector::new(CassetteScrubber::new(&scrub), cassette),
            pace: options.pace,
        }
    }
}
