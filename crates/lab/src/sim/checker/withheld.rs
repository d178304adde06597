//! A failure is told at the end, at most once, and only if nothing was made good after it. One that
//! demands that less be sent is told nowhere else.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{Demand, Notice, Stop};

use super::View;

#[derive(Debug, Default)]
pub(super) struct Withheld {
    /// What came of the last request of this run.
    last: Last,
    told: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Ended(Stop),
    Failed(String),
}

impl Withheld {
    pub(super) fn check(&mut self, view: &View<'_>) -> Result<(), String> {
        let mut secret = None;
        match view.event {
            _ if view.is_dead => {}
            Event::ModelEnded { stop, .. } => self.last = Last::Ended(*stop),
            Event::ModelFailed { failure, .. } => {
                self.last = Last::Failed(failure.message.clone());
                if failure.kind.demand() == Demand::Shrink {
                    secret = Some(failure.message.as_str());
                }
            }
            _ => {}
        }
        for effect in view.effects {
            match effect {
                Effect::Finish(ending) => self.finished(ending.failure.as_ref())?,
                Effect::Tell(Notice::RunStarted) => self.last = Last::Nothing,
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

    fn finished(
        &mut self,
        failure: Option<&windlass_vocabulary::ModelFailure>,
    ) -> Result<(), String> {
        let Some(failure) = failure else {
            return Ok(());
        };
        if self.told.contains(&failure.message) && failure.message.contains('#') {
            return Err(format!("{} is told twice", failure.message));
        }
        self.told.push(failure.message.clone());
        match &self.last {
            Last::Failed(words) if *words == failure.message => Ok(()),
            Last::Ended(Stop::OutputLimit | Stop::WindowFull) => Ok(()),
            other => Err(format!("{} is told after {other:?}", failure.message)),
        }
    }
}
