//! A failure is told at the end, at most once, and only if nothing was made good after it. One that
//! demands that less be sent is told nowhere else.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{ModelStopReason, Notice, RecoveryAction};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct FailureChecker {
    /// What came of the last request of this run.
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
        match view.event {
            _ if view.is_dead => {}
            Event::ModelEnded { stop, .. } => self.last = LastModelOutcome::Ended(*stop),
            Event::ModelFailed { failure, .. } => {
                self.last = LastModelOutcome::Failed(failure.message.clone());
                if failure.kind.recovery_action() == RecoveryAction::Shrink {
                    secret = Some(failure.message.as_str());
                }
            }
            _ => {}
        }
        for effect in view.effects {
            match effect {
                Effect::Finish(ending) => self.check_finished(ending.failure.as_ref())?,
                Effect::Tell(Notice::RunStarted) => self.last = LastModelOutcome::Nothing,
                Effect::Tell(notice)
                    if secret.is_some_and(|words| format!("{notice:?}").contains(words)) =>
                {
                    return Err(format!("a withheld failure is told: {notice:?}"));
                }
                _ => {}
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
            return Err(format!("{} is told twice", failure.message));
        }
        self.reported.push(failure.message.clone());
        match &self.last {
            LastModelOutcome::Failed(words) if *words == failure.message => Ok(()),
            LastModelOutcome::Ended(ModelStopReason::OutputLimit | ModelStopReason::WindowFull) => {
                Ok(())
            }
            other => Err(format!("{} is told after {other:?}", failure.message)),
        }
    }
}
