//! One moment of a session: the state after a record, the engine's effects, and the request. Found
//! by a replay from the beginning.

use std::path::Path;

use windlass_engine::context::inventory;
use windlass_engine::{Effect, Settings};
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{Message, ModelRequest, Role, Transition};

use super::{TracedText, trace_builder};
use crate::error::JournalError;
use crate::explain::{describe_effect, describe_event, phase_name};
use crate::fold::{ReplayStep, ReplayVisitor, ReplayedEvent, replay_with_visitor};
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::{JournalNote, RecordItem};
use crate::variant_names::describe_origin;

#[derive(Debug, Default)]
pub struct SessionMoment {
    pub seq: u64,
    pub at: u64,
    /// Describes the event or the note.
    pub event: String,
    pub before: &'static str,
    pub after: &'static str,
    pub turn: u32,
    pub transition: Option<Transition>,
    pub effects: Vec<String>,
    /// The inputs of the rules, by name.
    pub facts: Vec<(&'static str, String)>,
    pub context: Option<ContextUsage>,
    /// The number of messages in the transcript, and the last of them.
    pub messages: usize,
    pub last_messages: Vec<MomentMessage>,
    /// The record of the last request.
    pub request_seq: Option<u64>,
}

#[derive(Debug)]
pub struct MomentMessage {
    pub id: String,
    pub role: Role,
    pub origin: String,
    pub text: TracedText,
    pub calls: Vec<String>,
}

/// The state after this record.
pub fn read_moment(
    journal: &Path,
    settings: &Settings,
    seq: u64,
) -> Result<SessionMoment, JournalError> {
    let mut reader = JournalReader::open(journal)?;
    reader.stop_after(seq);
    let mut moment = SessionMoment { before: "idle", after: "idle", ..SessionMoment::default() };
    let folded =
        replay_with_visitor(reader, settings, MomentVisitor { moment: &mut moment, wanted: seq })?;
    let state = &folded.state;
    moment.context = Some(inventory(state, &folded.settings));
    let entries = state.transcript.entries();
    moment.messages = entries.len();
    let skipped = entries.len().saturating_sub(MESSAGES_SHOWN);
    moment.last_messages =
        entries.iter().skip(skipped).map(|entry| show_message(&entry.message)).collect();
    let control = state.control;
    moment.facts = vec![
        ("phase", phase_name(control.phase).to_owned()),
        ("turn", control.turn.to_string()),
        ("calls open", yes_or_no(control.calls_open)),
        ("failure held back", yes_or_no(control.withheld)),
        ("output recoveries", control.output_recoveries.to_string()),
        ("place in the model chain", control.model.to_string()),
        ("compacted in this run", yes_or_no(control.auto_compact.has_run)),
        ("failed summaries in a row", control.auto_compact.failures.to_string()),
        ("stop hook objections", control.stop_hook.blocks.to_string()),
        ("budget nudges", control.nudges.used.to_string()),
        ("permission mode", state.tool_context.policy.mode.name().to_owned()),
        ("spent", state.ledger.spent().0.to_string()),
        ("set aside", state.ledger.reserved().0.to_string()),
        ("input waiting", state.inbox.queued.len().to_string()),
    ];
    Ok(moment)
}

fn yes_or_no(fact: bool) -> String {
    (if fact { "yes" } else { "no" }).to_owned()
}

fn show_message(message: &Message) -> MomentMessage {
    MomentMessage {
        id: message.id.to_string(),
        role: message.role,
        origin: describe_origin(message.origin),
        text: TracedText::new(&message.text(), 0, trace_builder::RESULT_BYTES_MAX),
        calls: message.tool_calls().map(|call| format!("{} ({})", call.name, call.id)).collect(),
    }
}

struct MomentVisitor<'a> {
    moment: &'a mut SessionMoment,
    wanted: u64,
}

impl ReplayVisitor for MomentVisitor<'_> {
    fn visit_event(&mut self, replayed: ReplayedEvent<'_>) {
        let moment = &mut *self.moment;
        moment.seq = replayed.seq;
        moment.at = replayed.at;
        moment.before = phase_name(replayed.state.control.phase);
        if replayed.seq == self.wanted {
            moment.event = describe_event(replayed.event);
        }
        moment.effects.clear();
    }

    fn visit_step(&mut self, step: ReplayStep<'_>) {
        let moment = &mut *self.moment;
        let control = step.state.control;
        moment.after = phase_name(control.phase);
        moment.turn = control.turn;
        moment.transition = control.transition;
        if step.seq == self.wanted {
            moment.effects.extend(step.effects.iter().filter_map(describe_effect));
        }
        if step.effects.iter().any(|effect| matches!(effect, Effect::CallModel(_))) {
            moment.request_seq = Some(step.seq);
        }
    }

    fn visit_entry(&mut self, entry: JournalEntry) {
        if let JournalEntry::Record(record) = entry
            && record.seq == self.wanted
            && let RecordItem::Note(note) = record.item
        {
            self.moment.seq = record.seq;
            self.moment.at = record.at;
            self.moment.event = format!("note: {}", describe_note(&note));
            self.moment.effects.clear();
        }
    }
}

/// Describes a note for display.
fn describe_note(note: &JournalNote) -> String {
    match note {
        JournalNote::Intended(intent) => format!("{} is about to start", intent.tool),
        JournalNote::Billed(row) => {
            let tokens = row.billed.input_total().0;
            format!(
                "a request to {} was paid for: {tokens} tokens in, {} out",
                row.model, row.billed.output.0
            )
        }
        JournalNote::Asked(ticket) => format!("the user is asked ({ticket})"),
        JournalNote::Ended(ended) => format!("the run ended: {}", ended.terminal),
        JournalNote::Context(usage) => format!("the window holds {} tokens", usage.total.0),
        JournalNote::Continued(transition, turn) => format!("go on: {transition}, turn {turn}"),
        JournalNote::Titled(title) => format!("the session is called \"{title}\""),
        JournalNote::Named(_) => "the next message has a name in the transcript".to_owned(),
        JournalNote::Unqueued(_) => "input that waited was taken back".to_owned(),
        JournalNote::Lines(_) => "names of adopted messages".to_owned(),
        JournalNote::Unknown(json) => json.chars().take(NOTE_CHARS_MAX).collect(),
    }
}

const NOTE_CHARS_MAX: usize = 200;

/// The requests sent at these records. Missing ones are left out.
pub fn read_requests(
    journal: &Path,
    settings: &Settings,
    wanted: &[u64],
) -> Result<Vec<(u64, ModelRequest)>, JournalError> {
    let mut reader = JournalReader::open(journal)?;
    reader.stop_after(wanted.iter().copied().max().unwrap_or(0));
    let mut found = Vec::new();
    replay_with_visitor(reader, settings, RequestVisitor { wanted, found: &mut found })?;
    Ok(found)
}

struct RequestVisitor<'a> {
    wanted: &'a [u64],
    found: &'a mut Vec<(u64, ModelRequest)>,
}

impl ReplayVisitor for RequestVisitor<'_> {
    fn visit_step(&mut self, step: ReplayStep<'_>) {
        if !self.wanted.contains(&step.seq) {
            return;
        }
        for effect in step.effects {
            if let Effect::CallModel(request) | Effect::Summarize { request, .. } = effect {
                self.found.push((step.seq, ModelRequest::clone(request)));
                return;
            }
        }
    }
}

const MESSAGES_SHOWN: usize = 50;
