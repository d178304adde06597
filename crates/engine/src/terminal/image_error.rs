//! An image or a document cannot be used.
//!
//! Owes the transcript  nothing: media are left out of requests, not out of the transcript.
//! Tells the user       that the session can go on without it.

use alloc::format;
use alloc::string::{String, ToString};
use windlass_vocabulary::{ContentBlock, ToolResultPart};

use super::Owed;
use crate::context::quarantine::{Refused, leave_out};
use crate::step::Loop;

pub(super) fn image_error(turn: &mut Loop<'_>) -> Owed {
    let failure = turn.withheld_failure();
    let names = media_names(turn);
    // The next message must work: what the provider refused is not sent again.
    let state = &mut turn.state;
    let _ = leave_out(&mut state.compaction.context, &state.transcript, Refused::Media, None);
    let why = format!("the provider cannot use {names}; the session can go on without it");
    Owed { outcome: None, why, failure }
}

fn media_names(turn: &Loop<'_>) -> String {
    let newest = turn.state.transcript.messages().rev().find_map(|message| {
        message.content.iter().rev().find_map(|block| match block {
            ContentBlock::Media(media) => Some(media.name.clone()),
            ContentBlock::ToolResult(result) => {
                result.content.iter().rev().find_map(|part| match part {
                    ToolResultPart::Media(media) => Some(media.name.clone()),
                    ToolResultPart::Text(_) => None,
                })
            }
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::Provider(_) => None,
        })
    });
    newest.map_or_else(|| "an image".to_string(), |name| name.to_string())
}
