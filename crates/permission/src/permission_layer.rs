//! Merges the permission settings of several layers.
//!
//! Lists of all layers are combined; of single values the highest layer's is used. A deny rule is
//! never lost: an unreadable layer makes everything ask until it is repaired, and an unreadable
//! deny or ask rule makes its tool ask. An untrusted project can restrict but not grant. The caller
//! finds the files and decides on trust.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};
use windlass_vocabulary::PermissionMode;

use crate::policy_check::NO_AUTO_MODE;
use crate::rule::{Rule, Rules};

/// The source of settings, lowest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettingsSource {
    /// The user's settings.
    User,
    /// The project's shared settings.
    Project,
    /// The project's local settings on this machine.
    Local,
    /// The command line.
    Flag,
    /// The administrator's settings.
    Managed,
}

/// One layer.
#[derive(Clone, Debug)]
pub struct PermissionLayer<'a> {
    /// The source of the layer.
    pub source: SettingsSource,
    /// The name for problem reports.
    pub name: &'a str,
    /// The settings as JSON.
    pub text: &'a str,
    /// The root of path rules that start with `/`; absolute.
    pub root: &'a Path,
    /// Whether it can grant anything. False for an untrusted project.
    pub is_trusted: bool,
}

/// A problem in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionProblem {
    /// The layer.
    pub layer: String,
    /// The position as a JSON pointer; empty for the whole layer.
    pub pointer: String,
    /// What is wrong. For an entry also what happens because of it.
    pub what: String,
    /// The consequence.
    pub kind: PermissionProblemKind,
}

/// The consequence of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionProblemKind {
    /// Everything asks.
    Everything,
    /// An entry is ignored, or its tool asks.
    Entry,
    /// It is ignored until the layer is trusted.
    Untrusted,
}

impl fmt::Display for PermissionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.layer, self.what)?;
        match self.kind {
            PermissionProblemKind::Everything => {
                f.write_str("; until it is fixed, everything asks")
            }
            PermissionProblemKind::Entry | PermissionProblemKind::Untrusted => Ok(()),
        }
    }
}

/// All layers merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedPermissions {
    /// The rules.
    pub rules: Rules,
    /// The initial mode, if a layer sets it.
    pub mode: Option<PermissionMode>,
    /// Additional working directories, as written.
    pub directories: Vec<String>,
    /// `bypassPermissions` mode is disabled.
    pub forbids_bypass: bool,
    /// Problems found in the layers.
    pub problems: Vec<PermissionProblem>,
}

