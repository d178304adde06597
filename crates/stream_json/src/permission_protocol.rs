//! Converts permission questions to the client's format, and answers to the engine's.

use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_driver::Policy;
use windlass_driver::mcp::McpFailure;
use windlass_driver::mcp::connection::{McpCallReply, McpContent};
use windlass_permission::Rule;
use windlass_settings::SettingsSource;
use windlass_vocabulary::{Json, PermissionAnswer, PermissionMode, PermissionQuestion};

use crate::frame::{ClientControlRequest, tool_input_to_json};
use windlass_host::display::tool_call_summary::summarize_tool_call;

pub(crate) fn build_permission_request(
    question: &PermissionQuestion,
    directories: &[String],
) -> ClientControlRequest {
    let rules: Vec<Value> = question
        .suggestions
        .iter()
        .filter_map(|text| Rule::parse(text).ok())
        .map(|rule| rule_to_json(&rule))
        .collect();
    let suggestion = json!({
        "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session",
    });
    let input = tool_input_to_json(&question.call);
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let path = ["file_path", "notebook_path", "path"].iter().find_map(|key| text(key));
    let is_inside =
        |path: &String| directories.iter().any(|directory| Path::new(path).starts_with(directory));
    let blocked_path = path.filter(|path| Path::new(path).is_absolute() && !is_inside(path));
    ClientControlRequest::CanUseTool {
        tool_name: question.call.name.as_str().to_owned(),
        tool_use_id: question.call.id.as_str().to_owned(),
        permission_suggestions: if rules.is_empty() { Vec::new() } else { vec![suggestion] },
        decision_reason: Some(question.why.clone()).filter(|why| !why.is_empty()),
        decision_reason_type: blocked_path.is_some().then_some("workingDir"),
        blocked_path,
        title: summarize_tool_call(&question.call, TITLE_MAX),
        display_name: question.call.name.as_str().to_owned(),
        description: text("description"),
        agent_id: question.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        input,
    }
}

pub(crate) fn build_prompt_tool_arguments(
    question: &PermissionQuestion,
    input: &Value,
) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("tool_name".to_owned(), Value::from(question.call.name.as_str()));
    arguments.insert("input".to_owned(), input.clone());
    arguments.insert("tool_use_id".to_owned(), Value::from(question.call.id.as_str()));
    arguments
}

/// The decision of the tool: an object as text, or as structure.
pub(crate) fn parse_prompt_tool_reply(
    reply: Result<McpCallReply, McpFailure>,
) -> Result<Value, String> {
    let reply = reply.map_err(|failure| failure.to_string())?;
    let text = reply.parts.iter().find_map(|part| match part {
        McpContent::Text(text) => Some(text.as_str()),
        McpContent::Media { .. } | McpContent::Link { .. } => None,
    });
    match (text.and_then(|text| serde_json::from_str(text).ok()), reply.structured) {
        _ if reply.is_error => Err(text.unwrap_or("it failed").to_owned()),
        (Some(value), _) | (None, Some(value)) => Ok(value),
        (None, None) => Err("what it said is not JSON".to_owned()),
    }
}

/// The answer, and what else it changes. `input` is that of the call.
pub(crate) fn parse_permission_answer(
    response: Result<Value, String>,
    input: &Value,
) -> (PermissionAnswer, Vec<PermissionUpdate>) {
    let deny = |message: String| (PermissionAnswer::Deny { message, interrupt: false }, Vec::new());
    let response = match response {
        Ok(response) => response,
        Err(error) => return deny(format!("The client could not answer: {error}")),
    };
    let interrupt = response.get("interrupt").and_then(Value::as_bool).unwrap_or(false);
    match response.get("behavior").and_then(Value::as_str) {
        Some("allow") => {
            let updates: Vec<PermissionUpdate> = response
                .get("updatedPermissions")
                .and_then(Value::as_array)
                .map(|list| list.iter().filter_map(PermissionUpdate::parse).collect())
                .unwrap_or_default();
            let changed = response.get("updatedInput").filter(|input| !input.is_null());
            if changed.is_some_and(|input| !input.is_object()) {
                // It did not allow the call as it is.
                return deny("The client's `updatedInput` is not an object".to_owned());
            }
            let updated_input = changed
                .filter(|updated| *updated != input)
                .map(|updated| Json::from_checked(&updated.to_string()));
            let remember = updates.iter().flat_map(PermissionUpdate::allowed_rules).collect();
            (PermissionAnswer::Allow { updated_input, remember }, updates)
        }
        Some("deny") => {
            let message = response.get("message").and_then(Value::as_str).unwrap_or_default();
            let message = if message.is_empty() { "The user said no." } else { message };
            (PermissionAnswer::Deny { message: message.to_owned(), interrupt }, Vec::new())
        }
        _ => deny("The client's answer is neither `allow` nor `deny`".to_owned()),
    }
}

