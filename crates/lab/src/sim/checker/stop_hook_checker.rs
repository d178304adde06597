//! Stop hooks run only when the model has ended its answer well: never after a failure, never beside
//! open calls.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{HookPoint, ModelStopReason, Terminal};

use super::StepView;

pub(super) fn check(view: &StepView<'_>) -> Result<(), String> {
    for effect in view.effects {
        if let Effect::RunHook { point, ticket, .. } = effect {
            match point {
                HookPoint::Stop | HookPoint::SubagentStop if ticket.is_some() => {
                    check_good_end(view)?;
                }
                HookPoint::Stop | HookPoint::SubagentStop => check_overridden(view)?,
                HookPoint::StopFailure if ticket.is_some() => {
                    return Err("a stop-failure hook is waited for".to_owned());
                }
                HookPoint::PreToolUse
                | HookPoint::PostToolUse
                | HookPoint::PostToolUseFailure
                | HookPoint::PostToolBatch
                | HookPoint::StopFailure
                | HookPoint::PreCompact
                | HookPoint::PostCompact => {}
            }
            let is_own = *point == HookPoint::SubagentStop;
            if matches!(point, HookPoint::Stop | HookPoint::SubagentStop)
                && is_own != view.settings.agent.is_subagent
            {
                return Err(format!("{point:?} in the wrong kind of session"));
            }
        }
    }
    Ok(())
}

/// Stop hooks may be ignored only after they blocked too often and were told so.
fn check_overridden(view: &StepView<'_>) -> Result<(), String> {
    let ends = view.effects.iter().any(|effect| {
        matches!(effect, Effect::Finish(ending) if ending.terminal == Terminal::StopHookPrevented)
    });
    if ends && matches!(view.event, Event::HookEnded { .. }) {
        return Ok(());
    }
    Err(format!("stop hooks are overridden after {:?}", view.event))
}

fn check_good_end(view: &StepView<'_>) -> Result<(), String> {
    if let Event::ModelEnded { stop: ModelStopReason::EndTurn, .. } = view.event {
        return Ok(());
    }
    Err(format!("stop hooks run after {:?}", view.event))
}
