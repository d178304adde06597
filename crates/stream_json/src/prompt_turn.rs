//! A prompt that is worked on, and the result frame that ends it.

use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, Outcome, Role, Terminal, Tokens, ToolCall, Usage};

use crate::frame::{
    DeferredToolUse, PermissionDenial, ResultCost, ResultDurations, ResultEnding, ResultFrame,
    ResultPrompt, tool_input_to_json,
};
use crate::usage_totals::UsageTotals;
use windlass_assembly::report::session_report::SessionReport;

/// What is known of a prompt, except how its run ended.
#[derive(Debug)]
pub(crate) struct PromptTurn {
    pub started_at: Instant,
    pub api_time: Duration,
    pub request_started_at: Option<Instant>,
    pub answers: u32,
    /// Tokens of runs that had to be repeated.
    pub usage: Usage,
    pub uuid: Option<String>,
    pub origin: Option<Value>,
    pub denials: Vec<PermissionDenial>,
    /// The object for `--json-schema`.
    pub structured: Option<Value>,
    /// For `/compact`: the tokens freed.
    pub freed_tokens: Option<Tokens>,
    pub is_side_question: bool,
}

impl PromptTurn {
    pub(crate) fn new(uuid: Option<String>, origin: Option<Value>) -> Self {
        Self {
            started_at: Instant::now(),
            api_time: Duration::ZERO,
            request_started_at: None,
            answers: 0,
            usage: Usage::default(),
            uuid,
            origin,
            denials: Vec::new(),
            structured: None,
            freed_tokens: None,
            is_side_question: false,
        }
    }

    pub(crate) fn on_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::MessageAdded(message) if message.role == Role::Assistant => self.answers += 1,
            Notice::RequestStarted { .. } => self.request_started_at = Some(Instant::now()),
            Notice::Billed { .. } | Notice::RetryScheduled { .. } => self.end_request(),
            Notice::ToolDenied { call, .. } => self.record_denial(call),
            Notice::ContextShrunk { freed, .. } => {
                self.freed_tokens = self.freed_tokens.map(|before| before + *freed);
            }
            Notice::RunStarted
            | Notice::Streamed { .. }
            | Notice::Retracted { .. }
            | Notice::AnswerStarted { .. }
            | Notice::Sealed { .. }
            | Notice::MessageAdded(_)
            | Notice::ToolStarted(_)
            | Notice::ToolProgressed { .. }
            | Notice::ToolEnded { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::ModelSwitched { .. }
            | Notice::Repaired { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Warning(_)
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::RunEnded(_) => {}
        }
    }

    fn record_denial(&mut self, call: &ToolCall) {
        self.denials.push(PermissionDenial {
            tool_name: call.name.as_str().to_owned(),
            tool_use_id: call.id.as_str().to_owned(),
            tool_input: tool_input_to_json(call),
        });
    }

    pub(crate) fn end_request(&mut self) {
        if let Some(started) = self.request_started_at.take() {
            self.api_time += started.elapsed();
        }
    }

    /// The frame without what depends on how it ended.
    pub(crate) fn into_result_frame(self, totals: &UsageTotals) -> ResultFrame {
        ResultFrame {
            subtype: SUCCESS,
            durations: ResultDurations {
                duration_ms: duration_to_millis(self.started_at.elapsed()),
                duration_api_ms: duration_to_millis(self.api_time),
                num_turns: self.answers,
            },
            ending: ResultEnding { terminal_reason: "completed", ..ResultEnding::default() },
            cost: ResultCost {
                total_cost_usd: totals.total_cost_to_json(),
                usage: self.usage.into(),
                model_usage: totals.usage_by_model(),
            },
            permission_denials: self.denials,
            structured_output: self.structured,
            prompt: ResultPrompt {
                origin: self.origin,
                user_message_uuid: self.uuid,
                ..ResultPrompt::default()
            },
            ..ResultFrame::default()
        }
    }
}

/// `text` is the final answer, `problem` what users read if the run failed.
pub(crate) fn complete_with_ending(
    mut frame: ResultFrame,
    ending: &RunEnding,
    text: &str,
    problem: Option<String>,
) -> ResultFrame {
    frame.ending.outcome = ending.outcome.map(|outcome| outcome.name());
    frame.ending.api_error_status = ending.failure.as_ref().and_then(|failure| failure.status);
    frame.ending.terminal_reason = terminal_reason(ending);
    // A run that went on from an earlier process has turns that were not seen here.
    frame.durations.num_turns = frame.durations.num_turns.max(ending.turns);
    frame.subtype = result_subtype(ending);
    frame.is_error = match ending.terminal {
        Terminal::Completed => {
            let is_fine = |outcome: Outcome| {
                matches!(outcome, Outcome::Natural | Outcome::Compacted | Outcome::ToolDeferred)
            };
            !ending.outcome.is_none_or(is_fine)
        }
        // A hook of the user wanted it so, or the guard against circles gave it up.
        Terminal::HookStopped => ending.outcome == Some(Outcome::Circled),
        Terminal::StopHookPrevented => false,
        Terminal::BlockingLimit
        | Terminal::PromptTooLong
        | Terminal::ImageError
        | Terminal::ModelError
        | Terminal::AbortedStreaming
        | Terminal::AbortedTools
        | Terminal::MaxTurns
        | Terminal::MaxBudgetUsd => true,
    };
    frame.ending.stop_reason = stop_reason(ending);
    frame.deferred_tool_use = ending.deferred.as_ref().map(|call| DeferredToolUse {
        id: call.id.as_str().to_owned(),
        name: call.name.as_str().to_owned(),
        input: tool_input_to_json(call),
    });
    let words = problem.unwrap_or_else(|| ending.why.clone());
    match (frame.is_error, frame.subtype) {
        (false, _) if text.is_empty() && ending.terminal != Terminal::Completed => {
            frame.result = Some(words);
        }
        (false, _) => frame.result = Some(text.to_owned()),
        (true, SUCCESS) => frame.result = Some(words),
        (true, _) => frame.errors.push(words),
    }
    if ending.terminal == Terminal::AbortedTools && !frame.errors.is_empty() {
        frame.errors.push(INTERRUPTED_CALL_DIAGNOSTIC.to_owned());
    }
    frame
}

