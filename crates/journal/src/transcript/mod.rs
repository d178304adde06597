//! The transcript that other programs read: one line per block of each message.
//!
//! Derived from the engine's notices, and so from the journal: the same events always give the same
//! lines, UUIDs included, so a transcript can be rebuilt or completed at any time. A session with a
//! journal is never resumed from its transcript; a session with only a transcript is read by
//! `import`.

mod api_block;
mod attached_files;
mod import;
mod line_head;
mod message_names;
mod session_listing;
mod trace;
mod transcript_file;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_engine::Effect;
use windlass_vocabulary::{
    AnswerIds, AttachmentKind, ContentBlock, Json, Message, MessageId, MessageOrigin, MicroUsd,
    Notice, Role, ToolCallId, Usage,
};

use crate::digest::derive_uuid;
use crate::fold::ReplayStep;
use crate::journal_reader::JournalEntry;
use crate::project_key::project_key;
use crate::record::{JournalNote, JournalRecord, RecordItem};
use api_block::{render_api_block, render_api_result, to_json_string};
use line_head::TranscriptLink;
use message_names::MessageNames;

pub use import::{
    ImportedConversation, find_transcript, import_transcript, write_imported_journal,
};
pub use session_listing::{
    count_transcript_sessions, is_uuid, list_transcript_sessions, read_transcript_conversation,
    summarize_transcript,
};
pub use trace::{TracedMessage, render_recorded_transcript, render_transcript, trace_messages};
pub use transcript_file::{TranscriptFile, find_by_title, write_agent_metadata};

/// The fields of every line that describe the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptContext {
    /// The session's id; must be a UUID for other programs to find it.
    pub session: String,
    pub cwd: String,
    pub branch: Option<String>,
    pub version: String,
    /// The sub-agent whose transcript this is, if any.
    pub agent: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscribedMessage {
    pub message: MessageId,
    /// The ids of its lines, one per block.
    pub uuids: Vec<String>,
    /// The lines without line endings; empty when no transcript is written.
    pub lines: Vec<String>,
}

/// Converts notices to lines.
#[derive(Debug)]
pub struct Transcriber {
    about: TranscriptContext,
    /// Lines are rendered, and not only named.
    is_writing: bool,
    parent: Option<String>,
    /// The line of each call without a result.
    calls: BTreeMap<ToolCallId, String>,
    /// Structured results of tools, until the message with their results arrives.
    structured: BTreeMap<ToolCallId, Json>,
    /// The usage and cost of the next answer.
    bill: Option<(Usage, MicroUsd)>,
    /// The ids of the current answer.
    answer_ids: Option<AnswerIds>,
    /// Ids of answers that the transcript already contains.
    used_ids: HashSet<Arc<str>>,
    /// Messages were imported from another transcript.
    has_adopted: bool,
    names: MessageNames,
    /// The time of the last line, in milliseconds. Readers sort by it and treat lines with equal
    /// times as copies, so no two may be equal.
    last_at: u64,
    /// How often the conversation was rewound.
    rewound: u64,
    /// Records up to this one were copied from another session.
    inherited: u64,
}

impl Transcriber {
    /// For the beginning of a session.
    #[must_use]
    pub fn new(about: TranscriptContext) -> Self {
        Self {
            about,
            is_writing: true,
            parent: None,
            calls: BTreeMap::new(),
            structured: BTreeMap::new(),
            bill: None,
            answer_ids: None,
            used_ids: HashSet::new(),
            has_adopted: false,
            last_at: 0,
            names: MessageNames::default(),
            rewound: 0,
            inherited: 0,
        }
    }

    /// Whether to render lines, or only track their names.
    pub fn set_writing(&mut self, on: bool) {
        self.is_writing = on;
    }

