//! A replay in words: event by event, what happened, where that led and what was to be done. For
//! people who want to know why; contents are shown by their size and their beginning.

use std::cell::RefCell;
use std::path::Path;

use windlass_engine::control::Phase;
use windlass_engine::{Effect, Event, Settings};
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{Block, Delta, Notice, Source, Terminal, Transition};

use crate::error::JournalError;
use crate::fold::{Replayed, replay};
use crate::reader::Reader;
use crate::record::{Item, Record};
use crate::spoken::words;

/// One step in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The record.
    pub seq: u64,
    /// When it was written: milliseconds since 1970.
    pub at: u64,
    /// What happened.
    pub event: String,
    /// What the loop waited for before, and what it waits for now.
    pub phase: (&'static str, &'static str),
    /// The turn it is now.
    pub turn: u32,
    /// Why this iteration exists.
    pub transition: Option<Transition>,
    /// What was to be done.
    pub effects: Vec<String>,
    /// What was told.
    pub notices: Vec<Notice>,
    /// How the run ended, if it did.
    pub ending: Option<Ending>,
}

/// Walks through a journal. Decided under the settings the journal holds; a journal that holds none,
/// under these.
///
/// # Errors
///
/// When the journal cannot be read, or a later version wrote it.
pub fn walk(
    journal: &Path,
    settings: &Settings,
    mut see: impl FnMut(Walked),
) -> Result<(), JournalError> {
    // Read a second time beside the replay: the engine keeps the events it is given.
    let events = RefCell::new(Reader::open(journal)?);
    let trouble = RefCell::new(None);
    let mut before = "idle";
    let walked = |step: Replayed<'_>| {
        let event = match event_of(&mut events.borrow_mut(), step.seq) {
            Ok(event) => event,
            Err(error) => {
                trouble.borrow_mut().get_or_insert(error);
                return;
            }
        };
        let control = step.state.control;
        let now = waits_for(control.phase);
        let told = step.effects.iter().filter_map(|effect| match effect {
            Effect::Tell(notice) => Some(notice.clone()),
            _ => None,
        });
        let ending = step.effects.iter().find_map(|effect| match effect {
            Effect::Finish(ending) => Some(ending.clone()),
            _ => None,
        });
        see(Walked {
            seq: step.seq,
            at: step.at,
            event,
            phase: (std::mem::replace(&mut before, now), now),
            turn: control.turn,
            transition: control.transition,
            effects: step.effects.iter().filter_map(effect_words).collect(),
            notices: told.collect(),
            ending,
        });
    };
    replay(Reader::open(journal)?, settings, walked)?;
    match trouble.into_inner() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The event of this record. Records before it are passed over; one that was read is not read again,
