//! Level 2: the oldest whole turns go, recent ones stay.
//!
//! Frees        whole turns, in batches: nothing goes until half as many again have gathered.
//! Costs        one break of the cached prefix per batch.
//! Leaves alone what people asked for, pinned messages, everything when it is switched off.

use alloc::format;
use alloc::vec;
use windlass_vocabulary::MessageId;

use super::projection::{is_permanent, is_request};
use super::{Memory, Report, Shrink, View};

pub(super) fn apply(memory: &mut Memory, view: &View<'_>, report: &mut Report) {
    let Some(kept) = view.settings.context.turns_kept else {
        return;
    };
    let kept = usize::try_from(kept.max(1)).unwrap_or(usize::MAX);
    let from = memory.snipped_before.unwrap_or(MessageId(0)).max(memory.after_summary());
    let starts = view.transcript.turns_from(from);
    if starts.len() <= kept.saturating_add(kept.div_ceil(2)) {
        return;
    }
    let gone = starts.len() - kept;
    let Some(&first_kept) = starts.get(gone) else {
        return;
    };
    let before = memory.projection(view.transcript).raw;
    let snipped = view.transcript.entries_from(from).iter();
    let snipped = snipped.take_while(|entry| entry.message.id < first_kept);
    let stays = snipped.filter(|entry| is_permanent(&entry.message) || is_request(&entry.message));
    memory.stays.extend(stays.map(|entry| entry.message.id));
    memory.snipped_before = Some(first_kept);
    let hidden = memory.collapses.partition_point(|collapse| collapse.first < first_kept);
    memory.collapses.drain(..hidden);
    memory.committed = memory.committed.saturating_sub(hidden);
    memory.projection.forget();
    let freed = before.saturating_sub(memory.projection(view.transcript).raw);
    let losses = vec![format!("{gone} old turns, up to message {first_kept}")];
    report.shrunk.push(Shrink { level: 2, freed, losses });
}
