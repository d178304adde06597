//! A failure is reported at the end, at most once, and only if nothing succeeded after it. A
//! failure that requires a smaller request is reported nowhere else.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{ModelStopReason, Notice, RecoveryAction};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct FailureChecker {
    /// The result of the last request of this run.
    last: LastModelOutcome,
    reported: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum LastModelOutcome {
    #[default]
    Nothing,
    Ended(ModelStopReason),
    Failed(String),
}

impl FailureChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        let mut secret = None;
        let event = Some(view.event).filter(|_| !view.is_stale);
        if let Some(Event::ModelEnded { stop, .. }) = event {
            self.last = LastModelOutcome::Ended(*stop);
        } else if let Some(Event::ModelFailed { failure, .. }) = event {
            self.last = LastModelOutcome::Failed(failure.message.clone());
            if failure.kind.recovery_action() == RecoveryAction::Shrink {
                secret = Some(failure.message.as_str());
            }
        }
        for effect in view.effects {
            if let Effect::Finish(ending) = effect {
                self.check_finished(ending.failure.as_ref())?;
            } else if let Effect::Tell(Notice::RunStarted) = effect {
                self.last = LastModelOutcome::Nothing;
            } else if let Effect::Tell(notice) = effect
                && secret.is_some_and(|words| format!("{notice:?}").contains(words))
            {
                return Err(format!("a withheld failure is reported: {notice:?}"));
            }
        }
        Ok(())
    }

    fn check_finished(
        &mut self,
        failure: Option<&windlass_vocabulary::ModelFailure>,
    ) -> Result<(), String> {
        let Some(failure) = failure else {
            return Ok(());
        };
        if self.reported.contains(&failure.message) && failure.message.contains('#') {
            return Err(format!("{} is reported twice", failure.message));
        }
        self.reported.push(failure.message.clone());
        match &self.last {
            LastModelOutcome::Failed(words) if *words == failure.message => Ok(()),
            LastModelOutcome::Ended(ModelStopReason::OutputLimit | ModelStopReason::WindowFull) => {
                Ok(())
            }
            last @ (LastModelOutcome::Nothing
            | LastModelOutcome::Ended(_)
            | LastModelOutcome::Failed(_)) => {
                Err(format!("{} is reported after {last:?}", failure.message))
            }
        }
    }
}
