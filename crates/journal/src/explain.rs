//! Describes a replay event by event: what happened, how the state changed, and which effects
//! followed. For users who want to know why; contents are shown by size and beginning.

use std::cell::RefCell;
use std::path::Path;

use windlass_engine::control::Phase;
use windlass_engine::{Effect, Event, Settings};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{ContentBlock, Delta, Notice, RequestSource, Terminal, Transition};

use crate::conversation::find_own_words;
use crate::error::JournalError;
use crate::fold::{ReplayStep, replay};
use crate::journal_reader::JournalReader;
use crate::record::{JournalRecord, RecordItem};
use crate::variant_names::{
    attachment_name, describe_origin, failure_name, hook_point_name, hook_verdict_name,
    interrupt_name, permission_answer_name, stop_reason_name,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedStep {
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at: u64,
    pub event: String,
    /// The phase before and after.
    pub phase: (&'static str, &'static str),
    pub turn: u32,
    /// Why this iteration of the loop exists.
    pub transition: Option<Transition>,
    pub effects: Vec<String>,
    pub notices: Vec<Notice>,
    /// How the run ended, if it did.
    pub ending: Option<RunEnding>,
}

/// Describes a journal. Uses the settings in the journal, or these if it contains none.
pub fn explain_journal(
    journal: &Path,
    settings: &Settings,
    mut on_step: impl FnMut(ExplainedStep),
) -> Result<(), JournalError> {
    // The events are read a second time beside the replay, because the engine consumes those it
    // gets.
    let events = RefCell::new(EventReader { reader: JournalReader::open(journal)?, next: None });
    let trouble = RefCell::new(None);
    let mut before = "idle";
    let explain_step = |step: ReplayStep<'_>| {
        let event = match events.borrow_mut().describe_event_at(step.seq) {
            Ok(event) => event,
            Err(error) => {
                trouble.borrow_mut().get_or_insert(error);
                return;
            }
        };
        let control = step.state.control;
        let now = phase_name(control.phase);
        let mut notices = Vec::new();
        let mut ending = None;
        for effect in step.effects {
            if let Effect::Tell(notice) = effect {
                notices.push(notice.clone());
            } else if let Effect::Finish(finished) = effect {
                ending.get_or_insert_with(|| finished.clone());
            }
        }
        on_step(ExplainedStep {
            seq: step.seq,
            at: step.at,
            event,
            phase: (std::mem::replace(&mut before, now), now),
            turn: control.turn,
            transition: control.transition,
            effects: step.effects.iter().filter_map(describe_effect).collect(),
            notices,
            ending,
        });
    };
    replay(JournalReader::open(journal)?, settings, explain_step)?;
    match trouble.into_inner() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Reads the events of a journal alongside its replay.
struct EventReader {
    reader: JournalReader,
    /// The next event, not reached by the replay yet.
    next: Option<JournalRecord>,
}

impl EventReader {
    /// Describes the event of this record. Earlier records are skipped, and events that the replay
    /// adds have no record.
    fn describe_event_at(&mut self, seq: u64) -> Result<String, JournalError> {
        loop {
            let next = match self.next.take() {
                Some(next) => Some(next),
                None => self.reader.next_record()?,
            };
            match next {
                Some(JournalRecord { seq: found, item: RecordItem::Event(event), .. })
                    if found == seq =>
                {
                    return Ok(describe_event(&event));
                }
                Some(later) if later.seq > seq => {
                    self.next = Some(later);
                    break;
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok("(added, because a record was lost)".to_owned())
    }
}

pub(crate) fn describe_event(event: &Event) -> String {
    match event {
        Event::UserSubmitted { content, .. } => format!("user said {}", quote_beginning(content)),
        Event::QueueChanged { place, content: None } => format!("queued input {place} taken back"),
        Event::QueueChanged { place, content: Some(content) } => {
            format!("queued input {place} now says {}", quote_beginning(content))
        }
        Event::Adopted { messages } => format!("{} messages adopted", messages.len()),
        Event::Configured(settings) => format!("settings of {}", settings.model.name),
        Event::Resumed => "taken up again".to_owned(),
        Event::CompactionAsked { .. } => "compaction asked for".to_owned(),
        Event::Interrupted(why) => format!("interrupted: {}", interrupt_name(*why)),
        Event::ModelStarted { attempt, .. } => format!("{attempt} answers"),
        Event::ModelDelta { attempt, delta } => format!("{attempt} {}", describe_delta(delta)),
        Event::ModelEnded { attempt, stop, usage } => format!(
            "{attempt} ended: {}, {} tokens in, {} out",
            stop_reason_name(*stop),
            usage.input_total().0,
            usage.output.0
        ),
        Event::ModelFailed { attempt, failure } => {
            format!("{attempt} failed: {}", failure_name(failure.kind))
        }
        Event::ToolProgressed { ticket, .. } => format!("{ticket} says how far it is"),
        Event::ToolEnded { ticket, outcome } => {
            format!("{ticket} tool {}", if outcome.is_error { "failed" } else { "ended" })
        }
        Event::PermissionAnswered { ticket, answer, .. } => {
            format!("{ticket} permission: {}", permission_answer_name(answer))
        }
        Event::HookEnded { ticket, report } => {
            format!("{ticket} hook: {}", hook_verdict_name(&report.verdict))
        }
        Event::SummaryEnded { ticket, result, .. } => {
            format!("{ticket} summary {}", if result.is_ok() { "came" } else { "failed" })
        }
        Event::AttachmentArrived { kind, text } => {
            format!("{} arrived, {} bytes", attachment_name(*kind), text.len())
        }
        Event::ChoreAsked { chore, about } => {
            format!("{} asked for, {} bytes", chore.name(), about.len())
        }
        Event::TimerFired { ticket } => format!("{ticket} timer ran out"),
    }
}

fn describe_delta(delta: &Delta) -> String {
    match delta {
        Delta::Text(text) => format!("says {} bytes", text.len()),
        Delta::Thinking(text) => format!("thinks {} bytes", text.len()),
        Delta::CallStarted { name, .. } => format!("begins to call {name}"),
        Delta::CallInput(text) => format!("writes {} bytes of input", text.len()),
        Delta::Block(block) => format!("block: {}", block_kind(block)),
        Delta::Call { call, .. } => format!("calls {} ({})", call.name, call.id),
        Delta::Usage(usage) => format!("has used {} output tokens", usage.output.0),
        Delta::Cleared { results, .. } => format!("left out {results} results"),
        Delta::Raw(_) => "raw".to_owned(),
    }
}

fn block_kind(block: &ContentBlock) -> &'static str {
    match block {
        ContentBlock::Text(_) => "text",
        ContentBlock::Thinking(_) => "reasoning",
        ContentBlock::ToolUse(_) => "call",
        ContentBlock::ToolResult(_) => "result",
        ContentBlock::Media(_) => "media",
        ContentBlock::Provider(_) => "the provider's own",
    }
}

/// Describes an effect in a few words; `None` for notices that change nothing.
pub(crate) fn describe_effect(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::CallModel(request) => format!("ask {} ({})", request.model, request.attempt),
        Effect::CancelModel { attempt } => format!("drop {attempt}"),
        Effect::StartTool { ticket, granted, .. } => {
            format!("start {} ({ticket})", granted.get().name)
        }
        Effect::CancelTool { ticket } => format!("stop {ticket}"),
        Effect::AskPermission { ticket, question } => {
            format!("ask about {} ({ticket})", question.call.name)
        }
        Effect::RunHook { point, .. } => format!("run hooks: {}", hook_point_name(*point)),
        Effect::Keep { chore, text } => format!("keep a {}, {} bytes", chore.name(), text.len()),
        Effect::Summarize { ticket, request }
            if matches!(request.source, RequestSource::Chore(_)) =>
        {
            format!("ask beside the runs ({ticket})")
        }
        Effect::Summarize { ticket, .. } => format!("ask for a summary ({ticket})"),
        Effect::Spill { text, .. } => format!("keep {} bytes on disk", text.len()),
        Effect::Prefetch { kind, .. } => format!("look for {}", attachment_name(*kind)),
        Effect::SetTimer { after, .. } => format!("wait {} ms", after.0),
        Effect::Tell(Notice::MessageAdded(message)) => {
            format!("add {} ({})", message.id, describe_origin(message.origin))
        }
        Effect::Tell(Notice::Continued { transition, turn }) => {
            format!("go on: {transition}, turn {turn}")
        }
        Effect::Tell(Notice::Warning(text)) => format!("warn: {text}"),
        Effect::Tell(_) => return None,
        Effect::Finish(ending) => format!("end: {}", ending.terminal),
    })
}

pub(crate) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Preparing => "preparing",
        Phase::Compacting(_) => "compacting",
        Phase::Streaming => "streaming",
        Phase::Waiting => "waiting",
        Phase::RunningTools => "running tools",
        Phase::Settling(_) => "settling a deferred call",
        Phase::Attaching => "attaching",
        Phase::Stopping => "stopping",
        Phase::Ended(Terminal::Completed) => "completed",
        Phase::Ended(terminal) => terminal.name(),
    }
}

/// The beginning of a message, in quotes.
fn quote_beginning(content: &[ContentBlock]) -> String {
    let words = find_own_words(content);
    let line: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("\"{}…\"", line.get(..end).unwrap_or_default()),
        None => format!("\"{line}\""),
    }
}

const SHOWN_CHARS: usize = 60;
