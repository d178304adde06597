//! How a connection is doing: what it got wrong, what was dropped, whether it is gone and why.
//!
//! Shared by the transport, which notices, and the connection, which tells. Nothing here waits.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// Bad messages after which a server is given up.
pub(crate) const BAD_MAX: u32 = 20;
/// Messages dropped for their number within a minute after which a server is given up.
const DROPPED_MAX: u64 = 20_000;
const MINUTE: Duration = Duration::from_secs(60);
/// Lines of the log that are kept, and bytes of each.
const LINES_MAX: usize = 60;
const LINE_BYTES_MAX: usize = 400;

/// How one connection is doing.
#[derive(Debug, Default)]
pub(crate) struct Health {
    noted: Mutex<Noted>,
    gone: CancellationToken,
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct Noted {
    bad: u32,
    dropped: u64,
    /// When the minute began, and how many were dropped before.
    minute: Option<(Instant, u64)>,
    lines: VecDeque<String>,
    reason: Option<String>,
}

impl Health {
    /// A message that makes no sense. Says whether there have been too many.
    pub(crate) fn bad(&self, what: &str) -> bool {
        let mut noted = self.noted();
        noted.bad += 1;
        let is_over = noted.bad >= BAD_MAX;
        noted.push(&format!("skipped: {what}"));
        if is_over {
            noted.because(&format!("{BAD_MAX} messages made no sense, the last: {what}"));
        }
        is_over
    }

    /// A message that was dropped because there are too many. Says whether it has to end.
    pub(crate) fn dropped(&self) -> bool {
        let mut noted = self.noted();
        noted.dropped += 1;
        let now = (Instant::now(), noted.dropped);
        let (_, before) = *noted.minute.get_or_insert(now);
        if noted.minute.is_some_and(|(began, _)| began.elapsed() >= MINUTE) {
            noted.minute = Some(now);
        }
        let is_over = noted.dropped - before >= DROPPED_MAX;
        if is_over {
            noted.because("it sends notifications without end");
        }
        is_over
    }

    /// A line for whoever looks for the reason of a failure.
    pub(crate) fn log(&self, line: &str) {
        self.noted().push(line);
    }

    /// It is over; the first reason stays.
    pub(crate) fn end(&self, reason: &str) {
        self.noted().because(reason);
        self.gone.cancel();
    }

    /// Notes why it will be over, before it is.
    pub(crate) fn because(&self, reason: &str) {
        self.noted().because(reason);
    }

    /// Cancelled when the connection is gone.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Cancelled when nothing is left of it.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Why it is gone, with the last words of the server.
    pub(crate) fn reason(&self) -> String {
        let noted = self.noted();
        let reason = noted.reason.as_deref().unwrap_or("it closed the connection");
        match noted.lines.iter().rev().find(|line| !line.starts_with("skipped: ")) {
            Some(last) => format!("{reason}; its last words: {last}"),
            None => reason.to_owned(),
        }
    }

    /// What it wrote to standard error and what was skipped, the newest last.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.noted().lines.iter().cloned().collect()
    }

    /// Messages that were dropped because there were too many.
    pub(crate) fn dropped_count(&self) -> u64 {
        self.noted().dropped
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Noted {
    fn push(&mut self, line: &str) {
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(short(line, LINE_BYTES_MAX));
    }

    fn because(&mut self, reason: &str) {
        if self.reason.is_none() {
            self.reason = Some(short(reason, LINE_BYTES_MAX));
        }
    }
}

/// Not longer than so many bytes, cut between letters, without what a terminal would obey.
pub(crate) fn short(text: &str, bytes_max: usize) -> String {
    let end = text.floor_char_boundary(bytes_max);
    let cut = text.get(..end).unwrap_or(text);
    let clean = cut.chars().filter(|letter| !letter.is_control() || *letter == '\t').collect();
    if end < text.len() { format!("{clean}…") } else { clean }
}
