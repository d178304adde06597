//! Which hook runs when: the `hooks` value of one settings layer, or of a client's first request.
//!
//! What cannot be read costs one line and nothing else. Where settings come from and which of them
//! are trusted is decided before.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::callback::Callback;
use crate::counsel::{Judge, ServerTool};
use crate::event::HookEvent;
use crate::hook::{Command, Hook, Http, Kind, OnFailure, Shell};
use crate::matcher::Matcher;

/// Where hooks come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// For people: a file, a layer.
    pub name: String,
    /// Variables every hook of it finds in its environment: the directories of a plugin.
    pub variables: Vec<(String, PathBuf)>,
}

impl Source {
    /// A source without variables of its own.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), variables: Vec::new() }
    }
}

/// Reads hooks.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a Source,
    /// Where `hookCallbackIds` are called.
    pub(crate) callback: Option<Arc<dyn Callback>>,
    pub(crate) problems: Vec<String>,
}

impl Reader<'_> {
    pub(crate) fn read(&mut self, value: &Value) -> Vec<Arc<Hook>> {
        let mut hooks = Vec::new();
        match value {
            Value::Null => {}
            Value::Object(events) => {
                for (name, groups) in events {
                    self.event(name, groups, &mut hooks);
                }
            }
            _ => self.wrong("hooks", "must be an object of events"),
        }
        if hooks.len() > HOOKS_MAX {
            self.wrong("hooks", &format!("only the first {HOOKS_MAX} hooks are taken"));
            hooks.truncate(HOOKS_MAX);
        }
        hooks
    }

    fn event(&mut self, name: &str, groups: &Value, hooks: &mut Vec<Arc<Hook>>) {
        let place = format!("hooks.{name}");
        let Some(event) = HookEvent::named(name) else {
            return self.wrong(&place, "there is no such event");
        };
        let Some(groups) = groups.as_array() else {
            return self.wrong(&place, "must be a list of `{matcher, hooks}`");
        };
        if !event.happens() && !groups.is_empty() {
            self.wrong(&place, "this event does not happen here; its hooks never run");
        }
        for (number, group) in groups.iter().enumerate() {
            self.group(event, &format!("{place}[{number}]"), group, hooks);
        }
    }

    fn group(&mut self, event: HookEvent, place: &str, group: &Value, hooks: &mut Vec<Arc<Hook>>) {
        let Some(fields) = group.as_object() else {
            return self.wrong(place, "must be an object `{matcher, hooks}`");
        };
        let written = match fields.get("matcher") {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            Some(_) => return self.wrong(place, "`matcher` must be text"),
        };
        let matcher = match Matcher::read(written) {
            Ok(matcher) => matcher,
            Err(problem) => {
                let words = format!("the matcher `{written}` cannot be read: {problem}");
                // A guard that runs too often is better than one that never does.
                let is_guard = event == HookEvent::PreToolUse;
                let so = if is_guard { "; it is asked about every tool" } else { "" };
                self.wrong(place, &format!("{words}{so}"));
                if !is_guard {
                    return;
                }
                Matcher::Everything
            }
        };
        if let Some(ids) = fields.get("hookCallbackIds").filter(|_| self.callback.is_some()) {
            return self.callbacks(event, place, fields, (matcher, written, ids), hooks);
        }
        let Some(list) = fields.get("hooks").and_then(Value::as_array) else {
            return self.wrong(place, "`hooks` must be a list");
        };
        for (number, entry) in list.iter().enumerate() {
            let place = format!("{place}.hooks[{number}]");
            let Some(fields) = entry.as_object() else {
                self.wrong(&place, "must be an object with a `type`");
                continue;
            };
            match self.hook(event, fields) {
                Ok(hook) => {
                    let written = written.to_owned();
                    hooks.push(Arc::new(Hook { matcher: matcher.clone(), written, ..hook }));
                }
                Err(problem) => self.wrong(&place, &problem),
            }
        }
    }

    fn callbacks(
        &mut self,
        event: HookEvent,
        place: &str,
        fields: &Map<String, Value>,
        (matcher, written, ids): (Matcher, &str, &Value),
        hooks: &mut Vec<Arc<Hook>>,
    ) {
        let (Some(ids), Some(callback)) = (ids.as_array(), self.callback.clone()) else {
            return self.wrong(place, "`hookCallbackIds` must be a list");
        };
        for id in ids {
            let Some(id) = id.as_str() else {
                self.wrong(place, "`hookCallbackIds` must be a list of texts");
                continue;
            };
            let kind = Kind::Callback { id: id.to_owned(), callback: Arc::clone(&callback) };
            match self.common(event, fields, kind) {
                Ok(hook) => {
                    let (matcher, written) = (matcher.clone(), written.to_owned());
                    hooks.push(Arc::new(Hook { matcher, written, ..hook }));
                }
                Err(problem) => self.wrong(place, &problem),
            }
        }
    }

    fn hook(&self, event: HookEvent, fields: &Map<String, Value>) -> Result<Hook, String> {
        let kind = match text(fields, "type")?.unwrap_or_default() {
            "command" => Kind::Command(self.command(fields)?),
            "http" => Kind::Http(http(fields)?),
            "prompt" | "agent" => Kind::Judge(Judge {
                prompt: required(fields, "prompt")?,
                is_agent: text(fields, "type")? == Some("agent"),
                model: text(fields, "model")?.map(str::to_owned),
            }),
            "mcp_tool" => Kind::Tool(ServerTool {
                server: required(fields, "server")?,
                tool: required(fields, "tool")?,
                input: fields.get("input").cloned().unwrap_or_else(|| Value::Object(Map::new())),
            }),
            "" => return Err(format!("`type` is missing: {TYPES}")),
            other => return Err(format!("there is no hook of type `{other}`: {TYPES}")),
        };
        self.common(event, fields, kind)
    }

    fn command(&self, fields: &Map<String, Value>) -> Result<Command, String> {
        let line = text(fields, "command")?.filter(|line| !line.trim().is_empty());
        let shell = match text(fields, "shell")? {
            None => Shell::Sh,
            Some("bash") => Shell::Bash,
            Some("powershell") => Shell::Power,
            Some(other) => return Err(format!("`shell` is bash or powershell, not `{other}`")),
        };
        Ok(Command {
            line: line.ok_or("`command` is missing")?.to_owned(),
            arguments: texts(fields, "args")?,
            shell,
            variables: self.source.variables.clone().into(),
        })
    }

    fn common(
        &self,
        event: HookEvent,
        fields: &Map<String, Value>,
        kind: Kind,
    ) -> Result<Hook, String> {
        let limit = match fields.get("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
                let seconds = seconds.ok_or("`timeout` must be a number of seconds above 0")?;
                Some(Duration::from_secs_f64(seconds.min(LIMIT_SECONDS_MAX)))
            }
        };
        let on_failure = match text(fields, "onFailure")? {
            None => None,
            Some("continue") => Some(OnFailure::Continue),
            Some("block") => Some(OnFailure::Block),
            Some(other) => {
                return Err(format!("`onFailure` is continue or block, not `{other}`"));
            }
        };
        Ok(Hook {
            event,
            matcher: Matcher::Everything,
            written: String::new(),
            condition: text(fields, "if")?.map(str::to_owned),
            kind,
            limit,
            on_failure,
            once: flag(fields, "once")?,
            has_run: AtomicBool::new(false),
            is_off: AtomicBool::new(false),
            is_async: flag(fields, "async")? || flag(fields, "asyncRewake")?,
            wakes: flag(fields, "asyncRewake")?,
            source: Arc::from(self.source.name.as_str()),
        })
    }

    fn wrong(&mut self, place: &str, problem: &str) {
        let name = &self.source.name;
        let colon = if name.is_empty() { "" } else { ": " };
        self.problems.push(format!("{name}{colon}{place}: {problem}"));
    }
}

fn http(fields: &Map<String, Value>) -> Result<Http, String> {
    let url = text(fields, "url")?.ok_or("`url` is missing")?;
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
    let variables = texts(fields, "allowedEnvVars")?.unwrap_or_default();
    Ok(Http { url: url.to_owned(), headers, variables })
}

fn text<'v>(fields: &'v Map<String, Value>, name: &str) -> Result<Option<&'v str>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` must be text")),
    }
}

fn required(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    let found = text(fields, name)?.filter(|text| !text.trim().is_empty());
    found.map(str::to_owned).ok_or_else(|| format!("`{name}` is missing"))
}

fn texts(fields: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, String> {
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

fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("`{name}` must be true or false")),
    }
}

const TYPES: &str = "command, http, prompt, agent or mcp_tool";
/// Hooks of one source.
const HOOKS_MAX: usize = 500;
/// A day.
const LIMIT_SECONDS_MAX: f64 = 86_400.0;
