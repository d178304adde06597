//! What each model used and cost, nested sessions and side work included.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_engine::State;
use windlass_vocabulary::{MicroUsd, ModelName, Usage};

/// Spending by model of a session and all sessions nested in it, since this process took it up.
#[derive(Clone, Debug, Default)]
pub struct ModelSpending {
    by_model: Arc<Mutex<BTreeMap<ModelName, (Usage, MicroUsd)>>>,
}

impl ModelSpending {
    /// What was used and spent so far.
    #[must_use]
    pub fn read(&self) -> BTreeMap<ModelName, (Usage, MicroUsd)> {
        self.by_model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Takes over what one session of the tree is billed.
#[derive(Debug)]
pub(crate) struct SpendingRecorder {
    rows_seen: usize,
    spending: ModelSpending,
}

impl SpendingRecorder {
    /// What is in the ledger already, another process paid for.
    pub(crate) fn new(state: &State, spending: ModelSpending) -> Self {
        Self { rows_seen: state.ledger.rows().len(), spending }
    }

    pub(crate) fn record(&mut self, state: &State) {
        let rows = state.ledger.rows();
        // Fewer rows than before: the conversation went back.
        let new = rows.get(self.rows_seen..).unwrap_or_default();
        self.rows_seen = rows.len();
        if new.is_empty() {
            return;
        }
        let mut by_model = self.spending.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        for row in new {
            let (used, cost) = by_model.entry(row.model.clone()).or_default();
            *used += row.billed;
            *cost = *cost + row.cost;
        }
    }
}
