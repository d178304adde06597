//! Everything that happened, whole, for whoever wants to see it unfolded. So much is kept and no
//! more; the oldest goes first.

use std::collections::VecDeque;

use windlass_permission::display;
use windlass_vocabulary::{ResultPart, ToolCall, ToolOutcome};

use crate::line::{Line, Role};
use crate::{text, tool};

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Entry {
    /// Somebody said it.
    Said(String),
    /// The model said it.
    Answer(String),
    /// The model thought it.
    Thought(String),
    /// A call that ended.
    Call(ToolCall, Box<ToolOutcome>),
    /// A word on the way.
    Quiet(String),
}

/// What is kept.
#[derive(Debug, Default)]
pub struct Entries {
    kept: VecDeque<Entry>,
    bytes: usize,
    /// How many are kept no more.
    gone: usize,
}

impl Entries {
    /// Keeps one more.
    pub fn push(&mut self, entry: Entry) {
        let entry = entry.shortened();
        self.bytes += entry.bytes();
        self.kept.push_back(entry);
        while self.bytes > BYTES_MAX || self.kept.len() > COUNT_MAX {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.bytes();
            self.gone += 1;
        }
    }

    /// What it takes to keep them.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.bytes
    }

    /// How many there ever were.
    #[must_use]
    pub fn end(&self) -> usize {
        self.gone + self.kept.len()
    }

    /// One of them, counted from the first there ever was.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Entry> {
        self.kept.get(number.checked_sub(self.gone)?)
    }

    /// The newest of them as lines, everything unfolded.
    #[must_use]
    pub fn lines(&self, width: usize, folder: &str) -> Vec<Line> {
        let from = self.kept.len().saturating_sub(SHOWN_MAX);
        let mut lines = Vec::new();
        if from > 0 {
            let words = format!("({from} earlier entries are not shown here)");
            lines.extend([Line::of(words, Role::Quiet), Line::new()]);
        }
        for entry in self.kept.iter().skip(from) {
            lines.extend(entry.lines(width, folder));
            lines.push(Line::new());
        }
        lines
    }
}

impl Entry {
    /// What it takes to keep it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Said(text) | Self::Answer(text) | Self::Thought(text) | Self::Quiet(text) => {
                text.len() + ENTRY_BYTES
            }
            Self::Call(call, outcome) => {
                let parts = outcome.content.iter().map(|part| match part {
                    ResultPart::Text(text) => text.len(),
                    ResultPart::Media(media) => media.name.len(),
                });
                call.input.as_str().len() + parts.sum::<usize>() + ENTRY_BYTES
            }
        }
    }

    /// What is too long loses its end here; it is whole in the session's record.
    fn shortened(self) -> Self {
        let cut = |mut text: String| {
            if text.len() > TEXT_MAX {
                text.truncate(text.floor_char_boundary(TEXT_MAX));
                text.push_str("\n… (the rest is in the session's record)");
            }
            text
        };
        match self {
            Self::Said(text) => Self::Said(cut(text)),
            Self::Answer(text) => Self::Answer(cut(text)),
            Self::Thought(text) => Self::Thought(cut(text)),
            Self::Quiet(text) => Self::Quiet(cut(text)),
            Self::Call(call, mut outcome) => {
                outcome.structured = None;
                for part in &mut outcome.content {
                    match part {
                        ResultPart::Text(text) => *text = cut(std::mem::take(text)),
                        ResultPart::Media(media) => media.data = "".into(),
                    }
                }
                Self::Call(call, outcome)
            }
        }
    }

    /// Its lines, unfolded.
    #[must_use]
    pub fn lines(&self, width: usize, folder: &str) -> Vec<Line> {
        match self {
            Self::Said(words) => tool::said(words, width, usize::MAX),
            Self::Answer(words) => text::markdown(words, width),
            Self::Thought(words) => {
                let mut lines = vec![Line::of("∴ thought", Role::Quiet)];
                lines.extend(indented(words, Role::Slanted, width));
                lines
            }
            Self::Quiet(words) => text::plain(words, Role::Quiet, width),
            Self::Call(call, outcome) => {
                let mut lines = vec![tool::head(call, outcome, folder)];
                lines.extend(indented(&display::visible(&tool::whole(call)), Role::Code, width));
                for part in &outcome.content {
                    match part {
                        ResultPart::Text(words) => {
                            lines.extend(indented(&display::cleaned(words), Role::Quiet, width));
                        }
                        ResultPart::Media(media) => lines.push(tool::media(media)),
                    }
                }
                lines
            }
        }
    }
}

fn indented(words: &str, role: Role, width: usize) -> impl Iterator<Item = Line> {
    let lines = text::plain(words, role, width.saturating_sub(2));
    lines.into_iter().map(|line| {
        let mut whole = Line::of("  ", Role::Plain);
        for span in line.spans {
            whole.push(span.text, span.role);
        }
        whole
    })
}

const BYTES_MAX: usize = 6 * 1024 * 1024;
const COUNT_MAX: usize = 20_000;
const TEXT_MAX: usize = 128 * 1024;
const ENTRY_BYTES: usize = 128;
/// Entries drawn at once.
const SHOWN_MAX: usize = 400;
