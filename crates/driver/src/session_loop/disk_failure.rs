//! When the disk fails: no further effect starts, what runs may end, and the session
//! says why it is over.

use std::time::Duration;

use windlass_engine::{Effect, Event, Interrupt};
use windlass_vocabulary::Outcome;
use windlass_vocabulary::notice::RunEnding;

use super::SessionLoop;
use crate::clock;
use crate::tool::StartConditions;

impl SessionLoop {
    /// The disk failed to keep what was written. Even if it was saved elsewhere, nothing more is done
    /// on the word of such a disk before it was repaired.
    pub(super) async fn recover_journal(mut self) -> Self {
        self.journal = self.journal.recover().await;
        match self.journal.has_failed() {
            true => self.stop_after_disk_failure(Vec::new()).await,
            false => self,
        }
    }

    /// What could not be written down is not done, only shown. What runs may end; the rest is called
    /// off.
    pub(super) async fn stop_after_disk_failure(mut self, undone: Vec<Effect>) -> Self {
        // A journal that others changed is replaced by a new one when the conversation has settled, and
        // what is told then names it. Until then nothing is shown.
        let is_damaged = self.journal.is_damaged();
        let mut unshown = undone;
        if !is_damaged {
            self.performer.report_storage_failure(self.journal.failure_message());
            self.show_effects(std::mem::take(&mut unshown));
        }
        let deadline = clock::now() + TOOLS_END_MAX;
        while self.performer.are_tools_running() {
            let event = tokio::select! {
                biased;
                // Whatever it is, a client is there and does not want to wait.
                _ = self.inbox.commands.recv() => break,
                Some(event) = self.inbox.events.recv() => Some(event),
                () = self.performer.wait_for_one() => None,
                () = tokio::time::sleep_until(deadline) => break,
            };
            if let Some(event) = event {
                let effects;
                (self, effects) = self.decide(event);
                match is_damaged {
                    true => unshown.extend(effects),
                    false => self.show_effects(effects),
                }
            }
        }
        let effects;
        (self, effects) = self.decide(Event::Interrupted(Interrupt::Shutdown));
        unshown.extend(effects);
        if is_damaged {
            self.journal.rescue(&self.state);
            self.performer.report_storage_failure(self.journal.failure_message());
        }
        self.show_effects(unshown);
        self.performer.cancel_all();
        self
    }

    /// One event that comes too late to be acted on: decided, written down if that can still be done,
    /// and shown.
    pub(super) fn record_without_effects(mut self, event: Event) -> Self {
        let effects;
        (self, effects) = self.decide(event);
        self.show_effects(effects);
        self
    }

    /// Shows what was decided and does nothing of it. A run that ends now ends for want of a disk.
    pub(super) fn show_effects(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let shown = if let Effect::Tell(_) = effect {
                effect
            } else if let Effect::Finish(ending) = effect {
                Effect::Finish(RunEnding {
                    outcome: Some(Outcome::StorageFailed),
                    why: self.journal.failure_message(),
                    ..ending
                })
            } else {
                continue;
            };
            let conditions = StartConditions::none();
            self.performer.perform(shown, &self.state.tool_context.policy, conditions);
        }
    }
}

/// How long tools may go on when nothing more can be written down.
const TOOLS_END_MAX: Duration = Duration::from_secs(10);
