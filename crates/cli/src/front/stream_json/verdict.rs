//! From how a run ended to the frame that ends its prompt.

use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{Notice, Outcome, Role, Stop, Terminal, Tokens, ToolCall, Usage};

use super::account::Account;
use super::frame::{DeferredUse, Denial, ResultFrame, input};
use super::narrator::is_api_failure;
use crate::front::view::View;

/// What is known of a prompt besides how its run ended.
#[derive(Debug)]
pub(crate) struct Turn {
    /// When it was taken up.
    pub(crate) began: Instant,
    /// Spent waiting for the model.
    pub(crate) api: Duration,
    /// A request is out since then.
    pub(crate) asking: Option<Instant>,
    /// Answers of the model.
    pub(crate) answers: u32,
    /// Tokens of runs that had to be repeated.
    pub(crate) usage: Usage,
    /// Its id, if the client gave one.
    pub(crate) uuid: Option<String>,
    /// Who sent it, as the client said.
    pub(crate) origin: Option<Value>,
    /// Calls that were not allowed.
    pub(crate) denials: Vec<Denial>,
    /// The object that was asked for.
    pub(crate) structured: Option<Value>,
    /// What making history shorter freed, if that was asked for.
    pub(crate) freed: Option<Tokens>,
    /// It asks something beside the conversation.
    pub(crate) is_aside: bool,
}

impl Turn {
    /// A prompt is taken up.
    pub(crate) fn new(uuid: Option<String>, origin: Option<Value>) -> Self {
        Self {
            began: Instant::now(),
            api: Duration::ZERO,
            asking: None,
            answers: 0,
            usage: Usage::default(),
            uuid,
            origin,
            denials: Vec::new(),
            structured: None,
            freed: None,
            is_aside: false,
        }
    }

    /// Counts what was told.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::MessageAdded(message) if message.role == Role::Assistant => self.answers += 1,
            Notice::RequestStarted { .. } => self.asking = Some(Instant::now()),
            Notice::Billed { .. } | Notice::Waiting { .. } => self.answered(),
            Notice::ToolDenied { call, .. } => self.denied(call),
            Notice::ContextShrunk { freed, .. } => {
                self.freed = self.freed.map(|before| before + *freed);
            }
            _ => {}
        }
    }

    /// A call was not allowed.
    fn denied(&mut self, call: &ToolCall) {
        self.denials.push(Denial {
            tool_name: call.name.as_str().to_owned(),
            tool_use_id: call.id.as_str().to_owned(),
            tool_input: input(call),
        });
    }

    /// The model said its last word for now.
    pub(crate) fn answered(&mut self) {
        if let Some(asked) = self.asking.take() {
            self.api += asked.elapsed();
        }
    }

    /// The frame without what depends on how it ended.
    pub(crate) fn frame(self, account: &Account) -> ResultFrame {
        ResultFrame {
            subtype: "success",
            duration_ms: millis(self.began.elapsed()),
            duration_api_ms: millis(self.api),
            num_turns: self.answers,
            terminal_reason: "completed",
            total_cost_usd: account.dollars(),
            model_usage: account.by_model(),
            usage: self.usage.into(),
            permission_denials: self.denials,
            structured_output: self.structured,
            origin: self.origin,
            user_message_uuid: self.uuid,
            ..ResultFrame::default()
        }
    }
}

/// What a run's end means to a client: the text is the final answer, the problem what to tell people
/// if it failed.
pub(crate) fn of_run(
    mut frame: ResultFrame,
    ending: &Ending,
    text: &str,
    problem: Option<String>,
) -> ResultFrame {
    frame.outcome = ending.outcome.map(|outcome| outcome.name());
    frame.api_error_status = ending.failure.as_ref().and_then(|failure| failure.status);
    frame.terminal_reason = reason(ending);
    // A run that went on from an earlier process has turns that were not seen here.
    frame.num_turns = frame.num_turns.max(ending.turns);
    frame.subtype = subtype(ending);
    frame.is_error = match ending.terminal {
        Terminal::Completed => {
            let is_fine = |outcome: Outcome| {
                matches!(outcome, Outcome::Natural | Outcome::Compacted | Outcome::ToolDeferred)
            };
            !ending.outcome.is_none_or(is_fine)
        }
        // Somebody's own hook wanted it so, or the guard against circles gave it up.
        Terminal::HookStopped => ending.outcome == Some(Outcome::Circled),
        Terminal::StopHookPrevented => false,
        _ => true,
    };
    frame.stop_reason = stop(ending);
    frame.deferred_tool_use = ending.deferred.as_ref().map(|call| DeferredUse {
        id: call.id.as_str().to_owned(),
        name: call.name.as_str().to_owned(),
        input: input(call),
    });
    let words = problem.unwrap_or_else(|| ending.why.clone());
    match (frame.is_error, frame.subtype) {
        (false, _) if text.is_empty() && ending.terminal != Terminal::Completed => {
            frame.result = Some(words);
        }
        (false, _) => frame.result = Some(text.to_owned()),
        (true, "success") => frame.result = Some(words),
        (true, _) => frame.errors.push(words),
    }
    frame
}

