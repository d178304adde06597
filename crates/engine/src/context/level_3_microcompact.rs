//! Level 3: old, verbose tool results shrink to a line, once per call.
//!
//! Frees        the bulk of old results, all at once when the window is filling up.
//! Costs        one break of the cached prefix per batch.
//! Leaves alone recent turns, short results, pinned messages, and the calls themselves.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use windlass_vocabulary::{Block, Message, MessageId, ToolResult};

use super::{Memory, Report, Shrink, View, turn_starts, with_content};
use crate::transcript::Entry;

pub(super) fn apply(memory: &mut Memory, view: &View<'_>, report: &mut Report) {
    let context = &view.settings.context;
    if view.tokens(memory) <= view.room.percent(context.microcompact_percent) {
        return;
    }
    let from = memory.boundary.as_ref().map_or(MessageId(0), |b| b.summary.next());
    let starts = turn_starts(view.transcript, from);
    let recent = usize::try_from(context.recent_turns).unwrap_or(usize::MAX);
    let Some(&first_recent) = starts.len().checked_sub(recent).and_then(|n| starts.get(n)) else {
        return;
    };
    let old = view
        .transcript
        .entries()
        .iter()
        .skip(usize::try_from(from.0).unwrap_or(usize::MAX))
        .take_while(|entry| entry.message.id < first_recent);
    let mut freed = 0;
    let mut count = 0usize;
    for entry in old {
        let seen = memory.shortened.get(&entry.message.id).unwrap_or(entry);
        let Some((short, results)) = shortened(&seen.message, context.verbose_bytes) else {
            continue;
        };
        freed += seen.raw.saturating_sub(short.raw);
        count += results;
        memory.shortened.insert(entry.message.id, short);
    }
    if count > 0 {
        let losses = vec![format!("the output of {count} old tool calls")];
        report.shrunk.push(Shrink { level: 3, freed, losses });
    }
}

fn shortened(message: &Message, verbose: usize) -> Option<(Entry, usize)> {
    if message.pinned {
        return None;
    }
    let mut count = 0;
    let content: Vec<Block> = message
        .content
        .iter()
        .map(|block| match block {
            Block::ToolResult(result) if result.bytes() > verbose => {
                count += 1;
                let note = format!("[{} bytes of old output left out]", result.bytes());
                Block::ToolResult(ToolResult::text(result.call.clone(), note, result.is_error))
            }
            other => other.clone(),
        })
        .collect();
    (count > 0).then(|| (with_content(message, content), count))
}
