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
    let done = memory.microcompacted_before.unwrap_or(MessageId(0));
    let from = memory.after_summary().max(done);
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
    let mut batch = Vec::new();
    for entry in old {
        let seen = memory.shown(entry);
        let Some((short, results)) = shortened(&seen.message, context.verbose_bytes) else {
            continue;
        };
        freed += seen.raw.saturating_sub(short.raw);
        count += results;
        batch.push((entry.message.id, short));
    }
    // A break of the cached prefix must pay: wait until a worthwhile batch has gathered.
    if count == 0 || (view.estimate)(freed) < view.room.percent(BATCH_PERCENT) {
        return;
    }
    for (id, short) in batch {
        memory.shorten(id, short);
    }
    memory.microcompacted_before = Some(first_recent);
    let losses = vec![format!("the output of {count} old tool calls")];
    report.shrunk.push(Shrink { level: 3, freed, losses });
}

/// A batch frees at least this share of the window, in percent.
const BATCH_PERCENT: u8 = 2;

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
