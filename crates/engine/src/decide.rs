//! Every rule of the loop, in order of priority.
//!
//! `(where we are, what happened, limits) -> (where we are now, what to do)`. Total: a signal that
//! means nothing in a phase changes nothing. The real loop and the exhaustive walk call this same
//! function, and `step` changes [`Control`] nowhere else.

use windlass_vocabulary::{Outcome, Terminal, Transition};

pub use crate::act::{Act, Because, Decision, Why};
use crate::control::{Attempt, AutoCompact, Compaction, Control, OutputCap, Overflow, Phase, Then};
use crate::settings::Limits;
use crate::signal::{AnswerEnd, Budget, Fault, Funds, Shrunk, Signal, Size, StopVerdict};
use crate::transition::{
    collapse_drain_retry, max_output_tokens_escalate, max_output_tokens_recovery, next_turn,
    reactive_compact_retry, stop_hook_blocking, token_budget_continuation,
};

/// Decides.
#[must_use]
pub fn decide(control: Control, signal: Signal, limits: &Limits) -> Decision {
    match (control.phase, signal) {
        (phase, Signal::Interrupted) if phase.is_running() => interrupted(control),
        (Phase::Ended(_), Signal::Submitted | Signal::Resumed) if control.calls_open => {
            settle(control, Then::Call)
        }
        (Phase::Ended(_), Signal::CompactionAsked) if control.calls_open => {
            settle(control, Then::Compact)
        }
        (Phase::Idle | Phase::Ended(_), Signal::Submitted) => {
            prepare(control.new_run(), Because::Started)
        }
        (Phase::Idle | Phase::Ended(_), Signal::CompactionAsked) => {
            compact_by_hand(control.new_run())
        }
        (Phase::Preparing, Signal::Prepared { size, staged, funds }) => {
            prepared(control, size, staged, funds, limits)
        }
        (Phase::Compacting(what), Signal::Summarized(shrunk)) => {
            summarized(control, what, shrunk, limits)
        }
        (Phase::Streaming, Signal::Answered(end)) => answered(control, end, limits),
        (Phase::Streaming, Signal::Failed(fault)) => failed(control, fault, limits),
        (Phase::Waiting, Signal::TimerFired) => {
            prepare(Control { phase: Phase::Preparing, ..control }, Because::Retried)
        }
        (Phase::RunningTools, Signal::ToolsDone { stop }) => tools_done(control, stop),
        (Phase::Settling(then), Signal::ToolsDone { stop }) => settled(control, then, stop),
        (Phase::RunningTools | Phase::Settling(_), Signal::Deferred) => deferred(control),
        (Phase::Attaching, Signal::Attached) => attached(control, limits),
        (Phase::Stopping, Signal::HooksEnded { verdict, budget, is_empty }) => {
            let outcome = if is_empty { Outcome::Empty } else { Outcome::Natural };
            hooks_ended(control, verdict, (budget, outcome), limits)
        }
        // In any other phase these mean nothing. Named, so that a new signal stops the build here.
        (
            _,
            Signal::Submitted
            | Signal::Resumed
            | Signal::CompactionAsked
            | Signal::Interrupted
            | Signal::Prepared { .. }
            | Signal::Summarized(_)
            | Signal::Answered(_)
            | Signal::Failed(_)
            | Signal::TimerFired
            | Signal::ToolsDone { .. }
            | Signal::Deferred
            | Signal::Attached
            | Signal::HooksEnded { .. },
        ) => Decision { control, act: Act::Nothing },
    }
}

/// An interrupt ends the run from every phase, before anything else is considered.
fn interrupted(control: Control) -> Decision {
    let terminal = match control.phase {
        Phase::RunningTools | Phase::Settling(_) | Phase::Attaching => Terminal::AbortedTools,
        Phase::Idle
        | Phase::Preparing
        | Phase::Compacting(_)
        | Phase::Streaming
        | Phase::Waiting
        | Phase::Stopping
        | Phase::Ended(_) => Terminal::AbortedStreaming,
    };
    finish(control, terminal, Why::Plain)
}

