//! Imports a session that only has a transcript: reads it by the rules of its other readers, and
//! writes it as the beginning of a journal.
//!
//! What is not part of the conversation (side chains, blocks that we cannot send) is left out; a
//! call without a result gets one that says so.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_engine::Event;
use windlass_vocabulary::{
    ContentBlock, Message, MessageId, MessageOrigin, Role, SessionId, ToolCallId, ToolResult,
};

use super::api_block::parse_blocks;
use crate::digest::derive_uuid;
use crate::disk::{RealDisk, open_regular, replace_file};
use crate::error::JournalError;
use crate::project_key::project_key;
use crate::record::{
    JournalHead, JournalNote, NewRecordGroup, NewRecordItem, encode_group, encode_head,
};

/// A conversation from a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedConversation {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The names of each message's lines.
    pub lines: Vec<Vec<String>>,
    /// The title, if it has one.
    pub title: Option<String>,
    /// The last git branch.
    pub branch: Option<String>,
}

/// The transcript of a session, of this directory or of any other.
#[must_use]
pub fn find_transcript(config: &Path, cwd: &Path, session: &str) -> Option<PathBuf> {
    let projects = config.join("projects");
    let name = format!("{session}.jsonl");
    let own = projects.join(project_key(cwd)).join(&name);
    let others = std::fs::read_dir(&projects).into_iter().flatten().flatten();
    let mut places =
        std::iter::once(own).chain(others.map(|folder| folder.path().join(name.as_str())));
    places.find(|path| path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0))
}

/// Reads a transcript, up to the line with this name if one is given. `None` if there is no such
/// line, or no message.
pub fn import_transcript(
    path: &Path,
    up_to: Option<&str>,
) -> Result<Option<ImportedConversation>, JournalError> {
    let failed = |error| JournalError::disk_error(path, "read")(error);
    let file = open_regular(path).map_err(failed)?;
    let mut text = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > BYTES_MAX {
        let size = text.len() as u64;
        return Err(JournalError::TooLarge { what: "the transcript", size, max: BYTES_MAX });
    }
    let lines = text.split(|byte| *byte == b'\n');
    let lines: Vec<TranscriptLine<'_>> =
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let chain = TranscriptChain::new(&lines, up_to);
    Ok(chain.and_then(|chain| chain.into_imported()))
}

/// Writes the conversation as a new journal, atomically.
pub fn write_imported_journal(
    imported: ImportedConversation,
    journal: &Path,
    session: &SessionId,
    head: &JournalHead,
) -> Result<(), JournalError> {
    if journal.symlink_metadata().is_ok() {
        return Err(JournalError::disk_error(journal, "begun")(
            std::io::ErrorKind::AlreadyExists.into(),
        ));
    }
    let unwritable = |source| JournalError::Unwritable { path: journal.to_owned(), source };
    let ImportedConversation { messages, lines, title, branch } = imported;
    let head = JournalHead {
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
        // One record per message, so that the session can be rewound to it; calls and their results
        // stay together.
        let is_followed =
            messages.get(1).is_some_and(|next| next.origin == MessageOrigin::ToolResults);
        let part = 1 + usize::from(is_followed);
        let named = JournalNote::Lines(lines.drain(..part.min(lines.len())).collect());
        let event = Event::Adopted { messages: messages.drain(..part).collect() };
        let items = [NewRecordItem::Note(&named), NewRecordItem::Event(&event)];
        bytes.extend(
            encode_group(&NewRecordGroup::without_claim(seq, head.created, &items))
                .map_err(unwritable)?,
        );
        seq += 2;
    }
    if let Some(title) = title {
        let note = JournalNote::Titled(title);
        let items = [NewRecordItem::Note(&note)];
        bytes.extend(
            encode_group(&NewRecordGroup::without_claim(seq, head.created, &items))
                .map_err(unwritable)?,
        );
    }
    replace_file(&RealDisk, journal, &bytes).map_err(JournalError::disk_error(journal, "written"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TranscriptLine<'a> {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    git_branch: Option<String>,
    custom_title: Option<String>,
    #[serde(borrow)]
    message: Option<TranscriptMessage<'a>>,
}

#[derive(Deserialize)]
struct TranscriptMessage<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl TranscriptLine<'_> {
    fn is_message(&self) -> bool {
        matches!(self.kind.as_str(), "user" | "assistant")
    }

    fn parse_content(&self) -> Vec<ContentBlock> {
        let content = self.message.as_ref().and_then(|message| message.content);
        content.map(|content| parse_blocks(content.get())).unwrap_or_default()
    }

    fn answer_id(&self) -> Option<&str> {
        self.message.as_ref().filter(|_| self.kind == "assistant")?.id.as_deref()
    }
}

/// The conversation of a transcript: the lines from its root to its last leaf.
struct TranscriptChain<'a> {
    lines: &'a [TranscriptLine<'a>],
    /// Indices of the lines of the conversation.
    chain: Vec<usize>,
    /// Lines after this one do not count.
    last: usize,
    imported: ImportedConversation,
}

