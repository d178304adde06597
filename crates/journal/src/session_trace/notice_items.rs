//! Converts notices to items: retries, withdrawn answers, model switches, compactions, notes.

use windlass_vocabulary::{AttachmentKind, Message, MessageOrigin, Notice};

use super::trace_builder::{RESULT_BYTES_MAX, TraceBuilder, call_at, push_item};
use super::{SessionTrace, TraceDetail, TracePlace, TracedText};
use crate::variant_names::{attachment_name, describe_origin, hook_point_name};

impl TraceBuilder {
    pub(super) fn take_notice(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        notice: &Notice,
    ) {
        let detail = match notice {
            Notice::RunStarted => {
                self.start_run(trace, place);
                return;
            }
            Notice::Continued { transition, turn } => {
                self.turn = (*turn).max(1);
                let place = TracePlace { turn: self.turn, ..place };
                return push_item(trace, place, TraceDetail::Continued(*transition));
            }
            Notice::RequestStarted { attempt, input_estimate, .. } => {
                self.estimate = *input_estimate;
                let index = self.attempts.get(attempt).copied();
                if let Some(request) = index.and_then(|index| trace.requests.get_mut(index)) {
                    request.shape.estimate = *input_estimate;
                }
                return;
            }
            Notice::ToolDenied { call, why } => {
                let item = self.calls.get(&call.id).copied();
                if let Some(call) = item.and_then(|item| call_at(trace, item)) {
                    call.denied = Some(why.clone());
                }
                if let Some(item) = item.and_then(|item| trace.items.get_mut(item)) {
                    item.ended_at = Some(place.at);
                }
                return;
            }
            Notice::Retracted { why, .. } => {
                for item in std::mem::take(&mut self.answer_items) {
                    if let Some(item) = trace.items.get_mut(item) {
                        item.is_withdrawn = true;
                    }
                }
                self.partial = None;
                TraceDetail::Retracted { why: why.clone() }
            }
            Notice::Sealed { .. } => TraceDetail::Sealed,
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => TraceDetail::Retry {
                failure: failure.clone(),
                attempt: *attempt,
                attempts_max: *attempts_max,
                wait_millis: wait.0,
            },
            Notice::ModelSwitched { from, to, why } => {
                TraceDetail::Switched { from: from.clone(), to: to.clone(), why: why.clone() }
            }
            Notice::Repaired { why } => TraceDetail::Repaired { why: why.clone() },
            Notice::ContextShrunk { level, freed, losses } => {
                TraceDetail::Shrunk { level: *level, freed: *freed, losses: losses.clone() }
            }
            Notice::HookMessage { point, name, text } => {
                let name = format!("{} ({name})", hook_point_name(*point));
                note("hook", name, text, place.seq)
            }
            Notice::Warning(text) => note("warning", String::new(), text, place.seq),
            Notice::MessageAdded(message) => match message_note(message, place.seq) {
                Some(detail) => detail,
                None => return,
            },
            Notice::AnswerStarted { .. }
            | Notice::Streamed { .. }
            | Notice::ToolStarted(_)
            | Notice::ToolProgressed { .. }
            | Notice::ToolEnded { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Billed { .. }
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::RunEnded(_) => return,
        };
        push_item(trace, place, detail);
    }
}

fn note(from: &'static str, name: String, text: &str, seq: u64) -> TraceDetail {
    TraceDetail::Note { from, name, text: TracedText::new(text, seq, RESULT_BYTES_MAX) }
}

/// Messages that the loop and hooks added.
fn message_note(message: &Message, seq: u64) -> Option<TraceDetail> {
    let text = message.text();
    Some(match message.origin {
        MessageOrigin::Meta(_) => note("loop", describe_origin(message.origin), &text, seq),
        MessageOrigin::Hook => note("hook", String::new(), &text, seq),
        MessageOrigin::Attachment(AttachmentKind::QueuedInput) => return None,
        MessageOrigin::Attachment(kind) => {
            note("attachment", attachment_name(kind).to_owned(), &text, seq)
        }
        MessageOrigin::Display => note("command", String::new(), &text, seq),
        MessageOrigin::User
        | MessageOrigin::Model
        | MessageOrigin::ToolResults
        | MessageOrigin::Summary => return None,
    })
}
