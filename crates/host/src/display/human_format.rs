//! How numbers, spans and failures are put into words for people; the sentences are in `words.rs`.

use std::time::Duration;

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{FailureKind, MicroUsd, ModelFailure, Outcome, Terminal};

use crate::words::describe_failure_kind;

use crate::words;

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

/// What failed, and the server's message without a repetition of that.
pub fn describe_failure(failed: &ModelFailure) -> (&'static str, &str) {
    let message = failed.message.as_str();
    if let (FailureKind::Transport, Some(cause)) =
        (failed.kind, message.strip_prefix(UNREACHABLE_PREFIX))
    {
        let cause = cause.strip_prefix(" (").and_then(|cause| cause.strip_suffix(')'));
        return (words::SERVER_UNREACHABLE, cause.unwrap_or(message));
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
            Some(Outcome::Refusal) => words::ADVICE_REFUSAL,
            Some(Outcome::OutputLimitExhausted) => words::ADVICE_OUTPUT_LIMIT,
            Some(Outcome::NotCompacted) => words::ADVICE_NOT_COMPACTED,
            Some(Outcome::Empty | Outcome::PausesExhausted | Outcome::Circled) => {
                words::ADVICE_TRY_AGAIN
            }
        },
        Terminal::BlockingLimit | Terminal::PromptTooLong => words::ADVICE_TOO_LONG,
        Terminal::ImageError => words::ADVICE_IMAGE,
        Terminal::ModelError => match &ending.failure {
            Some(failure) => return Some(of_server(failure)),
            None => words::ADVICE_VERBOSE,
        },
        Terminal::AbortedStreaming | Terminal::AbortedTools => words::ADVICE_START_OVER,
        Terminal::StopHookPrevented => words::ADVICE_STOP_HOOK,
        Terminal::HookStopped => words::ADVICE_HOOK_STOPPED,
        Terminal::MaxTurns => words::ADVICE_TURNS,
        Terminal::MaxBudgetUsd => words::ADVICE_BUDGET,
    };
    Some(format!("{}; {advice}", ending.why.trim_end_matches('.')))
}

/// The first words of the driver's message when no connection could be made.
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
