//! What the pager shows: everything that happened, in full. Bounded; the oldest entries are dropped
//! first.

use std::collections::VecDeque;

use windlass_permission::sanitize;
use windlass_vocabulary::{ToolCall, ToolOutcome, ToolResultPart};

use crate::styled_line::{StyledLine, TextStyle};
use crate::{prompt_view, text, tool_call_view};

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

    /// Counted from the first entry ever; `None` if that was dropped.
    pub fn get(&self, number: usize) -> Option<&TranscriptEntry> {
        self.entries.get(number.checked_sub(self.dropped)?)
    }

    /// Renders the newest entries.
    pub fn render(&self, width: usize, folder: &str) -> Vec<StyledLine> {
        let from = self.entries.len().saturating_sub(RENDERED_ENTRIES_MAX);
        let mut lines = Vec::new();
        if from > 0 {
            let words = format!("({from} earlier entries are not shown here)");
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
                call.input.as_str().len() + parts.sum::<usize>() + ENTRY_BYTES
            }
        }
    }

    /// Cuts long texts; the session's journal has them in full.
    fn truncate_texts(self) -> Self {
        let cut = |mut text: String| {
            if text.len() > TEXT_MAX {
                text.truncate(text.floor_char_boundary(TEXT_MAX));
                text.push_str("\n… (the rest is in the session's record)");
            }
            text
        };
        match self {
            Self::Prompt(text) => Self::Prompt(cut(text)),
            Self::Answer(text) => Self::Answer(cut(text)),
            Self::Thought(text) => Self::Thought(cut(text)),
            Self::Note(text) => Self::Note(cut(text)),
            Self::ToolCall(call, mut outcome) => {
                outcome.structured = None;
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
            Self::Answer(words) => text::render_markdown(words, width),
            Self::Thought(words) => {
                let mut lines = vec![StyledLine::from_text("∴ thought", TextStyle::Dim)];
                lines.extend(render_indented(words, TextStyle::Italic, width));
                lines
            }
            Self::Note(words) => text::render_plain(words, TextStyle::Dim, width),
            Self::ToolCall(call, outcome) => {
                let mut lines = vec![tool_call_view::render_summary_line(call, outcome, folder)];
                lines.extend(render_indented(
                    &sanitize::escape_invisible(&tool_call_view::format_input(call)),
                    TextStyle::Code,
                    width,
                ));
                for part in &outcome.content {
                    match part {
                        ToolResultPart::Text(words) => {
                            lines.extend(render_indented(
                                &sanitize::strip_control(words),
                                TextStyle::Dim,
                                width,
                            ));
                        }
                        ToolResultPart::Media(media) => {
                            lines.push(tool_call_view::render_media(media));
                        }
                    }
                }
                lines
            }
        }
    }
}

fn render_indented(
    words: &str,
    style: TextStyle,
    width: usize,
) -> impl Iterator<Item = StyledLine> {
    let lines = text::render_plain(words, style, width.saturating_sub(2));
    lines.into_iter().map(|line| {
        let mut whole = StyledLine::from_text("  ", TextStyle::Plain);
        for span in line.spans {
            whole.push(span.text, span.style);
        }
        whole
    })
}

const BYTES_MAX: usize = 6 * 1024 * 1024;
const COUNT_MAX: usize = 20_000;
const TEXT_MAX: usize = 128 * 1024;
const ENTRY_BYTES: usize = 128;
const RENDERED_ENTRIES_MAX: usize = 400;
