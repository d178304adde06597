//! One layer as found: its text, its valid part, and its problems.

use std::path::PathBuf;

use serde_json::{Map, Value};
use windlass_config_text::TextPosition;
use windlass_permission::Rule;
use windlass_permission::permission_layer::SettingsSource;

use crate::bounded_file::{self, SETTINGS_BYTES_MAX};
use crate::file_stamp::{FileOverrides, SettingsFileStamp};
use crate::json_spans::{JsonSpanKind, JsonSpanNode};
use crate::loaded_settings::SettingsFileState;
use crate::prune::{self, PrunedEntry};
use crate::settings_key::RESTRICTIONS_WITHOUT_EFFECT;
use crate::settings_location::{CommandLineSettings, SettingsCandidate};
use crate::settings_problem::{ProblemSeverity, SettingsProblem};

#[derive(Clone, Debug)]
pub(crate) struct SettingsLayer {
    pub(crate) source: SettingsSource,
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    /// Empty when the file is broken, so that nothing else parses it.
    pub(crate) text: String,
    node: Option<JsonSpanNode>,
    /// The valid part.
    pub(crate) settings: Map<String, Value>,
    pub(crate) state: SettingsFileState,
    /// If every user of the machine can write it, it may only restrict.
    pub(crate) is_world_writable: bool,
    pub(crate) problems: Vec<SettingsProblem>,
    /// The file's stamp before it was read.
    pub(crate) stamp: Option<SettingsFileStamp>,
}

impl SettingsLayer {
    /// Reads the candidate, or takes its text from the overrides.
    pub(crate) fn read(candidate: SettingsCandidate, overrides: &FileOverrides) -> Self {
        let SettingsCandidate { source, content, name, root } = candidate;
        let path = match &content {
            CommandLineSettings::File(path) => Some(path),
            CommandLineSettings::Text(_) => None,
        };
        let is_world_writable = path.is_some_and(|path| bounded_file::is_world_writable(path));
        let stamp = path.and_then(|path| SettingsFileStamp::read(path));
        let overridden = path.and_then(|path| overrides.get(path));
        let text = match content {
            CommandLineSettings::Text(text) => {
                let is_long =
                    u64::try_from(text.len()).is_ok_and(|length| length > SETTINGS_BYTES_MAX);
                if is_long { Err("it is over 2 MiB".to_owned()) } else { Ok(Some(text)) }
            }
            CommandLineSettings::File(_) if overridden.is_some() => {
                Ok(overridden.cloned().flatten())
            }
            CommandLineSettings::File(path) => match bounded_file::read_bounded(&path) {
                // A file named on the command line must exist.
                Ok(None) if source == SettingsSource::Flag => {
                    Err("there is no such file".to_owned())
                }
                other => other,
            },
        };
        let mut layer = Self {
            source,
            name,
            root,
            text: String::new(),
            node: None,
            settings: Map::new(),
            state: SettingsFileState::Absent,
            is_world_writable,
            problems: Vec::new(),
            stamp,
        };
        match text {
            Ok(None) => {}
            Ok(Some(text)) => layer.parse_text(text),
            Err(why) => layer.mark_broken(None, &why),
        }
        // A project's files are not trusted anyway, and a file named on the command line was chosen
        // by the user.
        if layer.may_only_restrict() {
            let what = "every user of this machine can write to it, so it may only forbid; remove \
                        that permission: chmod o-w";
            layer.push_problem(None, what.to_owned(), ProblemSeverity::Entry);
        }
        layer
    }

    /// Any user of the machine may have written this file of the user or the administrator.
    pub(crate) fn may_only_restrict(&self) -> bool {
        self.is_world_writable
            && matches!(self.source, SettingsSource::User | SettingsSource::Managed)
    }

    pub(crate) fn is_project_or_local(&self) -> bool {
        matches!(self.source, SettingsSource::Project | SettingsSource::Local)
    }

