//! The transcript that other programs read: one line for each block of each message.
//!
//! Derived from what the engine tells, and therefore from the journal: the same events always give
//! the same lines, uuids included, so a transcript can be made anew or completed at any time. A
//! session that has a journal is never continued from it; one that has only this is taken in by
//! [`import`].

mod attached;
mod block;
mod file;
mod import;
mod line;
mod name;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_engine::Effect;
use windlass_vocabulary::{
    AttachmentKind, Block, Json, Message, MessageId, Notice, Origin, Role, ToolCallId, Usage,
};

use crate::digest::uuid;
use crate::fold::Replayed;
use crate::place::project_key;
use crate::reader::Entry;
use crate::record::{Item, Note, Record};
use block::{api_block, api_result, quoted};
use line::Link;
use name::Names;

pub use file::{TranscriptFile, put_beside, titled};
pub use import::{Imported, adopt, find, import};
pub use trace::{Traced, lines, trace};

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

/// What became of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcribed {
    /// The message.
    pub message: MessageId,
    /// What its lines are called, one for each block.
    pub uuids: Vec<String>,
    /// The lines, without their ends; none if nobody wants them.
    pub lines: Vec<String>,
}

/// Turns what the engine tells into lines.
#[derive(Debug)]
pub struct Transcriber {
    about: About,
    /// Lines are wanted, and not only their names.
    is_writing: bool,
    parent: Option<String>,
    /// The line of each call that has no result yet.
    calls: BTreeMap<ToolCallId, String>,
    /// What tools gave back besides text, until the message with their results comes.
    structured: BTreeMap<ToolCallId, Json>,
    /// The bill of the answer that comes next.
    usage: Option<Usage>,
    names: Names,
    /// How often the conversation went back.
    rewound: u64,
    /// Records up to this one were taken over from another session.
    inherited: u64,
}

impl Transcriber {
    /// At the beginning of a session.
    #[must_use]
    pub fn new(about: About) -> Self {
        Self {
            about,
            is_writing: true,
            parent: None,
            calls: BTreeMap::new(),
            structured: BTreeMap::new(),
            usage: None,
            names: Names::default(),
            rewound: 0,
            inherited: 0,
        }
    }

    /// Makes lines, or only follows what they would be called.
    pub fn write(&mut self, on: bool) {
        self.is_writing = on;
    }

    /// The line written last.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// What messages are called that wait for the next tool boundary.
    pub fn waiting(&self) -> impl Iterator<Item = Option<&str>> {
        self.names.waiting()
    }

    /// Takes in what stands in a journal beside events.
    pub fn meet(&mut self, entry: &Entry) {
        match entry {
            Entry::Head(head) => {
                self.rewound = self.rewound.max(head.rewound);
                if let (0 | 1, Some((_, last))) = (head.segment, &head.parent) {
                    self.inherited = *last;
                }
            }
            Entry::Record(Record { seq, item: Item::Note(note), .. }) => {
                self.names.note(note, *seq <= self.inherited);
            }
            Entry::Record(_) | Entry::Claim(_) => {}
        }
    }

    /// Takes in a note of this session.
    pub fn note(&mut self, note: &Note) {
        self.names.note(note, false);
    }

    /// Takes in what the engine tells, at the time its event was written.
    pub fn take(&mut self, notice: &Notice, at: u64) -> Option<Transcribed> {
        match notice {
            Notice::MessageAdded(message) => return Some(self.message(message, at)),
            Notice::Billed { usage, .. } => self.usage = Some(*usage),
            Notice::InputQueued(_) => self.names.queued(),
            Notice::ToolEnded { call, outcome } => {
                if let Some(json) = &outcome.structured {
                    self.structured.insert(call.clone(), json.clone());
                }
            }
            _ => {}
        }
        None
    }

    /// Takes in everything one event led to.
    pub fn step(&mut self, effects: &[Effect], at: u64) -> Vec<Transcribed> {
        let told = effects.iter().filter_map(|effect| match effect {
            Effect::Tell(notice) => Some(notice),
            _ => None,
        });
        told.filter_map(|notice| self.take(notice, at)).collect()
    }