impl<'a> TranscriptChain<'a> {
    fn new(lines: &'a [TranscriptLine<'a>], up_to: Option<&str>) -> Option<Self> {
        let places: HashMap<&str, usize> = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| CHAIN_LINE_KINDS.contains(&line.kind.as_str()))
            .filter_map(|(place, line)| Some((line.uuid.as_deref()?, place)))
            .collect();
        let parent = |place: usize| {
            let named = lines.get(place)?.parent_uuid.as_deref()?;
            places.get(named).copied().or_else(|| find_line_before(lines, place))
        };
        let last = match up_to {
            Some(wanted) => *places.get(wanted)?,
            None => {
                let pointed: HashSet<usize> =
                    places.values().filter_map(|at| parent(*at)).collect();
                let leaves = places.values().filter(|place| !pointed.contains(place));
                leaves.filter_map(|leaf| nearest_message_above(lines, *leaf, &parent)).max()?
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
        let imported = ImportedConversation {
            title: titles.into_iter().find(|title| !title.is_empty()),
            branch: branches.into_iter().find(|branch| !branch.is_empty()),
            ..ImportedConversation::default()
        };
        let last = if up_to.is_some() { last } else { lines.len() };
        Some(Self { lines, chain, last, imported })
    }

    fn into_imported(mut self) -> Option<ImportedConversation> {
        let results = self.collect_results();
        let mut answers: HashMap<&str, Vec<&TranscriptLine<'_>>> = HashMap::new();
        for line in self.lines.iter().take(self.last.saturating_add(1)) {
            if let Some(id) = line.answer_id() {
                answers.entry(id).or_default().push(line);
            }
        }
        for place in std::mem::take(&mut self.chain) {
            let Some(line) = self.lines.get(place).filter(|line| line.is_message()) else {
                continue;
            };
            if line.is_sidechain {
                continue;
            }
            match (line.kind.as_str(), line.answer_id()) {
                ("assistant", Some(id)) => {
                    // An answer is imported with its first line.
                    let lines = answers.remove(id).unwrap_or_default();
                    self.import_answer(&lines, &results);
                }
                ("assistant", None) => self.import_answer(&[line], &results),
                // Texts of skills and commands, and reminders: the model saw them, so they are
                // kept.
                _ if line.is_meta => self.import_prompt(line, MessageOrigin::Hook),
                _ => self.import_prompt(line, MessageOrigin::User),
            }
        }
        (!self.imported.messages.is_empty()).then_some(self.imported)
    }

    /// All results by call; the first one counts.
    fn collect_results(&self) -> HashMap<ToolCallId, (ToolResult, Option<String>)> {
        let mut results = HashMap::new();
        for line in
            self.lines.iter().take(self.last.saturating_add(1)).filter(|line| line.kind == "user")
        {
            for block in line.parse_content() {
                if let ContentBlock::ToolResult(result) = block {
                    let found = (result.call.clone(), (result, line.uuid.clone()));
                    results.entry(found.0).or_insert(found.1);
                }
            }
        }
        results
    }

    fn import_prompt(&mut self, line: &TranscriptLine<'_>, origin: MessageOrigin) {
        let is_text =
            |block: &ContentBlock| matches!(block, ContentBlock::Text(_) | ContentBlock::Media(_));
        let content: Vec<ContentBlock> = line.parse_content().into_iter().filter(is_text).collect();
        self.push_message(Role::User, origin, content, None, line.uuid.iter().cloned().collect());
    }

    /// Imports one answer, whose blocks are on several lines, and the results of its calls.
    fn import_answer(
        &mut self,
        lines: &[&TranscriptLine<'_>],
        results: &HashMap<ToolCallId, (ToolResult, Option<String>)>,
    ) {
        let mut content = Vec::new();
        let mut names = Vec::new();
        for line in lines {
            for (number, block) in line.parse_content().into_iter().enumerate() {
                if matches!(block, ContentBlock::ToolResult(_)) {
                    continue;
                }
                let own = line.uuid.clone().unwrap_or_default();
                names.push(if number == 0 { own } else { derive_uuid(&own, &number.to_string()) });
                content.push(block);
            }
        }
        let model = lines.first().and_then(|line| line.message.as_ref()?.model.clone());
        let calls: Vec<ToolCallId> = content.iter().filter_map(tool_call_id).collect();
        self.push_message(Role::Assistant, MessageOrigin::Model, content, model, names);
        let mut content = Vec::new();
        let mut names = Vec::new();
        for call in calls {
            let (result, name) = match results.get(&call) {
                Some((result, name)) => (result.clone(), name.clone()),
                None => (ToolResult::from_text(call.clone(), MISSING_RESULT, true), None),
            };
            names.push(name.unwrap_or_else(|| derive_uuid(call.as_str(), "result")));
            content.push(ContentBlock::ToolResult(result));
        }
        self.push_message(Role::User, MessageOrigin::ToolResults, content, None, names);
    }

    fn push_message(
        &mut self,
        role: Role,
        origin: MessageOrigin,
        content: Vec<ContentBlock>,
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

/// Replaces a missing parent by the line before, so that one lost line does not cut off everything
/// before it.
fn find_line_before(lines: &[TranscriptLine<'_>], place: usize) -> Option<usize> {
    let is_chained = |line: &TranscriptLine<'_>| {
        CHAIN_LINE_KINDS.contains(&line.kind.as_str()) && !line.is_sidechain && line.uuid.is_some()
    };
    let before = lines.get(..place)?;
    before.iter().rposition(is_chained)
}

fn tool_call_id(block: &ContentBlock) -> Option<ToolCallId> {
    match block {
        ContentBlock::ToolUse(call) => Some(call.id.clone()),
        ContentBlock::Text(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::Media(_)
        | ContentBlock::Provider(_) => None,
    }
}

/// The nearest message above a leaf, if it belongs to the conversation.
fn nearest_message_above(
    lines: &[TranscriptLine<'_>],
    leaf: usize,
    parent: &impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let mut place = Some(leaf);
    for _ in 0..lines.len() {
        let line = lines.get(place?)?;
        if line.is_message() {
            return place.filter(|_| !line.is_sidechain && !line.is_meta);
        }
        place = parent(place?);
    }
    None
}

/// The kinds of lines that form the chain.
const CHAIN_LINE_KINDS: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];
/// Limit on the size of a transcript.
const BYTES_MAX: u64 = 512 << 20;
const MISSING_RESULT: &str =
    "The result of this call is not in the transcript that this session goes on from.";
