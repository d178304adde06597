//! How numbers, spans and failures are put into words for people.

use std::time::Duration;

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{FailureKind, MicroUsd, ModelFailure, Outcome, Terminal};

/// A number with commas between the thousands.
pub fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 tool`, `1,200 tools`.
pub fn format_counted(number: impl TryInto<u64>, noun: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        number => format!("{} {noun}s", format_count(number)),
    }
}

/// An amount in cents, rounded up. What is less than a cent is not nothing.
pub fn format_money(amount: MicroUsd) -> String {
    if (1..10_000).contains(&amount.0) {
        return "<$0.01".to_owned();
    }
    let cents = amount.0.div_ceil(10_000);
    format!("${}.{:02}", format_count(cents / 100), cents % 100)
}

/// A span in seconds, to a tenth.
pub fn format_seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

pub fn describe_failure_kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::PromptTooLong => "the prompt is too long",
        FailureKind::MediaTooLarge => "images or documents are too large",
        FailureKind::BadImage => "an image cannot be used",
        FailureKind::Overloaded => "the model is overloaded",
        FailureKind::RateLimited => "too many requests",
        FailureKind::ServerFault => "the server failed",
        FailureKind::Transport => "the connection failed",
        FailureKind::ModelGone => "there is no such model",
        FailureKind::InvalidRequest => "the request was rejected as invalid",
        FailureKind::ForeignSignature => "reasoning of another model was refused",
        FailureKind::Unauthorised => "the key was refused",
        FailureKind::Quota => "the account's quota is used up",
        FailureKind::Refused => "refused by the provider's policy",
        FailureKind::OutputLimit => "the answer was cut at the output limit",
        FailureKind::Misconfigured => "the request cannot be made",
    }
}

/// What failed, and the server's message without a repetition of that.
pub fn describe_failure(failed: &ModelFailure) -> (&'static str, &str) {
    let message = failed.message.as_str();
    if let (FailureKind::Transport, Some(cause)) =
        (failed.kind, message.strip_prefix(UNREACHABLE_PREFIX))
    {
        let cause = cause.strip_prefix(" (").and_then(|cause| cause.strip_suffix(')'));
        return ("offline? the server cannot be reached", cause.unwrap_or(message));
    }
    let what = describe_failure_kind(failed.kind);
    let rest = message.strip_prefix(what).and_then(|rest| rest.strip_prefix(": "));
    (what, rest.unwrap_or(message))
}

/// One line for a run that failed: the cause and what to do. `None` for one that did not. What to do
/// about a model's server is for the caller to say.
pub fn describe_run_failure(
    ending: &RunEnding,
    of_server: impl FnOnce(&ModelFailure) -> String,
) -> Option<String> {
    if ending.outcome == Some(Outcome::StorageFailed) {
        // It says itself what to do.
        return Some(ending.why.clone());
    }
    let advice = match ending.terminal {
        Terminal::Completed => match ending.outcome {
            None
            | Some(
                Outcome::Natural
                | Outcome::Compacted
                | Outcome::ToolDeferred
                | Outcome::StorageFailed,
            ) => return None,
            Some(Outcome::Refusal) => "rephrase the task, or use another --model",
            Some(Outcome::OutputLimitExhausted) => "ask for less at a time",
            Some(Outcome::NotCompacted) => "there may be too little to summarise yet",
            Some(Outcome::Empty | Outcome::PausesExhausted | Outcome::Circled) => {
                "try again, or use another --model"
            }
        },
        Terminal::BlockingLimit | Terminal::PromptTooLong => {
            "give it less to read, or a --model with a larger window"
        }
        Terminal::ImageError => "leave the image out",
        Terminal::ModelError => match &ending.failure {
            Some(failure) => return Some(of_server(failure)),
            None => "run it again with --verbose to see more",
        },
        Terminal::AbortedStreaming | Terminal::AbortedTools => "run it again to start over",
        Terminal::StopHookPrevented => "look at the hook, or run without it",
        Terminal::HookStopped => "look at what it says above, and change the task or the rules",
        Terminal::MaxTurns => "raise it with --max-turns",
        Terminal::MaxBudgetUsd => "raise it with --max-budget-usd",
    };
    Some(format!("{}; {advice}", ending.why))
}

/// How the driver begins when no connection came about.
const UNREACHABLE_PREFIX: &str = "the server cannot be reached; offline, or a wrong address?";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (1_234_567, "1,234,567"),
        ];
        for (number, words) in cases {
            assert_eq!(format_count(number), words);
        }
        assert_eq!(format_counted(0, "tool"), "0 tools");
        assert_eq!(format_counted(1, "tool"), "1 tool");
        assert_eq!(format_counted(1_200, "line"), "1,200 lines");
        assert_eq!(format_money(MicroUsd(0)), "$0.00");
        assert_eq!(format_money(MicroUsd(9_999)), "<$0.01");
        assert_eq!(format_money(MicroUsd(31_200)), "$0.04");
        assert_eq!(format_money(MicroUsd(250_000)), "$0.25");
        assert_eq!(format_money(MicroUsd(1_000_000)), "$1.00");
        assert_eq!(format_money(MicroUsd(268_383_771_000_001)), "$268,383,771.01");
    }
}
