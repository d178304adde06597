//! Parses the answer of one hook: from an exit code and output, a server's response, or a
//! callback's value.
//!
//! A hook that fails has no opinion, and causes a warning. Its configuration may say what a failure
//! means; otherwise a failed hook before a tool makes the call a question, and never allows it.

use std::path::Path;

use windlass_vocabulary::HookVerdict;

use crate::combined_result::keep_stronger;
use crate::event::HookEvent;
use crate::hook::{Hook, HookKind, OnFailure};
use crate::hook_output::{
    ElicitationAnswer, HookDecision, HookOutput, HookPermissionDecision, PermissionRequestAnswer,
};
use crate::hook_run_result::HookAnswer;
use crate::raw_hook_output::{HookCompletion, RawHookOutput};

/// Parses an answer. The second value is why it does not count, if it does not.
pub(crate) fn parse_hook_answer(
    raw: &mut RawHookOutput,
    hook: &Hook,
    spill: &Path,
) -> (HookAnswer, Option<String>) {
    let event = hook.event;
    let end = std::mem::take(&mut raw.end);
    let is_late = matches!(end, HookCompletion::TimedOut);
    let read = match end {
        HookCompletion::NoOutput => Ok(HookAnswer::default()),
        HookCompletion::Exited(code) => parse_exit(code, raw, event),
        HookCompletion::InvalidOutput(2, _) if event.can_block() => {
            Ok(build_blocking_answer(None, &raw.stderr, event))
        }
        HookCompletion::InvalidOutput(_, problem) | HookCompletion::Failed(problem) => {
            Err(problem.into())
        }
        HookCompletion::Value(value) => HookOutput::parse(value, event)
            .map(|output| build_answer(output, event))
            .map_err(HookFailure::from),
        HookCompletion::TimedOut => {
            Err(format!("took longer than {} s", hook.timeout().as_secs_f64()).into())
        }
        HookCompletion::Cancelled => Err("was cancelled".to_owned().into()),
    };
    let (mut answer, failure) = match read {
        Ok(answer) => (answer, None),
        Err(failed) => {
            let mut answer = failed.answer.map(|answer| *answer).unwrap_or_default();
            // A failed hook must never allow a call.
            if answer.verdict == HookVerdict::Allow {
                answer.verdict = HookVerdict::Pass;
            }
            apply_failure(&mut answer, hook, &failed.message, is_late);
            (answer, Some(failed.message))
        }
    };
    answer.shorten(spill);
    (answer, failure)
}

/// The answer does not count, although the hook may have returned one.
struct HookFailure {
    message: String,
    answer: Option<Box<HookAnswer>>,
}

impl From<String> for HookFailure {
    fn from(words: String) -> Self {
        Self { message: words, answer: None }
    }
}

fn parse_exit(code: i32, raw: &RawHookOutput, event: HookEvent) -> Result<HookAnswer, HookFailure> {
    let text = raw.stdout.trim();
    let output = text.starts_with('{').then(|| {
        let value = serde_json::from_str(text)
            .map_err(|error| format!("wrote JSON that cannot be read: {error}"))?;
        HookOutput::parse(value, event)
    });
    match (code, output) {
        (0, Some(output)) => Ok(build_answer(output?, event)),
        (0, None) => {
            let context = event.accepts_plain_text().then(|| text.to_owned());
            let context = context.filter(|text| !text.is_empty()).into_iter().collect();
            Ok(HookAnswer { context, ..HookAnswer::default() })
        }
        (2, output) if event.can_block() => {
            Ok(build_blocking_answer(output.and_then(Result::ok), &raw.stderr, event))
        }
        (2, output) if event != HookEvent::PermissionRequest => {
            let mut answer =
                output.and_then(Result::ok).map(|o| build_answer(o, event)).unwrap_or_default();
            let complaint = raw.stderr.trim();
            if answer.message.is_none() && !complaint.is_empty() {
                answer.message = Some(complaint.to_owned());
            }
            Ok(answer)
        }
        (code, output) => {
            let complaint = raw.stderr.trim().lines().next().unwrap_or_default();
            let colon = if complaint.is_empty() { "" } else { ": " };
            let words = format!("ended with exit code {code}{colon}{complaint}");
            let answer =
                output.and_then(Result::ok).map(|output| Box::new(build_answer(output, event)));
            Err(HookFailure { message: words, answer })
        }
    }
}

