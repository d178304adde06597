//! Level 1: a result over its limit becomes head, tail and a pointer to the full text on disk.
//!
//! Frees        what is over the limit, at once, before the model ever sees it.
//! Costs        nothing in the prompt cache: the message is new.
//! Leaves alone results within their limit, media, pinned messages.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{ContentBlock, Message, MessageId, ToolResult, ToolResultPart};

use super::{Memory, Report, Shrink, View, with_content};
use crate::digest;
use crate::settings::Context;

pub(super) fn apply(memory: &mut Memory, view: &View<'_>, report: &mut Report) {
    let first = memory.budgeted.map_or(MessageId(0), MessageId::next);
    for entry in view.transcript.entries_from(first) {
        memory.budgeted = Some(entry.message.id);
        if entry.message.pinned {
            continue;
        }
        let Some(content) = shortened(&entry.message, view, report) else {
            continue;
        };
        let short = with_content(&entry.message, content);
        report.shrunk.push(Shrink {
            level: 1,
            freed: entry.raw.saturating_sub(short.raw),
            losses: Vec::new(),
        });
        memory.shorten(entry.message.id, short);
    }
}

/// The content with oversized results cut, or `None` if all are within their limits. When the
/// message as a whole is over its limit, its largest results are cut as well.
fn shortened(message: &Message, view: &View<'_>, report: &mut Report) -> Option<Vec<ContentBlock>> {
    let context = &view.settings.context;
    let total: usize = message.tool_results().map(ToolResult::bytes).sum();
    let share = match message.tool_results().count() {
        0 => return None,
        count => context.message_result_bytes_max / count,
    };
    let is_crowded = total > context.message_result_bytes_max;
    let mut is_cut = false;
    let content = message
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::ToolResult(result) => {
                let own = limit_of(result, view);
                let limit = if is_crowded { own.min(share) } else { own };
                if result.bytes() <= limit {
                    return block.clone();
                }
                match cut(result, limit, context, report) {
                    Some(short) => {
                        is_cut = true;
                        ContentBlock::ToolResult(short)
                    }
                    None => block.clone(),
                }
            }
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::Media(_)
            | ContentBlock::Provider(_) => block.clone(),
        })
        .collect();
    is_cut.then_some(content)
}

fn limit_of(result: &ToolResult, view: &View<'_>) -> usize {
    // The call is in the answer before the results; its tool knows the limit.
    let name = view.transcript.messages().rev().find_map(|message| {
        message.tool_calls().find(|call| call.id == result.call).map(|call| call.name.clone())
    });
    name.and_then(|name| view.tools.iter().find(|spec| spec.name == name))
        .map_or(view.settings.context.message_result_bytes_max, |spec| spec.result_bytes_max)
}

/// The result within its limit, or `None` if that would make it no shorter.
fn cut(
    result: &ToolResult,
    limit: usize,
    context: &Context,
    report: &mut Report,
) -> Option<ToolResult> {
    let kept = context.result_bytes_kept.min(limit / 2);
    let mut number = 0u32;
    let content = result
        .content
        .iter()
        .map(|part| match part {
            ToolResultPart::Text(text) if text.len() > kept.saturating_mul(2) => {
                let name: Arc<str> = Arc::from(spill_name(result.call.as_str(), number));
                let pointer = format!("{}/{name}", context.spill_directory);
                // The note takes room too.
                let kept = kept.min(limit.saturating_sub(NOTE + pointer.len()) / 2);
                let short = head_and_tail(text, kept, &pointer);
                if short.len() >= text.len() {
                    return part.clone();
                }
                number += 1;
                report.spills.push((name, text.clone()));
                ToolResultPart::Text(short)
            }
            ToolResultPart::Text(_) | ToolResultPart::Media(_) => part.clone(),
        })
        .collect();
    let short = ToolResult { call: result.call.clone(), content, is_error: result.is_error };
    (number > 0).then_some(short)
}

/// Bytes of the note that stands between head and tail, its path apart.
const NOTE: usize = 110;

/// A file name made of the call id alone, so that it is the same on every replay. An id that does
/// not make a good name gets its digest too, so that no two ids share a file.
fn spill_name(call: &str, number: u32) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let safe: String =
        call.chars().map(|c| if is_plain(c) { c } else { '_' }).take(NAME_MAX).collect();
    let own = match safe == call {
        true => safe,
        false => format!("{safe}.{:032x}", digest::add(digest::START, call.as_bytes())),
    };
    match number {
        0 => format!("{own}.txt"),
        n => format!("{own}.part{n}.txt"),
    }
}

/// Characters of a call id that a file name keeps.
const NAME_MAX: usize = 80;

fn head_and_tail(text: &str, kept: usize, pointer: &str) -> String {
    let head = floor(text, kept);
    let tail = ceil(text, text.len().saturating_sub(kept));
    let head = text.get(..head).unwrap_or("");
    let tail = text.get(tail..).unwrap_or("");
    let left_out = text.len() - head.len() - tail.len();
    format!(
        "{head}\n[{left_out} of {} bytes left out here. The whole text is in the file \
         {pointer}; read the part you need.]\n{tail}",
        text.len()
    )
}

/// The last character boundary at or before `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}
