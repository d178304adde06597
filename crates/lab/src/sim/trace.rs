//! One line per event, in fixed columns: virtual time, number, what happened, where the loop is now,
//! turn, what it did.

use std::fmt::{self, Write};

use windlass_engine::{Effect, Event, State};
use windlass_vocabulary::{Delta, Notice, RequestSource};

pub const TRACE_HEADER: &str =
    "   time     #  event                              phase           turn  effects";

#[must_use]
pub fn render_line(
    now: u64,
    number: u64,
    event: &Event,
    is_stale: bool,
    after: &TracedStep<'_>,
) -> String {
    let mut phase = format!("{:?}", after.state.control.phase);
    phase.truncate(15);
    let mark = if is_stale { "†" } else { " " };
    let mut what = describe_event(event);
    if what.chars().count() > 34 {
        what = what.chars().take(34).collect();
    }
    let turn = after.state.control.turn;
    let mut line = format!("{now:>7} {number:>5} {mark}{what:<34} {phase:<15} {turn:>4} ");
    for effect in after.effects {
        if let Some(words) = describe_effect(effect) {
            let _ = write!(line, " {words}");
        }
    }
    line
}

#[derive(Debug)]
pub struct TracedStep<'a> {
    pub state: &'a State,
    pub effects: &'a [Effect],
}

fn describe_event(event: &Event) -> String {
    match event {
        Event::UserSubmitted { pinned, .. } => {
            format!("user{}", if *pinned { " pinned" } else { "" })
        }
        Event::QueueChanged { place, content } => {
            format!("queued {place} {}", if content.is_some() { "changed" } else { "taken back" })
        }
        Event::Adopted { messages } => format!("adopted {}", messages.len()),
        Event::Configured(_) => "configured".to_owned(),
        Event::CompactionAsked { focus } => format!("compact {focus:?}"),
        Event::ChoreAsked { chore, .. } => format!("asked for {}", chore.name()),
        Event::Interrupted(why) => format!("interrupt {why:?}"),
        Event::ModelStarted { attempt, .. } => format!("{attempt} started"),
        Event::ModelDelta { attempt, delta } => format!("{attempt} {}", describe_delta(delta)),
        Event::ModelEnded { attempt, stop, .. } => format!("{attempt} ended {stop:?}"),
        Event::ModelFailed { attempt, failure } => format!("{attempt} failed {:?}", failure.kind),
        Event::ToolProgressed { ticket, .. } => format!("{ticket} tool says"),
        Event::ToolEnded { ticket, outcome } => {
            format!("{ticket} tool {}", if outcome.is_error { "failed" } else { "ended" })
        }
        Event::PermissionAnswered { ticket, answer, .. } => format!("{ticket} answer {answer:?}"),
        Event::HookEnded { ticket, report } => format!("{ticket} hook {:?}", report.verdict),
        Event::SummaryEnded { ticket, result, .. } => match result {
            Ok(text) => format!("{ticket} summary of {} bytes", text.len()),
            Err(failure) => format!("{ticket} summary failed {:?}", failure.kind),
        },
        Event::AttachmentArrived { kind, .. } => format!("attachment {kind:?}"),
        Event::Resumed => "resumed".to_owned(),
        Event::TimerFired { ticket } => format!("{ticket} timer"),
    }
}

fn describe_delta(delta: &Delta) -> String {
    match delta {
        Delta::Text(_) => "text".to_owned(),
        Delta::Thinking(_) => "thinking".to_owned(),
        Delta::CallStarted { id, .. } => format!("opens {id}"),
        Delta::CallInput(_) => "input".to_owned(),
        Delta::Block(_) => "block".to_owned(),
        Delta::Call { call, inspection } => {
            let refused = if inspection.problem.is_some() { " refused" } else { "" };
            format!("calls {} {}{refused}", call.id, call.name)
        }
        Delta::Usage(_) => "usage".to_owned(),
        Delta::Cleared { results, .. } => format!("cleared {results}"),
        Delta::Raw(_) => "raw".to_owned(),
    }
}