/// Exit code 2 blocks, whatever decision the JSON contains; only its reason is used.
fn build_blocking_answer(output: Option<HookOutput>, stderr: &str, event: HookEvent) -> HookAnswer {
    let reason = output.as_ref().and_then(|output| output.block_reason().map(str::to_owned));
    let mut answer = output.map(|output| build_answer(output, event)).unwrap_or_default();
    if !matches!(answer.verdict, HookVerdict::Halt(_)) {
        let complaint = Some(stderr.trim().to_owned()).filter(|text| !text.is_empty());
        let reason = reason.or(complaint).unwrap_or_else(|| NO_REASON.to_owned());
        answer.verdict = HookVerdict::Block(reason);
    }
    answer
}

fn build_answer(output: HookOutput, event: HookEvent) -> HookAnswer {
    let objection = output.block_reason().map(str::to_owned);
    let HookOutput { should_continue, stop_reason, system_message, decision, reason: _, specific } =
        output;
    let specific = specific.unwrap_or_default();
    let block = || HookVerdict::Block(objection.clone().unwrap_or_else(|| NO_REASON.to_owned()));
    let ask_reason = || objection.clone().unwrap_or_else(|| "a hook asks for it".to_owned());
    let words = specific.additional_context.filter(|context| !context.trim().is_empty());
    let is_feedback = matches!(event, HookEvent::Stop | HookEvent::SubagentStop);
    let mut verdict = if event == HookEvent::PreToolUse {
        match (specific.permission_decision, decision) {
            (Some(HookPermissionDecision::Deny), _) | (None, Some(HookDecision::Block)) => block(),
            (Some(HookPermissionDecision::Allow), _) | (None, Some(HookDecision::Approve)) => {
                HookVerdict::Allow
            }
            (Some(HookPermissionDecision::Ask), _) => HookVerdict::Ask(ask_reason()),
            (Some(HookPermissionDecision::Defer), _) => HookVerdict::Defer(ask_reason()),
            (None, None) => HookVerdict::Pass,
        }
    } else if matches!(decision, Some(HookDecision::Block)) && event.can_block() {
        block()
    } else if let Some(feedback) = words.as_ref().filter(|_| is_feedback) {
        // Feedback makes the model continue, like a block does.
        HookVerdict::Block(feedback.clone())
    } else {
        HookVerdict::Pass
    };
    if should_continue == Some(false) {
        let why = stop_reason.or(objection);
        verdict = HookVerdict::Halt(why.unwrap_or_else(|| "a hook ended it".to_owned()));
    }
    HookAnswer {
        verdict,
        context: words.filter(|_| !is_feedback).into_iter().collect(),
        message: system_message.filter(|message| !message.trim().is_empty()),
        updated_input: specific.updated_input,
        updated_output: specific.updated_tool_output.or(specific.updated_mcp_tool_output),
        permission_answer: specific
            .decision
            .map(crate::hook_output::PermissionRequestDecision::into_answer),
        title: specific.session_title,
        first_message: specific.initial_user_message,
        elicitation_answer: specific
            .action
            .map(|action| ElicitationAnswer { action, content: specific.content }),
    }
}

fn apply_failure(answer: &mut HookAnswer, hook: &Hook, words: &str, is_late: bool) {
    let event = hook.event;
    let reason = format!("the hook `{}` {words}", hook.name());
    let is_callback = matches!(hook.kind, HookKind::Callback { .. });
    let is_awaited = is_late
        && is_callback
        && matches!(event, HookEvent::PreToolUse | HookEvent::UserPromptSubmit);
    let blocks = match hook.on_failure {
        Some(OnFailure::Continue) => return,
        Some(OnFailure::Block) => true,
        None => is_awaited,
    };
    if blocks && event == HookEvent::PermissionRequest {
        answer.permission_answer =
            Some(PermissionRequestAnswer::Deny { message: reason, interrupt: false });
    } else if blocks && event.can_block() {
        keep_stronger(&mut answer.verdict, HookVerdict::Block(reason));
    } else if event == HookEvent::PreToolUse {
        keep_stronger(&mut answer.verdict, HookVerdict::Ask(reason));
    } else if event == HookEvent::PermissionRequest
        && matches!(answer.permission_answer, Some(PermissionRequestAnswer::Allow { .. }))
    {
        answer.permission_answer = None;
    }
}

const NO_REASON: &str = "a hook objects and gives no reason";