    /// The id of the last line.
    #[must_use]
    pub fn last_uuid(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// The names of the messages queued for the next tool boundary.
    pub fn queued_names(&self) -> impl Iterator<Item = Option<&str>> {
        self.names.queued_names()
    }

    /// Handles a journal entry other than an event.
    pub fn observe_entry(&mut self, entry: &JournalEntry) {
        match entry {
            JournalEntry::Head(head) => {
                self.rewound = self.rewound.max(head.rewound);
                if let (0 | 1, Some((_, last))) = (head.segment, &head.parent) {
                    self.inherited = *last;
                }
            }
            JournalEntry::Record(JournalRecord { seq, item: RecordItem::Note(note), .. }) => {
                self.names.observe_note(note, *seq <= self.inherited);
            }
            JournalEntry::Record(_) | JournalEntry::Claim(_) => {}
        }
    }

    /// Handles a note of this session.
    pub fn observe_note(&mut self, note: &JournalNote) {
        self.names.observe_note(note, false);
    }

    /// Handles a notice, with the time of its event.
    pub(crate) fn transcribe_notice(
        &mut self,
        notice: &Notice,
        at: u64,
    ) -> Option<TranscribedMessage> {
        match notice {
            Notice::MessageAdded(message) => return Some(self.transcribe_message(message, at)),
            Notice::Billed { usage, cost, .. } => self.bill = Some((*usage, *cost)),
            Notice::InputQueued(_) => self.names.queue_next(),
            Notice::ToolEnded { call, outcome } => {
                if let Some(json) = &outcome.structured {
                    self.structured.insert(call.clone(), json.clone());
                }
            }
            Notice::AnswerStarted { ids, .. } => self.answer_ids = Some(ids.clone()),
            Notice::RequestStarted { .. } => self.answer_ids = None,
            Notice::RunStarted
            | Notice::Streamed { .. }
            | Notice::Retracted { .. }
            | Notice::Sealed { .. }
            | Notice::ToolStarted(_)
            | Notice::ToolProgressed { .. }
            | Notice::ToolDenied { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::RetryScheduled { .. }
            | Notice::ModelSwitched { .. }
            | Notice::Repaired { .. }
            | Notice::ContextShrunk { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::Warning(_)
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::RunEnded(_) => {}
        }
        None
    }

    /// Handles all effects of one event.
    pub fn transcribe_effects(&mut self, effects: &[Effect], at: u64) -> Vec<TranscribedMessage> {
        let mut written = Vec::new();
        for effect in effects {
            if let Effect::Tell(notice) = effect {
                written.extend(self.transcribe_notice(notice, at));
            }
        }
        written
    }

    /// Handles one step of a replay; returns the resulting lines.
    pub fn transcribe_step(&mut self, step: &ReplayStep<'_>) -> Vec<String> {
        self.transcribe_effects(step.effects, step.at)
            .into_iter()
            .flat_map(|done| done.lines)
            .collect()
    }

    /// A line with the session's title.
    #[must_use]
    pub fn render_title_line(&self, title: &str) -> String {
        let session = to_json_string(&self.about.session);
        format!(
            r#"{{"type":"custom-title","customTitle":{},"sessionId":{session}}}"#,
            to_json_string(title)
        )
    }

    fn transcribe_message(&mut self, message: &Message, at: u64) -> TranscribedMessage {
        let names = self.take_line_names(message);
        let mut done =
            TranscribedMessage { message: message.id, uuids: Vec::new(), lines: Vec::new() };
        match (message.role, message.origin) {
            (Role::Assistant, _) => self.transcribe_answer(message, names, at, &mut done),
            (Role::User, MessageOrigin::ToolResults) => {
                self.transcribe_results(message, names, at, &mut done);
            }
            (Role::User, MessageOrigin::Summary) => {
                self.transcribe_boundary(message, at, &mut done);
                self.transcribe_prompt(message, names, at, &mut done);
            }
            (Role::User, _) => self.transcribe_prompt(message, names, at, &mut done),
        }
        done
    }

    /// The ids of a message's lines, if the client set them.
    fn take_line_names(&mut self, message: &Message) -> Vec<String> {
        if let Some(names) = self.names.take_adopted() {
            self.has_adopted = true;
            return names;
        }
        let is_prompt = matches!(
            message.origin,
            MessageOrigin::User | MessageOrigin::Attachment(AttachmentKind::QueuedInput)
        );
        is_prompt.then(|| self.names.take_prompt_name()).flatten().into_iter().collect()
    }

    fn transcribe_prompt(
        &mut self,
        message: &Message,
        names: Vec<String>,
        at: u64,
        done: &mut TranscribedMessage,
    ) {
        let own = self.resolve_line_uuid(names.into_iter().next(), message.id, 0);
        let content = || match message.content.as_slice() {
            // Readers recover prompts from plain strings.
            [ContentBlock::Text(text)] => to_json_string(text),
            blocks if attached_files::has_only_attached_files(blocks) => {
                to_json_string(&attached_files::join_texts(blocks))
            }
            blocks => format!("[{}]", join_blocks(blocks.iter().map(render_api_block))),
        };
        let link = self.link_line(own, None);
        self.push_user_line(at, link, content, origin_marks(message.origin), done);
        if message.origin == MessageOrigin::User {
            self.transcribe_attached_files(message, at, done);
        }
    }

    /// History before this line is no longer sent to the model.
    fn transcribe_boundary(&mut self, message: &Message, at: u64, done: &mut TranscribedMessage) {
        let own = derive_uuid(
            &self.about.session,
            &format!("{}/boundary", self.derive_line_name(message.id, 0)),
        );
        let before = self.parent.take();
        let link = self.link_line(own, None);
        if self.is_writing {
            let logical = before.map(|uuid| format!(r#","logicalParentUuid":"{uuid}""#));
            let head = self.render_line_head("system", &link, at);
            done.lines.push(format!(
                r#"{head}{},"subtype":"compact_boundary","level":"info","content":"Conversation compacted"}}"#,
                logical.unwrap_or_default()
            ));
        }
    }

    /// One line per block; the lines of one answer share its id.
    fn transcribe_answer(
        &mut self,
        message: &Message,
        names: Vec<String>,
        at: u64,
        done: &mut TranscribedMessage,
    ) {
        let bill = self.bill.take();
        let cost = bill.map(|(_, cost)| line_head::render_cost(cost)).unwrap_or_default();
        let usage = bill.map(|(usage, _)| line_head::render_usage(usage)).unwrap_or_default();
        let AnswerIds { message: id, request } = self.take_answer_ids(message.id);
        let id = to_json_string(&id);
        let request = to_json_string(&request);
        let model = to_json_string(message.model.as_ref().map_or("", |model| model.as_str()));
        let mut names = names.into_iter();
        for (number, block) in message.content.iter().enumerate() {
            let own = self.resolve_line_uuid(names.next(), message.id, number);
            if let ContentBlock::ToolUse(call) = block {
                self.calls.insert(call.id.clone(), own.clone());
            }
            let link = self.link_line(own, None);
            if self.is_writing {
                let head = self.render_line_head("assistant", &link, at);
                let content = render_api_block(block);
                done.lines.push(format!(
                    r#"{head},"requestId":{request}{cost},"message":{{"id":{id},"type":"message","role":"assistant","model":{model},"content":[{content}],"stop_reason":null,"stop_sequence":null{usage}}}}}"#
                ));
            }
            done.uuids.push(link.uuid);
        }
    }

    /// One line per result, whose parent is the line of its call.
    fn transcribe_results(
        &mut self,
        message: &Message,
        names: Vec<String>,
        at: u64,
        done: &mut TranscribedMessage,
    ) {
        let mut names = names.into_iter();
        for (number, block) in message.content.iter().enumerate() {
            let own = self.resolve_line_uuid(names.next(), message.id, number);
            match block {
                ContentBlock::ToolResult(result) => {
                    let caller = self.calls.remove(&result.call);
                    let mut marks = String::new();
                    if let Some(caller) = &caller {
                        marks = format!(r#","sourceToolAssistantUUID":"{caller}""#);
                    }
                    if let Some(json) = self.structured.remove(&result.call) {
                        marks.push_str(&format!(
                            r#","toolUseResult":{}"#,
                            api_block::to_raw_json(&json)
                        ));
                    }
                    let link = self.link_line(own, caller);
                    self.push_user_line(
                        at,
                        link,
                        || format!("[{}]", render_api_result(result)),
                        &marks,
                        done,
                    );
                }
                ContentBlock::Text(_)
                | ContentBlock::Thinking(_)
                | ContentBlock::ToolUse(_)
                | ContentBlock::Media(_)
                | ContentBlock::Provider(_) => {
                    let link = self.link_line(own, None);
                    self.push_user_line(
                        at,
                        link,
                        || format!("[{}]", render_api_block(block)),
                        META_MARK,
                        done,
                    );
                }
            }
        }
    }

    fn push_user_line(
        &mut self,
        at: u64,
        link: TranscriptLink,
        content: impl FnOnce() -> String,
        marks: &str,
        done: &mut TranscribedMessage,
    ) {
        if self.is_writing {
            let head = self.render_line_head("user", &link, at);
            let message = format!(r#""message":{{"role":"user","content":{}}}"#, content());
            done.lines.push(format!("{head}{marks},{message}}}"));
        }
        done.uuids.push(link.uuid);
    }

    /// Links a line to its parent, or to the line before it.
    fn link_line(&mut self, own: String, parent: Option<String>) -> TranscriptLink {
        let parent = parent.or(self.parent.take());
        self.parent = Some(own.clone());
        TranscriptLink { uuid: own, parent }
    }

    fn resolve_line_uuid(&self, given: Option<String>, message: MessageId, block: usize) -> String {
        given.unwrap_or_else(|| {
            derive_uuid(&self.about.session, &self.derive_line_name(message, block))
        })
    }

    /// The provider's id of the answer. A repeated id would join two answers for readers of the
    /// transcript: some gateways restart their counters with every process. The ids of imported
    /// answers are unknown here, so with them only ids that are long enough to be unique are
    /// accepted.
    fn take_answer_ids(&mut self, message: MessageId) -> AnswerIds {
        let is_trusted =
            |ids: &AnswerIds| !self.has_adopted || ids.message.len() >= UNIQUE_ID_BYTES_MIN;
        let given = self.answer_ids.take().filter(is_trusted);
        match given.filter(|ids| self.used_ids.insert(Arc::clone(&ids.message))) {
            Some(ids) => ids,
            None => self.derive_answer_ids(message),
        }
    }

    /// For answers in older journals without provider ids.
    fn derive_answer_ids(&self, message: MessageId) -> AnswerIds {
        let name = derive_uuid(&self.about.session, &self.derive_line_name(message, 0));
        let name = name.replace('-', "");
        AnswerIds { message: format!("msg_{name}").into(), request: format!("req_{name}").into() }
    }

    /// The default id of a line. A message that replaced a rewound one gets a different id.
    fn derive_line_name(&self, message: MessageId, block: usize) -> String {
        let agent = self.about.agent.as_ref().map(|agent| format!("{agent}/")).unwrap_or_default();
        match self.rewound {
            0 => format!("{agent}{message}/{block}"),
            times => format!("{agent}{message}/{block}/{times}"),
        }
    }
}

/// Where other programs look for the transcript of a session, in their configuration folder.
#[must_use]
pub fn transcript_path(config: &Path, cwd: &Path, session: &str) -> PathBuf {
    config.join("projects").join(project_key(cwd)).join(format!("{session}.jsonl"))
}

/// Where they look for the transcript of a sub-agent of that session.
#[must_use]
pub fn agent_transcript_path(transcript: &Path, agent: &str) -> PathBuf {
    transcript.with_extension("").join("subagents").join(format!("agent-{agent}.jsonl"))
}

fn join_blocks(blocks: impl Iterator<Item = String>) -> String {
    blocks.collect::<Vec<_>>().join(",")
}

/// Messages that are not the user's own words are marked, so that readers hide them.
fn origin_marks(origin: MessageOrigin) -> &'static str {
    match origin {
        MessageOrigin::User
        | MessageOrigin::Attachment(AttachmentKind::QueuedInput)
        | MessageOrigin::Display => "",
        MessageOrigin::Summary => r#","isCompactSummary":true"#,
        MessageOrigin::Model
        | MessageOrigin::ToolResults
        | MessageOrigin::Meta(_)
        | MessageOrigin::Hook
        | MessageOrigin::Attachment(_) => META_MARK,
    }
}

/// Counters are shorter than this, generated ids are longer.
const UNIQUE_ID_BYTES_MIN: usize = 20;
const META_MARK: &str = r#","isMeta":true"#;
