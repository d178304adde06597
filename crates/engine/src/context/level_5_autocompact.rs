//! Level 5: everything old becomes one summary; a boundary is set behind it.
//!
//! Frees        all but a recent tail.
//! Costs        a model call and the whole cached prefix.
//! Leaves alone pinned messages, the hidden first message, the last user request, the tail.
//!
//! The contract is checked here, before a compaction takes effect: the result fits its target and is
//! smaller than before, with the task list and the working directories in it word for word. A
//! summary that breaks it is replaced by a deterministic cut; if even the cut frees nothing,
//! nothing is done. Open calls cannot be lost: no request is made while there are any.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{Message, MessageId, MessageOrigin, Role, Tokens};

use super::projection::{is_permanent, is_request};
use super::{Memory, Report, Shrink, View, estimate, level_1_tool_result_budget, loss};
use crate::signal::Shrunk;
use crate::text;
use crate::transcript::Transcript;

/// The last summary and what is sent beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Older messages that survive verbatim, sent before the summary.
    pub before: Vec<MessageId>,
    /// The summary itself, a message of the transcript.
    pub summary: MessageId,
    /// The recent tail, sent after the summary.
    pub after: Vec<MessageId>,
}

/// What a compaction would keep and drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    before: Vec<MessageId>,
    after: Vec<MessageId>,
    dropped: Vec<MessageId>,
    /// What of the tail survives even when the tail does not.
    must_keep: Vec<MessageId>,
    target: Tokens,
}

impl Plan {
    /// How many messages are gone when this is what is left of the tail.
    fn gone(&self, after: &[MessageId]) -> usize {
        self.dropped.len() + self.after.len() - after.len()
    }

    /// Which these are.
    fn lost(&self, after: &[MessageId]) -> Vec<MessageId> {
        let tail = self.after.iter().filter(|id| !after.contains(id));
        self.dropped.iter().chain(tail).copied().collect()
    }
}

/// Earlier requests a cut quotes, and how much of each.
const QUOTED_REQUESTS: usize = 10;
const QUOTED_BYTES: usize = 200;

/// What a compaction would do now; `None` if there is nothing it could drop.
pub(crate) fn plan(memory: &mut Memory, view: &View<'_>) -> Option<Plan> {
    let now = view.tokens(memory);
    let target = Tokens(view.room.threshold.0 / 2).min(Tokens(now.0 / 2));
    let plan = plan_with_tail(memory, view, target, Tokens(target.0 / 2));
    match plan {
        // All that could go is recent: it must go all the same.
        None if now > view.room.threshold => plan_with_tail(memory, view, target, Tokens(0)),
        plan => plan,
    }
}

fn plan_with_tail(
    memory: &mut Memory,
    view: &View<'_>,
    target: Tokens,
    tail_room: Tokens,
) -> Option<Plan> {
    let shown: Vec<Arc<Message>> =
        memory.projection(view.transcript).messages.iter().cloned().collect();
    let tail_len = tail(&shown, memory, view, tail_room);
    let (old, recent) = shown.split_at(shown.len() - tail_len);
    let request = shown.iter().rposition(|message| is_request(message));
    let mut before = Vec::new();
    let mut dropped = Vec::new();
    for (index, message) in old.iter().enumerate() {
        if is_permanent(message) || Some(index) == request {
            before.push(message.id);
        } else {
            dropped.push(message.id);
        }
    }
    let after = recent.iter().map(|message| message.id).collect();
    let must_keep = recent
        .iter()
        .enumerate()
        .filter(|(index, message)| is_permanent(message) || Some(old.len() + index) == request)
        .map(|(_, message)| message.id)
        .collect();
    if dropped.is_empty() {
        return None;
    }
    let mut plan = Plan { before, after, dropped, must_keep, target };
    // What must stay may be more than the target. Then a summary still has to fit beside it.
    let stays = plan.before.iter().chain(&plan.must_keep);
    let stays: u64 =
        stays.filter_map(|id| view.transcript.entry(*id)).map(|e| memory.shown(e).raw).sum();
    let most = view.room.limit.min(view.tokens(memory));
    let summary = view.settings.context.summary_tokens.min(Tokens(most.0 / 4));
    let reachable = (view.estimate)(view.overhead + stays) + summary;
    plan.target = target.max(reachable).min(view.room.threshold.max(target));
    Some(plan)
}

/// Messages at the end that fit the room and begin where a turn or a request begins.
fn tail(shown: &[Arc<Message>], memory: &Memory, view: &View<'_>, room: Tokens) -> usize {
    let last_collapsed = memory.collapsed().last().map(|collapse| collapse.last);
    let mut raw = 0;
    let mut len = 0;
    for (count, message) in shown.iter().rev().enumerate() {
        let is_behind_summary = message.origin == MessageOrigin::Summary
            || last_collapsed.is_some_and(|last| message.id <= last);
        raw += view.transcript.entry(message.id).map_or(0, |entry| memory.shown(entry).raw);
        if is_behind_summary || (view.estimate)(raw) > room {
            break;
        }
        if message.role == Role::Assistant || is_request(message) {
            len = count + 1;
        }
    }
    len
}

