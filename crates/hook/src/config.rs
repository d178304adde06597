//! Parses the `hooks` value of a settings layer, or of a client's first request.
//!
//! An invalid entry is reported and skipped. The caller decides which layers are trusted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::callback::HookCallback;
use crate::command_hook::{CommandHook, HookShell};
use crate::event::HookEvent;
use crate::hook::{Hook, HookKind, OnFailure};
use crate::http_hook::HttpHook;
use crate::matcher::HookMatcher;
use crate::mcp_tool_hook::McpToolHook;
use crate::prompt_hook::PromptHook;
use windlass_tool::ScriptGuard;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookSource {
    /// The file or layer, for display.
    pub name: String,
    /// Environment variables of every hook of this source: the directories of a plugin.
    pub variables: Vec<(String, PathBuf)>,
    /// Checks the scripts that its hooks name.
    pub script_guard: ScriptGuard,
}

impl HookSource {
    /// A source without variables.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

pub(crate) struct HookConfigParser<'a> {
    pub(crate) source: &'a HookSource,
    /// Runs hooks with `hookCallbackIds`.
    pub(crate) callback: Option<Arc<dyn HookCallback>>,
    pub(crate) problems: Vec<String>,
}

impl HookConfigParser<'_> {
    pub(crate) fn parse(&mut self, value: &Value) -> Vec<Arc<Hook>> {
        let mut hooks = Vec::new();
        match value {
            Value::Null => {}
            Value::Object(events) => {
                for (name, groups) in events {
                    self.parse_event(name, groups, &mut hooks);
                }
            }
            _ => self.report_problem("hooks", "must be an object of events"),
        }
        if hooks.len() > HOOKS_MAX {
            self.report_problem("hooks", &format!("only the first {HOOKS_MAX} hooks are taken"));
            hooks.truncate(HOOKS_MAX);
        }
        hooks
    }

    fn parse_event(&mut self, name: &str, groups: &Value, hooks: &mut Vec<Arc<Hook>>) {
        let place = format!("hooks.{name}");
        let Some(event) = HookEvent::from_name(name) else {
            return self.report_problem(&place, "there is no such event");
        };
        let Some(groups) = groups.as_array() else {
            return self.report_problem(&place, "must be a list of `{matcher, hooks}`");
        };
        if !event.is_supported() && !groups.is_empty() {
            self.report_problem(&place, "this event does not happen here; its hooks never run");
        }
        for (number, group) in groups.iter().enumerate() {
            self.parse_group(event, &format!("{place}[{number}]"), group, hooks);
        }
    }

    fn parse_group(
        &mut self,
        event: HookEvent,
        place: &str,
        group: &Value,
        hooks: &mut Vec<Arc<Hook>>,
    ) {
        let Some(fields) = group.as_object() else {
            return self.report_problem(place, "must be an object `{matcher, hooks}`");
        };
        let written = match fields.get("matcher") {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            Some(_) => return self.report_problem(place, "`matcher` must be text"),
        };
        let matcher = match HookMatcher::parse(written) {
            Ok(matcher) => matcher,
            Err(problem) => {
                let words = format!("the matcher `{written}` cannot be read: {problem}");
                // A guard that runs too often is better than one that never runs.
                let is_guard = event == HookEvent::PreToolUse;
                let so = if is_guard { "; it is asked about every tool" } else { "" };
                self.report_problem(place, &format!("{words}{so}"));
                if !is_guard {
                    return;
                }
                HookMatcher::Everything
            }
        };
        if let Some(ids) = fields.get("hookCallbackIds").filter(|_| self.callback.is_some()) {
            return self.parse_callbacks(event, place, fields, ids, hooks, |hook| Hook {
                matcher: matcher.clone(),
                matcher_text: written.to_owned(),
                ..hook
            });
        }
        let Some(list) = fields.get("hooks").and_then(Value::as_array) else {
            return self.report_problem(place, "`hooks` must be a list");
        };
        for (number, entry) in list.iter().enumerate() {
            let place = format!("{place}.hooks[{number}]");
            let Some(fields) = entry.as_object() else {
                self.report_problem(&place, "must be an object with a `type`");
                continue;
            };
            match self.parse_hook(event, fields) {
                Ok(hook) => {
                    let written = written.to_owned();
                    hooks.push(Arc::new(Hook {
                        matcher: matcher.clone(),
                        matcher_text: written,
                        ..hook
                    }));
                }
                Err(problem) => self.report_problem(&place, &problem),
            }
        }
    }

    fn parse_callbacks(
        &mut self,
        event: HookEvent,
        place: &str,
        fields: &Map<String, Value>,
        ids: &Value,
        hooks: &mut Vec<Arc<Hook>>,
        with_matcher: impl Fn(Hook) -> Hook,
    ) {
        let (Some(ids), Some(callback)) = (ids.as_array(), self.callback.clone()) else {
            return self.report_problem(place, "`hookCallbackIds` must be a list");
        };
        for id in ids {
            let Some(id) = id.as_str() else {
                self.report_problem(place, "`hookCallbackIds` must be a list of texts");
                continue;
            };
            let kind = HookKind::Callback { id: id.to_owned(), callback: Arc::clone(&callback) };
            match self.parse_shared_fields(event, fields, kind) {
                Ok(hook) => hooks.push(Arc::new(with_matcher(hook))),
                Err(problem) => self.report_problem(place, &problem),
            }
        }
    }

    fn parse_hook(&self, event: HookEvent, fields: &Map<String, Value>) -> Result<Hook, String> {
        let kind = match optional_text(fields, "type")?.unwrap_or_default() {
            "command" => HookKind::Command(self.parse_command(fields)?),
            "http" => HookKind::Http(parse_http(fields)?),
            "prompt" | "agent" => HookKind::Prompt(PromptHook {
                prompt: required_text(fields, "prompt")?,
                is_agent: optional_text(fields, "type")? == Some("agent"),
                model: optional_text(fields, "model")?.map(str::to_owned),
            }),
            "mcp_tool" => HookKind::McpTool(McpToolHook {
                server: required_text(fields, "server")?,
                tool: required_text(fields, "tool")?,
                input: fields.get("input").cloned().unwrap_or_else(|| Value::Object(Map::new())),
            }),
            "" => return Err(format!("`type` is missing: {HOOK_TYPES_HELP}")),
            other => return Err(format!("there is no hook of type `{other}`: {HOOK_TYPES_HELP}")),
        };
        self.parse_shared_fields(event, fields, kind)
    }

    fn parse_command(&self, fields: &Map<String, Value>) -> Result<CommandHook, String> {
        let line = optional_text(fields, "command")?.filter(|line| !line.trim().is_empty());
        let shell = match optional_text(fields, "shell")? {
            None => HookShell::Sh,
            Some("bash") => HookShell::Bash,
            Some("powershell") => HookShell::PowerShell,
            Some(other) => return Err(format!("`shell` is bash or powershell, not `{other}`")),
        };
        Ok(CommandHook {
            line: line.ok_or("`command` is missing")?.to_owned(),
            arguments: optional_text_list(fields, "args")?,
            shell,
            variables: self.source.variables.clone().into(),
            script_guard: self.source.script_guard.clone(),
        })
    }

    fn parse_shared_fields(
        &self,
        event: HookEvent,
        fields: &Map<String, Value>,
        kind: HookKind,
    ) -> Result<Hook, String> {
        let limit = match fields.get("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
                let seconds = seconds.ok_or("`timeout` must be a number of seconds above 0")?;
                Some(Duration::from_secs_f64(seconds.min(TIMEOUT_SECONDS_MAX)))
            }
        };
        let on_failure = match optional_text(fields, "onFailure")? {
            None => None,
            Some("continue") => Some(OnFailure::Continue),
            Some("block") => Some(OnFailure::Block),
            Some(other) => {
                return Err(format!("`onFailure` is continue or block, not `{other}`"));
            }
        };
        Ok(Hook {
            event,
            matcher: HookMatcher::Everything,
            matcher_text: String::new(),
            condition: optional_text(fields, "if")?.map(str::to_owned),
            kind,
            timeout: limit,
            on_failure,
            once: bool_field(fields, "once")?,
            has_run: AtomicBool::new(false),
            is_off: AtomicBool::new(false),
            is_async: bool_field(fields, "async")? || bool_field(fields, "asyncRewake")?,
            wakes_model: bool_field(fields, "asyncRewake")?,
            source: Arc::from(self.source.name.as_str()),
        })
    }

    fn report_problem(&mut self, place: &str, problem: &str) {
        let name = &self.source.name;
        let colon = if name.is_empty() { "" } else { ": " };
        self.problems.push(format!("{name}{colon}{place}: {problem}"));
    }
}

