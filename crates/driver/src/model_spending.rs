//! Usage and cost per model, including nested sessions and side requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_engine::State;
use windlass_vocabulary::{MicroUsd, ModelName, Usage};

/// Spending by model, of a session and its nested sessions, since this process opened it.
#[derive(Clone, Debug, Default)]
pub struct ModelSpending {
    by_model: Arc<Mutex<BTreeMap<ModelName, (Usage, MicroUsd)>>>,
}

impl ModelSpending {
    /// The usage and cost so far.
    #[must_use]
    pub fn read(&self) -> BTreeMap<ModelName, (Usage, MicroUsd)> {
        self.by_model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Adds the ledger rows of one session of the tree.
#[derive(Debug)]
pub(crate) struct SpendingRecorder {
    rows_seen: usize,
    spending: ModelSpending,
}

impl SpendingRecorder {
    /// Rows that are in the ledger already were paid for by an earlier process.
    pub(crate) fn new(state: &State, spending: ModelSpending) -> Self {
        Self { rows_seen: state.ledger.rows().len(), spending }
    }

    pub(crate) fn record(&mut self, state: &State) {
        let rows = state.ledger.rows();
        // There are fewer rows than before if the conversation was rewound.
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
