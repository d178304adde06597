//! After a disk failure no further effect starts, running tools may end, and the session reports
//! why it ends.

use std::time::Duration;

use windlass_engine::{Effect, Event, Interrupt};
use windlass_vocabulary::Outcome;
use windlass_vocabulary::notice::RunEnding;

use super::SessionLoop;
use crate::clock;
use crate::tool::StartConditions;

impl SessionLoop {
    /// A sync failed. Even if the records were saved elsewhere, the session ends: a disk that
    /// failed once may lose more.
    pub(super) async fn recover_journal(mut self) -> Self {
        self.journal = self.journal.recover().await;
        match self.journal.has_failed() {
            true => self.stop_after_disk_failure(Vec::new()).await,
            false => self,
        }
    }

    /// Effects that could not be recorded are not performed, only shown. Running tools may end;
    /// everything else is cancelled.
    pub(super) async fn stop_after_disk_failure(mut self, undone: Vec<Effect>) -> Self {
        // A journal that others changed is replaced by a new one when the conversation has settled;
        // the notices must name that one. So nothing is shown until then.
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
                // Any command means that a client is waiting, so stop.
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

    /// Handles an event that arrives too late for effects: decides it, records it if that is still
    /// possible, and shows it.
    pub(super) fn record_without_effects(mut self, event: Event) -> Self {
        let effects;
        (self, effects) = self.decide(event);
        self.show_effects(effects);
        self
    }

    /// Shows effects without performing them. If the run ends now, its reason is the disk failure.
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

/// How long tools may continue after the disk has failed.
const TOOLS_END_MAX: Duration = Duration::from_secs(10);
