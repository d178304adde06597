//! A session that exists only as a transcript, taken in: read by the rules by which its other readers
//! read it, and written down as the beginning of a journal.
//!
//! What is not part of the conversation (side chains, teams, hidden notes, blocks nobody knows how to
//! send) stays behind; a call without a result gets one that says so.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_engine::Event;
use windlass_vocabulary::{
    Block, Message, MessageId, Origin, Role, SessionId, ToolCallId, ToolResult,
};

use super::block::parsed;
use crate::digest::uuid;
use crate::disk::{RealDisk, replace};
use crate::error::JournalError;
use crate::place::project_key;
use crate::record::{Head, NewItem, Note, encode_group, encode_head};

/// A conversation out of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// What was said, oldest first.
    pub messages: Vec<Message>,
    /// What the lines of each message are called.
    pub lines: Vec<Vec<String>>,
    /// Its name, if it was given one.
    pub title: Option<String>,
    /// The branch it was on last.
    pub branch: Option<String>,
}

/// The transcript of a session: that of this directory, or of any other.
#[must_use]
pub fn find(config: &Path, cwd: &Path, session: &str) -> Option<PathBuf> {
    let (projects, name) = (config.join("projects"), format!("{session}.jsonl"));
    let own = projects.join(project_key(cwd)).join(&name);
    let others = std::fs::read_dir(&projects).into_iter().flatten().flatten();
    let mut places =
        std::iter::once(own).chain(others.map(|folder| folder.path().join(name.as_str())));
    places.find(|path| path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0))
}

/// Reads a transcript, up to the line that is called this, if one is named. `None` if there is no
/// such line, or nothing was said.
///
/// # Errors
///
/// When the disk says no, or the transcript is larger than any.
pub fn import(path: &Path, up_to: Option<&str>) -> Result<Option<Imported>, JournalError> {
    let failed = |error| JournalError::disk(path, "read")(error);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > BYTES_MAX {
        let size = text.len() as u64;
        return Err(JournalError::TooLarge { what: "the transcript", size, max: BYTES_MAX });
    }
    let lines = text.split(|byte| *byte == b'\n');
    let lines: Vec<Line<'_>> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let told = Told::new(&lines, up_to);
    Ok(told.and_then(|told| told.imported()))
}

/// Writes the conversation down as a new journal, whole or not at all.
///
/// # Errors
///
/// When something is at that place, or the disk says no.
pub fn adopt(
    imported: Imported,
    journal: &Path,
    session: &SessionId,
    head: &Head,
) -> Result<(), JournalError> {
    if journal.symlink_metadata().is_ok() {
        return Err(JournalError::disk(journal, "begun")(std::io::ErrorKind::AlreadyExists.into()));
    }
    let unwritable = |source| JournalError::Unwritable { path: journal.to_owned(), source };
    let Imported { messages, lines, title, branch } = imported;
    let head = Head {
        session: Some(session.clone()),
        branch: head.branch.clone().or(branch),
        segment: 1,
        ..head.clone()
    };
    let mut bytes = encode_head(&head).map_err(unwritable)?;
    let mut seq = 1;
    let mut messages = VecDeque::from(messages);
    let mut lines = VecDeque::from(lines);
    while !messages.is_empty() {
        // A record for each message, so that the session can go back to it; calls and their results
        // stay together.
        let is_followed = messages.get(1).is_some_and(|next| next.origin == Origin::ToolResults);
        let part = 1 + usize::from(is_followed);
        let named = Note::Lines(lines.drain(..part.min(lines.len())).collect());
        let event = Event::Adopted { messages: messages.drain(..part).collect() };
        let items = [NewItem::Note(&named), NewItem::Event(&event)];
        bytes.extend(encode_group(seq, head.created, (0, None), &items).map_err(unwritable)?);
        seq += 2;
    }
    if let Some(title) = title {
        let note = Note::Titled(title);
        let items = [NewItem::Note(&note)];
        bytes.extend(encode_group(seq, head.created, (0, None), &items).map_err(unwritable)?);
    }
    replace(&RealDisk, journal, &bytes).map_err(JournalError::disk(journal, "written"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    team_name: Option<String>,
    git_branch: Option<String>,
    custom_title: Option<String>,
    #[serde(borrow)]
    message: Option<Said<'a>>,
}

#[derive(Deserialize)]
struct Said<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl Line<'_> {
    fn is_said(&self) -> bool {
        matches!(self.kind.as_str(), "user" | "assistant")
    }

    fn blocks(&self) -> Vec<Block> {
        let content = self.message.as_ref().and_then(|said| said.content);
        content.map(|content| parsed(content.get())).unwrap_or_default()
    }

    fn answer(&self) -> Option<&str> {
        self.message.as_ref().filter(|_| self.kind == "assistant")?.id.as_deref()
    }
}

/// The conversation of a transcript: the lines from its root to its last leaf.
struct Told<'a> {
    lines: &'a [Line<'a>],
    /// Places of the lines of the conversation.
    chain: Vec<usize>,
    /// Lines behind this one do not count.
    last: usize,
    imported: Imported,
}