/// What is to stand for the history.
pub(crate) struct Wish<'a> {
    /// The summary, if there is one.
    pub(crate) summary: Option<&'a str>,
    /// What goes with it word for word.
    pub(crate) carried: &'a str,
    /// A cut may take the summary's place.
    pub(crate) may_cut: bool,
}

/// Places a summary, or a cut in its place, and checks the contract.
pub(crate) fn place(
    memory: &mut Memory,
    transcript: &mut Transcript,
    tokens: &dyn Fn(u64) -> Tokens,
    (plan, wish): (&Plan, &Wish<'_>),
    report: &mut Report,
) -> (Shrunk, Option<Arc<Message>>) {
    let raw_before = memory.projection(transcript).raw;
    let before = tokens(raw_before);
    let summaries = wish.summary.into_iter().flat_map(|summary| {
        let words = text::summary(summary);
        [&plan.after, &plan.must_keep].map(|after| (Shrunk::Summary, words.clone(), after))
    });
    let quotes = quotes(transcript, &plan.dropped);
    let cuts = [&plan.after, &plan.must_keep].map(|after| {
        let words = text::cut(plan.gone(after), &quotes);
        (Shrunk::Cut, words, after)
    });
    let candidates = summaries.chain(cuts.into_iter().filter(|_| wish.may_cut));
    for (shrunk, mut words, after) in candidates {
        words.push_str(wish.carried);
        let message = Message::user_text(transcript.next_id(), MessageOrigin::Summary, words);
        let kept = plan.before.iter().chain(after).filter_map(|id| transcript.entry(*id));
        let kept: u64 = kept.map(|entry| memory.shown(entry).raw).sum();
        let raw_now = kept + estimate::message(&message);
        let now = tokens(raw_now);
        let is_last = shrunk == Shrunk::Cut && core::ptr::eq(after, &plan.must_keep);
        let is_kept = now <= plan.target || is_last;
        if !is_kept || now >= before {
            continue;
        }
        let boundary =
            Boundary { before: plan.before.clone(), summary: message.id, after: after.clone() };
        let losses = loss::words(transcript, &plan.lost(after));
        report.shrunk.push(Shrink { level: 5, freed: raw_before.saturating_sub(raw_now), losses });
        let message = transcript.push(message);
        memory.restart(boundary);
        return (shrunk, Some(message));
    }
    (Shrunk::Nothing, None)
}

/// Is there anything that [`cut_all`] would leave out?
pub(crate) fn has_older_history(memory: &mut Memory, transcript: &Transcript) -> bool {
    let shown = &memory.projection(transcript).messages;
    let request = shown.iter().rev().find(|message| is_request(message)).map(|message| message.id);
    shown.iter().any(|message| Some(message.id) != request && !is_permanent(message))
}

/// Leaves out everything but the last request and what is pinned, whatever that frees: for a history
/// that a provider keeps refusing.
pub(crate) fn cut_all(
    memory: &mut Memory,
    transcript: &mut Transcript,
    carried: &str,
    report: &mut Report,
) -> Arc<Message> {
    let shown: Vec<Arc<Message>> = memory.projection(transcript).messages.iter().cloned().collect();
    let raw_before = memory.projection(transcript).raw;
    let request = shown.iter().rposition(|message| is_request(message));
    let mut boundary =
        Boundary { before: Vec::new(), summary: transcript.next_id(), after: Vec::new() };
    let mut dropped = Vec::new();
    for (index, message) in shown.iter().enumerate() {
        match message {
            _ if Some(index) == request => boundary.after.push(message.id),
            message if is_permanent(message) => boundary.before.push(message.id),
            message => dropped.push(message.id),
        }
    }
    let mut words = text::cut(dropped.len(), &quotes(transcript, &dropped));
    words.push_str(carried);
    let losses = loss::words(transcript, &dropped);
    let message =
        transcript.push(Message::user_text(boundary.summary, MessageOrigin::Summary, words));
    memory.restart(boundary);
    let freed = raw_before.saturating_sub(memory.projection(transcript).raw);
    report.shrunk.push(Shrink { level: 5, freed, losses });
    message
}

/// The beginnings of earlier requests, so that a cut still says what it was about.
fn quotes(transcript: &Transcript, dropped: &[MessageId]) -> Vec<String> {
    dropped
        .iter()
        .filter_map(|id| transcript.message(*id))
        .filter(|message| is_request(message))
        .take(QUOTED_REQUESTS)
        .map(|message| {
            let words = message.text();
            let end = level_1_tool_result_budget::floor(&words, QUOTED_BYTES);
            String::from(words.get(..end).unwrap_or(""))
        })
        .collect()
}
