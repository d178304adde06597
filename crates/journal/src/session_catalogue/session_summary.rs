//! The data of one session in a list, read from the beginning and end of its journal.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_engine::Event;
use windlass_vocabulary::{Delta, MessageOrigin, MicroUsd, Terminal};

use crate::conversation::find_own_words;
use crate::disk::{RealDisk, open_regular};
use crate::error::JournalError;
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::line_reader::JournalLineReader;
use crate::record::{JournalHead, JournalLine, JournalNote, RecordGroup, RecordItem};
use crate::segment;

/// The data of one session in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The id, which is also the file name.
    pub id: String,
    /// The title, set by the user or by a model.
    pub title: Option<String>,
    /// The beginning of the first message.
    pub prompt: String,
    /// The project's directory, if the journal contains it.
    pub project: Option<String>,
    /// The git branch at the start.
    pub branch: Option<String>,
    /// The session it was forked from.
    pub parent: Option<String>,
    /// In milliseconds since 1970.
    pub created: u64,
    /// When it was last written.
    pub updated: u64,
    /// The number of messages, estimated without a replay.
    pub messages: u64,
    pub cost: MicroUsd,
    /// The size of its journal.
    pub size: u64,
    /// The state of its last run.
    pub last_run: LastRun,
}

/// The state of a session's last run according to its journal. Whether a process is still working
/// on it is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LastRun {
    #[default]
    None,
    /// It has not ended.
    Open,
    /// It has not ended, and last asked the user about a call.
    Asking,
    /// It ended with a deferred call.
    #[serde(rename = "PutOff")]
    Deferred,
    Ended(Terminal),
}

impl SessionSummary {
    /// Reads the summary of a journal: its two ends if they are sufficient, else all of it.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        let mut file = open_regular(path).map_err(JournalError::disk_error(path, "opened"))?;
        let later = segment::find_later_segments(&RealDisk, path);
        let is_one = later.is_empty();
        let length = file.metadata().map_err(JournalError::disk_error(path, "read"))?.len();
        let mut size = length;
        for (_, path) in later {
            size += path.metadata().map_err(JournalError::disk_error(&path, "read"))?.len();
        }
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut summary = Self { id, size, ..Self::default() };
        if is_one && length > 2 * END_BYTES {
            let beginning =
                read_part(&mut file, 0).map_err(JournalError::disk_error(path, "read"))?;
            let end = read_part(&mut file, length - END_BYTES);
            let end = end.map_err(JournalError::disk_error(path, "read"))?;
            if summary.read_ends(&beginning, &end) {
                return Ok(summary);
            }
        }
        summary.read_all(path)?;
        Ok(summary)
    }

    /// Returns whether the two ends were sufficient.
    fn read_ends(&mut self, beginning: &[u8], end: &[u8]) -> bool {
        let mut count = SessionCounts::default();
        for line in parse_lines(beginning) {
            self.apply_line(line, &mut count);
        }
        if self.prompt.is_empty() {
            return false;
        }
        // The first line of the end is incomplete.
        let start = memchr::memchr(b'\n', end).map_or(end.len(), |at| at + 1);
        let mut count = SessionCounts::default();
        for line in parse_lines(end.get(start..).unwrap_or_default()) {
            self.apply_line(line, &mut count);
        }
        self.messages = count.messages;
        self.cost = count.cost;
        count.is_sure
    }

    fn read_all(&mut self, path: &Path) -> Result<(), JournalError> {
        let mut reader = JournalReader::open(path)?;
        let mut count = SessionCounts::default();
        while let Some(entry) = reader.next_entry()? {
            match entry {
                Ok(JournalEntry::Head(head)) => {
                    self.apply_line(JournalLine::Head(head), &mut count);
                }
                Ok(JournalEntry::Record(record)) => {
                    self.updated = record.at;
                    self.apply_item(record.item, record.at, &mut count);
                }
                Ok(JournalEntry::Claim(_)) | Err(_) => {}
            }
        }
        self.messages = count.messages;
        self.cost = count.cost;
        Ok(())
    }

    fn apply_line(&mut self, line: JournalLine, count: &mut SessionCounts) {
        match line {
            JournalLine::Head(JournalHead {
                created, project, branch, parent, segment, ..
            }) if segment <= 1 => {
                self.created = created;
                self.project = project;
                self.branch = branch;
                self.parent = parent.map(|(session, _)| session.as_str().to_owned());
            }
            JournalLine::Group(RecordGroup { at, items, .. }) => {
                self.updated = at;
                for item in items {
                    self.apply_item(item, at, count);
                }
            }
            JournalLine::Head(_) | JournalLine::Claim(_) => {}
        }
    }

    fn apply_item(&mut self, item: RecordItem, at: u64, count: &mut SessionCounts) {
        if self.created == 0 {
            self.created = at;
        }
        if let Some(run) = LastRun::from_item(&item) {
            self.last_run = run;
        }
        match item {
            RecordItem::Event(Event::UserSubmitted { content, .. }) => {
                count.messages += 1;
                if self.prompt.is_empty() {
                    self.prompt = shorten_to_line(&find_own_words(&content));
                }
            }
            RecordItem::Event(Event::Adopted { messages }) => {
                count.messages += messages.len() as u64;
                let first = messages.iter().find(|message| message.origin == MessageOrigin::User);
                if let Some(first) = first.filter(|_| self.prompt.is_empty()) {
                    self.prompt = shorten_to_line(&find_own_words(&first.content));
                }
            }
            RecordItem::Event(Event::ModelStarted { .. }) => count.has_calls = false,
            RecordItem::Event(Event::ModelDelta { delta: Delta::Call { .. }, .. }) => {
                count.has_calls = true;
            }
            RecordItem::Event(Event::ModelEnded { .. }) => {
                count.messages += 1 + u64::from(core::mem::take(&mut count.has_calls));
            }
            RecordItem::Note(JournalNote::Billed(row)) => count.cost = count.cost + row.cost,
            RecordItem::Note(JournalNote::Ended(ended)) => {
                count.messages = ended.messages;
                count.cost = ended.cost;
                count.is_sure = true;
            }
            RecordItem::Note(JournalNote::Titled(title)) => self.title = Some(title),
            RecordItem::Event(
                Event::QueueChanged { .. }
                | Event::Configured(_)
                | Event::Resumed
                | Event::CompactionAsked { .. }
                | Event::Interrupted(_)
                | Event::ModelDelta { .. }
                | Event::ModelFailed { .. }
                | Event::ToolProgressed { .. }
                | Event::ToolEnded { .. }
                | Event::PermissionAnswered { .. }
                | Event::HookEnded { .. }
                | Event::SummaryEnded { .. }
                | Event::AttachmentArrived { .. }
                | Event::ChoreAsked { .. }
                | Event::TimerFired { .. },
            )
            | RecordItem::Note(
                JournalNote::Intended(_)
                | JournalNote::Asked(_)
                | JournalNote::Context(_)
                | JournalNote::Continued(..)
                | JournalNote::Named(_)
                | JournalNote::Unqueued(_)
                | JournalNote::Lines(_)
                | JournalNote::Unknown(_),
            ) => {}
        }
    }
}

