//! Removes our own keys from an event before it is decided, recorded or shown.

use std::borrow::Cow;

use windlass_engine::Event;
use windlass_tool::Secrets;
use windlass_vocabulary::{
    ContentBlock, HookReport, HookVerdict, Json, PermissionAnswer, ToolOutcome, ToolResultPart,
};

/// Returns the event without our own keys. Every variant is listed, so that a new one cannot be
/// forgotten.
pub(super) fn redact_event(mut event: Event, secrets: &Secrets) -> Event {
    let clean = |text: &mut String| redact_text(text, secrets);
    match &mut event {
        Event::ToolEnded { outcome, .. } => redact_outcome(outcome, secrets),
        Event::HookEnded { report, .. } => redact_report(report, secrets),
        Event::UserSubmitted { content, .. }
        | Event::QueueChanged { content: Some(content), .. } => {
            for block in content {
                if let ContentBlock::Text(text) = block {
                    clean(text);
                }
            }
        }
        Event::ToolProgressed { text, .. } | Event::AttachmentArrived { text, .. } => clean(text),
        Event::ModelFailed { failure, .. } => clean(&mut failure.message),
        Event::SummaryEnded { result: Err(failure), .. } => clean(&mut failure.message),
        Event::SummaryEnded { result: Ok(text), .. } => clean(text),
        Event::PermissionAnswered { answer: PermissionAnswer::Deny { message, .. }, .. } => {
            clean(message);
        }
        Event::CompactionAsked { focus: Some(focus) } => clean(focus),
        Event::ChoreAsked { about, .. } => clean(about),
        // `PermissionPrompts` redacts a changed input before the registry inspects it.
        Event::PermissionAnswered { answer: PermissionAnswer::Allow { .. }, .. }
        // The model has only seen text that was redacted before.
        | Event::ModelStarted { .. }
        | Event::ModelDelta { .. }
        | Event::ModelEnded { .. }
        // Comes from a file the journal reads, never from the driver.
        | Event::Adopted { .. }
        | Event::Resumed
        | Event::QueueChanged { content: None, .. }
        | Event::Configured(_)
        | Event::CompactionAsked { focus: None }
        | Event::Interrupted(_)
        | Event::TimerFired { .. } => {}
    }
    event
}

fn redact_outcome(outcome: &mut ToolOutcome, secrets: &Secrets) {
    for part in &mut outcome.content {
        if let ToolResultPart::Text(text) = part {
            redact_text(text, secrets);
        }
    }
    if let Some(json) = &outcome.structured
        && let Cow::Owned(clean) = secrets.redact(json.as_str())
    {
        outcome.structured = Some(Json::from_checked(&clean));
    }
}

/// A changed input is redacted where the report is built, before the registry inspects it.
fn redact_report(report: &mut HookReport, secrets: &Secrets) {
    let HookReport { verdict, name, context, updated: _, output, spent: _ } = report;
    match verdict {
        HookVerdict::Ask(why)
        | HookVerdict::Defer(why)
        | HookVerdict::Block(why)
        | HookVerdict::Halt(why) => redact_text(why, secrets),
        HookVerdict::Pass | HookVerdict::Allow => {}
    }
    for text in std::iter::once(name).chain(context).chain(output) {
        redact_text(text, secrets);
    }
}

fn redact_text(text: &mut String, secrets: &Secrets) {
    if let Cow::Owned(clean) = secrets.redact(text) {
        *text = clean;
    }
}
