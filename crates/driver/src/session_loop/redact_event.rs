//! Takes our own keys out of what others say, before it is written or shown anywhere.

use std::borrow::Cow;

use windlass_engine::Event;
use windlass_tool::Secrets;
use windlass_vocabulary::{ContentBlock, Json, ToolResultPart};

/// What others say, without our own keys in it: nothing of it was written or shown before.
pub(super) fn redact_event(mut event: Event, secrets: &Secrets) -> Event {
    let clean = |text: &mut String| {
        if let Cow::Owned(clean) = secrets.redact(text) {
            *text = clean;
        }
    };
    match &mut event {
        Event::ToolEnded { outcome, .. } => {
            for part in &mut outcome.content {
                if let ToolResultPart::Text(text) = part {
                    clean(text);
                }
            }
            if let Some(json) = &outcome.structured
                && let Cow::Owned(clean) = secrets.redact(json.as_str())
            {
                outcome.structured = Some(Json::from_checked(&clean));
            }
        }
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
        _ => {}
    }
    event
}
