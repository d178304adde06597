//! Runs a hook that asks a model, or an agent with tools, for a decision.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::event::HookEvent;
use crate::hook_backend::HookBackend;
use crate::raw_hook_output::{HookCompletion, RawHookOutput};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptHook {
    pub(crate) prompt: String,
    /// An agent with tools instead of a single model call.
    pub(crate) is_agent: bool,
    /// `None` means the session's own model.
    pub(crate) model: Option<String>,
}

impl PromptHook {
    pub(crate) async fn run(
        &self,
        backend: &dyn HookBackend,
        event: HookEvent,
        input: &Value,
        limit: Duration,
    ) -> RawHookOutput {
        let event_input = input.to_string();
        let mut prompt = match self.prompt.contains(ARGUMENTS_PLACEHOLDER) {
            true => self.prompt.replace(ARGUMENTS_PLACEHOLDER, &event_input),
            false => format!("{}\n\n{event_input}", self.prompt),
        };
        prompt.push_str(ANSWER_FORMAT);
        let reply = match self.is_agent {
            false => backend.ask_model(prompt, self.model.as_deref(), limit).await,
            true => {
                let mut input = json!({ "description": "check for a hook", "prompt": prompt });
                if let (Some(model), Value::Object(fields)) = (&self.model, &mut input) {
                    fields.insert("model".to_owned(), model.as_str().into());
                }
                backend.call_tool("Agent".to_owned(), input).await
            }
        };
        RawHookOutput::from_reply(reply, |text| parse_judgement(text, event))
    }
}

fn parse_judgement(text: &str, event: HookEvent) -> HookCompletion {
    let object = text.find('{').zip(text.rfind('}'));
    let object = object.and_then(|(from, to)| text.get(from..=to));
    let object: Option<Map<String, Value>> = object.and_then(|o| serde_json::from_str(o).ok());
    let Some(object) = object else {
        return HookCompletion::Failed("did not answer with a JSON object".to_owned());
    };
    let reason = object.get("reason").and_then(Value::as_str).unwrap_or("it gave no reason");
    match object.get("ok").and_then(Value::as_bool) {
        None => HookCompletion::Failed("answered without `ok`".to_owned()),
        Some(true) => HookCompletion::NoOutput,
        Some(false) if object.get("impossible") == Some(&Value::Bool(true)) => {
            HookCompletion::Value(json!({ "continue": false, "stopReason": reason }))
        }
        Some(false) if event.can_block() => {
            HookCompletion::Value(json!({ "decision": "block", "reason": reason }))
        }
        Some(false) => HookCompletion::Value(json!({ "systemMessage": reason })),
    }
}

const ARGUMENTS_PLACEHOLDER: &str = "$ARGUMENTS";
const ANSWER_FORMAT: &str = "\n\nAnswer with one JSON object and nothing else: {\"ok\": true} if it is as it \
should be, or {\"ok\": false, \"reason\": \"what is missing, in a sentence\"}; add \"impossible\": \
true if it can never come to be so.";
