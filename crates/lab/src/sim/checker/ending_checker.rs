//! A run begins once and ends once, with the reason it recorded, and nothing of it comes after.
//! It makes no more model calls, waits no longer and takes no more turns than was promised.

use windlass_engine::Effect;
use windlass_engine::control::Phase;
use windlass_engine::settings::CircleGuard;
use windlass_vocabulary::{Notice, Outcome, RequestSource};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct EndingChecker {
    is_running: bool,
    calls: u64,
    labels: u64,
    waited: u64,
}

impl EndingChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        let mut last = None;
        for effect in view.effects {
            if let Effect::Tell(Notice::RunStarted) = effect {
                if self.is_running {
                    return Err("a run began inside another".to_owned());
                }
                *self = Self { is_running: true, ..Self::default() };
            } else if let Effect::Finish(ending) = effect {
                if !self.is_running {
                    return Err(format!("{} without a run", ending.terminal));
                }
                self.is_running = false;
                if ending.outcome == Some(Outcome::Circled) {
                    check_circle(view)?;
                }
                last = Some(ending.terminal);
            } else if !self.is_running && is_work(effect) {
                return Err(format!("outside a run: {effect:?}"));
            } else {
                self.count_effect(effect, view)?;
            }
        }
        let phase = view.state.control.phase;
        if phase.is_running() != self.is_running {
            return Err(format!("the phase is {phase:?}, a run goes on: {}", self.is_running));
        }
        match (phase, last) {
            (Phase::Ended(recorded), Some(reported)) if recorded != reported => {
                Err(format!("told {reported}, recorded {recorded}"))
            }
            (Phase::Preparing | Phase::Attaching, _) => {
                Err(format!("{phase:?} does not last beyond a step"))
            }
            _ => Ok(()),
        }
    }

    fn count_effect(&mut self, effect: &Effect, view: &StepView<'_>) -> Result<(), String> {
        if let Effect::CallModel(_) = effect {
            self.calls += 1;
        } else if let Effect::Summarize { request, .. } = effect {
            self.calls += 1;
            self.labels += u64::from(request.source == RequestSource::ToolLabel);
        } else if let Effect::SetTimer { after, .. } = effect {
            self.waited += after.0;
        }
        let promised = view.bound.calls_between_inputs;
        if self.calls > promised {
            return Err(format!("{} model calls where {promised} were promised", self.calls));
        }
        if self.waited > view.settings.retry.wait_max.0 {
            return Err(format!("{} ms waited in one run", self.waited));
        }
        if view.state.control.turn > view.limits.turns_max.max(1) {
            return Err(format!("turn {}", view.state.control.turn));
        }
        Ok(())
    }
}

/// A guard that is off ends no run, and a guard that counts turns ends none before the fifth.
fn check_circle(view: &StepView<'_>) -> Result<(), String> {
    let turn = view.state.control.turn;
    match view.settings.switches.circle_guard {
        CircleGuard::Off => Err("a circle ended the run without a guard".to_owned()),
        CircleGuard::Turns if turn < 5 => Err(format!("a circle in turn {turn}")),
        CircleGuard::Turns | CircleGuard::Calls => Ok(()),
    }
}

fn is_work(effect: &Effect) -> bool {
    if let Effect::Summarize { request, .. } = effect
        && matches!(request.source, RequestSource::Chore(_))
    {
        return false;
    }
    matches!(
        effect,
        Effect::CallModel(_)
            | Effect::StartTool { .. }
            | Effect::AskPermission { .. }
            | Effect::RunHook { .. }
            | Effect::Summarize { .. }
            | Effect::SetTimer { .. }
            | Effect::Tell(
                Notice::Continued { .. } | Notice::Streamed { .. } | Notice::ToolStarted(_)
            )
    )
}
