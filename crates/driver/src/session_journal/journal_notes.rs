//! Derives notes from events, for readers that do not replay the journal: which tools were about to
//! start, the cost of requests, how runs ended, and what filled the context window.

use windlass_engine::context::inventory;
use windlass_engine::tool::queue::Entry;
use windlass_engine::{Effect, Settings, State};
use windlass_journal::{BilledRow, JournalNote, RunEndedNote, ToolIntent};
use windlass_vocabulary::{EffectClass, MicroUsd, Notice, Ticket, ToolInspection};

#[derive(Debug)]
pub(crate) struct JournalNoteCollector {
    rows_noted: usize,
    reserve_noted: MicroUsd,
    price_table: Option<String>,
}

impl JournalNoteCollector {
    /// Everything up to this state is in the journal.
    pub(crate) fn new(state: &State, price_table: Option<String>) -> Self {
        Self {
            rows_noted: state.ledger.rows().len(),
            reserve_noted: state.ledger.kept(),
            price_table,
        }
    }

    /// Adds the notes of a step. Returns whether they must be on disk before its effects start.
    pub(crate) fn collect_notes(
        &mut self,
        state: &State,
        settings: &Settings,
        effects: &[Effect],
        notes: &mut Vec<JournalNote>,
    ) -> bool {
        let rows = state.ledger.rows().get(self.rows_noted..).unwrap_or_default();
        self.rows_noted += rows.len();
        let agent = &settings.agent.id;
        let prices = self.price_table.as_deref();
        let mut rows: Vec<BilledRow> =
            rows.iter().map(|row| BilledRow::from_ledger_row(row, agent, prices)).collect();
        if let Some(last) = rows.last_mut() {
            let kept = state.ledger.kept();
            last.kept = kept.less(self.reserve_noted);
            self.reserve_noted = kept;
        }
        notes.extend(rows.into_iter().map(JournalNote::Billed));
        let mut is_urgent = false;
        for effect in effects {
            match effect {
                Effect::StartTool { ticket, granted, .. } => {
                    let class = effect_class(state, *ticket);
                    notes.push(JournalNote::Intended(ToolIntent::from_call(
                        *ticket,
                        granted.get(),
                        class,
                    )));
                    is_urgent = true;
                }
                Effect::AskPermission { ticket, .. } => notes.push(JournalNote::Asked(*ticket)),
                Effect::Tell(Notice::Continued { transition, turn }) => {
                    notes.push(JournalNote::Continued(*transition, *turn));
                }
                Effect::Finish(ending) => {
                    notes.push(JournalNote::Ended(RunEndedNote {
                        terminal: ending.terminal,
                        turns: ending.turns,
                        messages: state.transcript.next_id().0,
                        cost: ending.cost,
                        deferred: ending.deferred.is_some(),
                    }));
                    notes.push(JournalNote::Context(Box::new(inventory(state, settings))));
                    is_urgent = true;
                }
                Effect::CallModel(_)
                | Effect::Summarize { .. }
                | Effect::CancelModel { .. }
                | Effect::CancelTool { .. }
                | Effect::RunHook { .. }
                | Effect::Spill { .. }
                | Effect::Keep { .. }
                | Effect::Prefetch { .. }
                | Effect::SetTimer { .. }
                | Effect::Tell(_) => {}
            }
        }
        is_urgent
    }
}

pub(crate) fn effect_class(state: &State, ticket: Ticket) -> EffectClass {
    find_entry(state, ticket).map_or(EffectClass::Effect, |entry| entry.inspection.class)
}

/// What the call was judged by.
pub(crate) fn find_inspection(state: &State, ticket: Ticket) -> ToolInspection {
    let entry = find_entry(state, ticket);
    entry.map_or(ToolInspection::EXCLUSIVE_EFFECT, |entry| entry.inspection.clone())
}

fn find_entry(state: &State, ticket: Ticket) -> Option<&Entry> {
    state.queue.entries.get(state.queue.position(ticket)?)
}
