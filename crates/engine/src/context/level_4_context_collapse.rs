//! Level 4: turns already digested are staged, and sent as one line when space is short.
//!
//! Frees        calls, results and remarks of one old turn at a time.
//! Costs        a break of the cached prefix per batch of committed collapses.
//! Leaves alone recent turns, turns with pinned messages, what the user said.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use windlass_vocabulary::{Message, MessageId, MessageOrigin};

use super::{Memory, Report, Shrink, View, estimate};
use crate::context::level_1_tool_result_budget::floor;
use crate::transcript::{Entry, Transcript};

/// A stretch of the transcript that may be sent as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collapse {
    /// Its first message: an answer with calls.
    pub first: MessageId,
    /// Its last message: the results.
    pub last: MessageId,
    /// What is sent instead.
    pub line: Entry,
}

/// A batch frees at least this share of the window, in percent, so that the cached prefix breaks
/// rarely.
const BATCH_PERCENT: u8 = 2;
/// Bytes of a call's input that the line keeps.
const INPUT_KEPT: usize = 120;

pub(super) fn apply(memory: &mut Memory, view: &View<'_>, report: &mut Report) {
    let context = &view.settings.context;
    if context.collapse_percent > 100 {
        return;
    }
    stage(memory, view);
    if view.tokens(memory) > view.room.percent(context.collapse_percent) {
        let worthwhile = view.room.percent(BATCH_PERCENT);
        let is_enough = |freed| (view.estimate)(freed) >= worthwhile;
        commit(memory, view.transcript, &is_enough, report);
    }
}

/// Are there stretches that could be committed?
pub(crate) fn is_staged(memory: &Memory) -> bool {
    memory.committed < memory.collapses.len()
}

/// Commits every staged stretch.
pub(crate) fn drain(memory: &mut Memory, transcript: &Transcript, report: &mut Report) {
    commit(memory, transcript, &|_| false, report);
}

/// Stages every old turn that is not staged yet.
fn stage(memory: &mut Memory, view: &View<'_>) {
    let from = memory.collapses.last().map_or(MessageId(0), |collapse| collapse.last.next());
    let from = from.max(memory.after_summary());
    let from = memory.snipped_before.map_or(from, |first_kept| from.max(first_kept));
    let starts = view.transcript.turns_from(from);
    let recent = usize::try_from(view.settings.context.recent_turns).unwrap_or(usize::MAX);
    for first in starts.iter().take(starts.len().saturating_sub(recent)) {
        let last = first.next();
        let (Some(answer), Some(results)) =
            (view.transcript.message(*first), view.transcript.message(last))
        else {
            continue;
        };
        if results.origin != MessageOrigin::ToolResults || answer.pinned || results.pinned {
            continue;
        }
        let message = Message::user_text(*first, MessageOrigin::Summary, line(answer, results));
        let raw = estimate::message(&message);
        let line = Entry { message: Arc::new(message), raw };
        memory.collapses.push(Collapse { first: *first, last, line });
    }
}

/// Commits staged stretches, the oldest first, until enough is freed.
fn commit(
    memory: &mut Memory,
    transcript: &Transcript,
    is_enough: &dyn Fn(u64) -> bool,
    report: &mut Report,
) {
    let mut freed = 0;
    let mut losses = vec![];
    let mut first = None;
    for collapse in memory.collapses.iter().skip(memory.committed) {
        if first.is_some() && is_enough(freed) {
            break;
        }
        first.get_or_insert(collapse.first);
        let whole: u64 = [collapse.first, collapse.last]
            .iter()
            .filter_map(|id| transcript.entry(*id))
            .map(|entry| memory.shown(entry).raw)
            .sum();
        freed += whole.saturating_sub(collapse.line.raw);
        losses.push(format!("the turn of message {}", collapse.first));
    }
    if let Some(first) = first {
        memory.committed += losses.len();
        let body_start = memory.body_start();
        memory.projection.forget_from(first, body_start);
        report.shrunk.push(Shrink { level: 4, freed, losses });
    }
}

/// One line for a whole turn: which calls were made and whether they failed.
fn line(answer: &Message, results: &Message) -> String {
    let mut line = String::from("[An earlier turn, in short:");
    for call in answer.tool_calls() {
        let input = call.input.as_str();
        let short = input.get(..floor(input, INPUT_KEPT)).unwrap_or("");
        let dots = if short.len() < input.len() { "…" } else { "" };
        let is_error =
            results.tool_results().any(|result| result.call == call.id && result.is_error);
        let end = if is_error { "failed" } else { "done" };
        line.push_str(&format!(" {} {short}{dots}: {end}.", call.name));
    }
    line.push(']');
    line
}