/// A change of permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PermissionUpdate {
    kind: PermissionUpdateKind,
    destination: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PermissionUpdateKind {
    Add(RuleBehavior, Vec<Rule>),
    Replace(RuleBehavior, Vec<Rule>),
    Remove(RuleBehavior, Vec<Rule>),
    Mode(PermissionMode),
    AddDirectories(Vec<String>),
    RemoveDirectories(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleBehavior {
    Allow,
    Deny,
    Ask,
}

impl RuleBehavior {
    fn select_rules_mut(self, policy: &mut Policy) -> &mut Vec<Rule> {
        match self {
            Self::Allow => &mut policy.rules.allow,
            Self::Deny => &mut policy.rules.deny,
            Self::Ask => &mut policy.rules.ask,
        }
    }
}

impl PermissionUpdate {
    /// `None` for an update that is not known, which changes nothing.
    fn parse(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let behavior = || match text("behavior")? {
            "allow" => Some(RuleBehavior::Allow),
            "deny" => Some(RuleBehavior::Deny),
            "ask" => Some(RuleBehavior::Ask),
            _ => None,
        };
        let what = match text("type")? {
            "addRules" => PermissionUpdateKind::Add(behavior()?, parse_rules(value)),
            "replaceRules" => PermissionUpdateKind::Replace(behavior()?, parse_rules(value)),
            "removeRules" => PermissionUpdateKind::Remove(behavior()?, parse_rules(value)),
            "setMode" => PermissionUpdateKind::Mode(PermissionMode::from_name(text("mode")?)?),
            "addDirectories" => PermissionUpdateKind::AddDirectories(parse_directories(value)),
            "removeDirectories" => {
                PermissionUpdateKind::RemoveDirectories(parse_directories(value))
            }
            _ => return None,
        };
        Some(Self { kind: what, destination: text("destination").unwrap_or("session").to_owned() })
    }

    /// The rules it allows from now on.
    pub(crate) fn allowed_rules(&self) -> Vec<String> {
        match &self.kind {
            PermissionUpdateKind::Add(RuleBehavior::Allow, rules)
            | PermissionUpdateKind::Replace(RuleBehavior::Allow, rules) => {
                rules.iter().map(ToString::to_string).collect()
            }
            PermissionUpdateKind::Add(..)
            | PermissionUpdateKind::Replace(..)
            | PermissionUpdateKind::Remove(..)
            | PermissionUpdateKind::Mode(_)
            | PermissionUpdateKind::AddDirectories(_)
            | PermissionUpdateKind::RemoveDirectories(_) => Vec::new(),
        }
    }

    /// The layer of settings it is to be written to; `None` if it is for this session alone.
    pub(crate) fn settings_source(&self) -> Option<SettingsSource> {
        match self.destination.as_str() {
            "userSettings" => Some(SettingsSource::User),
            "projectSettings" => Some(SettingsSource::Project),
            "localSettings" => Some(SettingsSource::Local),
            _ => None,
        }
    }

    /// The setting it changes, by its keys.
    pub(crate) fn setting_keys(&self) -> [&'static str; 2] {
        let key = match &self.kind {
            PermissionUpdateKind::Add(behavior, _)
            | PermissionUpdateKind::Replace(behavior, _)
            | PermissionUpdateKind::Remove(behavior, _) => match behavior {
                RuleBehavior::Allow => "allow",
                RuleBehavior::Deny => "deny",
                RuleBehavior::Ask => "ask",
            },
            PermissionUpdateKind::Mode(_) => "defaultMode",
            PermissionUpdateKind::AddDirectories(_)
            | PermissionUpdateKind::RemoveDirectories(_) => "additionalDirectories",
        };
        ["permissions", key]
    }

    pub(crate) fn is_replacement(&self) -> bool {
        matches!(self.kind, PermissionUpdateKind::Replace(..))
    }

    /// What the setting is after it.
    pub(crate) fn apply_to_setting(&self, old: Option<Value>) -> Option<Value> {
        let mut list: Vec<Value> = match old {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        let texts = |rules: &[Rule]| -> Vec<Value> {
            rules.iter().map(|rule| Value::from(rule.to_string())).collect()
        };
        let mut more: Vec<Value> = Vec::new();
        let mut gone: Vec<Value> = Vec::new();
        match &self.kind {
            PermissionUpdateKind::Mode(mode) => return Some(Value::from(mode.name())),
            PermissionUpdateKind::Add(_, rules) => more.extend(texts(rules)),
            PermissionUpdateKind::Remove(_, rules) => gone.extend(texts(rules)),
            PermissionUpdateKind::Replace(_, rules) => list = texts(rules),
            PermissionUpdateKind::AddDirectories(paths) => {
                more.extend(paths.iter().cloned().map(Value::from));
            }
            PermissionUpdateKind::RemoveDirectories(paths) => {
                gone.extend(paths.iter().cloned().map(Value::from));
            }
        }
        list.retain(|entry| !gone.contains(entry));
        more.retain(|entry| !list.contains(entry));
        list.extend(more);
        Some(Value::Array(list))
    }

    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        let PermissionUpdateKind::Mode(mode) = self.kind else { return None };
        Some(mode)
    }

    pub(crate) fn apply_to_policy(self, policy: &mut Policy) {
        match self.kind {
            PermissionUpdateKind::Add(behavior, more) => {
                let list = behavior.select_rules_mut(policy);
                let fresh: Vec<Rule> = more.into_iter().filter(|r| !list.contains(r)).collect();
                list.extend(fresh);
            }
            PermissionUpdateKind::Replace(behavior, all) => {
                *behavior.select_rules_mut(policy) = all;
            }
            PermissionUpdateKind::Remove(behavior, gone) => {
                behavior.select_rules_mut(policy).retain(|rule| !gone.contains(rule));
            }
            PermissionUpdateKind::Mode(mode) => policy.mode = mode,
            PermissionUpdateKind::AddDirectories(more) => policy.directories.extend(more),
            PermissionUpdateKind::RemoveDirectories(gone) => {
                // The first is where we are.
                let mut place = 0;
                policy.directories.retain(|directory| {
                    place += 1;
                    place == 1 || !gone.contains(directory)
                });
            }
        }
    }
}

const TITLE_MAX: usize = 200;

fn parse_rules(value: &Value) -> Vec<Rule> {
    let read = |rule: &Value| {
        let tool = rule.get("toolName").and_then(Value::as_str)?;
        let content = rule.get("ruleContent").and_then(Value::as_str);
        let text = content.map_or_else(|| tool.to_owned(), |content| format!("{tool}({content})"));
        Rule::parse(&text).ok()
    };
    let list = value.get("rules").and_then(Value::as_array);
    list.map(|list| list.iter().filter_map(read).collect()).unwrap_or_default()
}

fn rule_to_json(rule: &Rule) -> Value {
    match &rule.content {
        Some(content) => json!({ "toolName": rule.tool, "ruleContent": content }),
        None => json!({ "toolName": rule.tool }),
    }
}

fn parse_directories(value: &Value) -> Vec<String> {
    let absolute = |text: &Value| {
        let path = std::path::absolute(text.as_str()?).ok()?;
        Some(path.to_string_lossy().trim_end_matches('/').to_owned())
    };
    let list = value.get("directories").and_then(Value::as_array);
    list.map(|list| list.iter().filter_map(absolute).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_change_the_policy_and_nothing_else() {
        let mut policy = Policy { directories: vec!["/here".to_owned()], ..Policy::default() };
        let mut apply = |value: Value| {
            PermissionUpdate::parse(&value).unwrap().apply_to_policy(&mut policy);
            policy.clone()
        };
        let rule = json!([{ "toolName": "Bash", "ruleContent": "ls:*" }, { "toolName": "Read" }]);
        for _ in 0..2 {
            let add = json!({ "type": "addRules", "rules": rule, "behavior": "allow" });
            assert_eq!(apply(add).rules.allow.len(), 2);
        }
        let gone = json!({ "type": "removeRules", "rules": rule, "behavior": "allow" });
        assert!(apply(gone).rules.allow.is_empty());
        let deny = json!({ "type": "replaceRules", "rules": rule, "behavior": "deny" });
        assert_eq!(apply(deny).rules.deny.len(), 2);
        assert_eq!(apply(json!({ "type": "setMode", "mode": "plan" })).mode, PermissionMode::Plan);
        let add = json!({ "type": "addDirectories", "directories": ["/there/"] });
        assert_eq!(apply(add).directories, ["/here", "/there"]);
        let gone = json!({ "type": "removeDirectories", "directories": ["/here", "/there"] });
        assert_eq!(apply(gone).directories, ["/here"]);
        assert_eq!(PermissionUpdate::parse(&json!({ "type": "somethingNew" })), None);
    }

    #[test]
    fn what_is_no_clear_yes_is_a_no() {
        let input = json!({ "command": "ls" });
        let is_allowed = |response| {
            matches!(parse_permission_answer(response, &input).0, PermissionAnswer::Allow { .. })
        };
        assert!(is_allowed(Ok(json!({ "behavior": "allow" }))));
        assert!(is_allowed(Ok(json!({ "behavior": "allow", "updatedInput": null }))));
        let unclear = json!({ "behavior": "allow", "updatedInput": "rm" });
        let others = [json!({}), json!({ "behavior": "yes" }), json!(null), json!("allow")];
        for response in others.into_iter().chain([unclear]) {
            assert!(!is_allowed(Ok(response)));
        }
        assert!(!is_allowed(Err("broken".to_owned())));
        let same = parse_permission_answer(
            Ok(json!({ "behavior": "allow", "updatedInput": input })),
            &input,
        )
        .0;
        assert_eq!(same, PermissionAnswer::Allow { updated_input: None, remember: Vec::new() });
    }
}
