//! What must hold on every edge of every reachable control state.

use std::collections::BTreeSet;

use windlass_engine::bound::{calls_left, cost};
use windlass_engine::control::{Control, Phase};
use windlass_engine::decide::{Act, Because, Why, decide};
use windlass_engine::settings::Limits;
use windlass_engine::signal::{AnswerEnd, Signal};
use windlass_vocabulary::{Outcome, Terminal, Transition};

use super::control_graph::{ControlEdge, ControlGraph};

#[derive(Debug, Default)]
pub struct ReachedMembers {
    transitions: BTreeSet<Transition>,
    terminals: BTreeSet<Terminal>,
}

impl ReachedMembers {
    /// Did every transition and every terminal occur?
    pub fn check_complete(&self) -> Result<(), String> {
        for transition in Transition::ALL {
            if !self.transitions.contains(transition) {
                return Err(format!("transition {transition} is never reached"));
            }
        }
        for terminal in Terminal::ALL {
            if !self.terminals.contains(terminal) {
                return Err(format!("terminal {terminal} is never reached"));
            }
        }
        Ok(())
    }
}

pub fn check_invariants(
    graph: &ControlGraph,
    limits: &Limits,
    seen: &mut ReachedMembers,
) -> Result<(), String> {
    for (control, edges) in graph.iter() {
        check_state(control, edges, limits)
            .map_err(|problem| format!("{problem} in {control:?}"))?;
        for edge in edges {
            let Some(next) = graph.state(edge.to) else { continue };
            check_edge(control, edge, next, limits)
                .map_err(|problem| format!("{problem}: {control:?} -> {edge:?} -> {next:?}"))?;
            if let Act::Prepare(Because::Continued(transition)) = edge.act {
                seen.transitions.insert(transition);
            } else if let Act::Finish(terminal, _) = edge.act {
                seen.terminals.insert(terminal);
            }
        }
    }
    Ok(())
}

fn check_state(
    control: Control,
    edges: &[ControlEdge],
    limits: &Limits,
) -> Result<(), &'static str> {
    if let Phase::Ended(_) = control.phase {
        let begins = [Signal::Submitted, Signal::Resumed, Signal::CompactionAsked];
        let settles = begins.into_iter().all(|signal| {
            decide(control, signal, limits).act == Act::Settle || !control.calls_open
        });
        if !settles {
            return Err("a deferred call is passed over");
        }
        let is_over = Signal::all().into_iter().filter(|s| !begins.contains(s)).all(|signal| {
            let after = decide(control, signal, limits);
            after.act == Act::Nothing && after.control == control
        });
        return if is_over { Ok(()) } else { Err("something happens after the end") };
    }
    let interrupt = edges.iter().find(|edge| edge.signal == Signal::Interrupted);
    let is_stoppable = interrupt
        .is_some_and(|edge| matches!(edge.act, Act::Finish(terminal, _) if terminal.is_abort()));
    if !is_stoppable {
        return Err("an interrupt does not end the run");
    }
    if edges.len() < 2 {
        return Err("only an interrupt leads out");
    }
    let is_within = control.model < limits.models.max(1)
        && control.turn <= limits.turns_max.max(1)
        && control.attempt.retries <= limits.retries_max
        && control.output_recoveries <= limits.output_recoveries_max
        && control.stop_hook.blocks <= limits.stop_blocks_max
        && control.stop_hook.same <= limits.stop_same_max.max(1)
        && control.nudges.used <= limits.nudges_max;
    if is_within { Ok(()) } else { Err("a counter is over its limit") }
}

fn check_edge(
    before: Control,
    edge: &ControlEdge,
    after: Control,
    limits: &Limits,
) -> Result<(), &'static str> {
    if calls_left(&after, limits) + cost(edge.act, limits) > calls_left(&before, limits) {
        return Err("the measure does not fall");
    }
    if after.turn != before.turn
        && edge.act != Act::Prepare(Because::Continued(Transition::NextTurn))
    {
        return Err("a turn was counted without a tool turn");
    }
    match edge.act {
        Act::Call | Act::Summarize(_) if after.calls_open => Err("a request with open calls"),
        Act::Finish(_, why) if after.calls_open != (why == Why::Outcome(Outcome::ToolDeferred)) => {
            Err("an end with open calls, or none that was deferred")
        }
        Act::Finish(terminal, _) if after.phase != Phase::Ended(terminal) => {
            Err("an end that is not the end")
        }
        Act::RunStopHooks => {
            let is_good_end = matches!(
                edge.signal,
                Signal::Answered(AnswerEnd::Text { .. } | AnswerEnd::Empty { .. })
            );
            if is_good_end && !after.withheld { Ok(()) } else { Err("stop hooks after an error") }
        }
        Act::Prepare(_) | Act::Nothing if after.phase != Phase::Preparing => {
            Err("a projection outside its phase")
        }
        Act::Nothing
        | Act::Prepare(_)
        | Act::Call
        | Act::Backoff
        | Act::Summarize(_)
        | Act::AwaitTools
        | Act::Settle
        | Act::Attach
        | Act::Finish(..) => Ok(()),
    }
}
