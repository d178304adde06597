//! What the pager shows: everything that happened, in full. Bounded; the oldest entries are dropped
//! first.

use std::collections::VecDeque;

use windlass_vocabulary::{ToolCall, ToolOutcome, ToolResultPart};

use crate::styled_line::{StyledLine, TextStyle};
use crate::{markdown_stream, prompt_view, text, tool_call_view, words};

#[derive(Clone, Debug)]
pub enum TranscriptEntry {
    Prompt(String),
    Answer(String),
    Thought(String),
    ToolCall(ToolCall, Box<ToolOutcome>),
    Note(String),
}

#[derive(Debug, Default)]
pub struct TranscriptBuffer {
    entries: VecDeque<TranscriptEntry>,
    bytes: usize,
    /// How many entries were dropped.
    dropped: usize,
}

impl TranscriptBuffer {
    pub fn push(&mut self, entry: TranscriptEntry) {
        let entry = entry.truncate_texts();
        self.bytes += entry.size_bytes();
        self.entries.push_back(entry);
        while self.bytes > BYTES_MAX || self.entries.len() > COUNT_MAX {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.size_bytes();
            self.dropped += 1;
        }
    }

    /// An estimate.
    pub fn size_bytes(&self) -> usize {
        self.bytes
    }

    /// Includes entries that were dropped.
    pub fn total_count(&self) -> usize {
        self.dropped + self.entries.len()
    }

    pub fn last_answer(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match entry {
            TranscriptEntry::Answer(text) => Some(text.as_str()),
            TranscriptEntry::Prompt(_)
            | TranscriptEntry::Thought(_)
            | TranscriptEntry::ToolCall(..)
            | TranscriptEntry::Note(_) => None,
        })
    }

    /// Counted from the first entry ever; `None` if that was dropped.
    pub fn get(&self, number: usize) -> Option<&TranscriptEntry> {
        self.entries.get(number.checked_sub(self.dropped)?)
    }

    /// Renders the newest entries.
    pub fn render(&self, width: usize, folder: &str) -> Vec<StyledLine> {
        let from = self.entries.len().saturating_sub(RENDERED_ENTRIES_MAX);
        let mut lines = Vec::new();
        if from > 0 {
            let words = words::describe_earlier_entries(from);
            lines.extend([StyledLine::from_text(words, TextStyle::Dim), StyledLine::new()]);
        }
        for entry in self.entries.iter().skip(from) {
            lines.extend(entry.render(width, folder));
            lines.push(StyledLine::new());
        }
        lines
    }
}

impl TranscriptEntry {
    /// An estimate.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Prompt(text) | Self::Answer(text) | Self::Thought(text) | Self::Note(text) => {
                text.len() + ENTRY_BYTES
            }
            Self::ToolCall(call, outcome) => {
                let parts = outcome.content.iter().map(|part| match part {
                    ToolResultPart::Text(text) => text.len(),
                    ToolResultPart::Media(media) => media.name.len(),
                });
                let structured = outcome.structured.as_ref().map_or(0, |json| json.as_str().len());
                call.input.as_str().len() + structured + parts.sum::<usize>() + ENTRY_BYTES
            }
        }
    }

    /// Is it a call that shows the whole task list?
    pub fn shows_task_list(&self) -> bool {
        match self {
            Self::ToolCall(call, outcome) => call.name.as_str() == "TodoWrite" && !outcome.is_error,
            Self::Prompt(_) | Self::Answer(_) | Self::Thought(_) | Self::Note(_) => false,
        }
    }

    /// Cuts long texts; the session's journal has them in full.
    fn truncate_texts(self) -> Self {
        let cut = |mut text: String| {
            if text.len() > TEXT_MAX {
                text.truncate(text.floor_char_boundary(TEXT_MAX));
                text.push('\n');
                text.push_str(words::REST_IN_JOURNAL);
            }
            text
        };
        match self {
            Self::Prompt(text) => Self::Prompt(cut(text)),
            Self::Answer(text) => Self::Answer(cut(text)),
            Self::Thought(text) => Self::Thought(cut(text)),
            Self::Note(text) => Self::Note(cut(text)),
            Self::ToolCall(call, mut outcome) => {
                outcome.structured = tool_call_view::reduce_structured(&outcome);
                for part in &mut outcome.content {
                    match part {
                        ToolResultPart::Text(text) => *text = cut(std::mem::take(text)),
                        ToolResultPart::Media(media) => media.data = "".into(),
                    }
                }
                Self::ToolCall(call, outcome)
            }
        }
    }

    pub fn render(&self, width: usize, folder: &str) -> Vec<StyledLine> {
        match self {
            Self::Prompt(words) => prompt_view::render_prompt(words, width, usize::MAX),
            Self::Answer(words) => markdown_stream::render_answer(words, width),
            Self::Thought(words) => {
                let mut lines = vec![StyledLine::from_text(words::THOUGHT_HEAD, TextStyle::Dim)];
                lines.extend(tool_call_view::render_indented(words, TextStyle::Italic, width));
                lines
            }
            Self::Note(words) => text::render_plain(words, TextStyle::Dim, width),
            Self::ToolCall(call, outcome) => {
                tool_call_view::render_unfolded_call(call, outcome, width, folder)
            }
        }
    }
}

const BYTES_MAX: usize = 6 * 1024 * 1024;
const COUNT_MAX: usize = 20_000;
const TEXT_MAX: usize = 128 * 1024;
const ENTRY_BYTES: usize = 128;
const RENDERED_ENTRIES_MAX: usize = 400;