/// A short description of an effect; `None` for uninteresting ones.
fn describe_effect(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::CallModel(request) => {
            format!("call:{}({})", request.attempt, request.messages.len())
        }
        Effect::CancelModel { attempt } => format!("cancel:{attempt}"),
        Effect::StartTool { ticket, granted, .. } => format!("start:{ticket}={}", granted.get().id),
        Effect::CancelTool { ticket } => format!("cancel:{ticket}"),
        Effect::AskPermission { ticket, question } => format!("ask:{ticket}={}", question.call.id),
        Effect::RunHook { ticket, point, .. } => match ticket {
            Some(ticket) => format!("hook:{ticket}={point:?}"),
            None => format!("hook:{point:?}"),
        },
        Effect::Summarize { ticket, request } => match request.source {
            RequestSource::ToolLabel => format!("label:{ticket}"),
            RequestSource::Chore(chore) => format!("{}:{ticket}", chore.name()),
            RequestSource::Main | RequestSource::Compaction | RequestSource::Aside => {
                format!("summarize:{ticket}({})", request.messages.len())
            }
        },
        Effect::Keep { chore, .. } => format!("keep:{}", chore.name()),
        Effect::Spill { name, .. } => format!("spill:{name}"),
        Effect::Prefetch { kind, .. } => format!("prefetch:{kind:?}"),
        Effect::SetTimer { ticket, after } => format!("timer:{ticket}={}ms", after.0),
        Effect::Finish(ending) => {
            let outcome = ending.outcome.map(|outcome| format!("/{outcome}"));
            format!("FINISH:{}{}", ending.terminal, outcome.unwrap_or_default())
        }
        Effect::Tell(notice) => return describe_notice(notice),
    })
}

fn describe_notice(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::RunStarted => "RUN".to_owned(),
        Notice::Retracted { attempt, .. } => format!("retract:{attempt}"),
        Notice::Sealed { attempt } => format!("seal:{attempt}"),
        Notice::ToolDenied { call, .. } => format!("deny:{}", call.id),
        Notice::PermissionWithdrawn(ticket) => format!("withdraw:{ticket}"),
        Notice::ModelSwitched { to, .. } => format!("switch:{to}"),
        Notice::Repaired { .. } => "repair".to_owned(),
        Notice::ContextShrunk { level, .. } => format!("shrink:{level}"),
        Notice::Continued { transition, .. } => format!("GO:{transition}"),
        Notice::InputQueued(_) => "queued".to_owned(),
        Notice::FilesChanged { .. } => "files changed".to_owned(),
        Notice::ToolsLabelled(_) => "labelled".to_owned(),
        Notice::Warning(_) => "warning".to_owned(),
        Notice::RequestStarted { .. }
        | Notice::Streamed { .. }
        | Notice::MessageAdded(_)
        | Notice::ToolStarted(_)
        | Notice::ToolProgressed { .. }
        | Notice::ToolEnded { .. }
        | Notice::PermissionAsked { .. }
        | Notice::RetryScheduled { .. }
        | Notice::HookMessage { .. }
        | Notice::Hook(_)
        | Notice::SessionTitled(_)
        | Notice::PromptSuggested(_)
        | Notice::SideQuestionAnswered(_)
        | Notice::Billed { .. }
        | Notice::MaxTurnsReached { .. }
        | Notice::SubagentNotice { .. }
        | Notice::AnswerStarted { .. }
        | Notice::RunEnded(_) => return None,
    })
}

/// A hash of whatever is written to it, for comparing large values without keeping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Takes in a value as it would be printed.
    pub fn update(&mut self, value: &impl fmt::Debug) {
        // Writing into a number cannot fail.
        let _ = write!(self, "{value:?}");
    }
}

impl Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.mix(u64::from(*byte));
        }
        Ok(())
    }
}

impl Fingerprint {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
}
