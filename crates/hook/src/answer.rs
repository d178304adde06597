//! What one hook said: from an exit code and two streams, a server's reply or a callback's value to an
//! answer.
//!
//! A hook that breaks says nothing, and is warned of. What its failure means it may say itself; where
//! it does not, a broken hook before a tool makes the call a question, never a yes.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::{HookVerdict, MicroUsd};

use crate::event::HookEvent;
use crate::hook::{Hook, Kind, OnFailure};
use crate::long::kept;
use crate::verdict::stronger;
use crate::wire::{Decision, Elicited, Output, Permission, RequestAnswer};

/// What one hook said, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The number under which its start was told.
    pub number: u64,
    /// When.
    pub event: HookEvent,
    /// How people call the moment: the event, and a tool's name or a source.
    pub moment: String,
    /// Which hook.
    pub name: String,
    /// Where it is written.
    pub source: String,
    /// How long it took.
    pub took: Duration,
    /// A program's exit code, a server's status.
    pub exit_code: Option<i32>,
    /// What it wrote, its beginning if it was long.
    pub stdout: String,
    /// What it complained about, the beginning if it was long.
    pub stderr: String,
    /// Why it does not count, in words.
    pub failure: Option<String>,
    /// It was called off.
    pub is_cancelled: bool,
    /// What asking a model cost.
    pub spent: MicroUsd,
    /// What it means.
    pub answer: Answer,
}

/// What a hook's words mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What it decides.
    pub verdict: HookVerdict,
    /// For the model.
    pub context: Vec<String>,
    /// For the user.
    pub message: Option<String>,
    /// The call should run with this input.
    pub updated_input: Option<Value>,
    /// The model should see this instead of what the tool returned.
    pub updated_output: Option<Value>,
    /// The answer to a permission question.
    pub request: Option<RequestAnswer>,
    /// What the session should be called.
    pub title: Option<String>,
    /// What the first prompt should be.
    pub first_message: Option<String>,
    /// The answer to a server's question.
    pub elicited: Option<Elicited>,
}

/// What was heard of a hook.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) end: End,
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) spent: MicroUsd,
}

/// How it ended.
#[derive(Debug, Default)]
pub(crate) enum End {
    /// It said nothing, which is fine.
    #[default]
    Silent,
    /// A program ended by itself; what it wrote is whole and text.
    Exited(i32),
    /// A program ended by itself; what it wrote is no use, for this reason.
    Garbled(i32, String),
    /// A value came back.
    Value(Value),
    /// It took too long.
    Late,
    /// It was called off.
    Cancelled,
    /// It failed.
    Broken(String),
}

/// Reads an answer. The second half is why it does not count, if it does not.
pub(crate) fn read(heard: &mut Heard, hook: &Hook, spill: &Path) -> (Answer, Option<String>) {
    let event = hook.event;
    let end = std::mem::take(&mut heard.end);
    let is_late = matches!(end, End::Late);
    let read = match end {
        End::Silent => Ok(Answer::default()),
        End::Exited(code) => exited(code, heard, event),
        End::Garbled(2, _) if event.can_block() => Ok(objecting(None, &heard.stderr, event)),
        End::Garbled(_, problem) | End::Broken(problem) => Err(problem.into()),
        End::Value(value) => {
            Output::read(value, event).map(|output| of(output, event)).map_err(Failed::from)
        }
        End::Late => Err(format!("took longer than {} s", hook.limit().as_secs_f64()).into()),
        End::Cancelled => Err("was called off".to_owned().into()),
    };
    let (mut answer, failure) = match read {
        Ok(answer) => (answer, None),
        Err(failed) => {
            let mut answer = failed.answer.map(|answer| *answer).unwrap_or_default();
            // A guard that broke is never a yes.
            if answer.verdict == HookVerdict::Allow {
                answer.verdict = HookVerdict::Pass;
            }
            fail(&mut answer, hook, &failed.words, is_late);
            (answer, Some(failed.words))
        }
    };
    answer.shorten(spill);
    (answer, failure)
}

/// It does not count, though it may have left an answer.
struct Failed {
    words: String,
    answer: Option<Box<Answer>>,
}

impl From<String> for Failed {
    fn from(words: String) -> Self {
        Self { words, answer: None }
    }
}

fn exited(code: i32, heard: &Heard, event: HookEvent) -> Result<Answer, Failed> {
    let text = heard.stdout.trim();
    let output = text.starts_with('{').then(|| {
        let value = serde_json::from_str(text)
            .map_err(|error| format!("wrote JSON that cannot be read: {error}"))?;
        Output::read(value, event)
    });
    match (code, output) {
        (0, Some(output)) => Ok(of(output?, event)),
        (0, None) => {
            let context = event.takes_plain_text().then(|| text.to_owned());
            let context = context.filter(|text| !text.is_empty()).into_iter().collect();
            Ok(Answer { context, ..Answer::default() })
        }
        (2, output) if event.can_block() => {
            Ok(objecting(output.and_then(Result::ok), &heard.stderr, event))
        }
        (2, output) if event != HookEvent::PermissionRequest => {
            let mut answer = output.and_then(Result::ok).map(|o| of(o, event)).unwrap_or_default();
            let complaint = heard.stderr.trim();
            if answer.message.is_none() && !complaint.is_empty() {
                answer.message = Some(complaint.to_owned());
            }
            Ok(answer)
        }
        (code, output) => {
            let complaint = heard.stderr.trim().lines().next().unwrap_or_default();
            let colon = if complaint.is_empty() { "" } else { ": " };
            let words = format!("ended with exit code {code}{colon}{complaint}");
            let answer = output.and_then(Result::ok).map(|output| Box::new(of(output, event)));
            Err(Failed { words, answer })
        }
    }
}

