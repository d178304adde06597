//! Listens for silence in a streaming answer.
//!
//! Three spans are measured at once: since the last byte, since the last whole event, and since the last
//! event that was more than a sign of life. Whichever runs out first ends the stream. Before that,
//! an alarm says aloud that nothing comes. What the end means for the loop is the engine's to say.

use std::time::Duration;

use super::ModelTimeouts;
use crate::clock::{RunningClock, SLICE_MAX};

#[derive(Debug)]
pub(crate) struct StreamWatchdog {
    timeouts: ModelTimeouts,
    clock: RunningClock,
    byte: Duration,
    event: Duration,
    progress: Duration,
    alarm: SilenceAlarm,
}

/// What came of waiting for a while.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WatchdogVerdict {
    /// Wait on.
    Patience,
    /// Wait on, and say that nothing comes.
    Warn(String),
    /// Give up, for this reason.
    TimedOut(String),
}

impl StreamWatchdog {
    pub(crate) fn new(timeouts: ModelTimeouts) -> Self {
        let mut clock = RunningClock::start();
        let now = clock.read();
        let alarm = SilenceAlarm::new(now, timeouts.quiet);
        Self { timeouts, clock, byte: now, event: now, progress: now, alarm }
    }

    /// How long to wait for bytes before asking [`StreamWatchdog::check`].
    pub(crate) fn next_wait(&mut self) -> Duration {
        let now = self.clock.read();
        let ends = self.limits().map(|(since, span, _)| since.saturating_add(span));
        let next = ends.into_iter().fold(self.alarm.due_at(), Duration::min);
        next.saturating_sub(now).min(SLICE_MAX)
    }

    /// Nothing came for as long as that.
    pub(crate) fn check(&mut self) -> WatchdogVerdict {
        let now = self.clock.read();
        let over =
            self.limits().into_iter().find(|(since, span, _)| now >= since.saturating_add(*span));
        match over {
            Some((_, span, what)) => WatchdogVerdict::TimedOut(format!(
                "the server sent {what} for {}",
                format_seconds(span)
            )),
            None => self.alarm.check(now),
        }
    }

    /// Since when, how long at most, and what is missing.
    fn limits(&self) -> [(Duration, Duration, &'static str); 3] {
        let ModelTimeouts { silence, event, pings, .. } = self.timeouts;
        [
            (self.byte, silence, "nothing"),
            (self.event, event, "no whole event"),
            (self.progress, pings, "only signs of life"),
        ]
    }

    /// Bytes came; they completed events or not, and said something or not.
    pub(crate) fn record_activity(&mut self, heard: StreamActivity) {
        let now = self.clock.read();
        self.byte = now;
        self.alarm = SilenceAlarm::new(now, self.timeouts.quiet);
        if heard != StreamActivity::Bytes {
            self.event = now;
        }
        if heard == StreamActivity::Progress {
            self.progress = now;
        }
    }
}

/// The wait for the head of a reply.
#[derive(Debug)]
pub(crate) struct ReplyWatchdog {
    clock: RunningClock,
    limit: Duration,
    alarm: SilenceAlarm,
}

impl ReplyWatchdog {
    pub(crate) fn new(timeouts: ModelTimeouts) -> Self {
        let alarm = SilenceAlarm::new(Duration::ZERO, timeouts.quiet);
        Self { clock: RunningClock::start(), limit: timeouts.headers, alarm }
    }

    /// How long to wait before asking [`ReplyWatchdog::check`].
    pub(crate) fn next_wait(&mut self) -> Duration {
        let now = self.clock.read();
        self.limit.min(self.alarm.due_at()).saturating_sub(now).min(SLICE_MAX)
    }

    /// Nothing came for as long as that.
    pub(crate) fn check(&mut self) -> WatchdogVerdict {
        let now = self.clock.read();
        if now < self.limit {
            return self.alarm.check(now);
        }
        let waited = format_seconds(self.limit);
        WatchdogVerdict::TimedOut(format!("the server did not begin to answer within {waited}"))
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
struct SilenceAlarm {
    since: Duration,
    after: Duration,
}

impl SilenceAlarm {
    fn new(since: Duration, after: Duration) -> Self {
        // Without a floor a span of zero would ring for ever.
        Self { since, after: after.max(Duration::from_millis(1)) }
    }

    fn due_at(&self) -> Duration {
        self.since.saturating_add(self.after)
    }

    fn check(&mut self, now: Duration) -> WatchdogVerdict {
        if now < self.due_at() {
            return WatchdogVerdict::Patience;
        }
        let words = format!("no data from the model server for {}", format_seconds(self.after));
        self.after = self.after.saturating_mul(2);
        WatchdogVerdict::Warn(words)
    }
}

fn format_seconds(span: Duration) -> String {
    if span < Duration::from_secs(2) {
        format!("{} ms", span.as_millis())
    } else {
        format!("{} s", span.as_secs())
    }
}
