//! A question about a call as clients know it, and their answer as the engine knows it.

use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_driver::Policy;
use windlass_driver::mcp::Failure;
use windlass_driver::mcp::connection::{CallReply, ReplyPart};
use windlass_permission::Rule;
use windlass_settings::Source;
use windlass_vocabulary::{Answer, Json, Mode, PermissionQuestion};

use super::frame::{Request, input};
use crate::front::call::described;

/// The question.
pub(crate) fn request(question: &PermissionQuestion, directories: &[String]) -> Request {
    let rules: Vec<Value> = question
        .suggestions
        .iter()
        .filter_map(|text| Rule::parse(text).ok())
        .map(|rule| shown(&rule))
        .collect();
    let suggestion = json!({
        "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session",
    });
    let input = input(&question.call);
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let path = ["file_path", "notebook_path", "path"].iter().find_map(|key| text(key));
    let is_inside =
        |path: &String| directories.iter().any(|directory| Path::new(path).starts_with(directory));
    let blocked_path = path.filter(|path| Path::new(path).is_absolute() && !is_inside(path));
    Request::CanUseTool {
        tool_name: question.call.name.as_str().to_owned(),
        tool_use_id: question.call.id.as_str().to_owned(),
        permission_suggestions: if rules.is_empty() { Vec::new() } else { vec![suggestion] },
        decision_reason: Some(question.why.clone()).filter(|why| !why.is_empty()),
        decision_reason_type: blocked_path.is_some().then_some("workingDir"),
        blocked_path,
        title: described(&question.call, TITLE_MAX),
        display_name: question.call.name.as_str().to_owned(),
        description: text("description"),
        agent_id: question.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        input,
    }
}

/// What a tool that decides is told.
pub(crate) fn arguments(question: &PermissionQuestion, asked: &Value) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("tool_name".to_owned(), Value::from(question.call.name.as_str()));
    arguments.insert("input".to_owned(), asked.clone());
    arguments.insert("tool_use_id".to_owned(), Value::from(question.call.id.as_str()));
    arguments
}

