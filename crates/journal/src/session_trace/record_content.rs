//! Reads one record completely: the text and images of a prompt, an answer, a call or a result.

use std::io::{Seek, SeekFrom};

use windlass_engine::Event;
use windlass_vocabulary::{ContentBlock, Delta, MediaContent, ToolResultPart};

use super::SessionTrace;
use crate::conversation::join_block_texts;
use crate::disk::open_regular;
use crate::error::JournalError;
use crate::journal_reader::JournalReader;
use crate::record::{JournalRecord, RecordItem};

/// The texts and images of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordContent {
    pub text: String,
    pub media: Vec<MediaContent>,
    /// Written by a model, in Markdown.
    pub is_answer: bool,
}

/// Where to search a record: a file of the journal and an offset.
#[derive(Clone, Debug)]
pub struct RecordSource {
    path: std::path::PathBuf,
    start: u64,
    seq: u64,
}

impl SessionTrace {
    /// Where to find this record, if the trace has reached it. Reading it does not need the trace's
    /// lock.
    #[must_use]
    pub fn find_record(&self, seq: u64) -> Option<RecordSource> {
        let (path, start) = self.find_checkpoint(seq)?;
        Some(RecordSource { path, start, seq })
    }
}

/// Reads one record; `None` if it does not exist.
pub fn read_record_content(source: &RecordSource) -> Result<Option<RecordContent>, JournalError> {
    let RecordSource { path, start, seq } = source;
    let mut file = open_regular(path).map_err(JournalError::disk_error(path, "opened"))?;
    file.seek(SeekFrom::Start(*start)).map_err(JournalError::disk_error(path, "read"))?;
    let mut reader = JournalReader::new(file, path);
    while let Some(JournalRecord { seq: found, item, .. }) = reader.next_record()? {
        if found == *seq {
            return Ok(match item {
                RecordItem::Event(event) => Some(extract_content(event)),
                RecordItem::Note(_) => None,
            });
        }
        if found > *seq {
            return Ok(None);
        }
    }
    Ok(None)
}

fn extract_content(event: Event) -> RecordContent {
    let mut content = RecordContent::default();
    match event {
        Event::UserSubmitted { content: blocks, .. } => {
            content.text = join_block_texts(&blocks);
            content.media.extend(blocks.into_iter().filter_map(|block| match block {
                ContentBlock::Media(media) => Some(media),
                ContentBlock::Text(_)
                | ContentBlock::Thinking(_)
                | ContentBlock::ToolUse(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::Provider(_) => None,
            }));
        }
        Event::ModelDelta { delta: Delta::Block(ContentBlock::Text(text)), .. } => {
            content.text = text;
            content.is_answer = true;
        }
        Event::ModelDelta { delta: Delta::Block(ContentBlock::Thinking(thinking)), .. } => {
            content.text = thinking.text;
        }
        Event::ModelDelta { delta: Delta::Call { call, .. }, .. } => {
            content.text = call.input.as_str().to_owned();
        }
        Event::ModelDelta { delta: Delta::Text(text) | Delta::Thinking(text), .. } => {
            content.text = text;
        }
        Event::ToolEnded { outcome, .. } => {
            for part in outcome.content {
                match part {
                    ToolResultPart::Text(text) => content.text.push_str(&text),
                    ToolResultPart::Media(media) => content.media.push(media),
                }
            }
        }
        Event::SummaryEnded { result: Ok(text), .. } => {
            content.text = text;
            content.is_answer = true;
        }
        Event::AttachmentArrived { text, .. } => content.text = text,
        Event::Adopted { messages } => {
            for message in messages {
                content.text.push_str(&message.text());
                content.text.push('\n');
            }
        }
        Event::Resumed
        | Event::QueueChanged { .. }
        | Event::Configured(_)
        | Event::CompactionAsked { .. }
        | Event::ChoreAsked { .. }
        | Event::Interrupted(_)
        | Event::ModelStarted { .. }
        | Event::ModelDelta { .. }
        | Event::ModelEnded { .. }
        | Event::ModelFailed { .. }
        | Event::ToolProgressed { .. }
        | Event::PermissionAnswered { .. }
        | Event::HookEnded { .. }
        | Event::SummaryEnded { .. }
        | Event::TimerFired { .. } => {}
    }
    content
}
