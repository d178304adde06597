//! Removes the texts of a journal for a bug report, so that it still replays the same way.
//!
//! Every letter and digit of a text is replaced by another one, derived from the text and a key
//! that is discarded: equal texts stay equal, different ones stay different, and sizes and
//! estimates are preserved. Permissions are replaced by rules that decide each call as it was
//! decided. Sizes, times, order, model names and the names of tools in a note remain. The cost of a
//! call is removed, because its estimate depends on the text.

mod scrub_event;
mod text_scrambler;

use std::collections::BTreeMap;
use std::path::Path;

use windlass_engine::settings::Rule;
use windlass_engine::{Effect, Settings};
use windlass_vocabulary::{Notice, SessionId, ToolCallId, ToolName};

use crate::error::JournalError;
use crate::fold::{ReplayStep, replay};
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::{
    JournalHead, JournalNote, JournalRecord, NewRecordGroup, NewRecordItem, RecordItem, ToolIntent,
    encode_group, encode_head,
};
use text_scrambler::TextScrambler;

/// The lines of the scrubbed journal. The caller must discard `key`: it would undo the scrubbing.
pub fn scrub(journal: &Path, settings: &Settings, key: &str) -> Result<Vec<u8>, JournalError> {
    let mut scrubber = JournalScrubber::new(key);
    replay(JournalReader::open(journal)?, settings, |step| scrubber.learn_decisions(&step))?;
    let unwritable = |source| JournalError::Unwritable { path: journal.to_owned(), source };
    let mut reader = JournalReader::open(journal)?;
    let mut bytes = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Ok(JournalEntry::Head(head)) if bytes.is_empty() => {
                bytes.extend(encode_head(&scrubber.scrub_head(&head)).map_err(unwritable)?);
            }
            Ok(JournalEntry::Record(JournalRecord { seq, at, item })) => {
                let line = match item {
                    RecordItem::Event(event) => {
                        let event = scrubber.scrub_event(event);
                        encode_group(&NewRecordGroup::without_claim(
                            seq,
                            at,
                            &[NewRecordItem::Event(&event)],
                        ))
                    }
                    RecordItem::Note(note) => {
                        let note = scrubber.scrub_note(note);
                        encode_group(&NewRecordGroup::without_claim(
                            seq,
                            at,
                            &[NewRecordItem::Note(&note)],
                        ))
                    }
                };
                bytes.extend(line.map_err(unwritable)?);
            }
            Ok(JournalEntry::Head(_) | JournalEntry::Claim(_)) | Err(_) => {}
        }
    }
    let names = JournalNote::Unknown(
        serde_json::to_string(&scrubber.build_tool_name_map()).map_err(unwritable)?,
    );
    let names = [NewRecordItem::Note(&names)];
    let line = encode_group(&NewRecordGroup::without_claim(reader.seq() + 1, 0, &names));
    bytes.extend(line.map_err(unwritable)?);
    Ok(bytes)
}

/// How a call was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ScrubbedCallDecision {
    Allowed,
    Asked,
    Denied,
}

struct JournalScrubber {
    scrambler: TextScrambler,
    calls: BTreeMap<ToolCallId, (ToolName, ScrubbedCallDecision)>,
}

impl JournalScrubber {
    fn new(key: &str) -> Self {
        Self { scrambler: TextScrambler::new(key), calls: BTreeMap::new() }
    }

    /// Records how calls were decided. A question takes precedence over its answer.
    fn learn_decisions(&mut self, step: &ReplayStep<'_>) {
        for effect in step.effects {
            let (call, decision) = match effect {
                Effect::StartTool { granted, .. } => (granted.get(), ScrubbedCallDecision::Allowed),
                Effect::AskPermission { question, .. } => {
                    (&question.call, ScrubbedCallDecision::Asked)
                }
                Effect::Tell(Notice::ToolDenied { call, .. }) => {
                    (call, ScrubbedCallDecision::Denied)
                }
                Effect::CallModel(_)
                | Effect::CancelModel { .. }
                | Effect::CancelTool { .. }
                | Effect::RunHook { .. }
                | Effect::Keep { .. }
                | Effect::Summarize { .. }
                | Effect::Spill { .. }
                | Effect::Prefetch { .. }
                | Effect::SetTimer { .. }
                | Effect::Tell(_)
                | Effect::Finish(_) => continue,
            };
            self.calls.entry(call.id.clone()).or_insert_with(|| (call.name.clone(), decision));
        }
    }

