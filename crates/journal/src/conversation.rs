//! Converts records to the conversation, for display, search and export. Needs no settings.
//!
//! The result is close to what the model saw, but is not replayed through the engine. Withdrawn
//! answers are left out, as far as the records show it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use windlass_engine::Event;
use windlass_vocabulary::{
    ContentBlock, Delta, Message, Role, Terminal, Ticket, ToolCallId, ToolName, ToolOutcome,
    ToolResultPart,
};

use crate::error::JournalError;
use crate::journal_reader::JournalReader;
use crate::record::{JournalNote, JournalRecord, RecordItem, ToolIntent};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConversationItem {
    /// The record it comes from.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub who: ConversationRole,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum ConversationRole {
    /// The user or a client.
    User,
    Model,
    /// A tool call of the model; the text is the tool's input.
    Call {
        tool: ToolName,
        call: ToolCallId,
    },
    Tool {
        /// The call it answers, if the records contain it.
        call: Option<ToolCallId>,
        is_error: bool,
    },
    /// A summary that replaced everything before it.
    Summary,
    End {
        terminal: Terminal,
    },
}

impl ConversationRole {
    /// The id of the call in this item.
    fn call(&self) -> Option<&ToolCallId> {
        match self {
            Self::Call { call, .. } => Some(call),
            Self::User | Self::Model | Self::Tool { .. } | Self::Summary | Self::End { .. } => None,
        }
    }
}

/// Collects the conversation from records.
pub fn read_conversation(journal: &Path) -> Result<Vec<ConversationItem>, JournalError> {
    let mut reader = JournalReader::open(journal)?;
    let mut extractor = ConversationExtractor::default();
    let mut items = Vec::new();
    while let Some(record) = reader.next_record()? {
        extractor.push_record(&record, &mut items);
    }
    extractor.finish(&mut items);
    Ok(items)
}

/// Takes records in and says what was said.
#[derive(Debug, Default)]
pub struct ConversationExtractor {
    /// The current answer.
    answer: Vec<ConversationItem>,
    /// The text of its incomplete block.
    partial: String,
    /// Results of its calls: a fast tool ends before the answer does.
    early_results: Vec<ConversationItem>,
    started: BTreeSet<ToolCallId>,
    /// Calls that were extracted and have no result yet.
    open_calls: Vec<ToolCallId>,
    tickets: BTreeMap<Ticket, ToolCallId>,
}

impl ConversationExtractor {
    pub fn push_record(&mut self, record: &JournalRecord, items: &mut Vec<ConversationItem>) {
        let JournalRecord { seq, at, item } = record;
        let say = |who, text| ConversationItem { seq: *seq, at: *at, who, text };
        match item {
            RecordItem::Note(JournalNote::Intended(ToolIntent { ticket, call, .. })) => {
                self.started.insert(call.clone());
                self.tickets.insert(*ticket, call.clone());
            }
            RecordItem::Note(JournalNote::Ended(ended)) => {
                self.flush_answer(items);
                self.close_unstarted_calls(*seq, *at, items);
                items.push(say(ConversationRole::End { terminal: ended.terminal }, String::new()));
            }
            RecordItem::Note(_) => {}
            RecordItem::Event(event) => match event {
                Event::UserSubmitted { content, .. } => {
                    items.push(say(ConversationRole::User, join_block_texts(content)));
                }
                Event::Adopted { messages } => push_adopted(messages, *seq, *at, items),
                Event::Interrupted(_) => {
                    if !self.partial.trim().is_empty() {
                        self.answer
                            .push(say(ConversationRole::Model, core::mem::take(&mut self.partial)));
                    }
                    self.flush_answer(items);
                }
                Event::ModelStarted { .. } => {
                    self.close_unstarted_calls(*seq, *at, items);
                    self.answer.clear();
                }
                Event::ModelDelta { delta, .. } => self.push_delta(*seq, *at, delta),
                Event::ModelEnded { .. } => self.flush_answer(items),
                Event::ModelFailed { .. } => {
                    // An answer that started a tool is kept up to that call.
                    let is_started = |item: &ConversationItem| {
                        item.who.call().is_some_and(|call| self.started.contains(call))
                    };
                    match self.answer.iter().any(is_started) {
                        true => self.flush_answer(items),
                        false => self.answer.clear(),
                    }
                }
                Event::ToolEnded { ticket, outcome } => {
                    let call = self.tickets.remove(ticket);
                    self.open_calls.retain(|open| Some(open) != call.as_ref());
                    let is_early = self
                        .answer
                        .iter()
                        .filter_map(|item| item.who.call())
                        .any(|own| Some(own) == call.as_ref());
                    let who = ConversationRole::Tool { call, is_error: outcome.is_error };
                    let item = say(who, outcome_text(outcome));
                    if is_early { self.early_results.push(item) } else { items.push(item) }
                }
                Event::SummaryEnded { result: Ok(text), .. } => {
                    items.push(say(ConversationRole::Summary, text.clone()));
                }
                Event::QueueChanged { .. }
                | Event::Configured(_)
                | Event::Resumed
                | Event::CompactionAsked { .. }
                | Event::ToolProgressed { .. }
                | Event::PermissionAnswered { .. }
                | Event::HookEnded { .. }
                | Event::SummaryEnded { .. }
                | Event::AttachmentArrived { .. }
                | Event::ChoreAsked { .. }
                | Event::TimerFired { .. } => {}
            },
        }
    }