/// What it decided: an object as text, or as structure.
pub(crate) fn decision(reply: Result<CallReply, Failure>) -> Result<Value, String> {
    let reply = reply.map_err(|failure| failure.to_string())?;
    let text = reply.parts.iter().find_map(|part| match part {
        ReplyPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    match (text.and_then(|text| serde_json::from_str(text).ok()), reply.structured) {
        _ if reply.is_error => Err(text.unwrap_or("it failed").to_owned()),
        (Some(value), _) | (None, Some(value)) => Ok(value),
        (None, None) => Err("what it said is no JSON".to_owned()),
    }
}

/// The answer, and what else it changes. `asked` is the input in question.
pub(crate) fn answer(said: Result<Value, String>, asked: &Value) -> (Answer, Vec<Update>) {
    let deny = |message: String| (Answer::Deny { message, interrupt: false }, Vec::new());
    let said = match said {
        Ok(said) => said,
        Err(error) => return deny(format!("The client could not answer: {error}")),
    };
    let interrupt = said.get("interrupt").and_then(Value::as_bool).unwrap_or(false);
    match said.get("behavior").and_then(Value::as_str) {
        Some("allow") => {
            let updates: Vec<Update> = said
                .get("updatedPermissions")
                .and_then(Value::as_array)
                .map(|list| list.iter().filter_map(Update::read).collect())
                .unwrap_or_default();
            let changed = said.get("updatedInput").filter(|input| input.is_object());
            let updated_input = changed
                .filter(|input| *input != asked)
                .map(|input| Json::from_checked(&input.to_string()));
            let remember = updates.iter().flat_map(Update::allowed).collect();
            (Answer::Allow { updated_input, remember }, updates)
        }
        Some("deny") => {
            let message = said.get("message").and_then(Value::as_str).unwrap_or_default();
            let message = if message.is_empty() { "The user said no." } else { message };
            (Answer::Deny { message: message.to_owned(), interrupt }, Vec::new())
        }
        _ => deny("The client's answer is neither `allow` nor `deny`".to_owned()),
    }
}

/// A change of what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Update {
    what: What,
    /// Where it is to be kept.
    destination: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Add(Behavior, Vec<Rule>),
    Replace(Behavior, Vec<Rule>),
    Remove(Behavior, Vec<Rule>),
    Mode(Mode),
    AddDirectories(Vec<String>),
    RemoveDirectories(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behavior {
    Allow,
    Deny,
    Ask,
}

impl Behavior {
    fn of(self, policy: &mut Policy) -> &mut Vec<Rule> {
        match self {
            Self::Allow => &mut policy.rules.allow,
            Self::Deny => &mut policy.rules.deny,
            Self::Ask => &mut policy.rules.ask,
        }
    }
}

impl Update {
    /// Reads one; what cannot be read changes nothing.
    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let behavior = || match text("behavior")? {
            "allow" => Some(Behavior::Allow),
            "deny" => Some(Behavior::Deny),
            "ask" => Some(Behavior::Ask),
            _ => None,
        };
        let what = match text("type")? {
            "addRules" => What::Add(behavior()?, rules(value)),
            "replaceRules" => What::Replace(behavior()?, rules(value)),
            "removeRules" => What::Remove(behavior()?, rules(value)),
            "setMode" => What::Mode(Mode::named(text("mode")?)?),
            "addDirectories" => What::AddDirectories(directories(value)),
            "removeDirectories" => What::RemoveDirectories(directories(value)),
            _ => return None,
        };
        Some(Self { what, destination: text("destination").unwrap_or("session").to_owned() })
    }

    /// The rules it allows from now on.
    pub(crate) fn allowed(&self) -> Vec<String> {
        match &self.what {
            What::Add(Behavior::Allow, rules) | What::Replace(Behavior::Allow, rules) => {
                rules.iter().map(ToString::to_string).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The layer of settings it is to be written to; `None` if it is for this session alone.
    pub(crate) fn layer(&self) -> Option<Source> {
        match self.destination.as_str() {
            "userSettings" => Some(Source::User),
            "projectSettings" => Some(Source::Project),
            "localSettings" => Some(Source::Local),
            _ => None,
        }
    }

    /// The setting it changes, by its keys.
    pub(crate) fn keys(&self) -> [&'static str; 2] {
        let key = match &self.what {
            What::Add(behavior, _) | What::Replace(behavior, _) | What::Remove(behavior, _) => {
                match behavior {
                    Behavior::Allow => "allow",
                    Behavior::Deny => "deny",
                    Behavior::Ask => "ask",
                }
            }
            What::Mode(_) => "defaultMode",
            What::AddDirectories(_) | What::RemoveDirectories(_) => "additionalDirectories",
        };
        ["permissions", key]
    }

    /// Does it take away what was there?
    pub(crate) fn replaces(&self) -> bool {
        matches!(self.what, What::Replace(..))
    }

    /// What the setting is after it.
    pub(crate) fn written(&self, old: Option<Value>) -> Option<Value> {
        let mut list: Vec<Value> = match old {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        let texts = |rules: &[Rule]| -> Vec<Value> {
            rules.iter().map(|rule| Value::from(rule.to_string())).collect()
        };
        let (mut more, mut gone): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
        match &self.what {
            What::Mode(mode) => return Some(Value::from(mode.name())),
            What::Add(_, rules) => more.extend(texts(rules)),
            What::Remove(_, rules) => gone.extend(texts(rules)),
            What::Replace(_, rules) => list = texts(rules),
            What::AddDirectories(paths) => more.extend(paths.iter().cloned().map(Value::from)),
            What::RemoveDirectories(paths) => gone.extend(paths.iter().cloned().map(Value::from)),
        }
        list.retain(|entry| !gone.contains(entry));
        more.retain(|entry| !list.contains(entry));
        list.extend(more);
        Some(Value::Array(list))
    }

    /// The mode it sets.
    pub(crate) fn mode(&self) -> Option<Mode> {
        match self.what {
            What::Mode(mode) => Some(mode),
            _ => None,
        }
    }

    /// Changes the policy.
    pub(crate) fn apply(self, policy: &mut Policy) {
        match self.what {
            What::Add(behavior, more) => {
                let list = behavior.of(policy);
                let fresh: Vec<Rule> = more.into_iter().filter(|r| !list.contains(r)).collect();
                list.extend(fresh);
            }
            What::Replace(behavior, all) => *behavior.of(policy) = all,
            What::Remove(behavior, gone) => behavior.of(policy).retain(|rule| !gone.contains(rule)),
            What::Mode(mode) => policy.mode = mode,
            What::AddDirectories(more) => policy.directories.extend(more),
            What::RemoveDirectories(gone) => {
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

/// Characters of a call in a title.
const TITLE_MAX: usize = 200;

fn rules(value: &Value) -> Vec<Rule> {
    let read = |rule: &Value| {
        let tool = rule.get("toolName").and_then(Value::as_str)?;
        let content = rule.get("ruleContent").and_then(Value::as_str);
        let text = content.map_or_else(|| tool.to_owned(), |content| format!("{tool}({content})"));
        Rule::parse(&text).ok()
    };
    let list = value.get("rules").and_then(Value::as_array);
    list.map(|list| list.iter().filter_map(read).collect()).unwrap_or_default()
}

fn shown(rule: &Rule) -> Value {
    match &rule.content {
        Some(content) => json!({ "toolName": rule.tool, "ruleContent": content }),
        None => json!({ "toolName": rule.tool }),
    }
}

fn directories(value: &Value) -> Vec<String> {
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
            Update::read(&value).unwrap().apply(&mut policy);
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
        assert_eq!(apply(json!({ "type": "setMode", "mode": "plan" })).mode, Mode::Plan);
        let add = json!({ "type": "addDirectories", "directories": ["/there/"] });
        assert_eq!(apply(add).directories, ["/here", "/there"]);
        let gone = json!({ "type": "removeDirectories", "directories": ["/here", "/there"] });
        assert_eq!(apply(gone).directories, ["/here"]);
        assert_eq!(Update::read(&json!({ "type": "somethingNew" })), None);
    }

    #[test]
    fn what_is_no_clear_yes_is_a_no() {
        let asked = json!({ "command": "ls" });
        let is_allowed = |said| matches!(answer(said, &asked).0, Answer::Allow { .. });
        assert!(is_allowed(Ok(json!({ "behavior": "allow" }))));
        for said in [json!({}), json!({ "behavior": "yes" }), json!(null), json!("allow")] {
            assert!(!is_allowed(Ok(said)));
        }
        assert!(!is_allowed(Err("broken".to_owned())));
        let same = answer(Ok(json!({ "behavior": "allow", "updatedInput": asked })), &asked).0;
        assert_eq!(same, Answer::Allow { updated_input: None, remember: Vec::new() });
    }
}