/// so what the replay adds of itself has no event.
fn event_of(reader: &mut Reader, seq: u64) -> Result<String, JournalError> {
    while reader.seq() < seq || reader.seq() == 0 {
        match reader.next_record()? {
            Some(Record { seq: found, item: Item::Event(event), .. }) if found == seq => {
                return Ok(event_words(&event));
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok("(added, because a record was lost)".to_owned())
}

fn event_words(event: &Event) -> String {
    match event {
        Event::UserSubmitted { content, .. } => format!("user said {}", short(content)),
        Event::QueueChanged { place, content: None } => format!("queued input {place} taken back"),
        Event::QueueChanged { place, content: Some(content) } => {
            format!("queued input {place} now says {}", short(content))
        }
        Event::Adopted { messages } => format!("{} messages adopted", messages.len()),
        Event::Configured(settings) => format!("settings of {}", settings.model.name),
        Event::Resumed => "taken up again".to_owned(),
        Event::CompactionAsked { .. } => "compaction asked for".to_owned(),
        Event::Interrupted(why) => format!("interrupted: {why:?}"),
        Event::ModelStarted { attempt } => format!("{attempt} answers"),
        Event::ModelDelta { attempt, delta } => format!("{attempt} {}", delta_words(delta)),
        Event::ModelEnded { attempt, stop, usage } => format!(
            "{attempt} ended: {stop:?}, {} tokens in, {} out",
            usage.input_total().0,
            usage.output.0
        ),
        Event::ModelFailed { attempt, failure } => format!("{attempt} failed: {:?}", failure.kind),
        Event::ToolProgressed { ticket, .. } => format!("{ticket} says how far it is"),
        Event::ToolEnded { ticket, outcome } => {
            format!("{ticket} tool {}", if outcome.is_error { "failed" } else { "ended" })
        }
        Event::PermissionAnswered { ticket, answer, .. } => {
            let answer = format!("{answer:?}");
            format!("{ticket} permission: {}", answer.split([' ', '{']).next().unwrap_or_default())
        }
        Event::HookEnded { ticket, report } => {
            let verdict = format!("{:?}", report.verdict);
            format!("{ticket} hook: {}", verdict.split('(').next().unwrap_or_default())
        }
        Event::SummaryEnded { ticket, result, .. } => {
            format!("{ticket} summary {}", if result.is_ok() { "came" } else { "failed" })
        }
        Event::AttachmentArrived { kind, text } => {
            format!("{kind:?} arrived, {} bytes", text.len())
        }
        Event::ChoreAsked { chore, about } => {
            format!("{} asked for, {} bytes", chore.name(), about.len())
        }
        Event::TimerFired { ticket } => format!("{ticket} timer ran out"),
    }
}

fn delta_words(delta: &Delta) -> String {
    match delta {
        Delta::Text(text) => format!("says {} bytes", text.len()),
        Delta::Thinking(text) => format!("thinks {} bytes", text.len()),
        Delta::CallStarted { name, .. } => format!("begins to call {name}"),
        Delta::CallInput(text) => format!("writes {} bytes of input", text.len()),
        Delta::Block(block) => format!("block: {}", block_kind(block)),
        Delta::Call { call, .. } => format!("calls {} ({})", call.name, call.id),
        Delta::Usage(usage) => format!("has used {} tokens", usage.output.0),
        Delta::Cleared { results, .. } => format!("left out {results} results"),
        Delta::Raw(_) => "raw".to_owned(),
    }
}

fn block_kind(block: &Block) -> &'static str {
    match block {
        Block::Text(_) => "text",
        Block::Thinking(_) => "reasoning",
        Block::ToolUse(_) => "call",
        Block::ToolResult(_) => "result",
        Block::Media(_) => "media",
        Block::Provider(_) => "the provider's own",
    }
}

/// What was to be done, in a few words; what was only told in passing is left out.
fn effect_words(effect: &Effect) -> Option<String> {
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
        Effect::RunHook { point, .. } => format!("run hooks: {point:?}"),
        Effect::Keep { chore, text } => format!("keep a {}, {} bytes", chore.name(), text.len()),
        Effect::Summarize { ticket, request } if matches!(request.source, Source::Chore(_)) => {
            format!("ask beside the runs ({ticket})")
        }
        Effect::Summarize { ticket, .. } => format!("ask for a summary ({ticket})"),
        Effect::Spill { text, .. } => format!("keep {} bytes on disk", text.len()),
        Effect::Prefetch { kind, .. } => format!("look for {kind:?}"),
        Effect::SetTimer { after, .. } => format!("wait {} ms", after.0),
        Effect::Tell(Notice::MessageAdded(message)) => {
            format!("add {} ({:?})", message.id, message.origin)
        }
        Effect::Tell(Notice::Continued { transition, turn }) => {
            format!("go on: {transition}, turn {turn}")
        }
        Effect::Tell(Notice::Warning(text)) => format!("warn: {text}"),
        Effect::Tell(_) => return None,
        Effect::Finish(ending) => format!("end: {}", ending.terminal),
    })
}

fn waits_for(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Preparing => "preparing",
        Phase::Compacting(_) => "compacting",
        Phase::Streaming => "streaming",
        Phase::Waiting => "waiting",
        Phase::RunningTools => "running tools",
        Phase::Settling(_) => "settling a call that was put off",
        Phase::Attaching => "attaching",
        Phase::Stopping => "stopping",
        Phase::Ended(Terminal::Completed) => "completed",
        Phase::Ended(terminal) => terminal.name(),
    }
}

/// The beginning of what was said.
fn short(content: &[Block]) -> String {
    let words = words(content);
    let line: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("\"{}…\"", line.get(..end).unwrap_or_default()),
        None => format!("\"{line}\""),
    }
}

const SHOWN_CHARS: usize = 60;