/// Compact, refuse, or call.
fn prepared(control: Control, size: Size, staged: bool, funds: Funds, limits: &Limits) -> Decision {
    let auto = control.auto_compact;
    let can_compact = limits.auto_compact
        && auto.failures < limits.summary_failures_max
        && !control.attempt.compacted;
    if size != Size::Fits && can_compact {
        let is_refill = auto.has_run && auto.turns_since < limits.refill_span();
        let refills = if is_refill { auto.refills.saturating_add(1) } else { 0 };
        if refills >= limits.refill.refills_max {
            return finish(control, Terminal::BlockingLimit, Why::Thrash);
        }
        let control = Control {
            phase: Phase::Compacting(Compaction::Auto),
            auto_compact: AutoCompact { has_run: true, turns_since: 0, refills, ..auto },
            attempt: Attempt { compacted: true, ..control.attempt },
            ..control
        };
        return Decision { control, act: Act::Summarize(Compaction::Auto) };
    }
    if size == Size::OverLimit && !staged && !can_react(control, limits) {
        return finish(control, Terminal::BlockingLimit, Why::Plain);
    }
    if funds == Funds::Short {
        return finish(control, Terminal::MaxBudgetUsd, Why::Plain);
    }
    Decision { control: Control { phase: Phase::Streaming, ..control }, act: Act::Call }
}

/// Is the last rung of the ladder against overflow still there?
fn can_react(control: Control, limits: &Limits) -> bool {
    limits.reactive_compact && control.reactive_compact_tried < Overflow::Compacted
}

fn summarized(control: Control, what: Compaction, shrunk: Shrunk, limits: &Limits) -> Decision {
    let auto = control.auto_compact;
    let is_off = auto.failures >= limits.summary_failures_max;
    let failures = match shrunk {
        // Once off, it stays off for the session.
        Shrunk::Summary if !is_off => 0,
        Shrunk::Cut => auto.failures.saturating_add(1).min(limits.summary_failures_max),
        Shrunk::Summary | Shrunk::Stripped | Shrunk::Nothing => auto.failures,
    };
    let auto_compact = AutoCompact { failures, ..auto };
    let control = Control { auto_compact, ..control };
    match (what, shrunk) {
        (Compaction::Auto, _) => {
            prepare(Control { phase: Phase::Preparing, ..control }, Because::Compacted)
        }
        (Compaction::ForLength, Shrunk::Nothing) => {
            finish(control, Terminal::PromptTooLong, Why::Plain)
        }
        (Compaction::ForMedia, Shrunk::Nothing) => {
            finish(control, Terminal::ImageError, Why::Plain)
        }
        (Compaction::ByHand, Shrunk::Nothing) => {
            finish(control, Terminal::Completed, Why::Outcome(Outcome::NotCompacted))
        }
        (Compaction::ByHand, _) => {
            finish(control, Terminal::Completed, Why::Outcome(Outcome::Compacted))
        }
        (Compaction::ForLength | Compaction::ForMedia, _) => {
            go_on(reactive_compact_retry(control), Transition::ReactiveCompactRetry)
        }
    }
}

/// The answer is complete. With calls, they run; without, section by section what is left to try.
fn answered(control: Control, end: AnswerEnd, limits: &Limits) -> Decision {
    match end {
        AnswerEnd::Calls => {
            let phase = Phase::RunningTools;
            let control = Control { phase, calls_open: true, withheld: false, ..control };
            Decision { control, act: Act::AwaitTools }
        }
        AnswerEnd::WindowFull { staged } => too_long(control, staged, limits),
        AnswerEnd::OutputLimit { can_raise } => output_limit(control, can_raise, limits),
        AnswerEnd::Pause if control.attempt.pauses < limits.pauses_max => {
            let pauses = control.attempt.pauses + 1;
            let attempt = Attempt { pauses, ..control.attempt };
            let phase = Phase::Preparing;
            let withheld = false;
            prepare(Control { phase, attempt, withheld, ..control }, Because::Resumed)
        }
        AnswerEnd::Pause => finish(
            Control { withheld: false, ..control },
            Terminal::Completed,
            Why::Outcome(Outcome::PausesExhausted),
        ),
        AnswerEnd::Refusal => finish(
            Control { withheld: false, ..control },
            Terminal::Completed,
            Why::Outcome(Outcome::Refusal),
        ),
        AnswerEnd::Text { budget } => {
            ended_well(Control { withheld: false, ..control }, budget, Outcome::Natural, limits)
        }
        AnswerEnd::Empty { budget } => {
            ended_well(Control { withheld: false, ..control }, budget, Outcome::Empty, limits)
        }
    }
}

