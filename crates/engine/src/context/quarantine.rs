//! What a provider refused is left out of every request from now on.
//!
//! Not a level: it frees nothing by design, it makes a history legal again. Like the levels it is a
//! remembered projection, so the transcript keeps what was taken out and later requests agree.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use windlass_vocabulary::{ContentBlock, MessageId, ToolResult, ToolResultPart};

use super::{Memory, with_content};
use crate::text;
use crate::transcript::Transcript;

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Images and documents.
    Media,
    /// Reasoning of earlier answers.
    Reasoning,
    /// Reasoning, and blocks only one provider understands.
    Foreign,
    /// Everything but text, calls and plain results.
    Rich,
    /// What results say.
    Results,
}

/// What was left out, by name.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    names: Vec<String>,
}

impl LeftOut {
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl fmt::Display for LeftOut {
    /// The first few names, each once, and how many blocks there are in all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distinct: BTreeSet<&String> = self.names.iter().collect();
        let total = self.names.len();
        let shown: Vec<&str> = distinct.iter().take(3).map(|name| name.as_str()).collect();
        match total {
            0 => f.write_str("nothing"),
            _ if total == shown.len() => f.write_str(&shown.join(", ")),
            _ => write!(f, "{} and more, {total} in all,", shown.join(", ")),
        }
    }
}

/// Leaves it out of everything sent so far, or of the one message that was named; says what
/// that was.
pub(crate) fn leave_out(
    memory: &mut Memory,
    transcript: &Transcript,
    what: Refused,
    only: Option<MessageId>,
) -> LeftOut {
    let mut out = LeftOut::default();
    let shown = memory.projection(transcript).messages.clone();
    for message in shown.iter() {
        if only.is_some_and(|named| named != message.id) {
            continue;
        }
        let before = out.names.len();
        let content: Vec<ContentBlock> =
            message.content.iter().filter_map(|block| kept(block, what, &mut out)).collect();
        if out.names.len() > before {
            memory.shorten(message.id, with_content(message, content));
        }
    }
    out
}

fn kept(block: &ContentBlock, what: Refused, out: &mut LeftOut) -> Option<ContentBlock> {
    match (block, what) {
        (ContentBlock::Media(media), Refused::Media | Refused::Rich) => {
            out.names.push(media.name.to_string());
            Some(ContentBlock::Text(text::media_removed(&media.name)))
        }
        (ContentBlock::ToolResult(result), Refused::Media | Refused::Rich) => {
            let content = result.content.iter().map(|part| without_media(part, out)).collect();
            Some(ContentBlock::ToolResult(ToolResult { content, ..result.clone() }))
        }
        (ContentBlock::ToolResult(result), Refused::Results) => {
            out.names.push("the result of a tool".to_string());
            let content = vec![ToolResultPart::Text(text::RESULT_REMOVED.into())];
            Some(ContentBlock::ToolResult(ToolResult { content, ..result.clone() }))
        }
        (ContentBlock::Thinking(_), Refused::Reasoning | Refused::Foreign | Refused::Rich) => {
            out.names.push("reasoning".to_string());
            None
        }
        (ContentBlock::Provider(block), Refused::Foreign | Refused::Rich) => {
            out.names.push(block.kind.to_string());
            None
        }
        (other, _) => Some(other.clone()),
    }
}

fn without_media(part: &ToolResultPart, out: &mut LeftOut) -> ToolResultPart {
    match part {
        ToolResultPart::Media(media) => {
            out.names.push(media.name.to_string());
            ToolResultPart::Text(text::media_removed(&media.name))
        }
        ToolResultPart::Text(words) => ToolResultPart::Text(words.clone()),
    }
}