impl<'a> Told<'a> {
    fn new(lines: &'a [Line<'a>], up_to: Option<&str>) -> Option<Self> {
        let places: HashMap<&str, usize> = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| KINDS.contains(&line.kind.as_str()))
            .filter_map(|(place, line)| Some((line.uuid.as_deref()?, place)))
            .collect();
        let parent = |place: usize| {
            let line = lines.get(place)?;
            places.get(line.parent_uuid.as_deref()?).copied()
        };
        let last = match up_to {
            Some(wanted) => *places.get(wanted)?,
            None => {
                let pointed: HashSet<usize> =
                    places.values().filter_map(|at| parent(*at)).collect();
                let leaves = places.values().filter(|place| !pointed.contains(place));
                leaves.filter_map(|leaf| spoken(lines, *leaf, &parent)).max()?
            }
        };
        let mut chain = Vec::new();
        let mut next = Some(last);
        let mut seen = HashSet::new();
        while let Some(place) = next.filter(|place| seen.insert(*place)) {
            chain.push(place);
            next = parent(place);
        }
        chain.reverse();
        let titles = lines.iter().rev().filter_map(|line| line.custom_title.clone());
        let branches = lines.iter().rev().filter_map(|line| line.git_branch.clone());
        let imported = Imported {
            title: titles.into_iter().find(|title| !title.is_empty()),
            branch: branches.into_iter().find(|branch| !branch.is_empty()),
            ..Imported::default()
        };
        let last = if up_to.is_some() { last } else { lines.len() };
        Some(Self { lines, chain, last, imported })
    }

    fn imported(mut self) -> Option<Imported> {
        let results = self.results();
        let mut answers: HashMap<&str, Vec<&Line<'_>>> = HashMap::new();
        for line in self.lines.iter().take(self.last.saturating_add(1)) {
            if let Some(id) = line.answer() {
                answers.entry(id).or_default().push(line);
            }
        }
        for place in std::mem::take(&mut self.chain) {
            let Some(line) = self.lines.get(place).filter(|line| line.is_said()) else { continue };
            if line.is_sidechain || line.is_meta || line.team_name.is_some() {
                continue;
            }
            match (line.kind.as_str(), line.answer()) {
                ("assistant", Some(id)) => {
                    // Taken in with its first line.
                    let lines = answers.remove(id).unwrap_or_default();
                    self.answer(&lines, &results);
                }
                ("assistant", None) => self.answer(&[line], &results),
                _ => self.prompt(line),
            }
        }
        (!self.imported.messages.is_empty()).then_some(self.imported)
    }

    /// Every result, by its call; the first one counts.
    fn results(&self) -> HashMap<ToolCallId, (ToolResult, Option<String>)> {
        let mut results = HashMap::new();
        for line in
            self.lines.iter().take(self.last.saturating_add(1)).filter(|line| line.kind == "user")
        {
            for block in line.blocks() {
                if let Block::ToolResult(result) = block {
                    let found = (result.call.clone(), (result, line.uuid.clone()));
                    results.entry(found.0).or_insert(found.1);
                }
            }
        }
        results
    }

    fn prompt(&mut self, line: &Line<'_>) {
        let is_text = |block: &Block| matches!(block, Block::Text(_) | Block::Media(_));
        let content: Vec<Block> = line.blocks().into_iter().filter(is_text).collect();
        self.push(Role::User, Origin::User, content, None, line.uuid.iter().cloned().collect());
    }

    /// One answer, whose blocks are spread over lines, and the results of its calls.
    fn answer(
        &mut self,
        lines: &[&Line<'_>],
        results: &HashMap<ToolCallId, (ToolResult, Option<String>)>,
    ) {
        let (mut content, mut names) = (Vec::new(), Vec::new());
        for line in lines {
            for (number, block) in line.blocks().into_iter().enumerate() {
                if matches!(block, Block::ToolResult(_)) {
                    continue;
                }
                let own = line.uuid.clone().unwrap_or_default();
                names.push(if number == 0 { own } else { uuid(&own, &number.to_string()) });
                content.push(block);
            }
        }
        let model = lines.first().and_then(|line| line.message.as_ref()?.model.clone());
        let calls: Vec<ToolCallId> = content.iter().filter_map(called).collect();
        self.push(Role::Assistant, Origin::Model, content, model, names);
        let (mut content, mut names) = (Vec::new(), Vec::new());
        for call in calls {
            let (result, name) = match results.get(&call) {
                Some((result, name)) => (result.clone(), name.clone()),
                None => (ToolResult::text(call.clone(), MISSING, true), None),
            };
            names.push(name.unwrap_or_else(|| uuid(call.as_str(), "result")));
            content.push(Block::ToolResult(result));
        }
        self.push(Role::User, Origin::ToolResults, content, None, names);
    }

    fn push(
        &mut self,
        role: Role,
        origin: Origin,
        content: Vec<Block>,
        model: Option<String>,
        names: Vec<String>,
    ) {
        if content.is_empty() {
            return;
        }
        let id = MessageId(self.imported.messages.len() as u64);
        let model = model.map(|model| model.as_str().into());
        let message = Message { id, role, origin, content, model, pinned: false };
        self.imported.messages.push(message);
        self.imported.lines.push(names);
    }
}

fn called(block: &Block) -> Option<ToolCallId> {
    match block {
        Block::ToolUse(call) => Some(call.id.clone()),
        _ => None,
    }
}

/// The nearest line above a leaf that is said, if it belongs to the conversation.
fn spoken(
    lines: &[Line<'_>],
    leaf: usize,
    parent: &impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let mut place = Some(leaf);
    for _ in 0..lines.len() {
        let line = lines.get(place?)?;
        if line.is_said() {
            let is_hidden = line.is_sidechain || line.is_meta || line.team_name.is_some();
            return place.filter(|_| !is_hidden);
        }
        place = parent(place?);
    }
    None
}

/// Kinds of lines that make the chain.
const KINDS: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];
/// The largest transcript that is taken in.
const BYTES_MAX: u64 = 512 << 20;
const MISSING: &str =
    "The result of this call is not in the transcript that this session goes on from.";