/// With this line, the published adapter for editors detects that a plan was rejected instead of a
/// failed run. The last message is the user's, a tool result; the model's last one stopped for a
/// call.
const INTERRUPTED_CALL_DIAGNOSTIC: &str =
    "[ede_diagnostic] result_type=user last_content_type=tool_result stop_reason=tool_use";

/// A prompt whose object never fitted.
pub(crate) fn fail_without_structured_output(mut frame: ResultFrame, retries: u32) -> ResultFrame {
    frame.subtype = "error_max_structured_output_retries";
    frame.is_error = true;
    frame.ending.terminal_reason = "structured_output_retry_exhausted";
    frame.result = None;
    frame.errors =
        vec![format!("no object that fits the schema was returned within {retries} more tries")];
    frame
}

/// A prompt that never became a run.
pub(crate) fn fail_with(mut frame: ResultFrame, why: String) -> ResultFrame {
    frame.subtype = ERROR_DURING_EXECUTION;
    frame.is_error = true;
    frame.ending.terminal_reason = "turn_setup_failed";
    frame.errors.push(why);
    frame
}

pub(crate) fn complete_side_question(
    mut frame: ResultFrame,
    answer: &Result<String, String>,
) -> ResultFrame {
    match answer {
        Ok(text) => {
            frame.result = Some(text.clone());
            frame
        }
        Err(why) => fail_with(frame, format!("not answered: {why}")),
    }
}

pub(crate) fn complete_with_report(
    mut frame: ResultFrame,
    seen: Result<SessionReport, String>,
) -> ResultFrame {
    match seen {
        Ok(view) => {
            frame.result = Some(view.text);
            frame.seen.insert(view.name.to_owned(), view.json);
            frame
        }
        Err(why) => fail_with(frame, why),
    }
}

fn result_subtype(ending: &RunEnding) -> &'static str {
    match ending.terminal {
        Terminal::MaxTurns => "error_max_turns",
        Terminal::MaxBudgetUsd => "error_max_budget_usd",
        Terminal::AbortedStreaming | Terminal::AbortedTools | Terminal::BlockingLimit => {
            ERROR_DURING_EXECUTION
        }
        // A failure of the provider is a result whose text is the failure.
        Terminal::ModelError | Terminal::PromptTooLong | Terminal::ImageError => {
            match &ending.failure {
                Some(_) => SUCCESS,
                None => ERROR_DURING_EXECUTION,
            }
        }
        Terminal::HookStopped if ending.outcome == Some(Outcome::Circled) => ERROR_DURING_EXECUTION,
        Terminal::Completed | Terminal::HookStopped | Terminal::StopHookPrevented => SUCCESS,
    }
}

fn terminal_reason(ending: &RunEnding) -> &'static str {
    if ending.deferred.is_some() {
        return TOOL_DEFERRED;
    }
    match ending.terminal {
        Terminal::MaxBudgetUsd => "budget_exhausted",
        Terminal::ModelError if ending.failure.is_some() => "api_error",
        terminal => terminal.name(),
    }
}

fn stop_reason(ending: &RunEnding) -> Option<&'static str> {
    if ending.deferred.is_some() {
        return Some(TOOL_DEFERRED);
    }
    if ending.terminal != Terminal::Completed {
        return None;
    }
    Some(match ending.outcome {
        Some(Outcome::Refusal) => "refusal",
        Some(Outcome::OutputLimitExhausted) => "max_tokens",
        Some(Outcome::PausesExhausted) => "pause_turn",
        None
        | Some(
            Outcome::Natural
            | Outcome::Empty
            | Outcome::Compacted
            | Outcome::NotCompacted
            | Outcome::ToolDeferred
            | Outcome::Circled
            | Outcome::StorageFailed,
        ) => "end_turn",
    })
}

const SUCCESS: &str = "success";
const ERROR_DURING_EXECUTION: &str = "error_during_execution";
/// Why a run ended whose call was deferred.
const TOOL_DEFERRED: &str = "tool_deferred";

fn duration_to_millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
