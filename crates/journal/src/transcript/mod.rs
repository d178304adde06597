//! The transcript that other programs read: one line for each block of each message.
//!
//! Derived from what the engine tells, and therefore from the journal: the same events always give
//! the same lines, uuids included, so a transcript can be made anew or completed at any time. It is
//! never read to continue a session.

mod block;
mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_engine::Effect;
use windlass_vocabulary::{
    AttachmentKind, Block, Json, Message, MessageId, Notice, Origin, Role, ToolCallId, Usage,
};

use crate::clock::moment;
use crate::digest::uuid;
use crate::fold::Replayed;
use crate::place::project_key;
use block::{api_block, api_result, quoted};

pub use file::TranscriptFile;

/// What every line says of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The session's id; a UUID if other programs are to find it.
    pub session: String,
    /// The working directory.
    pub cwd: String,
    /// The branch.
    pub branch: Option<String>,
    /// The version of the program.
    pub version: String,
    /// The sub-agent whose transcript this is, if it is one's.
    pub agent: Option<String>,
}

/// Turns what the engine tells into lines.
#[derive(Debug)]
pub struct Transcriber {
    about: About,
    parent: Option<String>,
    /// The line of each call that has no result yet.
    calls: BTreeMap<ToolCallId, String>,
    /// What tools gave back besides text, until the message with their results comes.
    structured: BTreeMap<ToolCallId, Json>,
    /// The bill of the answer that comes next.
    usage: Option<Usage>,
}

impl Transcriber {
    /// At the beginning of a session.
    #[must_use]
    pub fn new(about: About) -> Self {
        Self {
            about,
            parent: None,
            calls: BTreeMap::new(),
            structured: BTreeMap::new(),
            usage: None,
        }
    }

