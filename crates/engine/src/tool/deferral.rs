//! A call that a hook defers: the run ends without its result, and the next one begins with it.
//!
//! Only the single call of an answer can be deferred, and only in a session that can be resumed
//! later. Its answer stays the last message until it is settled, so nothing is said to a model
//! and nothing is added before that; the hooks are asked about it anew, under the same call id.

use alloc::format;
use windlass_permission::PriorDecision;

use super::queue::{Entry, Queue, Stage};
use crate::signal::Signal;
use crate::step::Loop;

impl Queue {
    /// The only call there is was deferred.
    pub(crate) fn is_deferred(&self) -> bool {
        matches!(self.entries.as_slice(), [Entry { stage: Stage::Deferred, .. }])
    }
}

impl Loop<'_> {
    /// A hook wants this call decided later. Where that cannot be, permission decides as usual.
    pub(super) fn defer(&mut self, place: usize) {
        if self.settings.hooks.can_defer && self.state.queue.entries.len() == 1 {
            self.set_stage(place, Stage::Deferred);
        } else {
            self.refuse_deferral(place);
        }
    }

    /// Another call joined the answer, so the first can no longer be deferred.
    pub(super) fn release_deferred(&mut self) {
        let is_first = self.entry(0).is_some_and(|entry| entry.stage == Stage::Deferred);
        if is_first && self.state.queue.entries.len() > 1 {
            self.refuse_deferral(0);
        }
    }

    fn refuse_deferral(&mut self, place: usize) {
        let Some(name) = self.entry(place).map(|entry| entry.call.name.clone()) else { return };
        let because = match self.settings.hooks.can_defer {
            true => "its answer has other calls",
            false => "this session cannot be resumed for it",
        };
        self.warn(&format!(
            "a hook deferred the call of {name}, but {because}: permission decides as usual"
        ));
        self.judge(place, PriorDecision::None);
    }

    /// The session goes on without a new prompt.
    pub(crate) fn resumed(&mut self) {
        if !self.state.control.phase.is_running() && self.state.control.calls_open {
            self.refresh();
            self.drive(Signal::Resumed);
        }
    }

    /// Looks again at the deferred call, as if it had just come.
    pub(crate) fn settle_deferred(&mut self) -> Option<Signal> {
        self.begin(0);
        self.start_ready();
        self.tools_done()
    }
}
