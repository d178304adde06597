//! Records to what was said, for people: to show, to search, to export. Needs no settings.
//!
//! What the model really saw is the engine's to say; this is close to it and never folded. Answers
//! that were withdrawn are left out, as far as the records show it.

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
    /// The record that said it.
    pub seq: u64,
    /// When: milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub who: ConversationRole,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum ConversationRole {
    /// A person or a client.
    User,
    Model,
    /// The model, asking for a tool; the text is the tool's input.
    Call {
        tool: ToolName,
        call: ToolCallId,
    },
    Tool {
        /// The call it answers, if the records say so.
        call: Option<ToolCallId>,
        is_error: bool,
    },
    /// A summary that took the place of everything before.
    Summary,
    End {
        terminal: Terminal,
    },
}

impl ConversationRole {
    /// The call that the model asks for here.
    fn call(&self) -> Option<&ToolCallId> {
        match self {
            Self::Call { call, .. } => Some(call),
            Self::User | Self::Model | Self::Tool { .. } | Self::Summary | Self::End { .. } => None,
        }
    }
}

/// Everything that was said in a session.
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
    /// The answer under way.
    answer: Vec<ConversationItem>,
    /// The text of its block that is not whole.
    partial: String,
    /// Results of its calls: a quick tool ends before the answer does.
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
                    // An answer of which a tool was started is kept up to there.
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

    /// What is left at the end of the records.
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

    /// A call that was never started was not allowed to run, or could not.
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

/// Messages that another program wrote.
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

/// What blocks say in words.
/// A prompt in the user's own words, which are its first text. Files and outputs of commands that were
/// attached to it follow as blocks of their own.
pub fn find_own_words(content: &[ContentBlock]) -> String {
    let own = content.iter().find_map(|block| match block {
        ContentBlock::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        ContentBlock::Media(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::Provider(_) => None,
    });
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