    /// Takes in what the engine tells, at the time its event was written; gives the lines that
    /// follow from it, without their ends.
    pub fn take(&mut self, notice: &Notice, at: u64) -> Vec<String> {
        match notice {
            Notice::MessageAdded(message) => self.message(message, at),
            Notice::Billed { usage, .. } => {
                self.usage = Some(*usage);
                Vec::new()
            }
            Notice::ToolEnded { call, outcome } => {
                if let Some(json) = &outcome.structured {
                    self.structured.insert(call.clone(), json.clone());
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Takes in one step of a replay.
    pub fn replay(&mut self, step: &Replayed<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for effect in step.effects {
            if let Effect::Tell(notice) = effect {
                lines.extend(self.take(notice, step.at));
            }
        }
        lines
    }

    /// A line that names the session.
    #[must_use]
    pub fn title(&self, title: &str) -> String {
        let session = quoted(&self.about.session);
        format!(
            r#"{{"type":"custom-title","customTitle":{},"sessionId":{session}}}"#,
            quoted(title)
        )
    }

    fn message(&mut self, message: &Message, at: u64) -> Vec<String> {
        match (message.role, message.origin) {
            (Role::Assistant, _) => self.answer(message, at),
            (Role::User, Origin::ToolResults) => self.results(message, at),
            (Role::User, origin) => {
                let content = match message.content.as_slice() {
                    // Readers recover prompts from plain strings.
                    [Block::Text(text)] => quoted(text),
                    blocks => format!("[{}]", joined(blocks.iter().map(api_block))),
                };
                let marks = marks(origin);
                vec![self.user_line(at, &entry_name(message.id, 0), None, &content, marks)]
            }
        }
    }

    /// One line for each block; lines of one answer share its id.
    fn answer(&mut self, message: &Message, at: u64) -> Vec<String> {
        let usage = self.usage.take().map(|usage| {
            let Usage { input, output, cache_write, cache_read } = usage;
            format!(
                r#","usage":{{"input_tokens":{},"output_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{}}}"#,
                input.0, output.0, cache_write.0, cache_read.0
            )
        });
        let usage = usage.unwrap_or_default();
        let id = uuid(&self.about.session, &message.id.to_string()).replace('-', "");
        let model = quoted(message.model.as_ref().map_or("", |model| model.as_str()));
        let mut lines = Vec::new();
        for (number, block) in message.content.iter().enumerate() {
            let (head, own) = self.head("assistant", &entry_name(message.id, number), at, None);
            let content = api_block(block);
            lines.push(format!(
                r#"{head},"message":{{"id":"msg_{id}","type":"message","role":"assistant","model":{model},"content":[{content}],"stop_reason":null,"stop_sequence":null{usage}}}}}"#
            ));
            if let Block::ToolUse(call) = block {
                self.calls.insert(call.id.clone(), own);
            }
        }
        lines
    }

    /// One line for each result, below the line of the call it answers.
    fn results(&mut self, message: &Message, at: u64) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, block) in message.content.iter().enumerate() {
            let name = entry_name(message.id, number);
            let line = match block {
                Block::ToolResult(result) => {
                    let caller = self.calls.remove(&result.call);
                    let mut marks = String::new();
                    if let Some(caller) = &caller {
                        marks = format!(r#","sourceToolAssistantUUID":"{caller}""#);
                    }
                    if let Some(json) = self.structured.remove(&result.call) {
                        marks.push_str(&format!(r#","toolUseResult":{}"#, block::raw(&json)));
                    }
                    let content = format!("[{}]", api_result(result));
                    self.user_line(at, &name, caller, &content, &marks)
                }
                other => {
                    let content = format!("[{}]", api_block(other));
                    self.user_line(at, &name, None, &content, META)
                }
            };
            lines.push(line);
        }
        lines
    }

    fn user_line(
        &mut self,
        at: u64,
        name: &str,
        parent: Option<String>,
        content: &str,
        marks: &str,
    ) -> String {
        let (head, _) = self.head("user", name, at, parent);
        format!(r#"{head}{marks},"message":{{"role":"user","content":{content}}}}}"#)
    }

    /// What every line begins with, up to its own fields; and its uuid, which the next one names.
    fn head(
        &mut self,
        kind: &str,
        name: &str,
        at: u64,
        parent: Option<String>,
    ) -> (String, String) {
        let About { session, cwd, branch, version, agent } = &self.about;
        let own = uuid(session, name);
        let parent = parent.or(self.parent.take());
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let branch = branch.as_deref().map(|b| format!(r#","gitBranch":{}"#, quoted(b)));
        let branch = branch.unwrap_or_default();
        let side = match agent {
            Some(agent) => format!(r#""isSidechain":true,"agentId":{}"#, quoted(agent)),
            None => r#""isSidechain":false"#.to_owned(),
        };
        let (session, cwd, version) = (quoted(session), quoted(cwd), quoted(version));
        let at = moment(at);
        self.parent = Some(own.clone());
        let head = format!(
            r#"{{"type":"{kind}","uuid":"{own}","parentUuid":{parent},{side},"sessionId":{session},"timestamp":"{at}","cwd":{cwd}{branch},"userType":"external","version":{version}"#
        );
        (head, own)
    }
}

/// Where other programs look for the transcript of a session, below their configuration.
#[must_use]
pub fn transcript_path(config: &Path, cwd: &Path, session: &str) -> PathBuf {
    config.join("projects").join(project_key(cwd)).join(format!("{session}.jsonl"))
}

/// Where they look for the transcript of a sub-agent of that session.
#[must_use]
pub fn agent_path(transcript: &Path, agent: &str) -> PathBuf {
    transcript.with_extension("").join("subagents").join(format!("agent-{agent}.jsonl"))
}

fn entry_name(message: MessageId, block: usize) -> String {
    format!("{message}/{block}")
}

fn joined(blocks: impl Iterator<Item = String>) -> String {
    blocks.collect::<Vec<_>>().join(",")
}

/// What is not a person's own words is marked, so that readers hide it.
fn marks(origin: Origin) -> &'static str {
    match origin {
        Origin::User | Origin::Attachment(AttachmentKind::QueuedInput) | Origin::Display => "",
        Origin::Summary => r#","isCompactSummary":true"#,
        _ => META,
    }
}

const META: &str = r#","isMeta":true"#;
