//! The replay's handle: start, answer from a cassette, see what was used.
//!
//! Listens on 127.0.0.1 like a rehearsal, but says only what was recorded, and only to requests that
//! were recorded. `normalized_request` compares requests, `exchange_selector` chooses,
//! `exchange_player` sends.

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
    /// The local secrets and the local values of the stand-ins. A stand-in that was recorded and is
    /// not named here stays a placeholder, also in what requests are compared with.
    pub scrub: ScrubOptions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayPace {
    #[default]
    AtOnce,
    /// With the pauses that were recorded.
    AsRecorded,
}

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplaySummary {
    /// Requests that came, whatever they asked.
    pub requests: usize,
    pub used: usize,
    /// Exchanges that answered none, described for people.
    pub unused: Vec<String>,
    /// Why requests were refused; the first hundred.
    pub refusals: Vec<String>,
}

impl ReplaySummary {
    /// Was everything asked that was recorded, and nothing else?
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
    /// When the port cannot be had.
    // Async so that it can only be called where there is a runtime to live in.
    #[expect(clippy::unused_async)]
    pub async fn start(
        cassette: Cassette,
        options: ReplayOptions,
    ) -> Result<Self, ServerStartError> {
        let port = options.port;
        Self::spawn(ReplayResponder::new(cassette, options), port)
    }

    /// Starts the replay on a thread of its own, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// When the port, a thread or a runtime cannot be had.
    pub fn start_blocking(
        cassette: Cassette,
        options: ReplayOptions,
    ) -> Result<Self, ServerStartError> {
        let port = options.port;
        Self::spawn_thread(ReplayResponder::new(cassette, options), port)
    }

    /// The exchanges not used, described for people. Empty when the cassette was played to its end.
    #[must_use]
    pub fn exchanges_left(&self) -> Vec<String> {
        self.responder.selector.describe_unused()
    }

    /// What came of it so far.
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

    /// Stops, waits until every connection is closed (about a second at most), and says what came
    /// of it.
    pub async fn finish(mut self) -> ReplaySummary {
        self.shut_down().await;
        self.summary()
    }

    /// As [`Replay::finish`], for callers without a runtime. A replay that was not started with
    /// [`Replay::start_blocking`] is told to stop and not waited for.
    pub fn finish_blocking(mut self) -> ReplaySummary {
        self.shut_down_blocking();
        self.summary()
    }
}

impl ReplayResponder {
    fn new(cassette: Cassette, options: ReplayOptions) -> Self {
        // Whether addresses were taken out of a recording is not known, so none is compared.
        let scrub = ScrubOptions { emails: true, ..options.scrub };
        Self {
            selector: ExchangeSelector::new(CassetteScrubber::new(&scrub), cassette),
            pace: options.pace,
        }
    }
}