    fn parse_text(&mut self, text: String) {
        let settings = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(settings)) => settings,
            Ok(_) => {
                return self.mark_broken(
                    Some(TextPosition { line: 1, column: 1 }),
                    "settings must be a JSON object",
                );
            }
            Err(error) => {
                let place = TextPosition { line: error.line(), column: error.column().max(1) };
                // The parser's message repeats the position, so it is cut off.
                let words = error.to_string();
                let words = match begins_comment(&text, place) {
                    true => "comments are not allowed here; remove them",
                    false => words.split(" at line ").next().unwrap_or_default(),
                };
                return self.mark_broken(Some(place), &format!("not JSON: {words}"));
            }
        };
        let Some(node) = JsonSpanNode::parse(&text) else {
            return self.mark_broken(None, "it cannot be read");
        };
        if let Some((key, at)) = node.find_duplicate_key() {
            let what = format!("the key `{key}` is written twice");
            return self.mark_broken(Some(TextPosition::from_offset(&text, at)), &what);
        }
        let idle = match self.source {
            SettingsSource::Managed => list_idle_restrictions(&settings),
            SettingsSource::User
            | SettingsSource::Project
            | SettingsSource::Local
            | SettingsSource::Flag => Vec::new(),
        };
        let (settings, cuts) = prune::prune(&settings);
        self.text = text;
        self.node = Some(node);
        self.settings = settings;
        self.state = SettingsFileState::Read;
        for PrunedEntry { pointer, what, severity } in cuts {
            // Invalid rules are reported where rules are parsed.
            let is_rule = pointer.starts_with("/permissions") && severity == ProblemSeverity::Entry;
            if !is_rule {
                self.add_problem_at(&pointer, what, severity);
            }
        }
        for key in idle {
            let what = format!("`{key}` restricts nothing here: there is no support for it");
            self.add_problem_at(&to_pointer(key), what, ProblemSeverity::Entry);
        }
        self.report_idle_rules();
        self.problems
            .sort_by_key(|problem| problem.position.map(|place| (place.line, place.column)));
    }

    /// Reports allow rules that can never match.
    fn report_idle_rules(&mut self) {
        let allow = self.settings.get("permissions").and_then(|all| all.get("allow"));
        let rules = allow.and_then(Value::as_array).cloned().unwrap_or_default();
        for (index, rule) in rules.iter().enumerate() {
            let rule = rule.as_str().and_then(|rule| Rule::parse(rule).ok());
            if let Some((rule, why)) =
                rule.and_then(|rule| Some((rule.to_string(), rule.explain_idle_allow()?)))
            {
                let what = format!("`{rule}` never allows anything: {why}");
                self.add_problem_at(
                    &format!("/permissions/allow/{index}"),
                    what,
                    ProblemSeverity::Idle,
                );
            }
        }
    }

    /// Adds a problem at the position of a JSON pointer.
    pub(crate) fn add_problem_at(
        &mut self,
        pointer: &str,
        what: String,
        severity: ProblemSeverity,
    ) {
        let place = self
            .node
            .as_ref()
            .map(|node| TextPosition::from_offset(&self.text, node.find_offset(pointer)));
        self.push_problem(place, what, severity);
    }

    /// The line numbers of the rules in a list.
    pub(crate) fn find_rule_lines(&self, list: &str) -> Vec<usize> {
        let permissions = self.node.as_ref().and_then(|node| node.member("permissions"));
        let list = permissions.and_then(|member| member.value.member(list));
        let Some(JsonSpanKind::Array(items)) = list.map(|member| &member.value.kind) else {
            return Vec::new();
        };
        let mut line = 1;
        let mut seen = 0;
        let mut lines = Vec::new();
        for item in items {
            let between = self.text.get(seen..item.span.start).unwrap_or_default();
            line += between.matches('\n').count();
            seen = item.span.start;
            let text = self.text.get(item.span.clone()).unwrap_or_default();
            if serde_json::from_str::<String>(text).is_ok_and(|rule| Rule::parse(&rule).is_ok()) {
                lines.push(line);
            }
        }
        lines
    }

    fn mark_broken(&mut self, place: Option<TextPosition>, why: &str) {
        self.state = SettingsFileState::Broken;
        self.push_problem(place, why.to_owned(), ProblemSeverity::File);
        if let Some(problem) = self.problems.last_mut() {
            problem.until_fixed = Some("everything asks, because its deny rules are unknown");
        }
    }

    fn push_problem(
        &mut self,
        place: Option<TextPosition>,
        what: String,
        severity: ProblemSeverity,
    ) {
        let source = Some(self.source);
        let name = self.name.clone();
        // Where the rules of a file cannot be read, they may have denied anything.
        let until_fixed = (severity == ProblemSeverity::File).then_some("everything asks");
        let position = place;
        let problem = SettingsProblem { source, name, position, what, until_fixed, severity };
        self.problems.push(problem);
    }
}

/// The administrator's restrictions that are set, but have no effect.
fn list_idle_restrictions(settings: &Map<String, Value>) -> Vec<&'static str> {
    let settings = Value::Object(settings.clone());
    let is_set = |key: &&&str| {
        let value = settings.pointer(&to_pointer(key));
        // An empty list of what is allowed restricts, too.
        value.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    };
    RESTRICTIONS_WITHOUT_EFFECT.iter().filter(is_set).copied().collect()
}

fn to_pointer(key: &str) -> String {
    format!("/{}", key.replace('.', "/"))
}

/// Does a comment start here? Other programs allow them in settings, and the parser's message ("key
/// must be a string") would not tell the user what to change.
fn begins_comment(text: &str, place: TextPosition) -> bool {
    let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
    let from = line
        .char_indices()
        .nth(place.column.saturating_sub(1))
        .map_or("", |(at, _)| line.split_at(at).1);
    from.starts_with("//") || from.starts_with("/*")
}
