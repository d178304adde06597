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
    },
    SpanEnd {
        number: usize,
        calls: Vec<String>,
        to: String,
    },
}

impl ChangeLog {
    pub(super) fn take_span_line(&mut self, line: SpanLine) {
        match line {
            SpanLine::SpanStart { number, record, root, from, rewind } => {
                // A number that is not the next one belongs to a line that was lost.
                if number == self.spans.len() {
                    let (calls, to) = (Vec::new(), None);
                    self.spans.push(SnapshotSpan {
                        record,
                        root,
                        calls,
                        from,
                        to,
                        is_rewind: rewind,
                    });
                }
            }
            SpanLine::SpanEnd { number, calls, to } => {
                if let Some(span) = self.spans.get_mut(number) {
                    (span.calls, span.to) = (calls, Some(to));
                }
            }
        }
    }
}

impl SnapshotStore {
    /// Calls are about to change a working directory that stands as `from` says. Returns the number by
    /// which the span is ended.
    pub fn begin_span(
        &self,
        record: u64,
        root: PathBuf,
        from: String,
        is_rewind: bool,
    ) -> Result<usize, JournalError> {
        let mut log = self.lock_log();
        let number = log.spans.len();
        let line = SpanLine::SpanStart { number, record, root, from, rewind: is_rewind };
        self.append_span_line(&mut log, line)?;
        Ok(number)
    }

    /// The calls of a span have ended, and the working directory stands as `to` says.
    pub fn end_span(
        &self,
        number: usize,
        calls: Vec<String>,
        to: String,
    ) -> Result<(), JournalError> {
        self.append_span_line(&mut self.lock_log(), SpanLine::SpanEnd { number, calls, to })
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
