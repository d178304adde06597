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
pub(crate) struct ConnectionHealth {
    notes: Mutex<HealthNotes>,
    gone: CancellationToken,
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct HealthNotes {
    bad_messages: u32,
    dropped_messages: u64,
    /// When the minute began, and how many were dropped before.
    minute: Option<(Instant, u64)>,
    lines: VecDeque<HealthLine>,
    reason: Option<String>,
}

/// Shortened and cleaned.
#[derive(Debug)]
enum HealthLine {
    /// Written by the server.
    Output(String),
    /// What we left out of what it sent.
    Skipped(String),
}

impl ConnectionHealth {
    /// A message that makes no sense. Says whether there have been too many.
    pub(crate) fn note_bad_message(&self, what: &str) -> bool {
        let mut noted = self.lock_notes();
        noted.bad_messages += 1;
        let is_over = noted.bad_messages >= BAD_MAX;
        noted.push_line(HealthLine::Skipped(clean_excerpt(what, LINE_BYTES_MAX)));
        if is_over {
            noted.set_reason(&format!("{BAD_MAX} messages made no sense, the last: {what}"));
        }
        is_over
    }

    /// A message that was dropped because there are too many. Says whether it has to end.
    pub(crate) fn note_dropped_message(&self) -> bool {
        let mut noted = self.lock_notes();
        noted.dropped_messages += 1;
        let now = (Instant::now(), noted.dropped_messages);
        let (_, before) = *noted.minute.get_or_insert(now);
        if noted.minute.is_some_and(|(began, _)| began.elapsed() >= MINUTE) {
            noted.minute = Some(now);
        }
        let is_over = noted.dropped_messages - before >= DROPPED_MAX;
        if is_over {
            noted.set_reason("it sends notifications without end");
        }
        is_over
    }

    /// Keeps a line to explain a failure.
    pub(crate) fn log_line(&self, line: &str) {
        let line = clean_excerpt(line, LINE_BYTES_MAX);
        self.lock_notes().push_line(HealthLine::Output(line));
    }

    /// Says what was left out of what the server sent.
    pub(crate) fn log_skipped(&self, what: &str) {
        let what = clean_excerpt(what, LINE_BYTES_MAX);
        self.lock_notes().push_line(HealthLine::Skipped(what));
    }

    /// It is over; the first reason stays.
    pub(crate) fn mark_gone(&self, reason: &str) {
        self.lock_notes().set_reason(reason);
        self.gone.cancel();
    }

    /// Notes why it will be over, before it is.
    pub(crate) fn note_reason(&self, reason: &str) {
        self.lock_notes().set_reason(reason);
    }

    /// Cancelled when the connection is gone.
    pub(crate) fn gone_token(&self) -> &CancellationToken {
        &self.gone
    }

    /// Cancelled when nothing is left of it.
    pub(crate) fn closed_token(&self) -> &CancellationToken {
        &self.closed
    }

    /// Why it is gone, with the last words of the server.
    pub(crate) fn reason(&self) -> String {
        let noted = self.lock_notes();
        let reason = noted.reason.as_deref().unwrap_or("it closed the connection");
        let last = noted.lines.iter().rev().find_map(|line| match line {
            HealthLine::Output(text) => Some(text),
            HealthLine::Skipped(_) => None,
        });
        match last {
            Some(last) => format!("{reason}; its last output: {last}"),
            None => reason.to_owned(),
        }
    }

    /// What it wrote to standard error and what was skipped, the newest last.
    pub(crate) fn log_lines(&self) -> Vec<String> {
        let noted = self.lock_notes();
        let render = |line: &HealthLine| match line {
            HealthLine::Output(text) => text.clone(),
            HealthLine::Skipped(what) => format!("skipped: {what}"),
        };
        noted.lines.iter().map(render).collect()
    }

    /// Messages that were dropped because there were too many.
    pub(crate) fn dropped_count(&self) -> u64 {
        self.lock_notes().dropped_messages
    }

    fn lock_notes(&self) -> MutexGuard<'_, HealthNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HealthNotes {
    fn push_line(&mut self, line: HealthLine) {
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    fn set_reason(&mut self, reason: &str) {
        if self.reason.is_none() {
            self.reason = Some(clean_excerpt(reason, LINE_BYTES_MAX));
        }
    }
}

/// Not longer than so many bytes, cut between letters, without what a terminal would obey.
pub(crate) fn clean_excerpt(text: &str, bytes_max: usize) -> String {
    let end = text.floor_char_boundary(bytes_max);
    let cut = text.get(..end).unwrap_or(text);
    let clean = cut.chars().filter(|letter| !letter.is_control() || *letter == '\t').collect();
    if end < text.len() { format!("{clean}…") } else { clean }
}
