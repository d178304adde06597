//! Runs a hook that is a tool of an MCP server.

use serde_json::Value;

use crate::hook_backend::HookBackend;
use crate::raw_hook_output::{HookCompletion, RawHookOutput};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct McpToolHook {
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
}

impl McpToolHook {
    /// The tool's name in the session.
    pub(crate) fn name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool)
    }

    pub(crate) async fn run(&self, backend: &dyn HookBackend, input: &Value) -> RawHookOutput {
        let reply = backend.call_tool(self.name(), fill_placeholders(&self.input, input)).await;
        RawHookOutput::from_reply(reply, |text| match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) if value.is_object() => HookCompletion::Value(value),
            // A tool without a decision may return any text.
            _ => HookCompletion::NoOutput,
        })
    }
}

/// Replaces `${tool_input.path}` in texts by the value in the hook's input.
fn fill_placeholders(pattern: &Value, event_input: &Value) -> Value {
    match pattern {
        Value::String(text) => fill_text_placeholders(text, event_input),
        Value::Array(list) => list.iter().map(|one| fill_placeholders(one, event_input)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, one)| (name.clone(), fill_placeholders(one, event_input)))
            .collect(),
        other => other.clone(),
    }
}

fn fill_text_placeholders(text: &str, event_input: &Value) -> Value {
    let at = |path: &str| {
        path.split('.')
            .try_fold(event_input, |value, name| value.get(name))
            .cloned()
            .unwrap_or_default()
    };
    let alone = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if let Some(path) = alone.filter(|path| !path.contains(['$', '{', '}'])) {
        return at(path);
    }
    let mut out = String::new();
    let mut rest = text;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_told_goes_to_its_places() {
        let event_input = json!({ "tool_input": { "path": "/a", "lines": [1, 2] }, "cwd": "/w" });
        let table = [
            (json!("${tool_input.path}"), json!("/a")),
            (json!("${tool_input.lines}"), json!([1, 2])),
            (json!("in ${cwd}: ${tool_input.path}${none}"), json!("in /w: /a")),
            (json!({ "a": ["${cwd}", 1, "$x ${"] }), json!({ "a": ["/w", 1, "$x ${"] })),
        ];
        for (pattern, expected) in table {
            assert_eq!(fill_placeholders(&pattern, &event_input), expected, "{pattern}");
        }
    }
}
