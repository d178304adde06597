//! The control after a step follows from the rules: some chain of signals
//! leads from the control before to it. `decide` is called here by itself, beside the engine.

use windlass_engine::Control;
use windlass_engine::decide::{Act, decide};
use windlass_engine::signal::Signal;
use windlass_engine::{Event, Limits};

use super::StepView;

#[derive(Debug)]
pub(super) struct ControlRuleChecker {
    signals: Vec<Signal>,
}

impl Default for ControlRuleChecker {
    fn default() -> Self {
        Self { signals: Signal::all() }
    }
}

impl ControlRuleChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        let after = view.state.control;
        if after == view.before {
            return Ok(());
        }
        let mut open: Vec<(Control, Act)> = self
            .signals
            .iter()
            .filter(|signal| may_show(view.event, **signal))
            .map(|signal| decide_signal(view.before, *signal, view.limits))
            .collect();
        let mut seen: Vec<(Control, Act)> = Vec::new();
        while let Some((control, act)) = open.pop() {
            if control == after && may_end_step(act) {
                return Ok(());
            }
            if seen.contains(&(control, act)) {
                continue;
            }
            seen.push((control, act));
            let next = self.signals.iter().filter(|signal| may_follow(act, **signal));
            open.extend(next.map(|signal| decide_signal(control, *signal, view.limits)));
        }
        Err(format!("no rule leads from {:?} to {after:?} by {:?}", view.before, view.event))
    }
}

fn decide_signal(control: Control, signal: Signal, limits: &Limits) -> (Control, Act) {
    let decision = decide(control, signal, limits);
    (decision.control, decision.act)
}

fn may_show(event: &Event, signal: Signal) -> bool {
    match event {
        Event::UserSubmitted { .. } => signal == Signal::Submitted,
        Event::Resumed => signal == Signal::Resumed,
        Event::CompactionAsked { .. } => signal == Signal::CompactionAsked,
        Event::Interrupted(_) => signal == Signal::Interrupted,
        Event::ModelEnded { .. } => matches!(signal, Signal::Answered(_)),
        Event::ModelFailed { .. } => matches!(signal, Signal::Failed(_)),
        Event::ToolEnded { .. } => matches!(signal, Signal::ToolsDone { .. }),
        Event::HookEnded { .. } => {
            matches!(
                signal,
                Signal::ToolsDone { .. }
                    | Signal::Deferred
                    | Signal::HooksEnded { .. }
                    | Signal::Summarized(_)
            )
        }
        Event::PermissionAnswered { .. } => {
            matches!(signal, Signal::ToolsDone { .. } | Signal::Interrupted)
        }
        Event::SummaryEnded { .. } => matches!(signal, Signal::Summarized(_)),
        Event::TimerFired { .. } => signal == Signal::TimerFired,
        Event::ModelStarted { .. }
        | Event::ModelDelta { .. }
        | Event::QueueChanged { .. }
        | Event::Adopted { .. }
        | Event::Configured(_)
        | Event::ChoreAsked { .. }
        | Event::ToolProgressed { .. }
        | Event::AttachmentArrived { .. } => false,
    }
}

/// What carrying an act out may show at once.
fn may_follow(act: Act, signal: Signal) -> bool {
    match act {
        Act::Prepare(_) => matches!(signal, Signal::Prepared { .. }),
        Act::Summarize(_) => matches!(signal, Signal::Summarized(_)),
        Act::AwaitTools | Act::Settle => {
            matches!(signal, Signal::ToolsDone { .. } | Signal::Deferred)
        }
        Act::Attach => signal == Signal::Attached,
        Act::Finish(..) => signal == Signal::Submitted,
        Act::Nothing | Act::Call | Act::Backoff | Act::RunStopHooks => false,
    }
}

/// May a step end here?
fn may_end_step(act: Act) -> bool {
    !matches!(act, Act::Prepare(_) | Act::Attach)
}
