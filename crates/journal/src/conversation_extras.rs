//! What the conversation leaves out: the model's thinking, and pictures and documents. For clients that
//! show a session again as it was.

use std::path::Path;

use windlass_engine::Event;
use windlass_vocabulary::{ContentBlock, Delta, MediaContent, ToolResultPart};

use crate::conversation::{ConversationExtractor, ConversationItem};
use crate::error::JournalError;
use crate::journal_reader::JournalReader;
use crate::record::{JournalNote, JournalRecord, RecordItem};

/// The conversation, with what belongs between and into its items.
#[derive(Debug, Default)]
pub struct FullConversation {
    pub items: Vec<ConversationItem>,
    /// In the order of their records.
    pub extras: Vec<ConversationExtra>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationExtra {
    /// The record it comes from. Media have that of the item they belong to.
    pub seq: u64,
    pub kind: ConversationExtraKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationExtraKind {
    Thinking(String),
    /// Of a prompt or of a result.
    Media(MediaContent),
}

pub fn read_full_conversation(journal: &Path) -> Result<FullConversation, JournalError> {
    let mut reader = JournalReader::open(journal)?;
    let mut extractor = ConversationExtractor::default();
    let mut extras = ExtraCollector::default();
    let mut items = Vec::new();
    while let Some(record) = reader.next_record()? {
        extras.push_record(&record);
        extractor.push_record(&record, &mut items);
    }
    extractor.finish(&mut items);
    Ok(FullConversation { items, extras: extras.finish() })
}

#[derive(Debug, Default)]
struct ExtraCollector {
    extras: Vec<ConversationExtra>,
    /// Thinking of the current answer, which may still be withdrawn.
    answer: Vec<ConversationExtra>,
    /// A tool of the current answer has started, so the answer is kept although it breaks off.
    has_started_call: bool,
}

impl ExtraCollector {
    fn push_record(&mut self, record: &JournalRecord) {
        let JournalRecord { seq, item, .. } = record;
        let event = match item {
            RecordItem::Event(event) => event,
            RecordItem::Note(JournalNote::Intended(_)) => {
                self.has_started_call = true;
                return;
            }
            RecordItem::Note(_) => return,
        };
        match event {
            Event::UserSubmitted { content, .. } => self.push_media(*seq, content),
            Event::ToolEnded { outcome, .. } => self.push_parts(*seq, &outcome.content),
            Event::ModelStarted { .. } => self.begin_answer(),
            Event::ModelDelta { delta, .. } => match delta {
                Delta::Block(ContentBlock::Thinking(block)) if !block.text.is_empty() => {
                    let kind = ConversationExtraKind::Thinking(block.text.to_string());
                    self.answer.push(ConversationExtra { seq: *seq, kind });
                }
                Delta::Block(_)
                | Delta::Call { .. }
                | Delta::Text(_)
                | Delta::Thinking(_)
                | Delta::CallStarted { .. }
                | Delta::CallInput(_)
                | Delta::Usage(_)
                | Delta::Cleared { .. }
                | Delta::Raw(_) => {}
            },
            Event::ModelEnded { .. } | Event::Interrupted(_) => self.keep_answer(),
            Event::ModelFailed { .. } if self.has_started_call => self.keep_answer(),
            Event::ModelFailed { .. } => self.begin_answer(),
            // The messages of another program stand in one record: where their media belong is not told.
            Event::Adopted { .. }
            | Event::SummaryEnded { .. }
            | Event::QueueChanged { .. }
            | Event::Configured(_)
            | Event::Resumed
            | Event::CompactionAsked { .. }
            | Event::ToolProgressed { .. }
            | Event::PermissionAnswered { .. }
            | Event::HookEnded { .. }
            | Event::AttachmentArrived { .. }
            | Event::ChoreAsked { .. }
            | Event::TimerFired { .. } => {}
        }
    }

    fn begin_answer(&mut self) {
        self.answer.clear();
        self.has_started_call = false;
    }

    fn keep_answer(&mut self) {
        self.extras.append(&mut self.answer);
        self.has_started_call = false;
    }

    fn finish(mut self) -> Vec<ConversationExtra> {
        self.keep_answer();
        // A result may have come before the end of the answer that asked for it.
        self.extras.sort_by_key(|extra| extra.seq);
        self.extras
    }

    fn push_media(&mut self, seq: u64, content: &[ContentBlock]) {
        for block in content {
            if let ContentBlock::Media(media) = block {
                let kind = ConversationExtraKind::Media(media.clone());
                self.extras.push(ConversationExtra { seq, kind });
            }
        }
    }

    fn push_parts(&mut self, seq: u64, parts: &[ToolResultPart]) {
        for part in parts {
            if let ToolResultPart::Media(media) = part {
                let kind = ConversationExtraKind::Media(media.clone());
                self.extras.push(ConversationExtra { seq, kind });
            }
        }
    }
}
