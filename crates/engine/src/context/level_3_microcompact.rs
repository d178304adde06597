//! Level 3: old, verbose tool results shrink to a line, once per call.
//!
//! Frees        the bulk of old results, all at once when the window is filling up.
//! Costs        one break of the cached prefix per batch.
//! Leaves alone recent turns, short results, pinned messages, and the calls themselves.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use windlass_vocabulary::{
    ContentBlock, Message, MessageId, RequestSource, Tokens, ToolResult, ToolResultClearing,
};

use super::{Memory, Report, Room, Shrink, View, with_content};
use crate::settings::Settings;
use crate::state::State;
use crate::transcript::Entry;

/// What was found verbose and not shortened yet, so that old messages are looked at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verbose {
    /// Messages before this one were looked at.
    before: MessageId,
    /// What shortening them would free.
    freed: u64,
}

/// What the provider is asked to take out on its side, where it can; then nothing is done here.
/// Summaries and labels are no part of the conversation.
pub(crate) fn clearing(
    state: &State,
    settings: &Settings,
    source: RequestSource,
) -> Option<ToolResultClearing> {
    let model = settings.model_at(state.control.model);
    let can_clear = settings.context.cleared_by_provider.contains(&model.name);
    let room = Room::new(settings, state.control.model);
    let wish = ToolResultClearing {
        trigger_tokens: room.percent(settings.context.microcompact_percent),
        keep_latest: settings.context.recent_turns.saturating_mul(RESULTS_A_TURN),
        clear_at_least: room.percent(BATCH_PERCENT),
    };
    (can_clear && !state.recovery.without_clearing && source == RequestSource::Main).then_some(wish)
}

/// Results that a turn is taken to have.
const RESULTS_A_TURN: u32 = 2;

pub(super) fn apply(memory: &mut Memory, view: &View<'_>, report: &mut Report) {
    let context = &view.settings.context;
    if view.is_cleared_by_provider {
        return;
    }
    if view.tokens(memory) <= view.room.percent(context.microcompact_percent) {
        return;
    }
    let done = memory.microcompacted_before.unwrap_or(MessageId(0));
    let from = memory.after_summary().max(done);
    let starts = view.transcript.turns_from(from);
    let recent = usize::try_from(context.recent_turns).unwrap_or(usize::MAX);
    let Some(&first_recent) = starts.len().checked_sub(recent).and_then(|n| starts.get(n)) else {
        return;
    };
    memory.verbose = gathered(memory, view, (from, first_recent));
    // A break of the cached prefix must pay: wait until a worthwhile batch has gathered.
    if (view.estimate)(memory.verbose.freed) < view.room.percent(BATCH_PERCENT).max(Tokens(1)) {
        return;
    }
    let mut freed = 0;
    let mut count = 0usize;
    for entry in between(view, from, first_recent) {
        let seen = memory.shown(entry);
        let Some((short, results)) = shortened(&seen.message, context.verbose_bytes) else {
            continue;
        };
        freed += seen.raw.saturating_sub(short.raw);
        count += results;
        memory.shorten(entry.message.id, short);
    }
    memory.microcompacted_before = Some(first_recent);
    memory.verbose = Verbose { before: first_recent, freed: 0 };
    let losses = vec![format!("the output of {count} old tool calls")];
    report.shrunk.push(Shrink { level: 3, freed, losses });
}

/// What could be freed between these messages, looking only at those not looked at before.
fn gathered(memory: &Memory, view: &View<'_>, (from, end): (MessageId, MessageId)) -> Verbose {
    let known = Some(memory.verbose).filter(|known| known.before >= from);
    let Verbose { before, mut freed } = known.unwrap_or(Verbose { before: from, freed: 0 });
    for entry in between(view, before, end) {
        let seen = memory.shown(entry);
        if let Some((short, _)) = shortened(&seen.message, view.settings.context.verbose_bytes) {
            freed += seen.raw.saturating_sub(short.raw);
        }
    }
    Verbose { before: before.max(end), freed }
}

fn between<'a>(
    view: &View<'a>,
    from: MessageId,
    end: MessageId,
) -> impl Iterator<Item = &'a Entry> + use<'a> {
    view.transcript.entries_from(from).iter().take_while(move |entry| entry.message.id < end)
}

/// A batch frees at least this share of the window, in percent.
const BATCH_PERCENT: u8 = 2;

fn shortened(message: &Message, verbose: usize) -> Option<(Entry, usize)> {
    if message.pinned {
        return None;
    }
    let mut count = 0;
    let content: Vec<ContentBlock> = message
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::ToolResult(result) if result.bytes() > verbose => {
                count += 1;
                let note = format!("[{} bytes of old output left out]", result.bytes());
                ContentBlock::ToolResult(ToolResult::from_text(
                    result.call.clone(),
                    note,
                    result.is_error,
                ))
            }
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Media(_)
            | ContentBlock::Provider(_) => block.clone(),
        })
        .collect();
    (count > 0).then(|| (with_content(message, content), count))
}
