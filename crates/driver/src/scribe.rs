//! What follows from events, in words for those who read a journal without replaying it: which tools
//! were about to start, what requests cost, how runs ended and what filled the window then.

use windlass_engine::context::inventory;
use windlass_engine::{Effect, Settings, State};
use windlass_journal::{Intent, Note, Row};
use windlass_vocabulary::{EffectClass, MicroUsd, Notice, Ticket};

/// Remembers what is noted down already.
#[derive(Debug)]
pub(crate) struct Scribe {
    rows: usize,
    /// What stays set aside for good.
    kept: MicroUsd,
    prices: Option<String>,
}

impl Scribe {
    /// Everything up to this state is in the journal.
    pub(crate) fn new(state: &State, prices: Option<String>) -> Self {
        Self { rows: state.ledger.rows().len(), kept: state.ledger.kept(), prices }
    }

    /// Adds what follows from a step. Says whether it must be on disk before anything is done.
    pub(crate) fn write(
        &mut self,
        state: &State,
        settings: &Settings,
        effects: &[Effect],
        notes: &mut Vec<Note>,
    ) -> bool {
        let rows = state.ledger.rows().get(self.rows..).unwrap_or_default();
        self.rows += rows.len();
        let (agent, prices) = (&settings.agent.id, self.prices.as_deref());
        let mut booked: Vec<Row> = rows.iter().map(|row| Row::of(row, agent, prices)).collect();
        if let Some(last) = booked.last_mut() {
            let kept = state.ledger.kept();
            last.kept = kept.less(self.kept);
            self.kept = kept;
        }
        notes.extend(booked.into_iter().map(Note::Billed));
        let mut is_urgent = false;
        for effect in effects {
            match effect {
                Effect::StartTool { ticket, granted, .. } => {
                    let class = class_of(state, *ticket);
                    notes.push(Note::Intended(Intent::of(*ticket, granted.get(), class)));
                    is_urgent = true;
                }
                Effect::AskPermission { ticket, .. } => notes.push(Note::Asked(*ticket)),
                Effect::Tell(Notice::Continued { transition, turn }) => {
                    notes.push(Note::Continued(*transition, *turn));
                }
                Effect::Finish(ending) => {
                    notes.push(Note::Ended(windlass_journal::record::Ended {
                        terminal: ending.terminal,
                        turns: ending.turns,
                        messages: state.transcript.next_id().0,
                        cost: ending.cost,
                        deferred: ending.deferred.is_some(),
                    }));
                    notes.push(Note::Context(Box::new(inventory(state, settings))));
                    is_urgent = true;
                }
                _ => {}
            }
        }
        is_urgent
    }
}

/// What running this call twice would mean.
pub(crate) fn class_of(state: &State, ticket: Ticket) -> EffectClass {
    let place = state.queue.position(ticket);
    let entry = place.and_then(|place| state.queue.entries.get(place));
    entry.map_or(EffectClass::Effect, |entry| entry.inspection.class)
}
