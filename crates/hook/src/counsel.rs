//! Hooks that are no programs: a model that judges, an agent that looks for itself, a tool of a server.
//!
//! Here is what each is asked and what its words mean. Who asks a model or calls a tool, and under
//! which rules, is known to whoever holds the session.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_vocabulary::MicroUsd;

use crate::answer::{End, Heard};
use crate::event::HookEvent;

/// Asks on behalf of hooks. The deadline is kept by the caller as well: a call that takes too long is
/// dropped.
pub trait Counsel: fmt::Debug + Send + Sync {
    /// Asks a model, which sees nothing but this; the one of this name, if one is named.
    fn judge(&self, prompt: String, model: Option<&str>, limit: Duration) -> Weighing<'_>;
    /// Calls a tool of the session by its name.
    fn call(&self, tool: String, input: Value) -> Weighing<'_>;
}

/// An answer under way.
pub type Weighing<'a> = Pin<Box<dyn Future<Output = Weighed> + Send + 'a>>;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// What was said, or why nothing was.
    pub text: Result<String, String>,
    /// What it cost.
    pub spent: MicroUsd,
}

/// A judgement in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judge {
    pub(crate) prompt: String,
    /// An agent with tools, not a model alone.
    pub(crate) is_agent: bool,
    /// Who is asked, if somebody in particular.
    pub(crate) model: Option<String>,
}

/// A tool of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerTool {
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
}

impl Judge {
    pub(crate) async fn ask(
        &self,
        counsel: &dyn Counsel,
        (event, input): (HookEvent, &Value),
        limit: Duration,
    ) -> Heard {
        let told = input.to_string();
        let mut prompt = match self.prompt.contains(ARGUMENTS) {
            true => self.prompt.replace(ARGUMENTS, &told),
            false => format!("{}\n\n{told}", self.prompt),
        };
        prompt.push_str(FORM);
        let weighed = match self.is_agent {
            false => counsel.judge(prompt, self.model.as_deref(), limit).await,
            true => {
                let mut input = json!({ "description": "check for a hook", "prompt": prompt });
                if let (Some(model), Value::Object(fields)) = (&self.model, &mut input) {
                    fields.insert("model".to_owned(), model.as_str().into());
                }
                counsel.call("Agent".to_owned(), input).await
            }
        };
        heard(weighed, |text| judged(text, event))
    }
}

impl ServerTool {
    /// How the session calls it.
    pub(crate) fn name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool)
    }

    pub(crate) async fn ask(&self, counsel: &dyn Counsel, input: &Value) -> Heard {
        let weighed = counsel.call(self.name(), filled(&self.input, input)).await;
        heard(weighed, |text| match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) if value.is_object() => End::Value(value),
            // A tool that has nothing to decide says what it likes.
            _ => End::Silent,
        })
    }
}

fn heard(weighed: Weighed, read: impl FnOnce(&str) -> End) -> Heard {
    let Weighed { text, spent } = weighed;
    match text {
        Ok(text) => Heard { end: read(&text), stdout: text, spent, ..Heard::default() },
        Err(why) => Heard { end: End::Broken(format!("failed: {why}")), spent, ..Heard::default() },
    }
}

/// What a judgement means at this event.
fn judged(text: &str, event: HookEvent) -> End {
    let object = text.find('{').zip(text.rfind('}'));
    let object = object.and_then(|(from, to)| text.get(from..=to));
    let object: Option<Map<String, Value>> = object.and_then(|o| serde_json::from_str(o).ok());
    let Some(object) = object else {
        return End::Broken("answered no JSON object".to_owned());
    };
    let reason = object.get("reason").and_then(Value::as_str).unwrap_or("it gave no reason");
    match object.get("ok").and_then(Value::as_bool) {
        None => End::Broken("answered without `ok`".to_owned()),
        Some(true) => End::Silent,
        Some(false) if object.get("impossible") == Some(&Value::Bool(true)) => {
            End::Value(json!({ "continue": false, "stopReason": reason }))
        }
        Some(false) if event.can_block() => {
            End::Value(json!({ "decision": "block", "reason": reason }))
        }
        Some(false) => End::Value(json!({ "systemMessage": reason })),
    }
}

/// `${tool_input.path}` in texts: what stands there in what hooks are told.
fn filled(pattern: &Value, told: &Value) -> Value {
    match pattern {
        Value::String(text) => filled_text(text, told),
        Value::Array(list) => list.iter().map(|one| filled(one, told)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, one)| (name.clone(), filled(one, told))).collect()
        }
        other => other.clone(),
    }
}

fn filled_text(text: &str, told: &Value) -> Value {
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

const ARGUMENTS: &str = "$ARGUMENTS";
const FORM: &str = "\n\nAnswer with one JSON object and nothing else: {\"ok\": true} if it is as it \
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
            assert_eq!(filled(&pattern, &told), expected, "{pattern}");
        }
    }
}
