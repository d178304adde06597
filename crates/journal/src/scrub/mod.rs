//! A journal without what was said in it, which still comes out the same: for bug reports.
//!
//! Every letter and digit of a text is replaced by another, drawn from the text and a key that is
//! thrown away: equal texts stay equal, different ones different, and sizes and estimates are kept.
//! Permissions are replaced by rules that decide about each call as it was decided. Left are sizes,
//! times, order, the names of models, and the names of tools in a note. What a call cost is left out:
//! what it was foreseen to cost depends on words.

mod event;
mod filler;

use std::collections::BTreeMap;
use std::path::Path;

use windlass_engine::settings::Rule;
use windlass_engine::{Effect, Settings};
use windlass_vocabulary::{Notice, SessionId, ToolCallId, ToolName};

use crate::error::JournalError;
use crate::fold::{Replayed, replay};
use crate::reader::{Entry, Reader};
use crate::record::{Head, Intent, Item, NewItem, Note, Record, encode_group, encode_head};
use filler::Filler;

/// The journal as the lines of another one. `key` must not be known to anybody afterwards.
///
/// # Errors
///
/// When the journal cannot be read, or a later version wrote it.
pub fn scrub(journal: &Path, settings: &Settings, key: &str) -> Result<Vec<u8>, JournalError> {
    let mut scrubber = Scrubber::new(key);
    replay(Reader::open(journal)?, settings, |step| scrubber.learn(&step))?;
    let unwritable = |source| JournalError::Unwritable { path: journal.to_owned(), source };
    let mut reader = Reader::open(journal)?;
    let mut bytes = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Ok(Entry::Head(head)) if bytes.is_empty() => {
                bytes.extend(encode_head(&scrubber.head(&head)).map_err(unwritable)?);
            }
            Ok(Entry::Record(Record { seq, at, item })) => {
                let line = match item {
                    Item::Event(event) => {
                        let event = scrubber.event(event);
                        encode_group(seq, at, (0, None), &[NewItem::Event(&event)])
                    }
                    Item::Note(note) => {
                        let note = scrubber.note(note);
                        encode_group(seq, at, (0, None), &[NewItem::Note(&note)])
                    }
                };
                bytes.extend(line.map_err(unwritable)?);
            }
            _ => {}
        }
    }
    let names = Note::Unknown(serde_json::to_string(&scrubber.names()).map_err(unwritable)?);
    let line = encode_group(reader.seq() + 1, 0, (0, None), &[NewItem::Note(&names)]);
    bytes.extend(line.map_err(unwritable)?);
    Ok(bytes)
}

/// What became of a call before it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Ran,
    Asked,
    Denied,
}

/// Replaces words.
struct Scrubber {
    filler: Filler,
    calls: BTreeMap<ToolCallId, (ToolName, Fate)>,
}

impl Scrubber {
    fn new(key: &str) -> Self {
        Self { filler: Filler::new(key), calls: BTreeMap::new() }
    }

    /// Learns how calls were decided. A question outweighs what came of it.
    fn learn(&mut self, step: &Replayed<'_>) {
        for effect in step.effects {
            let (call, fate) = match effect {
                Effect::StartTool { granted, .. } => (granted.get(), Fate::Ran),
                Effect::AskPermission { question, .. } => (&question.call, Fate::Asked),
                Effect::Tell(Notice::ToolDenied { call, .. }) => (call, Fate::Denied),
                _ => continue,
            };
            self.calls.entry(call.id.clone()).or_insert_with(|| (call.name.clone(), fate));
        }
    }

    fn text(&self, text: &str) -> String {
        self.filler.text(text)
    }

    /// How most calls of a tool were decided.
    fn usual(&self, tool: &ToolName) -> Fate {
        let mut counts: BTreeMap<Fate, usize> = BTreeMap::new();
        for (_, fate) in self.calls.values().filter(|(name, _)| name == tool) {
            *counts.entry(*fate).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(Fate::Ran, |(fate, _)| fate)
    }

    /// A tool under another name, so that no rule knows it. Calls that were decided unlike the rest
    /// have a name of their own.
    fn tool(&self, tool: &ToolName, call: Option<&ToolCallId>) -> ToolName {
        let known = call.and_then(|call| self.calls.get(call));
        let (tool, fate) = match known {
            Some((tool, fate)) => (tool, *fate),
            None => (tool, self.usual(tool)),
        };
        self.renamed(tool, fate)
    }

    fn renamed(&self, tool: &ToolName, fate: Fate) -> ToolName {
        let salt = match fate {
            fate if fate == self.usual(tool) => "",
            Fate::Ran => "ran",
            Fate::Asked => "asked",
            Fate::Denied => "denied",
        };
        ToolName::from(self.filler.salted(tool.as_str(), salt).as_str())
    }

    /// Rules that decide about every call as it was decided.
    fn rules(&self, fate: Fate) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        for (tool, _) in self.calls.values().filter(|(_, own)| *own == fate) {
            let rule = Rule { tool: self.renamed(tool, fate).as_str().to_owned(), content: None };
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    fn head(&self, head: &Head) -> Head {
        Head {
            session: head.session.as_ref().map(|_| SessionId::from("scrubbed")),
            project: head.project.as_deref().map(|path| self.text(path)),
            branch: head.branch.as_deref().map(|branch| self.text(branch)),
            parent: None,
            segment: 1,
            after: 0,
            ..head.clone()
        }
    }

    /// What is left of a note. One that says nothing any more keeps its number.
    fn note(&self, note: Note) -> Note {
        match note {
            Note::Intended(intent) => {
                let tool = self.tool(&intent.tool, Some(&intent.call));
                Note::Intended(Intent { tool, ..intent })
            }
            Note::Ended(ended) => Note::Ended(ended),
            Note::Continued(transition, turn) => Note::Continued(transition, turn),
            Note::Unqueued(place) => Note::Unqueued(place),
            Note::Asked(ticket) => Note::Asked(ticket),
            Note::Billed(_)
            | Note::Context(_)
            | Note::Titled(_)
            | Note::Named(_)
            | Note::Lines(_)
            | Note::Unknown(_) => Note::Unknown(r#"{"scrubbed":true}"#.to_owned()),
        }
    }

    /// The names of tools, for whoever reads the report.
    fn names(&self) -> BTreeMap<&'static str, BTreeMap<String, String>> {
        let names = self.calls.values().map(|(tool, fate)| {
            (self.renamed(tool, *fate).as_str().to_owned(), tool.as_str().to_owned())
        });
        BTreeMap::from([("tools", names.collect())])
    }
}