    fn scrub_text(&self, text: &str) -> String {
        self.scrambler.scramble(text)
    }

    /// The most frequent decision about calls of a tool.
    fn find_usual_decision(&self, tool: &ToolName) -> ScrubbedCallDecision {
        let mut counts: BTreeMap<ScrubbedCallDecision, usize> = BTreeMap::new();
        for (_, decision) in self.calls.values().filter(|(name, _)| name == tool) {
            *counts.entry(*decision).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(ScrubbedCallDecision::Allowed, |(decision, _)| decision)
    }

    /// Renames a tool, so that no rule matches it. Calls with a different decision than the rest
    /// get a name of their own.
    fn scrub_tool_name(&self, tool: &ToolName, call: Option<&ToolCallId>) -> ToolName {
        let known = call.and_then(|call| self.calls.get(call));
        let (tool, decision) = match known {
            Some((tool, decision)) => (tool, *decision),
            None => (tool, self.find_usual_decision(tool)),
        };
        self.rename_tool(tool, decision)
    }

    fn rename_tool(&self, tool: &ToolName, decision: ScrubbedCallDecision) -> ToolName {
        let salt = match decision {
            decision if decision == self.find_usual_decision(tool) => "",
            ScrubbedCallDecision::Allowed => "ran",
            ScrubbedCallDecision::Asked => "asked",
            ScrubbedCallDecision::Denied => "denied",
        };
        ToolName::from(self.scrambler.scramble_with_salt(tool.as_str(), salt).as_str())
    }

    /// Rules that decide every call as it was decided.
    fn build_rules(&self, decision: ScrubbedCallDecision) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        for (tool, _) in self.calls.values().filter(|(_, own)| *own == decision) {
            let rule =
                Rule { tool: self.rename_tool(tool, decision).as_str().to_owned(), content: None };
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    fn scrub_head(&self, head: &JournalHead) -> JournalHead {
        JournalHead {
            session: head.session.as_ref().map(|_| SessionId::from("scrubbed")),
            project: head.project.as_deref().map(|path| self.scrub_text(path)),
            branch: head.branch.as_deref().map(|branch| self.scrub_text(branch)),
            parent: None,
            segment: 1,
            after: 0,
            ..head.clone()
        }
    }

    /// Scrubs a note. One without remaining content keeps its number.
    fn scrub_note(&self, note: JournalNote) -> JournalNote {
        match note {
            JournalNote::Intended(intent) => {
                let tool = self.scrub_tool_name(&intent.tool, Some(&intent.call));
                JournalNote::Intended(ToolIntent { tool, ..intent })
            }
            JournalNote::Ended(ended) => JournalNote::Ended(ended),
            JournalNote::Continued(transition, turn) => JournalNote::Continued(transition, turn),
            JournalNote::Unqueued(place) => JournalNote::Unqueued(place),
            JournalNote::Asked(ticket) => JournalNote::Asked(ticket),
            JournalNote::Billed(_)
            | JournalNote::Context(_)
            | JournalNote::Titled(_)
            | JournalNote::Named(_)
            | JournalNote::Lines(_)
            | JournalNote::Unknown(_) => JournalNote::Unknown(r#"{"scrubbed":true}"#.to_owned()),
        }
    }

    /// The original names of tools, for the reader of the report.
    fn build_tool_name_map(&self) -> BTreeMap<&'static str, BTreeMap<String, String>> {
        let names = self.calls.values().map(|(tool, decision)| {
            (self.rename_tool(tool, *decision).as_str().to_owned(), tool.as_str().to_owned())
        });
        BTreeMap::from([("tools", names.collect())])
    }
}