/// Drain, then compact, then give up. The failure is withheld until then.
fn too_long(control: Control, staged: bool, limits: &Limits) -> Decision {
    let control = Control { withheld: true, ..control };
    if staged
        && control.reactive_compact_tried == Overflow::Untried
        && control.transition != Some(Transition::CollapseDrainRetry)
    {
        return go_on(collapse_drain_retry(control), Transition::CollapseDrainRetry);
    }
    react(control, Compaction::ForLength, Terminal::PromptTooLong, limits)
}

fn react(control: Control, what: Compaction, otherwise: Terminal, limits: &Limits) -> Decision {
    if can_react(control, limits) {
        let control = Control { phase: Phase::Compacting(what), ..control };
        return Decision { control, act: Act::Summarize(what) };
    }
    finish(control, otherwise, Why::Plain)
}

/// Raise, then resume, then release the withheld failure and end.
fn output_limit(control: Control, can_raise: bool, limits: &Limits) -> Decision {
    let control = Control { withheld: true, ..control };
    if can_raise && control.output_cap == OutputCap::Normal {
        return go_on(max_output_tokens_escalate(control), Transition::MaxOutputTokensEscalate);
    }
    if control.output_recoveries < limits.output_recoveries_max {
        return go_on(max_output_tokens_recovery(control), Transition::MaxOutputTokensRecovery);
    }
    finish(control, Terminal::Completed, Why::Outcome(Outcome::OutputLimitExhausted))
}

/// Stop hooks run here and nowhere else: never after an error.
fn ended_well(control: Control, budget: Budget, outcome: Outcome, limits: &Limits) -> Decision {
    if limits.stop_hooks {
        let control = Control { phase: Phase::Stopping, ..control };
        return Decision { control, act: Act::RunStopHooks };
    }
    spend_budget(control, budget, outcome, limits)
}

fn hooks_ended(
    control: Control,
    verdict: StopVerdict,
    (budget, outcome): (Budget, Outcome),
    limits: &Limits,
) -> Decision {
    match verdict {
        StopVerdict::Pass => spend_budget(control, budget, outcome, limits),
        StopVerdict::Prevent => finish(control, Terminal::StopHookPrevented, Why::Plain),
        StopVerdict::Object { is_same } => {
            let hook = control.stop_hook;
            let same = if is_same { hook.same.saturating_add(1) } else { 1 };
            if hook.blocks >= limits.stop_blocks_max || same > limits.stop_same_max {
                return finish(control, Terminal::StopHookPrevented, Why::TooManyBlocks);
            }
            go_on(stop_hook_blocking(control, is_same), Transition::StopHookBlocking)
        }
    }
}

/// Token budget last, then the end.
fn spend_budget(control: Control, budget: Budget, outcome: Outcome, limits: &Limits) -> Decision {
    let nudges = control.nudges;
    let is_small = budget == Budget::LeftLittle;
    let is_diminishing = nudges.used >= 3 && is_small && nudges.small >= 1;
    if budget != Budget::Spent && nudges.used < limits.nudges_max && !is_diminishing {
        return go_on(
            token_budget_continuation(control, is_small),
            Transition::TokenBudgetContinuation,
        );
    }
    finish(control, Terminal::Completed, Why::Outcome(outcome))
}

