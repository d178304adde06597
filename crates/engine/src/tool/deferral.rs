//! A call that a hook puts off: the run ends without its result, and the next one begins with it.
//!
//! Only the single call of an answer can be put off, and only where somebody can take the session up
//! again later. Its answer stays the last message until it is settled, so nothing is said to a model
//! and nothing is added before that; the hooks are asked about it anew, under the same call id.

use alloc::format;
use windlass_permission::PriorDecision;

use super::queue::{Entry, Queue, Stage};
use crate::signal::Signal;
use crate::step::Loop;

impl Queue {
    /// The only call there is was put off.
    pub(crate) fn is_put_off(&self) -> bool {
        matches!(self.entries.as_slice(), [Entry { stage: Stage::Deferred, .. }])
    }
}

impl Loop<'_> {
    /// A hook wants this call decided later. Where that cannot be, permission decides as usual.
    pub(super) fn put_off(&mut self, place: usize) {
        if self.settings.hooks.can_defer && self.state.queue.entries.len() == 1 {
            self.set_stage(place, Stage::Deferred);
        } else {
            self.not_put_off(place);
        }
    }

    /// Another call joined the answer, so the first can no longer be put off.
    pub(super) fn release_deferred(&mut self) {
        let is_first = self.entry(0).is_some_and(|entry| entry.stage == Stage::Deferred);
        if is_first && self.state.queue.entries.len() > 1 {
            self.not_put_off(0);
        }
    }

    fn not_put_off(&mut self, place: usize) {
        let Some(name) = self.entry(place).map(|entry| entry.call.name.clone()) else { return };
        let because = match self.settings.hooks.can_defer {
            true => "its answer has other calls",
            false => "this session is not one that can be taken up again for it",
        };
        self.warn(&format!(
            "a hook put the call of {name} off, but {because}: permission decides as usual"
        ));
        self.judge(place, PriorDecision::None);
    }

    /// The session goes on without a word.
    pub(crate) fn resumed(&mut self) {
        if !self.state.control.phase.is_running() && self.state.control.calls_open {
            self.refresh();
            self.drive(Signal::Resumed);
        }
    }

    /// Looks again at the call that was put off, as if it had just come.
    pub(crate) fn settle_deferred(&mut self) -> Option<Signal> {
        self.begin(0);
        self.start_ready();
        self.tools_done()
    }
}