impl LastRun {
    /// What this item says about the last run.
    fn from_item(item: &RecordItem) -> Option<Self> {
        match item {
            RecordItem::Event(
                Event::UserSubmitted { .. }
                | Event::Resumed
                | Event::CompactionAsked { .. }
                | Event::ModelStarted { .. }
                | Event::PermissionAnswered { .. },
            ) => Some(Self::Open),
            RecordItem::Note(JournalNote::Asked(_)) => Some(Self::Asking),
            RecordItem::Note(JournalNote::Ended(ended)) if ended.deferred => Some(Self::Deferred),
            RecordItem::Note(JournalNote::Ended(ended)) => Some(Self::Ended(ended.terminal)),
            RecordItem::Event(
                Event::QueueChanged { .. }
                | Event::Adopted { .. }
                | Event::Configured(_)
                | Event::Interrupted(_)
                | Event::ModelDelta { .. }
                | Event::ModelEnded { .. }
                | Event::ModelFailed { .. }
                | Event::ToolProgressed { .. }
                | Event::ToolEnded { .. }
                | Event::HookEnded { .. }
                | Event::SummaryEnded { .. }
                | Event::AttachmentArrived { .. }
                | Event::ChoreAsked { .. }
                | Event::TimerFired { .. },
            )
            | RecordItem::Note(
                JournalNote::Intended(_)
                | JournalNote::Billed(_)
                | JournalNote::Context(_)
                | JournalNote::Continued(..)
                | JournalNote::Titled(_)
                | JournalNote::Named(_)
                | JournalNote::Unqueued(_)
                | JournalNote::Lines(_)
                | JournalNote::Unknown(_),
            ) => None,
        }
    }
}

/// Is a process writing this journal now? Checks the lock, so a killed process does not count.
#[must_use]
pub fn is_being_written(journal: &Path) -> bool {
    let locked = open_regular(journal).map(|file| file.try_lock_shared());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}

/// The state of the last run of this journal. Reads only its ends if they are sufficient.
pub fn read_last_run(journal: &Path) -> Result<LastRun, JournalError> {
    SessionSummary::read(journal).map(|summary| summary.last_run)
}

#[derive(Default)]
struct SessionCounts {
    messages: u64,
    cost: MicroUsd,
    has_calls: bool,
    /// The number comes from the end of a run, so it is exact.
    is_sure: bool,
}

fn read_part(file: &mut File, start: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse_lines(bytes: &[u8]) -> impl Iterator<Item = JournalLine> + use<'_> {
    let mut lines = JournalLineReader::new(bytes);
    core::iter::from_fn(move || lines.next_line().ok().flatten()).filter_map(Result::ok)
}

/// The beginning of a text, on one line.
pub(super) fn shorten_to_line(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.chars().count() + word.chars().count() > PROMPT_CHARS {
            words.push('…');
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    match words.as_str() {
        // A single word that is too long.
        "…" => text.trim().chars().take(PROMPT_CHARS).chain(['…']).collect(),
        _ => words,
    }
}

/// Bytes read at each end of a journal.
const END_BYTES: u64 = 64 << 10;
/// Limit on the characters of a prompt.
const PROMPT_CHARS: usize = 200;
