//! How a prompt is answered: a stop reason, or an error where the model could not be asked.

use serde_json::{Value, json};
use windlass_assembly::failure_advice;
use windlass_host::display::human_format;
use windlass_provider::endpoint::EndpointDescriptions;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{FailureKind, ModelName, Outcome, Terminal};

use crate::rpc::RpcError;
use crate::schema::PromptStopReason;

pub(super) fn stop_with(reason: PromptStopReason) -> Value {
    json!({ "stopReason": reason })
}

/// Looks up models at the endpoint for its advice, so it may block.
pub(super) fn end_prompt(
    ending: &RunEnding,
    endpoints: &EndpointDescriptions,
    model: Option<&ModelName>,
) -> Result<PromptStopReason, RpcError> {
    let explain = || {
        let described = human_format::describe_run_failure(ending, |failure| {
            failure_advice::explain_failure(failure, endpoints, model)
        });
        described.unwrap_or_else(|| ending.why.clone())
    };
    match ending.terminal {
        Terminal::Completed => match ending.outcome {
            Some(Outcome::Refusal) => Ok(PromptStopReason::Refusal),
            Some(Outcome::OutputLimitExhausted) => Ok(PromptStopReason::MaxTokens),
            Some(Outcome::StorageFailed) => Err(RpcError::internal(explain())),
            None
            | Some(
                Outcome::Natural
                | Outcome::Empty
                | Outcome::PausesExhausted
                | Outcome::Compacted
                | Outcome::NotCompacted
                | Outcome::ToolDeferred
                | Outcome::Circled,
            ) => Ok(PromptStopReason::EndTurn),
        },
        Terminal::AbortedStreaming | Terminal::AbortedTools => Ok(PromptStopReason::Cancelled),
        Terminal::MaxTurns => Ok(PromptStopReason::MaxTurnRequests),
        Terminal::StopHookPrevented => Ok(PromptStopReason::EndTurn),
        Terminal::HookStopped if ending.outcome != Some(Outcome::Circled) => {
            Ok(PromptStopReason::EndTurn)
        }
        Terminal::ModelError
            if ending
                .failure
                .as_ref()
                .is_some_and(|failure| failure.kind == FailureKind::Unauthorised) =>
        {
            Err(RpcError::auth_required(explain()))
        }
        Terminal::HookStopped
        | Terminal::ModelError
        | Terminal::BlockingLimit
        | Terminal::PromptTooLong
        | Terminal::ImageError
        | Terminal::MaxBudgetUsd => Err(RpcError::internal(explain())),
    }
}
