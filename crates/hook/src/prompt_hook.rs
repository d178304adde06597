//! Hooks that are no programs: a model that judges, an agent that looks for itself, a tool of a server.
//!
//! Here is what each is asked and what its words mean. Who asks a model or calls a tool, and under
//! which rules, is known to whoever holds the session.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_vocabulary::MicroUsd;

use crate::answer::{HookCompletion, RawHookOutput};
use crate::event::HookEvent;

/// Asks on behalf of hooks. The deadline is kept by the caller as well: a call that takes too long is
/// dropped.
pub trait HookBackend: fmt::Debug + Send + Sync {
    /// Asks a model, which sees nothing but this; the one of this name, if one is named.
    fn ask_model(
        &self,
        prompt: String,
        model: Option<&str>,
        limit: Duration,
    ) -> HookBackendReplyFuture<'_>;
    /// Calls a tool of the session by its name.
    fn call_tool(&self, tool: String, input: Value) -> HookBackendReplyFuture<'_>;
}

/// An answer under way.
pub type HookBackendReplyFuture<'a> = Pin<Box<dyn Future<Output = HookBackendReply> + Send + 'a>>;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookBackendReply {
    /// What was said, or why nothing was.
    pub text: Result<String, String>,
    /// What it cost.
    pub spent: MicroUsd,
}

/// A judgement in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptHook {
    pub(crate) prompt: String,
    /// An agent with tools, not a model alone.
    pub(crate) is_agent: bool,
    /// Who is asked, if somebody in particular.
    pub(crate) model: Option<String>,
}

/// A tool of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct McpToolHook {
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
}

impl PromptHook {
    pub(crate) async fn run(
        &self,
        counsel: &dyn HookBackend,
        (event, input): (HookEvent, &Value),
        limit: Duration,
    ) -> RawHookOutput {
        let told = input.to_string();
        let mut prompt = match self.prompt.contains(ARGUMENTS_PLACEHOLDER) {
            true => self.prompt.replace(ARGUMENTS_PLACEHOLDER, &told),
            false => format!("{}\n\n{told}", self.prompt),
        };
        prompt.push_str(ANSWER_FORMAT);
        let weighed = match self.is_agent {
            false => counsel.ask_model(prompt, self.model.as_deref(), limit).await,
            true => {
                let mut input = json!({ "description": "check for a hook", "prompt": prompt });
                if let (Some(model), Value::Object(fields)) = (&self.model, &mut input) {
                    fields.insert("model".to_owned(), model.as_str().into());
                }
                counsel.call_tool("Agent".to_owned(), input).await
            }
        };
        build_raw_output(weighed, |text| parse_judgement(text, event))
    }
}

impl McpToolHook {
    /// How the session calls it.
    pub(crate) fn name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool)
    }

    pub(crate) async fn run(&self, counsel: &dyn HookBackend, input: &Value) -> RawHookOutput {
        let weighed = counsel.call_tool(self.name(), fill_placeholders(&self.input, input)).await;
        build_raw_output(weighed, |text| match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) if value.is_object() => HookCompletion::Value(value),
            // A tool that has nothing to decide says what it likes.
            _ => HookCompletion::NoOutput,
        })
    }
}

fn build_raw_output(
    weighed: HookBackendReply,
    read: impl FnOnce(&str) -> HookCompletion,
) -> RawHookOutput {
    let HookBackendReply { text, spent } = weighed;
    match text {
        Ok(text) => {
            RawHookOutput { end: read(&text), stdout: text, spent, ..RawHookOutput::default() }
        }
        Err(why) => RawHookOutput {
            end: HookCompletion::Failed(format!("failed: {why}")),
            spent,
            ..RawHookOutput::default()
        },
    }
}

/// What a judgement means at this event.
fn parse_judgement(text: &str, event: HookEvent) -> HookCompletion {
    let object = text.find('{').zip(text.rfind('}'));
    let object = object.and_then(|(from, to)| text.get(from..=to));
    let object: Option<Map<String, Value>> = object.and_then(|o| serde_json::from_str(o).ok());
    let Some(object) = object else {
        return HookCompletion::Failed("answered no JSON object".to_owned());
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

/// `${tool_input.path}` in texts: what stands there in what hooks are told.
fn fill_placeholders(pattern: &Value, told: &Value) -> Value {
    match pattern {
        Value::String(text) => fill_text_placeholders(text, told),
        Value::Array(list) => list.iter().map(|one| fill_placeholders(one, told)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, one)| (name.clone(), fill_placeholders(one, told))).collect()
        }
        other => other.clone(),
    }
}

fn fill_text_placeholders(text: &str, told: &Value) -> Value {
    let at = |path: &str| {
        path.split('.').try_fold(told, |value, name| value.get(name)).cloned().unwrap_or_default()
    };
    let alone = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if let Some(path) = alone.filter(|path| !path.contains(['$', '{', '}'])) {
        return at(path);
    }
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((path, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match at(path) {
            Value::String(text) => out.push_str(&text),
            Value::Null => {}
            other => out.push_str(&other.to_string()),
        }
        rest = behind;
    }
    out.push_str(rest);
    Value::String(out)
}

const ARGUMENTS_PLACEHOLDER: &str = "$ARGUMENTS";
const ANSWER_FORMAT: &str = "\n\nAnswer with one JSON object and nothing else: {\"ok\": true} if it is as it \
should be, or {\"ok\": false, \"reason\": \"what is missing, in a sentence\"}; add \"impossible\": \
true if it can never come to be so.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_goes_to_its_places() {
        let told = json!({ "tool_input": { "path": "/a", "lines": [1, 2] }, "cwd": "/w" });
        let table = [
            (json!("${tool_input.path}"), json!("/a")),
            (json!("${tool_input.lines}"), json!([1, 2])),
            (json!("in ${cwd}: ${tool_input.path}${none}"), json!("in /w: /a")),
            (json!({ "a": ["${cwd}", 1, "$x ${"] }), json!({ "a": ["/w", 1, "$x ${"] })),
        ];
        for (pattern, expected) in table {
            assert_eq!(fill_placeholders(&pattern, &told), expected, "{pattern}");
        }
    }
}
