//! The replay's handle: start, answer from a cassette, see what was used.
//!
//! Listens on 127.0.0.1 like a rehearsal, but says only what was recorded, and only to requests that
//! were recorded. `normal` compares requests, `rack` chooses, `play` sends.

mod normal;
mod play;
mod rack;

use std::net::SocketAddr;
use std::sync::Arc;

use super::scrub::{ScrubOptions, Scrubber};
use super::shelf::Cassette;
use crate::serve::{Running, StartError};
use rack::Rack;

/// How to replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// How fast.
    pub pace: Pace,
    /// The local secrets and the local values of the stand-ins. A stand-in that was recorded and is
    /// not named here stays a placeholder, also in what requests are compared with.
    pub scrub: ScrubOptions,
}

/// How fast to answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Without a pause.
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
    /// Exchanges that answered one.
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
#[derive(Debug)]
#[must_use = "a replay stops when it is dropped"]
pub struct Replay {
    running: Running,
    booth: Arc<Booth>,
}

/// What all connections share.
#[derive(Debug)]
struct Booth {
    rack: Rack,
    pace: Pace,
}

impl Replay {
    /// Starts the replay as a task of the current runtime.
    ///
    /// # Errors
    ///
    /// When the port cannot be had.
    // Async so that it can only be called where there is a runtime to live in.
    #[expect(clippy::unused_async)]
    pub async fn start(cassette: Cassette, options: ReplayOptions) -> Result<Self, StartError> {
        let port = options.port;
        let booth = Arc::new(Booth::new(cassette, options));
        Ok(Self { running: Running::start(Arc::clone(&booth), port)?, booth })
    }

    /// Starts the replay on a thread of its own, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// When the port, a thread or a runtime cannot be had.
    pub fn start_blocking(cassette: Cassette, options: ReplayOptions) -> Result<Self, StartError> {
        let port = options.port;
        let booth = Arc::new(Booth::new(cassette, options));
        Ok(Self { running: Running::start_blocking(Arc::clone(&booth), port)?, booth })
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

    /// The exchanges not used, described for people. Empty when the cassette was played to its end.
    #[must_use]
    pub fn exchanges_left(&self) -> Vec<String> {
        self.booth.rack.left()
    }

    /// What came of it so far.
    #[must_use]
    pub fn summary(&self) -> ReplaySummary {
        let rack = &self.booth.rack;
        ReplaySummary {
            requests: rack.requests(),
            used: rack.used(),
            unused: rack.left(),
            refusals: rack.refusals(),
        }
    }

    /// Stops, waits until every connection is closed (about a second at most), and says what came
    /// of it.
    pub async fn finished(mut self) -> ReplaySummary {
        self.running.stop().await;
        self.summary()
    }

    /// As [`Replay::finished`], for callers without a runtime. A replay that was not started with
    /// [`Replay::start_blocking`] is told to stop and not waited for.
    pub fn finished_blocking(mut self) -> ReplaySummary {
        self.running.stop_blocking();
        self.summary()
    }
}

impl Booth {
    fn new(cassette: Cassette, options: ReplayOptions) -> Self {
        // Whether addresses were taken out of a recording is not known, so none is compared.
        let scrub = ScrubOptions { emails: true, ..options.scrub };
        Self { rack: Rack::new(Scrubber::new(&scrub), cassette), pace: options.pace }
    }
}