    /// Adds what is incomplete at the end of the records.
    pub fn finish(mut self, items: &mut Vec<ConversationItem>) {
        self.flush_answer(items);
    }

    fn push_delta(&mut self, seq: u64, at: u64, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.partial.push_str(text),
            Delta::Block(block) => {
                self.partial.clear();
                let text = join_block_texts(core::slice::from_ref(block));
                if !text.is_empty() {
                    self.answer.push(ConversationItem {
                        seq,
                        at,
                        who: ConversationRole::Model,
                        text,
                    });
                }
            }
            Delta::Call { call, .. } => {
                self.partial.clear();
                let who = ConversationRole::Call { tool: call.name.clone(), call: call.id.clone() };
                self.answer.push(ConversationItem {
                    seq,
                    at,
                    who,
                    text: call.input.as_str().to_owned(),
                });
            }
            Delta::Thinking(_)
            | Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => {}
        }
    }

    fn flush_answer(&mut self, items: &mut Vec<ConversationItem>) {
        self.partial.clear();
        for item in &self.answer {
            if let ConversationRole::Call { call, .. } = &item.who
                && !self.early_results.iter().any(|early| is_result_of(early, call))
            {
                self.open_calls.push(call.clone());
            }
        }
        items.append(&mut self.answer);
        items.append(&mut self.early_results);
    }

    /// A call that was never started was denied, or could not run.
    fn close_unstarted_calls(&mut self, seq: u64, at: u64, items: &mut Vec<ConversationItem>) {
        for call in core::mem::take(&mut self.open_calls) {
            if !self.started.contains(&call) {
                let who = ConversationRole::Tool { call: Some(call), is_error: true };
                items.push(ConversationItem { seq, at, who, text: NOT_RUN_TEXT.to_owned() });
            }
        }
    }
}

fn is_result_of(item: &ConversationItem, wanted: &ToolCallId) -> bool {
    matches!(&item.who, ConversationRole::Tool { call: Some(call), .. } if call == wanted)
}

/// Messages imported from another program.
fn push_adopted(messages: &[Message], seq: u64, at: u64, items: &mut Vec<ConversationItem>) {
    for block in messages
        .iter()
        .flat_map(|message| message.content.iter().map(move |block| (message.role, block)))
    {
        let (who, text) = match block {
            (_, ContentBlock::ToolUse(call)) => {
                let who = ConversationRole::Call { tool: call.name.clone(), call: call.id.clone() };
                (who, call.input.as_str().to_owned())
            }
            (_, ContentBlock::ToolResult(result)) => {
                let who = ConversationRole::Tool {
                    call: Some(result.call.clone()),
                    is_error: result.is_error,
                };
                (who, join_part_texts(&result.content))
            }
            (Role::User, block) => {
                (ConversationRole::User, join_block_texts(core::slice::from_ref(block)))
            }
            (Role::Assistant, block) => {
                (ConversationRole::Model, join_block_texts(core::slice::from_ref(block)))
            }
        };
        if !text.is_empty() {
            items.push(ConversationItem { seq, at, who, text });
        }
    }
}

const NOT_RUN_TEXT: &str = "(it did not run)";

/// The user's own words: the first text of a prompt. Attached files and command outputs follow as
/// separate blocks.
pub fn find_own_words(content: &[ContentBlock]) -> String {
    let mut texts = content.iter().filter_map(ContentBlock::as_text).map(str::trim);
    let own = texts.find(|text| !text.is_empty());
    own.map_or_else(|| join_block_texts(content), str::to_owned)
}

pub(crate) fn join_block_texts(content: &[ContentBlock]) -> String {
    let mut words = String::new();
    for block in content {
        match block {
            ContentBlock::Text(text) => words.push_str(text),
            ContentBlock::Media(media) => words.push_str(&format!("[{}]", media.name)),
            ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Provider(_) => {}
        }
    }
    words
}

fn outcome_text(outcome: &ToolOutcome) -> String {
    join_part_texts(&outcome.content)
}

fn join_part_texts(parts: &[ToolResultPart]) -> String {
    let mut words = String::new();
    for part in parts {
        match part {
            ToolResultPart::Text(text) => words.push_str(text),
            ToolResultPart::Media(media) => words.push_str(&format!("[{}]", media.name)),
        }
    }
    words
}
