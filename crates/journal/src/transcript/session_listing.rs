//! Lists sessions that only have a transcript: those of other programs.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use windlass_engine::Event;

use super::import::import_transcript;
use crate::conversation::{ConversationExtractor, ConversationItem};
use crate::error::JournalError;
use crate::project_key::project_key;
use crate::record::{JournalRecord, RecordItem};
use crate::session_catalogue::{ListedSession, SessionSummary};

/// The sessions with transcripts in this configuration folder, of one directory or of all: newest
/// first, up to a limit, because both ends of each are read. Those that `is_known` accepts are left
/// out, because their journals contain more.
pub fn list_transcript_sessions(
    config: &Path,
    project: Option<&Path>,
    count_max: usize,
    is_known: impl Fn(&str) -> bool,
) -> Vec<ListedSession> {
    let paths = find_transcripts(config, project, is_known).into_iter();
    let listed = paths
        .filter_map(|path| Some(ListedSession { summary: summarize_transcript(&path)?, path }));
    listed.take(count_max).collect()
}

/// How many sessions a list without a limit would have. Reads only as much as is needed to decide
/// whether each is in the list.
pub fn count_transcript_sessions(
    config: &Path,
    project: Option<&Path>,
    is_known: impl Fn(&str) -> bool,
) -> usize {
    find_transcripts(config, project, is_known).iter().filter(|path| is_session(path)).count()
}

/// Transcripts that may contain a session, newest first.
fn find_transcripts(
    config: &Path,
    project: Option<&Path>,
    is_known: impl Fn(&str) -> bool,
) -> Vec<PathBuf> {
    let projects = config.join("projects");
    let folders: Vec<PathBuf> = match project {
        Some(project) => vec![projects.join(project_key(project))],
        None => std::fs::read_dir(&projects)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default(),
    };
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let paths = files.flatten().map(|entry| entry.path());
    let is_meant = |path: &PathBuf| {
        let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        path.extension().is_some_and(|end| end == "jsonl") && is_uuid(id) && !is_known(id)
    };
    let stamped = paths.filter(is_meant).filter_map(|path| {
        let modified = path.metadata().ok()?.modified().ok()?;
        Some((Reverse(modified), path))
    });
    let mut stamped: Vec<(Reverse<SystemTime>, PathBuf)> = stamped.take(TRANSCRIPTS_MAX).collect();
    stamped.sort();
    stamped.into_iter().map(|(_, path)| path).collect()
}

/// Would [`summarize_transcript`] find a session here?
fn is_session(path: &Path) -> bool {
    // Opening a pipe would block.
    let file = path.metadata().ok().filter(|file| file.is_file() && file.len() > 0);
    let file = file.and_then(|_| File::open(path).ok());
    let Some(beginning) = file.and_then(|mut file| read_part(&mut file, 0)) else { return false };
    let lines = beginning.split(|byte| *byte == b'\n');
    let mut lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).peekable();
    let is_sidechain = lines.peek().is_none_or(|first| first["isSidechain"] == true);
    !is_sidechain && lines.any(|line| parse_prompt(&line).is_some())
}

/// Summarizes a session from the two ends of its transcript. `None` for one without messages, and
/// for a sub-agent's.
pub fn summarize_transcript(path: &Path) -> Option<SessionSummary> {
    let metadata = path.metadata().ok().filter(|file| file.is_file() && file.len() > 0)?;
    let mut file = File::open(path).ok()?;
    let size = metadata.len();
    let beginning = read_part(&mut file, 0)?;
    let end = read_part(&mut file, size.saturating_sub(END_BYTES))?;
    let parse = |line: &[u8]| serde_json::from_slice::<Value>(line).ok();
    let first: Vec<Value> = beginning.split(|byte| *byte == b'\n').filter_map(parse).collect();
    let last: Vec<Value> = end.split(|byte| *byte == b'\n').rev().filter_map(parse).collect();
    if first.first()?["isSidechain"] == true {
        return None;
    }
    let text = |line: &Value, key: &str| line[key].as_str().map(str::to_owned);
    let prompt = first.iter().find_map(parse_prompt)?;
    let updated = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let updated = u64::try_from(updated.as_millis()).unwrap_or(u64::MAX);
    let is_message = |line: &&Value| line["type"] == "user" || line["type"] == "assistant";
    Some(SessionSummary {
        id: path.file_stem()?.to_str()?.to_owned(),
        title: ["customTitle", "aiTitle", "summary"]
            .iter()
            .find_map(|key| last.iter().find_map(|line| text(line, key))),
        prompt,
        project: first.iter().find_map(|line| text(line, "cwd")),
        branch: last.iter().find_map(|line| text(line, "gitBranch")).filter(|it| !it.is_empty()),
        created: updated,
        updated,
        messages: first.iter().filter(is_message).count() as u64,
        size,
        ..SessionSummary::default()
    })
}

/// The messages of a transcript.
pub fn read_transcript_conversation(path: &Path) -> Result<Vec<ConversationItem>, JournalError> {
    let mut items = Vec::new();
    if let Some(imported) = import_transcript(path, None)? {
        let item = RecordItem::Event(Event::Adopted { messages: imported.messages });
        let mut extractor = ConversationExtractor::default();
        extractor.push_record(&JournalRecord { seq: 1, at: 0, item }, &mut items);
        extractor.finish(&mut items);
    }
    Ok(items)
}

/// The first text of a user. Notes, results and output of commands do not count.
fn parse_prompt(line: &Value) -> Option<String> {
    if line["type"] != "user" || line["isMeta"] == true {
        return None;
    }
    let text = match line.pointer("/message/content")? {
        Value::String(text) => text.as_str(),
        content => content.as_array()?.iter().find_map(|block| block["text"].as_str())?,
    };
    let text = text.trim();
    let is_wrapped = text.starts_with("<command-name>") || text.starts_with("<local-command");
    (!text.is_empty() && !is_wrapped).then(|| text.chars().take(PROMPT_MAX).collect())
}

fn read_part(file: &mut File, from: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(END_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Does this have the form of a session id?
pub fn is_uuid(text: &str) -> bool {
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Bytes read at each end of a transcript.
const END_BYTES: u64 = 64 << 10;
const PROMPT_MAX: usize = 200;
/// Limit on the transcripts examined for one list.
const TRANSCRIPTS_MAX: usize = 10_000;
