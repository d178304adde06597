//! Detects silence in a streaming answer.
//!
//! Three times are measured: since the last byte, since the last complete event, and since the last
//! event other than a keep-alive. Whichever exceeds its limit first ends the stream; before that,
//! the user is warned. The engine decides what the timeout means for the loop.

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

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WatchdogVerdict {
    /// Continue to wait.
    Patience,
    /// Continue to wait, and show this warning.
    Warn(String),
    /// End the stream, for this reason.
    TimedOut(String),
}

impl StreamWatchdog {
    pub(crate) fn new(timeouts: ModelTimeouts) -> Self {
        let mut clock = RunningClock::start();
        let now = clock.read();
        let alarm = SilenceAlarm::new(now, timeouts.quiet);
        Self { timeouts, clock, byte: now, event: now, progress: now, alarm }
    }

    /// How long to wait for bytes before calling [`StreamWatchdog::check`].
    pub(crate) fn next_wait(&mut self) -> Duration {
        let now = self.clock.read();
        let ends = self.limits().map(|limit| limit.ends_at());
        let next = ends.into_iter().fold(self.alarm.due_at(), Duration::min);
        next.saturating_sub(now).min(SLICE_MAX)
    }

    /// Called when nothing arrived for that time.
    pub(crate) fn check(&mut self) -> WatchdogVerdict {
        let now = self.clock.read();
        match self.limits().into_iter().find(|limit| now >= limit.ends_at()) {
            Some(SilenceLimit { length, received, .. }) => WatchdogVerdict::TimedOut(format!(
                "the server sent {received} for {}",
                format_seconds(length)
            )),
            None => self.alarm.check(now),
        }
    }

    fn limits(&self) -> [SilenceLimit; 3] {
        let ModelTimeouts { silence, event, pings, .. } = self.timeouts;
        [
            SilenceLimit { since: self.byte, length: silence, received: "nothing" },
            SilenceLimit { since: self.event, length: event, received: "no whole event" },
            SilenceLimit { since: self.progress, length: pings, received: "only signs of life" },
        ]
    }

    /// Records that bytes arrived, and whether they completed an event.
    pub(crate) fn record_activity(&mut self, activity: StreamActivity) {
        let now = self.clock.read();
        self.byte = now;
        self.alarm = SilenceAlarm::new(now, self.timeouts.quiet);
        if activity != StreamActivity::Bytes {
            self.event = now;
        }
        if activity == StreamActivity::Progress {
            self.progress = now;
        }
    }
}

/// A limit on the time in which less than expected is received.
struct SilenceLimit {
    since: Duration,
    length: Duration,
    received: &'static str,
}

impl SilenceLimit {
    fn ends_at(&self) -> Duration {
        self.since.saturating_add(self.length)
    }
}

/// Limits the wait for the response headers.
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

    /// How long to wait before calling [`ReplyWatchdog::check`].
    pub(crate) fn next_wait(&mut self) -> Duration {
        let now = self.clock.read();
        self.limit.min(self.alarm.due_at()).saturating_sub(now).min(SLICE_MAX)
    }

    /// Called when nothing arrived for that time.
    pub(crate) fn check(&mut self) -> WatchdogVerdict {
        let now = self.clock.read();
        if now < self.limit {
            return self.alarm.check(now);
        }
        let waited = format_seconds(self.limit);
        WatchdogVerdict::TimedOut(format!("the server did not begin to answer within {waited}"))
    }
}

/// What was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamActivity {
    /// Part of an event.
    Bytes,
    /// A keep-alive event.
    Ping,
    /// A delta of the answer.
    Progress,
}

/// Warns of silence, at increasing intervals.
#[derive(Debug)]
struct SilenceAlarm {
    since: Duration,
    after: Duration,
}

impl SilenceAlarm {
    fn new(since: Duration, after: Duration) -> Self {
        // An interval of zero would warn in an endless loop.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a process that was stopped for an hour between two checks.
    #[tokio::test(start_paused = true)]
    async fn a_stop_is_no_silence_of_the_server() {
        let timeouts = ModelTimeouts::default();
        let mut stream = StreamWatchdog::new(timeouts);
        let mut reply = ReplyWatchdog::new(timeouts);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(stream.check(), WatchdogVerdict::Patience);
        assert_eq!(reply.check(), WatchdogVerdict::Patience);
        let mut warnings = 0;
        let words = loop {
            tokio::time::advance(stream.next_wait()).await;
            match stream.check() {
                WatchdogVerdict::Patience => {}
                WatchdogVerdict::Warn(_) => warnings += 1,
                WatchdogVerdict::TimedOut(words) => break words,
            }
        };
        assert_eq!((words.as_str(), warnings), ("the server sent nothing for 120 s", 2));
    }
}