/// The call failed. Sorted by what the failure demands.
fn failed(control: Control, fault: Fault, limits: &Limits) -> Decision {
    let control = Control { withheld: fault != Fault::Sealed, ..control };
    match fault {
        Fault::Sealed => answered(control, AnswerEnd::Calls, limits),
        Fault::Overloaded => {
            let overloads = control.attempt.overloads.saturating_add(1);
            if overloads >= limits.overloads_max && has_fallback(control, limits) {
                return switch(control);
            }
            let overloads = overloads.min(limits.overloads_max);
            retry(Control { attempt: Attempt { overloads, ..control.attempt }, ..control }, limits)
        }
        Fault::Wait => {
            let attempt = Attempt { overloads: 0, ..control.attempt };
            retry(Control { attempt, ..control }, limits)
        }
        Fault::TooLong { staged } => too_long(control, staged, limits),
        Fault::MediaTooLarge => react(control, Compaction::ForMedia, Terminal::ImageError, limits),
        Fault::BadImage => repair(control, Terminal::ImageError),
        Fault::Invalid => repair(control, Terminal::ModelError),
        // Another model needs no wait.
        Fault::Gone | Fault::WaitedOut if has_fallback(control, limits) => switch(control),
        Fault::Gone | Fault::Fatal | Fault::WaitedOut => {
            finish(control, Terminal::ModelError, Why::Plain)
        }
    }
}

fn has_fallback(control: Control, limits: &Limits) -> bool {
    control.model + 1 < limits.models
}

fn switch(control: Control) -> Decision {
    let attempt = Attempt { retries: 0, overloads: 0, ..control.attempt };
    let model = control.model + 1;
    let withheld = false;
    let phase = Phase::Preparing;
    prepare(Control { phase, model, attempt, withheld, ..control }, Because::Switched)
}

fn retry(control: Control, limits: &Limits) -> Decision {
    if control.attempt.retries >= limits.retries_max {
        return finish(control, Terminal::ModelError, Why::Plain);
    }
    let attempt = Attempt { retries: control.attempt.retries + 1, ..control.attempt };
    let control = Control { phase: Phase::Waiting, attempt, ..control };
    Decision { control, act: Act::Backoff }
}

fn repair(control: Control, otherwise: Terminal) -> Decision {
    if control.attempt.repaired {
        return finish(control, otherwise, Why::Plain);
    }
    let attempt = Attempt { repaired: true, ..control.attempt };
    prepare(Control { phase: Phase::Preparing, attempt, ..control }, Because::Repaired)
}

fn tools_done(control: Control, stop: bool) -> Decision {
    let control = Control { calls_open: false, ..control };
    if stop {
        return finish(control, Terminal::HookStopped, Why::Plain);
    }
    Decision { control: Control { phase: Phase::Attaching, ..control }, act: Act::Attach }
}

/// The run ends with its only call open; whatever begins the next one settles that first.
fn deferred(control: Control) -> Decision {
    let ended = finish(control, Terminal::Completed, Why::Outcome(Outcome::ToolDeferred));
    Decision { control: Control { calls_open: true, ..ended.control }, ..ended }
}

fn settle(control: Control, then: Then) -> Decision {
    let phase = Phase::Settling(then);
    let control = Control { phase, calls_open: true, ..control.new_run() };
    Decision { control, act: Act::Settle }
}

/// The deferred call has its result. It belonged to a turn of the run that deferred it.
fn settled(control: Control, then: Then, stop: bool) -> Decision {
    let control = Control { calls_open: false, ..control };
    if stop {
        return finish(control, Terminal::HookStopped, Why::Plain);
    }
    match then {
        Then::Call => prepare(Control { phase: Phase::Preparing, ..control }, Because::Started),
        Then::Compact => compact_by_hand(control),
    }
}

fn compact_by_hand(control: Control) -> Decision {
    let control = Control { phase: Phase::Compacting(Compaction::ByHand), ..control };
    Decision { control, act: Act::Summarize(Compaction::ByHand) }
}

fn attached(control: Control, limits: &Limits) -> Decision {
    if control.turn >= limits.turns_max {
        return finish(control, Terminal::MaxTurns, Why::Plain);
    }
    go_on(next_turn(control, limits), Transition::NextTurn)
}

fn prepare(control: Control, because: Because) -> Decision {
    Decision { control, act: Act::Prepare(because) }
}

fn go_on(control: Control, transition: Transition) -> Decision {
    prepare(control, Because::Continued(transition))
}

/// Every end closes what is open; which results that takes is the queue's business.
fn finish(control: Control, terminal: Terminal, why: Why) -> Decision {
    let control =
        Control { phase: Phase::Ended(terminal), calls_open: false, withheld: false, ..control };
    Decision { control, act: Act::Finish(terminal, why) }
}
