//! Remembers that no snapshot can be taken, because the store has no room or cannot be written, and
//! whether the user accepted that commands then cannot be undone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_permission::file_system_view::NO_SNAPSHOT_KEY;
use windlass_vocabulary::{PathKind, ToolInspection};
use windlass_workspace::WorkspaceError;

#[derive(Debug, Default)]
pub(crate) struct SnapshotOutage {
    state: Mutex<OutageState>,
}

#[derive(Debug, Default)]
struct OutageState {
    why: Option<Arc<str>>,
    /// A call was allowed by a question that named this reason.
    is_accepted: bool,
}

impl SnapshotOutage {
    /// A snapshot failed. Only errors of the disk count: a directory that is never covered is
    /// reported once, and a cancelled snapshot says nothing.
    pub(super) fn record_failure(&self, error: &WorkspaceError) {
        if matches!(error, WorkspaceError::NoRoom | WorkspaceError::Disk { .. }) {
            self.lock_state().why = Some(Arc::from(error.to_string()));
        }
    }

    /// A snapshot was taken, so a later failure is asked about again.
    pub(super) fn end(&self) {
        *self.lock_state() = OutageState::default();
    }

    /// Adds the reason to what is known of a call, unless the user has accepted it.
    pub(crate) fn add_to(&self, inspection: &mut ToolInspection) {
        if let Some(why) = self.find_unaccepted() {
            inspection.seen.push((Arc::from(NO_SNAPSHOT_KEY), PathKind::Symlink(why)));
        }
    }

    /// A question with these words was answered with yes.
    pub(crate) fn accept(&self, question: &str) {
        let mut state = self.lock_state();
        let is_named = state.why.as_ref().is_some_and(|why| question.contains(why.as_ref()));
        state.is_accepted |= is_named;
    }

    pub(crate) fn find_unaccepted(&self) -> Option<Arc<str>> {
        let state = self.lock_state();
        state.why.clone().filter(|_| !state.is_accepted)
    }

    fn lock_state(&self) -> MutexGuard<'_, OutageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
