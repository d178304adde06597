//! The few answers a decision may rest on, read off transcript, ledger and events here only.

use windlass_vocabulary::{
    ContentBlock, FailureKind, Millis, ModelFailure, ModelStopReason, Tokens,
};

use crate::budget::tokens;
use crate::context::{Room, level_4_context_collapse};
use crate::control::OutputCap;
use crate::retry;
use crate::settings::Settings;
use crate::signal::{AnswerEnd, Budget, Fault, Size};
use crate::state::State;

/// The output limit is raised to this, or to what the model can give, whichever is lower.
const RAISED: Tokens = Tokens(64_000);

/// How an answer ended.
pub(crate) fn answer_end(state: &State, settings: &Settings, stop: ModelStopReason) -> AnswerEnd {
    if !state.queue.entries.is_empty() {
        return AnswerEnd::Calls;
    }
    match stop {
        ModelStopReason::EndTurn if is_empty(state) => {
            AnswerEnd::Empty { budget: budget(state, settings) }
        }
        ModelStopReason::EndTurn => AnswerEnd::Text { budget: budget(state, settings) },
        ModelStopReason::OutputLimit => {
            AnswerEnd::OutputLimit { can_raise: can_raise(state, settings) }
        }
        ModelStopReason::WindowFull => AnswerEnd::WindowFull { staged: is_staged(state) },
        ModelStopReason::Pause => AnswerEnd::Pause,
        ModelStopReason::Refusal => AnswerEnd::Refusal,
    }
}

/// Nothing in the answer that a person or the provider would miss.
pub(crate) fn is_empty(state: &State) -> bool {
    state.answer.blocks.iter().all(|block| match block {
        ContentBlock::Text(text) => text.trim().is_empty(),
        ContentBlock::Thinking(_) => true,
        ContentBlock::Provider(block) => block.is_reasoning,
        ContentBlock::ToolUse(_) | ContentBlock::ToolResult(_) | ContentBlock::Media(_) => false,
    })
}

pub(crate) fn budget(state: &State, settings: &Settings) -> Budget {
    let run = state.ledger.run_usage().output;
    tokens::read(settings, run, state.answer.output())
}

fn can_raise(state: &State, settings: &Settings) -> bool {
    raised_cap(state, settings) > normal_cap(state, settings)
}

fn normal_cap(state: &State, settings: &Settings) -> Tokens {
    let model = settings.model_at(state.control.model);
    model.output_default.min(model.output_max)
}

fn raised_cap(state: &State, settings: &Settings) -> Tokens {
    let normal = normal_cap(state, settings);
    settings.model_at(state.control.model).output_max.min(RAISED).max(normal)
}

/// The output limit the next request wants.
pub(crate) fn output_cap(state: &State, settings: &Settings) -> Tokens {
    match state.control.output_cap {
        OutputCap::Normal => normal_cap(state, settings),
        OutputCap::Raised => raised_cap(state, settings),
    }
}

pub(crate) fn is_staged(state: &State) -> bool {
    level_4_context_collapse::is_staged(&state.compaction.context)
}

/// How the projection fits. Being over the threshold matters only where something can be dropped.
pub(crate) fn size(tokens: Tokens, room: Room, can_drop: impl FnOnce() -> bool) -> Size {
    if tokens > room.limit {
        Size::OverLimit
    } else if tokens > room.threshold && can_drop() {
        Size::OverThreshold
    } else {
        Size::Fits
    }
}

/// What a failure demands here and now.
pub(crate) fn fault(state: &State, settings: &Settings, failure: &ModelFailure) -> Fault {
    if state.queue.has_started() {
        return Fault::Sealed;
    }
    match failure.kind {
        FailureKind::PromptTooLong => Fault::TooLong { staged: is_staged(state) },
        FailureKind::MediaTooLarge => Fault::MediaTooLarge,
        FailureKind::BadImage => Fault::BadImage,
        FailureKind::InvalidRequest | FailureKind::ForeignSignature => Fault::Invalid,
        FailureKind::ModelGone => Fault::Gone,
        FailureKind::Unauthorised
        | FailureKind::Quota
        | FailureKind::Refused
        | FailureKind::OutputLimit
        | FailureKind::Misconfigured => Fault::Fatal,
        FailureKind::Overloaded
        | FailureKind::RateLimited
        | FailureKind::ServerFault
        | FailureKind::Transport => {
            let Millis(wait) = next_wait(state, settings, failure);
            if state.recovery.waited.0.saturating_add(wait) > settings.retry.wait_max.0 {
                Fault::WaitedOut
            } else if failure.kind == FailureKind::Overloaded {
                Fault::Overloaded
            } else {
                Fault::Wait
            }
        }
    }
}

/// The wait this failure would lead to.
pub(crate) fn next_wait(state: &State, settings: &Settings, failure: &ModelFailure) -> Millis {
    let retry = state.control.attempt.retries.saturating_add(1);
    retry::wait(state, settings.retry.jitter_seed, failure, retry)
}