fn parse_http(fields: &Map<String, Value>) -> Result<HttpHook, String> {
    let url = optional_text(fields, "url")?.ok_or("`url` is missing")?;
    let headers = match fields.get("headers") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(headers)) => {
            let one = |(name, value): (&String, &Value)| {
                let value = value.as_str().ok_or("`headers` must be an object of texts")?;
                Ok((name.clone(), value.to_owned()))
            };
            headers.iter().map(one).collect::<Result<_, &str>>()?
        }
        Some(_) => return Err("`headers` must be an object of texts".to_owned()),
    };
    let variables = optional_text_list(fields, "allowedEnvVars")?.unwrap_or_default();
    Ok(HttpHook { url: url.to_owned(), headers, allowed_env_vars: variables })
}

fn optional_text<'v>(
    fields: &'v Map<String, Value>,
    name: &str,
) -> Result<Option<&'v str>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` must be text")),
    }
}

fn required_text(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    let found = optional_text(fields, name)?.filter(|text| !text.trim().is_empty());
    found.map(str::to_owned).ok_or_else(|| format!("`{name}` is missing"))
}

fn optional_text_list(
    fields: &Map<String, Value>,
    name: &str,
) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("`{name}` must be a list of texts");
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => {
            let one = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(wrong);
            list.iter().map(one).collect::<Result<_, _>>().map(Some)
        }
        Some(_) => Err(wrong()),
    }
}

fn bool_field(fields: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("`{name}` must be true or false")),
    }
}

const HOOK_TYPES_HELP: &str = "command, http, prompt, agent or mcp_tool";
const HOOKS_MAX: usize = 500;
/// A day.
const TIMEOUT_SECONDS_MAX: f64 = 86_400.0;