    /// Takes in one step of a replay; gives the lines that follow from it.
    pub fn replay(&mut self, step: &Replayed<'_>) -> Vec<String> {
        self.step(step.effects, step.at).into_iter().flat_map(|done| done.lines).collect()
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

    fn message(&mut self, message: &Message, at: u64) -> Transcribed {
        let names = self.lines_of(message);
        let mut done = Transcribed { message: message.id, uuids: Vec::new(), lines: Vec::new() };
        match (message.role, message.origin) {
            (Role::Assistant, _) => self.answer(message, names, at, &mut done),
            (Role::User, Origin::ToolResults) => self.results(message, names, at, &mut done),
            (Role::User, Origin::Summary) => {
                self.boundary(message, at, &mut done);
                self.prompt(message, names, at, &mut done);
            }
            (Role::User, _) => self.prompt(message, names, at, &mut done),
        }
        done
    }

    /// What a message's lines are called, if somebody named them.
    fn lines_of(&mut self, message: &Message) -> Vec<String> {
        if let Some(names) = self.names.adopted() {
            return names;
        }
        let is_prompt = matches!(
            message.origin,
            Origin::User | Origin::Attachment(AttachmentKind::QueuedInput)
        );
        is_prompt.then(|| self.names.delivered()).flatten().into_iter().collect()
    }

    fn prompt(&mut self, message: &Message, names: Vec<String>, at: u64, done: &mut Transcribed) {
        let own = self.named(names.into_iter().next(), message.id, 0);
        let content = || match message.content.as_slice() {
            // Readers recover prompts from plain strings.
            [Block::Text(text)] => quoted(text),
            blocks if attached::is_all(blocks) => quoted(&attached::words(blocks)),
            blocks => format!("[{}]", joined(blocks.iter().map(api_block))),
        };
        let link = self.link(own, None);
        self.user_line(at, link, content, marks(message.origin), done);
        if message.origin == Origin::User {
            self.attached(message, at, done);
        }
    }

    /// History before this line is no longer what the model sees.
    fn boundary(&mut self, message: &Message, at: u64, done: &mut Transcribed) {
        let own = uuid(&self.about.session, &format!("{}/boundary", self.place(message.id, 0)));
        let before = self.parent.take();
        let link = self.link(own, None);
        if self.is_writing {
            let logical = before.map(|uuid| format!(r#","logicalParentUuid":"{uuid}""#));
            let head = self.head("system", &link, at);
            done.lines.push(format!(
                r#"{head}{},"subtype":"compact_boundary","level":"info","content":"Conversation compacted"}}"#,
                logical.unwrap_or_default()
            ));
        }
    }

    /// One line for each block; lines of one answer share its id.
    fn answer(&mut self, message: &Message, names: Vec<String>, at: u64, done: &mut Transcribed) {
        let usage = self.usage.take().map(line::usage).unwrap_or_default();
        let id = uuid(&self.about.session, &self.place(message.id, 0)).replace('-', "");
        let model = quoted(message.model.as_ref().map_or("", |model| model.as_str()));
        let mut names = names.into_iter();
        for (number, block) in message.content.iter().enumerate() {
            let own = self.named(names.next(), message.id, number);
            if let Block::ToolUse(call) = block {
                self.calls.insert(call.id.clone(), own.clone());
            }
            let link = self.link(own, None);
            if self.is_writing {
                let (head, content) = (self.head("assistant", &link, at), api_block(block));
                done.lines.push(format!(
                    r#"{head},"message":{{"id":"msg_{id}","type":"message","role":"assistant","model":{model},"content":[{content}],"stop_reason":null,"stop_sequence":null{usage}}}}}"#
                ));
            }
            done.uuids.push(link.own);
        }
    }

    /// One line for each result, below the line of the call it answers.
    fn results(&mut self, message: &Message, names: Vec<String>, at: u64, done: &mut Transcribed) {
        let mut names = names.into_iter();
        for (number, block) in message.content.iter().enumerate() {
            let own = self.named(names.next(), message.id, number);
            match block {
                Block::ToolResult(result) => {
                    let caller = self.calls.remove(&result.call);
                    let mut marks = String::new();
                    if let Some(caller) = &caller {
                        marks = format!(r#","sourceToolAssistantUUID":"{caller}""#);
                    }
                    if let Some(json) = self.structured.remove(&result.call) {
                        marks.push_str(&format!(r#","toolUseResult":{}"#, block::raw(&json)));
                    }
                    let link = self.link(own, caller);
                    self.user_line(at, link, || format!("[{}]", api_result(result)), &marks, done);
                }
                other => {
                    let link = self.link(own, None);
                    self.user_line(at, link, || format!("[{}]", api_block(other)), META, done);
                }
            }
        }
    }

    fn user_line(
        &self,
        at: u64,
        link: Link,
        content: impl FnOnce() -> String,
        marks: &str,
        done: &mut Transcribed,
    ) {
        if self.is_writing {
            let head = self.head("user", &link, at);
            let message = format!(r#""message":{{"role":"user","content":{}}}"#, content());
            done.lines.push(format!("{head}{marks},{message}}}"));
        }
        done.uuids.push(link.own);
    }

    /// Hangs a line below its parent, or below the line before it.
    fn link(&mut self, own: String, parent: Option<String>) -> Link {
        let parent = parent.or(self.parent.take());
        self.parent = Some(own.clone());
        Link { own, parent }
    }

    fn named(&self, given: Option<String>, message: MessageId, block: usize) -> String {
        given.unwrap_or_else(|| uuid(&self.about.session, &self.place(message, block)))
    }

    /// The name a line is called by if nobody gave it another. A message that took the place of one
    /// that was taken back is another message.
    fn place(&self, message: MessageId, block: usize) -> String {
        let agent = self.about.agent.as_ref().map(|agent| format!("{agent}/")).unwrap_or_default();
        match self.rewound {
            0 => format!("{agent}{message}/{block}"),
            times => format!("{agent}{message}/{block}/{times}"),
        }
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