/// Merges layers, in any order. `home` is the directory for `~`.
#[must_use]
pub fn merge_permission_layers(
    layers: &[PermissionLayer<'_>],
    home: Option<&str>,
) -> MergedPermissions {
    let mut merged = MergedPermissions::default();
    let mut sorted: Vec<&PermissionLayer<'_>> = layers.iter().collect();
    sorted.sort_by_key(|layer| layer.source);
    for layer in sorted {
        PermissionLayerReader { layer, home, merged: &mut merged }.read();
    }
    if merged.forbids_bypass && merged.mode == Some(PermissionMode::BypassPermissions) {
        merged.mode = None;
    }
    merged
}

struct PermissionLayerReader<'a, 'm> {
    layer: &'a PermissionLayer<'a>,
    home: Option<&'a str>,
    merged: &'m mut MergedPermissions,
}

impl PermissionLayerReader<'_, '_> {
    fn read(&mut self) {
        let settings: Value = match serde_json::from_str(self.layer.text) {
            Ok(settings) => settings,
            Err(error) => return self.ask_everything("", &format!("not JSON: {error}")),
        };
        let Some(settings) = settings.as_object() else {
            return self.ask_everything("", "settings must be an object");
        };
        let permissions = match settings.get("permissions") {
            None | Some(Value::Null) => return,
            Some(Value::Object(permissions)) => permissions,
            Some(_) => {
                return self.ask_everything("/permissions", "`permissions` must be an object");
            }
        };
        self.read_rules(permissions);
        self.read_mode(permissions.get("defaultMode"));
        if permissions.get("disableBypassPermissionsMode").is_some_and(|v| v == "disable") {
            self.merged.forbids_bypass = true;
        }
        if let Some(list) = permissions.get("additionalDirectories") {
            let texts = list.as_array().map(|list| list.iter().filter_map(Value::as_str));
            match texts {
                Some(texts) if self.layer.is_trusted => {
                    self.merged.directories.extend(texts.map(str::to_owned));
                }
                Some(_) => self.add_untrusted_problem(
                    DIRECTORIES,
                    "additionalDirectories are ignored until it is trusted",
                ),
                None => {
                    self.add_entry_problem(
                        DIRECTORIES,
                        "`additionalDirectories` must be a list of texts",
                    );
                }
            }
        }
    }

    fn read_rules(&mut self, permissions: &Map<String, Value>) {
        let deny = self.read_rule_list(permissions, "deny", true);
        let ask = self.read_rule_list(permissions, "ask", true);
        let allow = self.read_rule_list(permissions, "allow", false);
        self.merged.rules.deny.extend(deny);
        self.merged.rules.ask.extend(ask);
        if self.layer.is_trusted {
            self.merged.rules.allow.extend(allow);
        } else if !allow.is_empty() {
            self.add_untrusted_problem(
                "/permissions/allow",
                "its allow rules are ignored until it is trusted",
            );
        }
    }

    fn read_rule_list(
        &mut self,
        permissions: &Map<String, Value>,
        name: &str,
        restricts: bool,
    ) -> Vec<Rule> {
        let pointer = format!("/permissions/{name}");
        let list = match permissions.get(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(list)) => list,
            Some(_) if restricts => {
                self.ask_everything(&pointer, &format!("`permissions.{name}` must be a list"));
                return Vec::new();
            }
            Some(_) => {
                let what = format!("`permissions.{name}` must be a list, and is ignored");
                self.add_entry_problem(&pointer, &what);
                return Vec::new();
            }
        };
        let mut rules = Vec::new();
        for (index, entry) in list.iter().enumerate() {
            let pointer = format!("{pointer}/{index}");
            match entry.as_str().map(Rule::parse) {
                Some(Ok(rule)) => rules.push(self.resolve_rule_path(rule)),
                Some(Err(error)) if restricts => {
                    let tool = error.rule.split('(').next().unwrap_or_default().trim().to_owned();
                    let what = format!("{error}; until it is fixed, that tool asks");
                    self.add_entry_problem(&pointer, &what);
                    let whole = Rule::parse(&tool).or_else(|_| Rule::parse("*"));
                    self.merged.rules.ask.extend(whole);
                }
                None if restricts => {
                    let what = format!("`permissions.{name}` holds {entry}");
                    self.ask_everything(&pointer, &what);
                }
                Some(Err(error)) => {
                    self.add_entry_problem(&pointer, &format!("{error}; it is ignored"));
                }
                None => {
                    let what = format!("`permissions.{name}` holds {entry}; it is ignored");
                    self.add_entry_problem(&pointer, &what);
                }
            }
        }
        rules
    }

    /// Makes a path rule absolute, relative to its layer.
    fn resolve_rule_path(&self, rule: Rule) -> Rule {
        let rule = match self.home {
            Some(home) => rule.with_home(home),
            None => rule,
        };
        let is_path = matches!(rule.tool.as_str(), "Read" | "Edit" | "Write" | "Glob" | "Grep");
        let content = match rule.content.as_deref() {
            Some(content) if is_path && content.starts_with('/') && !content.starts_with("//") => {
                let root = self.layer.root.to_string_lossy();
                Some(format!("/{}{content}", root.trim_end_matches('/')))
            }
            _ => return rule,
        };
        Rule { content, ..rule }
    }

    fn read_mode(&mut self, value: Option<&Value>) {
        let Some(value) = value else { return };
        let Some(mode) = value.as_str().and_then(PermissionMode::from_name) else {
            let words = match value.as_str() {
                Some("auto") => NO_AUTO_MODE.to_owned(),
                _ => format!(
                    "{value} is not a mode for `defaultMode`, and is ignored; use default, \
                     acceptEdits, plan, dontAsk or bypassPermissions"
                ),
            };
            return self.add_entry_problem(MODE, &words);
        };
        let before = self.merged.mode.unwrap_or_default();
        if !self.layer.is_trusted && strictness(mode) <= strictness(before) {
            return self
                .add_untrusted_problem(MODE, "`defaultMode` is ignored until it is trusted");
        }
        self.merged.mode = Some(mode);
    }

    fn add_entry_problem(&mut self, pointer: &str, what: &str) {
        self.push_problem(pointer, what, PermissionProblemKind::Entry);
    }

    fn add_untrusted_problem(&mut self, pointer: &str, what: &str) {
        self.push_problem(pointer, what, PermissionProblemKind::Untrusted);
    }

    fn push_problem(&mut self, pointer: &str, what: &str, kind: PermissionProblemKind) {
        let layer = self.layer.name.to_owned();
        let pointer = pointer.to_owned();
        self.merged.problems.push(PermissionProblem {
            layer,
            pointer,
            what: what.to_owned(),
            kind,
        });
    }

    /// Its deny rules are unknown, so every call must ask.
    fn ask_everything(&mut self, pointer: &str, what: &str) {
        self.push_problem(pointer, what, PermissionProblemKind::Everything);
        self.merged.rules.ask.extend(Rule::parse("*"));
    }
}

const fn strictness(mode: PermissionMode) -> u8 {
    match mode {
        PermissionMode::BypassPermissions => 0,
        PermissionMode::AcceptEdits => 1,
        PermissionMode::Default => 2,
        PermissionMode::Plan | PermissionMode::DontAsk => 3,
    }
}

const DIRECTORIES: &str = "/permissions/additionalDirectories";
const MODE: &str = "/permissions/defaultMode";
