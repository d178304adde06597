//! The JSON output of a hook. Known fields must have the right type; unknown ones are ignored.

use serde::Deserialize;
use serde_json::Value;

use crate::event::HookEvent;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HookOutput {
    #[serde(rename = "continue")]
    pub(crate) should_continue: Option<bool>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) system_message: Option<String>,
    pub(crate) decision: Option<HookDecision>,
    pub(crate) reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    pub(crate) specific: Option<HookSpecificOutput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HookDecision {
    Approve,
    Block,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HookSpecificOutput {
    hook_event_name: Option<String>,
    pub(crate) permission_decision: Option<HookPermissionDecision>,
    pub(crate) permission_decision_reason: Option<String>,
    pub(crate) updated_input: Option<Value>,
    pub(crate) additional_context: Option<String>,
    pub(crate) decision: Option<PermissionRequestDecision>,
    pub(crate) updated_tool_output: Option<Value>,
    #[serde(rename = "updatedMCPToolOutput")]
    pub(crate) updated_mcp_tool_output: Option<Value>,
    pub(crate) session_title: Option<String>,
    pub(crate) initial_user_message: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) content: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HookPermissionDecision {
    Allow,
    Deny,
    Ask,
    Defer,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub(crate) enum PermissionRequestDecision {
    #[serde(rename_all = "camelCase")]
    Allow {
        #[serde(default)]
        updated_input: Option<Value>,
        #[serde(default)]
        updated_permissions: Option<Vec<Value>>,
    },
    Deny {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        interrupt: Option<bool>,
    },
}

/// A hook's answer to a server's question, instead of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElicitationAnswer {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    pub content: Option<Value>,
}

/// A hook's answer to a permission question, instead of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionRequestAnswer {
    Allow {
        /// Run the call with this input instead.
        updated_input: Option<Value>,
        /// Rules to add for the rest of the session.
        remember: Vec<String>,
    },
    Deny {
        /// For the model.
        message: String,
        /// Also interrupt the run.
        interrupt: bool,
    },
}

impl HookOutput {
    pub(crate) fn parse(value: Value, event: HookEvent) -> Result<Self, String> {
        if !value.is_object() {
            return Err("wrote JSON that is not an object".to_owned());
        }
        let output: Self = serde_json::from_value(value)
            .map_err(|error| format!("wrote JSON with a field of the wrong type: {error}"))?;
        let Some(specific) = &output.specific else {
            return Ok(output);
        };
        match specific.hook_event_name.as_deref() {
            None => return Err("wrote a `hookSpecificOutput` without `hookEventName`".to_owned()),
            Some(name) if name != event.name() => {
                return Err(format!(
                    "wrote a `hookSpecificOutput` for {name}, not {}",
                    event.name()
                ));
            }
            Some(_) => {}
        }
        if specific.updated_input.as_ref().is_some_and(|input| !input.is_object()) {
            return Err("wrote an `updatedInput` that is not an object".to_owned());
        }
        Ok(output)
    }

    pub(crate) fn block_reason(&self) -> Option<&str> {
        let specific = self.specific.as_ref().and_then(|s| s.permission_decision_reason.as_deref());
        specific.or(self.reason.as_deref()).filter(|reason| !reason.trim().is_empty())
    }
}

impl PermissionRequestDecision {
    pub(crate) fn into_answer(self) -> PermissionRequestAnswer {
        match self {
            Self::Allow { updated_input, updated_permissions } => PermissionRequestAnswer::Allow {
                updated_input,
                remember: updated_permissions
                    .iter()
                    .flatten()
                    .flat_map(parse_allow_rules)
                    .collect(),
            },
            Self::Deny { message, interrupt } => PermissionRequestAnswer::Deny {
                message: message.unwrap_or_else(|| "A hook denied it.".to_owned()),
                interrupt: interrupt.unwrap_or(false),
            },
        }
    }
}

/// The allow rules of a permission update; other updates are ignored.
fn parse_allow_rules(update: &Value) -> Vec<String> {
    let is = |name: &str, wanted: &str| update.get(name).and_then(Value::as_str) == Some(wanted);
    if !is("type", "addRules") || !is("behavior", "allow") {
        return Vec::new();
    }
    let rules = update.get("rules").and_then(Value::as_array).into_iter().flatten();
    let one = |rule: &Value| {
        let tool = rule.get("toolName")?.as_str()?;
        Some(match rule.get("ruleContent").and_then(Value::as_str) {
            Some(content) => format!("{tool}({content})"),
            None => tool.to_owned(),
        })
    };
    rules.filter_map(one).collect()
}