/// Exit code 2: it objects, whatever its JSON says beside the reason.
fn objecting(output: Option<Output>, stderr: &str, event: HookEvent) -> Answer {
    let reason = output.as_ref().and_then(|output| output.objection().map(str::to_owned));
    let mut answer = output.map(|output| of(output, event)).unwrap_or_default();
    if !matches!(answer.verdict, HookVerdict::Halt(_)) {
        let complaint = Some(stderr.trim().to_owned()).filter(|text| !text.is_empty());
        let reason = reason.or(complaint).unwrap_or_else(|| NO_REASON.to_owned());
        answer.verdict = HookVerdict::Block(reason);
    }
    answer
}

/// What well-formed JSON means at this event.
fn of(output: Output, event: HookEvent) -> Answer {
    let objection = output.objection().map(str::to_owned);
    let Output { goes_on, stop_reason, system_message, decision, reason: _, specific } = output;
    let specific = specific.unwrap_or_default();
    let block = || HookVerdict::Block(objection.clone().unwrap_or_else(|| NO_REASON.to_owned()));
    let wish = || objection.clone().unwrap_or_else(|| "a hook wants it".to_owned());
    let words = specific.additional_context.filter(|context| !context.trim().is_empty());
    let mut verdict = match (event, decision) {
        (HookEvent::PreToolUse, decision) => match (specific.permission_decision, decision) {
            (Some(Permission::Deny), _) | (None, Some(Decision::Block)) => block(),
            (Some(Permission::Allow), _) | (None, Some(Decision::Approve)) => HookVerdict::Allow,
            (Some(Permission::Ask), _) => HookVerdict::Ask(wish()),
            (Some(Permission::Defer), _) => HookVerdict::Defer(wish()),
            (None, None) => HookVerdict::Pass,
        },
        (event, Some(Decision::Block)) if event.can_block() => block(),
        // Feedback sends the model back as an objection does.
        (HookEvent::Stop | HookEvent::SubagentStop, _) if words.is_some() => {
            HookVerdict::Block(words.clone().unwrap_or_default())
        }
        _ => HookVerdict::Pass,
    };
    if goes_on == Some(false) {
        let why = stop_reason.or(objection);
        verdict = HookVerdict::Halt(why.unwrap_or_else(|| "a hook ended it".to_owned()));
    }
    let is_feedback = matches!(event, HookEvent::Stop | HookEvent::SubagentStop);
    Answer {
        verdict,
        context: words.filter(|_| !is_feedback).into_iter().collect(),
        message: system_message.filter(|message| !message.trim().is_empty()),
        updated_input: specific.updated_input,
        updated_output: specific.updated_tool_output.or(specific.updated_mcp_tool_output),
        request: specific.decision.map(crate::wire::RequestDecision::answer),
        title: specific.session_title,
        first_message: specific.initial_user_message,
        elicited: specific.action.map(|action| Elicited { action, content: specific.content }),
    }
}

/// What a failure means.
fn fail(answer: &mut Answer, hook: &Hook, words: &str, is_late: bool) {
    let event = hook.event;
    let reason = format!("the hook `{}` {words}", hook.name());
    let is_callback = matches!(hook.kind, Kind::Callback { .. });
    let is_awaited = is_late
        && is_callback
        && matches!(event, HookEvent::PreToolUse | HookEvent::UserPromptSubmit);
    let blocks = match hook.on_failure {
        Some(OnFailure::Continue) => return,
        Some(OnFailure::Block) => true,
        None => is_awaited,
    };
    if blocks && event == HookEvent::PermissionRequest {
        answer.request = Some(RequestAnswer::Deny { message: reason, interrupt: false });
    } else if blocks && event.can_block() {
        stronger(&mut answer.verdict, HookVerdict::Block(reason));
    } else if event == HookEvent::PreToolUse {
        stronger(&mut answer.verdict, HookVerdict::Ask(reason));
    } else if event == HookEvent::PermissionRequest
        && matches!(answer.request, Some(RequestAnswer::Allow { .. }))
    {
        answer.request = None;
    }
}

impl Answer {
    /// Passes on no more than so many characters of each text.
    fn shorten(&mut self, spill: &Path) {
        let short = |text: &mut String| *text = kept(std::mem::take(text), spill);
        self.context.iter_mut().for_each(short);
        self.message.iter_mut().for_each(short);
        self.title.iter_mut().for_each(short);
        self.first_message.iter_mut().for_each(short);
        match &mut self.verdict {
            HookVerdict::Ask(why)
            | HookVerdict::Defer(why)
            | HookVerdict::Block(why)
            | HookVerdict::Halt(why) => short(why),
            HookVerdict::Pass | HookVerdict::Allow => {}
        }
        if let Some(RequestAnswer::Deny { message, .. }) = &mut self.request {
            short(message);
        }
    }
}

const NO_REASON: &str = "a hook objects and gives no reason";
