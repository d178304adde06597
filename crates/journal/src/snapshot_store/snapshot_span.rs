//! Records which calls are between two snapshots of a working directory. Snapshots are only names
//! here; their content is stored elsewhere.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::SnapshotStore;
use super::change_log::ChangeLog;
use crate::error::JournalError;

/// Calls that ran together, and the snapshots around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSpan {
    /// The last record before the first of the calls.
    pub record: u64,
    /// The working directory.
    pub root: PathBuf,
    pub calls: Vec<String>,
    pub from: String,
    /// The snapshot after the calls. `None` while they run.
    pub to: Option<String>,
    /// `to` was taken as soon as the calls had ended. Otherwise nobody saw their end, because the
    /// process was killed or the snapshot failed, and `to` is the one before the next span: what
    /// others changed meanwhile is in it.
    pub has_end: bool,
    /// The changes were made by a rewind, not by a call.
    pub is_rewind: bool,
    /// The snapshot that the rewind restores. `None` in older logs.
    pub rewind_to: Option<String>,
    /// Start and end in milliseconds since 1970, which distinguish sessions that work in the same
    /// directory. `None` in older logs.
    pub begun: Option<u64>,
    pub ended: Option<u64>,
}

/// The log format of spans: one line at the start, one at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SpanLine {
    SpanStart {
        number: usize,
        record: u64,
        root: PathBuf,
        from: String,
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        rewind: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewind_to: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    SpanEnd {
        number: usize,
        calls: Vec<String>,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
}

impl ChangeLog {
    pub(super) fn take_span_line(&mut self, line: SpanLine) {
        match line {
            SpanLine::SpanStart { number, record, root, from, rewind, rewind_to, at } => {
                // A wrong index means that a line was lost.
                if number == self.spans.len() {
                    self.close_open_span(&root, &from);
                    self.spans.push(SnapshotSpan {
                        record,
                        root,
                        calls: Vec::new(),
                        from,
                        to: None,
                        has_end: false,
                        is_rewind: rewind,
                        rewind_to,
                        begun: at,
                        ended: None,
                    });
                }
            }
            SpanLine::SpanEnd { number, calls, to, at } => {
                if let Some(span) = self.spans.get_mut(number) {
                    span.calls = calls;
                    span.to = Some(to);
                    span.has_end = true;
                    span.ended = at;
                }
            }
        }
    }

    /// The spans of a directory do not overlap, so one that is still open when the next begins has
    /// lost its end.
    fn close_open_span(&mut self, root: &Path, next_from: &str) {
        if let Some(last) = self.spans.iter_mut().rev().find(|span| span.root == root)
            && last.to.is_none()
        {
            last.to = Some(next_from.to_owned());
        }
    }
}

impl SnapshotStore {
    /// Records that calls are about to change a working directory, whose snapshot at this time (in
    /// milliseconds since 1970) is `from`, or that a rewind is about to restore `rewind_to` there.
    /// Returns the index with which the span is ended.
    pub fn begin_span(
        &self,
        record: u64,
        root: PathBuf,
        from: String,
        rewind_to: Option<String>,
        at: u64,
    ) -> Result<usize, JournalError> {
        let mut log = self.lock_log();
        let number = log.spans.len();
        let rewind = rewind_to.is_some();
        let at = Some(at);
        let line = SpanLine::SpanStart { number, record, root, from, rewind, rewind_to, at };
        self.append_span_line(&mut log, line)?;
        Ok(number)
    }

    /// Records that the calls of a span have ended, with the snapshot at this time.
    pub fn end_span(
        &self,
        number: usize,
        calls: Vec<String>,
        to: String,
        at: u64,
    ) -> Result<(), JournalError> {
        let line = SpanLine::SpanEnd { number, calls, to, at: Some(at) };
        self.append_span_line(&mut self.lock_log(), line)
    }

    /// All spans, oldest first.
    #[must_use]
    pub fn spans(&self) -> Vec<SnapshotSpan> {
        self.lock_log().spans.clone()
    }

    /// The spans after a record that count, oldest first.
    #[must_use]
    pub fn find_spans_after(&self, record: u64) -> Vec<SnapshotSpan> {
        let log = self.lock_log();
        let first = log.first_after_rewind(record).spans;
        let later = log.spans.iter().skip(first);
        later.filter(|span| span.record > record).cloned().collect()
    }

    /// The spans of calls whose records still count, oldest first: neither of calls that a rewind of the
    /// conversation dropped, nor of a rewind.
    #[must_use]
    pub fn find_live_spans(&self) -> Vec<SnapshotSpan> {
        let log = self.lock_log();
        let is_dropped = |place: usize, span: &SnapshotSpan| {
            let mut rewinds = log.rewinds.iter();
            rewinds.any(|rewind| place < rewind.logged.spans && span.record > rewind.back_to)
        };
        let spans = log.spans.iter().enumerate();
        let live = spans.filter(|(place, span)| !span.is_rewind && !is_dropped(*place, span));
        live.map(|(_, span)| span.clone()).collect()
    }

    /// Not synced: a lost line only means that one batch of calls cannot be undone.
    fn append_span_line(&self, log: &mut ChangeLog, line: SpanLine) -> Result<(), JournalError> {
        log.append_line(&self.folder.join("log"), &line, crate::durability::Durability::Written)?;
        log.take_span_line(line);
        Ok(())
    }
}