/// A prompt whose object never fitted.
pub(crate) fn unstructured(mut frame: ResultFrame, retries: u32) -> ResultFrame {
    frame.subtype = "error_max_structured_output_retries";
    frame.is_error = true;
    frame.terminal_reason = "structured_output_retry_exhausted";
    frame.result = None;
    frame.errors =
        vec![format!("no object that fits the schema was handed over within {retries} more tries")];
    frame
}

/// A prompt that never became a run.
pub(crate) fn refused(mut frame: ResultFrame, why: String) -> ResultFrame {
    frame.subtype = "error_during_execution";
    frame.is_error = true;
    frame.terminal_reason = "turn_setup_failed";
    frame.errors.push(why);
    frame
}

/// A question beside the conversation was answered, or not.
pub(crate) fn aside(mut frame: ResultFrame, said: &Result<String, String>) -> ResultFrame {
    match said {
        Ok(text) => {
            frame.result = Some(text.clone());
            frame
        }
        Err(why) => refused(frame, format!("not answered: {why}")),
    }
}

/// A prompt that only looked.
pub(crate) fn seen(mut frame: ResultFrame, seen: Result<View, String>) -> ResultFrame {
    match seen {
        Ok(view) => {
            frame.result = Some(view.text);
            frame.seen.insert(view.name.to_owned(), view.object);
            frame
        }
        Err(why) => refused(frame, why),
    }
}

fn subtype(ending: &Ending) -> &'static str {
    match ending.terminal {
        Terminal::MaxTurns => "error_max_turns",
        Terminal::MaxBudgetUsd => "error_max_budget_usd",
        Terminal::AbortedStreaming | Terminal::AbortedTools => "error_during_execution",
        // A provider's failure is told as a result whose text is the failure.
        terminal if is_api_failure(terminal) => match &ending.failure {
            Some(_) => "success",
            None => "error_during_execution",
        },
        Terminal::BlockingLimit => "error_during_execution",
        Terminal::HookStopped if ending.outcome == Some(Outcome::Circled) => {
            "error_during_execution"
        }
        _ => "success",
    }
}

fn reason(ending: &Ending) -> &'static str {
    match ending.terminal {
        _ if ending.deferred.is_some() => DEFERRED,
        Terminal::MaxBudgetUsd => "budget_exhausted",
        Terminal::ModelError if ending.failure.is_some() => "api_error",
        terminal => terminal.name(),
    }
}

fn stop(ending: &Ending) -> Option<&'static str> {
    let stop = match (ending.terminal, ending.outcome) {
        _ if ending.deferred.is_some() => return Some(DEFERRED),
        (Terminal::Completed, Some(Outcome::Refusal)) => Stop::Refusal,
        (Terminal::Completed, Some(Outcome::OutputLimitExhausted)) => Stop::OutputLimit,
        (Terminal::Completed, Some(Outcome::PausesExhausted)) => Stop::Pause,
        (Terminal::Completed, _) => Stop::EndTurn,
        _ => return None,
    };
    Some(match stop {
        Stop::EndTurn => "end_turn",
        Stop::OutputLimit => "max_tokens",
        Stop::WindowFull => "model_context_window_exceeded",
        Stop::Pause => "pause_turn",
        Stop::Refusal => "refusal",
    })
}

/// Why a run ended whose call was put off.
const DEFERRED: &str = "tool_deferred";

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
