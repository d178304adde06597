//! Listens for silence in a streaming answer.
//!
//! Three clocks run at once: since the last byte, since the last whole event, and since the last
//! event that was more than a sign of life. Whichever runs out first ends the stream. Before that,
//! an alarm says aloud that nothing comes. What the end means for the loop is the engine's to say.

use std::time::Duration;

use tokio::time::Instant;

use super::ModelTimeouts;
use crate::clock;

#[derive(Debug)]
pub(crate) struct StreamWatchdog {
    timeouts: ModelTimeouts,
    byte: Instant,
    event: Instant,
    progress: Instant,
    pub(crate) alarm: SilenceAlarm,
}

impl StreamWatchdog {
    pub(crate) fn new(timeouts: ModelTimeouts) -> Self {
        let now = clock::now();
        let alarm = SilenceAlarm::new(timeouts.quiet);
        Self { timeouts, byte: now, event: now, progress: now, alarm }
    }

    pub(crate) fn deadline(&self) -> Instant {
        let ModelTimeouts { silence, event, pings, .. } = self.timeouts;
        let ends = [(self.byte, silence), (self.event, event), (self.progress, pings)];
        let [byte, event, progress] = ends.map(|(since, span)| clock::add_span(since, span));
        byte.min(event).min(progress)
    }

    /// Bytes came; they completed events or not, and said something or not.
    pub(crate) fn record_activity(&mut self, heard: StreamActivity) {
        let now = clock::now();
        self.byte = now;
        self.alarm = SilenceAlarm::new(self.timeouts.quiet);
        if heard != StreamActivity::Bytes {
            self.event = now;
        }
        if heard == StreamActivity::Progress {
            self.progress = now;
        }
    }

    pub(crate) fn describe_timeout(&self) -> String {
        let ModelTimeouts { silence, event, pings, .. } = self.timeouts;
        let now = clock::now();
        if now >= clock::add_span(self.byte, silence) {
            format!("the server sent nothing for {}", format_seconds(silence))
        } else if now >= clock::add_span(self.event, event) {
            format!("the server sent no whole event for {}", format_seconds(event))
        } else {
            format!("the server sent only signs of life for {}", format_seconds(pings))
        }
    }
}

/// What a piece of the stream amounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamActivity {
    /// Bytes of an unfinished event.
    Bytes,
    /// A sign of life.
    Ping,
    /// A piece of the answer.
    Progress,
}

/// Says that nothing comes, after a while and then ever more rarely.
#[derive(Debug)]
pub(crate) struct SilenceAlarm {
    since: Instant,
    after: Duration,
}

impl SilenceAlarm {
    pub(crate) fn new(after: Duration) -> Self {
        // Without a floor a span of zero would ring for ever.
        Self { since: clock::now(), after: after.max(Duration::from_millis(1)) }
    }

    pub(crate) fn due_at(&self) -> Instant {
        clock::add_span(self.since, self.after)
    }

    pub(crate) fn next_warning(&mut self) -> String {
        let words = format!("no data from the model server for {}", format_seconds(self.after));
        self.after = self.after.saturating_mul(2);
        words
    }
}

pub(crate) fn format_seconds(span: Duration) -> String {
    if span < Duration::from_secs(2) {
        format!("{} ms", span.as_millis())
    } else {
        format!("{} s", span.as_secs())
    }
}
