//! The result of a run as one JSON object, for scripts.
//!
//! Field names are those clients of headless agents already read; `terminal_reason` is our own
//! name of the reason, unaltered.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{MicroUsd, Terminal, ToolCall};

use crate::exit::Exit;

/// What is known besides the ending itself.
pub(crate) struct Facts<'a> {
    /// The final answer.
    pub(crate) text: &'a str,
    /// Why it failed and what to do, if it did.
    pub(crate) problem: Option<&'a str>,
    /// The session's name.
    pub(crate) session_id: &'a str,
    /// Since the process began.
    pub(crate) duration: Duration,
    /// Spent waiting for the model.
    pub(crate) api_duration: Duration,
    /// Calls that were not allowed, and why.
    pub(crate) denials: &'a [(ToolCall, String)],
}

/// The object.
pub(crate) fn object(ending: &Ending, facts: &Facts<'_>) -> Value {
    let is_error = facts.problem.is_some() || Exit::of(ending) != Exit::DONE;
    let text = match facts.problem {
        Some(problem) if facts.text.is_empty() => problem,
        _ => facts.text,
    };
    let errors: Vec<&str> = facts.problem.into_iter().collect();
    let denials: Vec<Value> = facts.denials.iter().map(|(call, _)| denial(call)).collect();
    json!({
        "type": "result",
        "subtype": subtype(ending, is_error),
        "is_error": is_error,
        "result": text,
        "errors": errors,
        "terminal_reason": ending.terminal.name(),
        "outcome": ending.outcome.map(|outcome| outcome.name()),
        "api_error_status": ending.failure.as_ref().and_then(|failure| failure.status),
        "num_turns": ending.turns,
        "usage": {
            "input_tokens": ending.usage.input.0,
            "output_tokens": ending.usage.output.0,
            "cache_creation_input_tokens": ending.usage.cache_write.0,
            "cache_read_input_tokens": ending.usage.cache_read.0,
        },
        "total_cost_usd": dollars(ending.cost),
        "duration_ms": millis(facts.duration),
        "duration_api_ms": millis(facts.api_duration),
        "permission_denials": denials,
        "session_id": facts.session_id,
    })
}

/// Dollars as a number. Every amount a person could spend is exact to the micro-dollar in it.
pub(crate) fn dollars(amount: MicroUsd) -> Value {
    let text = format!("{}.{:06}", amount.0 / 1_000_000, amount.0 % 1_000_000);
    text.parse::<f64>().map_or(Value::Null, Value::from)
}

fn subtype(ending: &Ending, is_error: bool) -> &'static str {
    match ending.terminal {
        Terminal::MaxTurns => "error_max_turns",
        Terminal::MaxBudgetUsd => "error_max_budget_usd",
        _ if is_error => "error_during_execution",
        _ => "success",
    }
}

fn denial(call: &ToolCall) -> Value {
    let input = serde_json::from_str(call.input.as_str()).unwrap_or(Value::Null);
    json!({"tool_name": call.name.as_str(), "tool_use_id": call.id.as_str(), "tool_input": input})
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
