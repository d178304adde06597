//! Detects process trees that multiply without end.

use super::process_table;
use super::process_tree::ProcessTree;

/// The total number of processes is cheap to read; the tree is counted only when that number has
/// grown by more than the tree may have.
pub(super) struct ForkBombGuard {
    pub(super) processes_before: Option<usize>,
    processes_max: usize,
}

impl ForkBombGuard {
    pub(super) fn new(is_plain: bool, processes_max: usize) -> Self {
        Self {
            processes_before: (!is_plain).then(process_table::count_processes).flatten(),
            processes_max,
        }
    }

    pub(super) fn is_exceeded(&self, tree: &ProcessTree) -> bool {
        let Some((before, now)) = self.processes_before.zip(process_table::count_processes())
        else {
            return false;
        };
        now > before.saturating_add(self.processes_max) && tree.count_living() > self.processes_max
    }
}
