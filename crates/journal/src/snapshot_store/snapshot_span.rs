//! Which calls lie between two snapshots of a working directory. What the snapshots hold is kept
//! elsewhere; here they are names.

use std::path::PathBuf;

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
    /// `None` while the calls run, and if the process died before they ended.
    pub to: Option<String>,
    /// A rewind made the changes, not a call.
    pub is_rewind: bool,
    /// When it began and ended, in milliseconds since 1970: sessions that work in one directory are told
    /// apart by it. `None` where that was not written down.
    pub begun: Option<u64>,
    pub ended: Option<u64>,
}

/// How spans stand in the log: a line when one begins, and one when it ends.
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
            SpanLine::SpanStart { number, record, root, from, rewind, at } => {
                // A number that is not the next one belongs to a line that was lost.
                if number == self.spans.len() {
                    let calls = Vec::new();
                    let to = None;
                    self.spans.push(SnapshotSpan {
                        record,
                        root,
                        calls,
                        from,
                        to,
                        is_rewind: rewind,
                        begun: at,
                        ended: None,
                    });
                }
            }
            SpanLine::SpanEnd { number, calls, to, at } => {
                if let Some(span) = self.spans.get_mut(number) {
                    span.calls = calls;
                    span.to = Some(to);
                    span.ended = at;
                }
            }
        }
    }
}

impl SnapshotStore {
    /// Calls are about to change a working directory that stood as `from` says at this time, in
    /// milliseconds since 1970. Returns the number by which the span is ended.
    pub fn begin_span(
        &self,
        record: u64,
        root: PathBuf,
        from: String,
        is_rewind: bool,
        at: u64,
    ) -> Result<usize, JournalError> {
        let mut log = self.lock_log();
        let number = log.spans.len();
        let at = Some(at);
        let line = SpanLine::SpanStart { number, record, root, from, rewind: is_rewind, at };
        self.append_span_line(&mut log, line)?;
        Ok(number)
    }

    /// The calls of a span have ended, and the working directory stood as `to` says at this time.
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

    /// Every span, oldest first.
    #[must_use]
    pub fn spans(&self) -> Vec<SnapshotSpan> {
        self.lock_log().spans.clone()
    }

    /// The spans behind a record that counts, oldest first.
    #[must_use]
    pub fn find_spans_after(&self, record: u64) -> Vec<SnapshotSpan> {
        let log = self.lock_log();
        let first = log.first_after_rewind(record).spans;
        let later = log.spans.iter().skip(first);
        later.filter(|span| span.record > record).cloned().collect()
    }

    /// A lost line costs the way back over one batch of calls, so the disk is not waited for.
    fn append_span_line(&self, log: &mut ChangeLog, line: SpanLine) -> Result<(), JournalError> {
        log.append_line(&self.folder.join("log"), &line, crate::durability::Durability::Written)?;
        log.take_span_line(line);
        Ok(())
    }
}
