//! What a provider refused is left out of every request from now on.
//!
//! Not a level: it frees nothing by design, it makes a history legal again. Like the levels it is a
//! remembered projection, so the transcript keeps what was taken out and later requests agree.

use alloc::vec::Vec;
use windlass_vocabulary::{Block, MessageId, ResultPart, ToolResult};

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
}

/// Leaves it out of everything sent so far, or of the one message that was named; says how many
/// blocks that were.
pub(crate) fn leave_out(
    memory: &mut Memory,
    transcript: &Transcript,
    what: Refused,
    only: Option<MessageId>,
) -> usize {
    let mut count = 0;
    for message in memory.projection(transcript).messages.clone() {
        if only.is_some_and(|named| named != message.id) {
            continue;
        }
        let before = count;
        let content: Vec<Block> =
            message.content.iter().filter_map(|block| kept(block, what, &mut count)).collect();
        if count > before {
            memory.shorten(message.id, with_content(&message, content));
        }
    }
    count
}

fn kept(block: &Block, what: Refused, count: &mut usize) -> Option<Block> {
    match (block, what) {
        (Block::Media(media), Refused::Media | Refused::Rich) => {
            *count += 1;
            Some(Block::Text(text::media_removed(&media.name)))
        }
        (Block::ToolResult(result), Refused::Media | Refused::Rich) => {
            let content = result.content.iter().map(|part| without_media(part, count)).collect();
            Some(Block::ToolResult(ToolResult { content, ..result.clone() }))
        }
        (Block::Thinking(_), Refused::Reasoning | Refused::Foreign | Refused::Rich)
        | (Block::Provider(_), Refused::Foreign | Refused::Rich) => {
            *count += 1;
            None
        }
        (other, _) => Some(other.clone()),
    }
}

fn without_media(part: &ResultPart, count: &mut usize) -> ResultPart {
    match part {
        ResultPart::Media(media) => {
            *count += 1;
            ResultPart::Text(text::media_removed(&media.name))
        }
        ResultPart::Text(words) => ResultPart::Text(words.clone()),
    }
}
