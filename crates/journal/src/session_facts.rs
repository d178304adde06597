//! Facts for filtering session lists: models, tools, files, failures, tokens. Read from the records
//! without a replay.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use windlass_engine::Event;
use windlass_vocabulary::{Delta, Usage};

use crate::error::JournalError;
use crate::journal_reader::JournalReader;
use crate::record::{JournalNote, RecordItem};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// In the order of their first use.
    pub models: Vec<String>,
    pub usage: Usage,
    pub tools: BTreeSet<String>,
    /// Files named in calls, at most [`FILES_MAX`].
    pub files: BTreeSet<String>,
    /// Failed calls.
    pub errors: u64,
}

/// Reads a complete journal.
pub fn read_session_facts(journal: &Path) -> Result<SessionFacts, JournalError> {
    let mut reader = JournalReader::open(journal)?;
    let mut facts = SessionFacts::default();
    while let Some(record) = reader.next_record()? {
        match record.item {
            RecordItem::Note(JournalNote::Billed(row)) => {
                facts.usage += row.billed;
                let model = row.model.as_str();
                if facts.models.len() < MODELS_MAX && !facts.models.iter().any(|own| own == model) {
                    facts.models.push(model.to_owned());
                }
            }
            RecordItem::Event(Event::ModelDelta { delta: Delta::Call { call, .. }, .. }) => {
                if facts.tools.len() < TOOLS_MAX {
                    facts.tools.insert(call.name.as_str().to_owned());
                }
                if facts.files.len() < FILES_MAX {
                    facts.files.extend(find_named_file(call.input.as_str()));
                }
            }
            RecordItem::Event(Event::ToolEnded { outcome, .. }) => {
                facts.errors += u64::from(outcome.is_error);
            }
            RecordItem::Note(_) | RecordItem::Event(_) => {}
        }
    }
    Ok(facts)
}

/// The file named in the input of a call.
#[must_use]
pub fn find_named_file(input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    let names = ["file_path", "notebook_path", "path"];
    names.iter().find_map(|name| input.get(name)?.as_str().map(str::to_owned))
}

pub const FILES_MAX: usize = 500;
const TOOLS_MAX: usize = 200;
const MODELS_MAX: usize = 20;
