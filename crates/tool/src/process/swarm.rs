//! Watches for a tree of processes that multiplies without end.

use super::table;
use super::tree::Tree;

/// Looks whether a tree multiplies without end. The number of all processes is cheap to know; the
/// tree is counted only when that has grown by more than it may have.
pub(super) struct Swarm {
    pub(super) before: Option<usize>,
    processes_max: usize,
}

impl Swarm {
    pub(super) fn new(is_plain: bool, processes_max: usize) -> Self {
        Self { before: (!is_plain).then(table::count).flatten(), processes_max }
    }

    pub(super) fn is_over(&self, tree: &Tree) -> bool {
        let Some((before, now)) = self.before.zip(table::count()) else {
            return false;
        };
        now > before.saturating_add(self.processes_max) && tree.size() > self.processes_max
    }
}
