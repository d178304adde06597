//! Listens for silence in a streaming answer.
//!
//! Three clocks run at once: since the last byte, since the last whole event, and since the last
//! event that was more than a sign of life. Whichever runs out first ends the stream. What that
//! means for the loop is the engine's to say.

use std::time::Duration;

use tokio::time::Instant;

use super::Timeouts;
use crate::clock;

/// The three clocks of one stream.
#[derive(Debug)]
pub(crate) struct Watchdog {
    timeouts: Timeouts,
    byte: Instant,
    event: Instant,
    progress: Instant,
}

impl Watchdog {
    /// Starts all clocks.
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        let now = clock::now();
        Self { timeouts, byte: now, event: now, progress: now }
    }

    /// When the next clock runs out.
    pub(crate) fn deadline(&self) -> Instant {
        let Timeouts { silence, event, pings, connect: _, headers: _ } = self.timeouts;
        (self.byte + silence).min(self.event + event).min(self.progress + pings)
    }

    /// Bytes came; they completed events or not, and said something or not.
    pub(crate) fn heard(&mut self, heard: Heard) {
        let now = clock::now();
        self.byte = now;
        if heard != Heard::Bytes {
            self.event = now;
        }
        if heard == Heard::Progress {
            self.progress = now;
        }
    }

    /// Which clock ran out, in words.
    pub(crate) fn verdict(&self) -> String {
        let Timeouts { silence, event, pings, connect: _, headers: _ } = self.timeouts;
        let now = clock::now();
        if now >= self.byte + silence {
            format!("the server sent nothing for {}", seconds(silence))
        } else if now >= self.event + event {
            format!("the server sent no whole event for {}", seconds(event))
        } else {
            format!("the server sent only signs of life for {}", seconds(pings))
        }
    }
}

/// What a piece of the stream amounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Bytes of an unfinished event.
    Bytes,
    /// A sign of life.
    Ping,
    /// A piece of the answer.
    Progress,
}

/// A span in words, without false precision.
pub(crate) fn seconds(span: Duration) -> String {
    if span < Duration::from_secs(2) {
        format!("{} ms", span.as_millis())
    } else {
        format!("{} s", span.as_secs())
    }
}
