//! Parses a case. Known fields must have the right type: a policy test that silently tests
//! something else is worse than none. Unknown fields are ignored, as comments of the author.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use windlass_vocabulary::{Json, PermissionMode, ToolCall, ToolCallId, ToolName};

use super::{CaseInspector, PermissionReport, build_inspected_report, build_report};
use crate::confinement::CellSupport;
use crate::file_system_view::{
    FileSystemView, MatchingNames, PathEntry, RecordedFileSystem, VirtualTree,
};
use crate::policy::Policy;
use crate::rule::{Rule, Rules};

#[derive(Debug)]
pub(super) struct PolicyCase {
    policy: Policy,
    call: ToolCall,
    files: Option<VirtualTree>,
    home: Option<PathBuf>,
}

const DEFAULT_CWD: &str = "/w/repo";
const DEFAULT_HOME: &str = "/home/u";

impl PolicyCase {
    pub(super) fn parse(value: &Value, cell: CellSupport) -> Result<Self, String> {
        let Value::Object(fields) = value else {
            return Err("a case is an object with `tool` and `input`".to_owned());
        };
        let tool = read_text(fields, "tool")?.ok_or("`tool` is missing")?;
        let input = match fields.get("input") {
            Some(input @ Value::Object(_)) => input.to_string(),
            Some(_) => return Err("`input` must be an object".to_owned()),
            None => return Err("`input` is missing".to_owned()),
        };
        let call = ToolCall {
            id: ToolCallId::from("case"),
            name: ToolName::from(tool),
            input: Json::from_checked(&input),
            signature: None,
        };
        let cwd = require_absolute(read_text(fields, "cwd")?.unwrap_or(DEFAULT_CWD), "cwd")?;
        let home = require_absolute(read_text(fields, "home")?.unwrap_or(DEFAULT_HOME), "home")?;
        let roots = read_texts(fields.get("roots"), "roots")?;
        let mut directories = Vec::new();
        for root in if roots.is_empty() { vec![cwd] } else { roots } {
            directories.push(require_absolute(root, "roots")?.trim_end_matches('/').to_owned());
        }
        let policy = Policy {
            mode: parse_mode(read_text(fields, "mode")?)?,
            rules: parse_rules(fields.get("rules"), home)?,
            directories,
            standing: Some(cwd.to_owned()),
            can_ask: match fields.get("interactive") {
                None | Some(Value::Null) => true,
                Some(Value::Bool(value)) => *value,
                Some(_) => return Err("`interactive` must be true or false".to_owned()),
            },
            held: None,
            cell: match fields.get("cell") {
                None | Some(Value::Null) => cell,
                Some(Value::Bool(true)) => CellSupport::Available,
                Some(Value::Bool(false)) => CellSupport::Missing,
                Some(_) => return Err("`cell` must be true or false".to_owned()),
            },
        };
        let home = PathBuf::from(home);
        let files = match fields.get("files") {
            None | Some(Value::Null) => None,
            Some(Value::Object(files)) => Some(build_tree(files, &policy, &home)?),
            Some(_) => return Err("`files` must be an object of paths".to_owned()),
        };
        Ok(Self { policy, call, files, home: Some(home) })
    }

    pub(super) fn evaluate(
        &self,
        file_system: &dyn FileSystemView,
        inspect: &CaseInspector<'_>,
    ) -> PermissionReport {
        let host = HomeOverride { inner: file_system, home: self.home.as_deref() };
        let files: &dyn FileSystemView = match &self.files {
            Some(files) => files,
            None => &host,
        };
        match inspect(&self.policy, &self.call, files) {
            Some(inspection) => {
                let seen = RecordedFileSystem(&inspection.seen);
                build_inspected_report(&self.policy, &self.call, &inspection, &seen)
            }
            None => build_report(&self.policy, &self.call, files),
        }
    }
}

struct HomeOverride<'a> {
    inner: &'a dyn FileSystemView,
    home: Option<&'a Path>,
}

impl FileSystemView for HomeOverride<'_> {
    fn entry_at(&self, path: &Path) -> PathEntry {
        self.inner.entry_at(path)
    }

    fn home_directory(&self) -> Option<&Path> {
        self.home
    }

    fn matching_names(&self, directory: &Path, pattern: &str) -> MatchingNames {
        self.inner.matching_names(directory, pattern)
    }
}

fn read_text<'v>(fields: &'v Map<String, Value>, name: &str) -> Result<Option<&'v str>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` must be a text")),
    }
}

fn read_texts<'v>(value: Option<&'v Value>, name: &str) -> Result<Vec<&'v str>, String> {
    let wrong = || format!("`{name}` must be a list of texts");
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(|one| one.as_str().ok_or_else(wrong)).collect(),
        Some(_) => Err(wrong()),
    }
}

fn require_absolute<'v>(path: &'v str, name: &str) -> Result<&'v str, String> {
    let is_fine = path.starts_with('/');
    is_fine.then_some(path).ok_or_else(|| format!("`{name}` must be an absolute path"))
}

fn parse_mode(text: Option<&str>) -> Result<PermissionMode, String> {
    match text {
        Some("auto") => Err(NO_AUTO_MODE.to_owned()),
        Some(name) => PermissionMode::from_name(name).ok_or_else(|| {
            format!(
                "`mode` is `{name}`; there are default, acceptEdits, plan, dontAsk and \
                 bypassPermissions"
            )
        }),
        None => Ok(PermissionMode::Default),
    }
}

/// The message for every request of this mode.
pub const NO_AUTO_MODE: &str = "there is no mode `auto`: nothing here judges calls by guessing; use \
                           acceptEdits with rules, or dontAsk";

fn parse_rules(value: Option<&Value>, home: &str) -> Result<Rules, String> {
    let lists = match value {
        None | Some(Value::Null) => return Ok(Rules::default()),
        Some(Value::Object(lists)) => lists,
        Some(_) => return Err("`rules` must be an object with allow, ask and deny".to_owned()),
    };
    if let Some(unknown) =
        lists.keys().find(|key| !["allow", "ask", "deny"].contains(&key.as_str()))
    {
        return Err(format!(
            "`rules.{unknown}` is not a list of rules; there are allow, ask, deny"
        ));
    }
    let list = |name: &str| -> Result<Vec<Rule>, String> {
        let texts = read_texts(lists.get(name), &format!("rules.{name}"))?;
        let read = |text: &str| match Rule::parse(text) {
            Ok(rule) => Ok(rule.with_home(home)),
            Err(error) => Err(error.to_string()),
        };
        texts.into_iter().map(read).collect()
    };
    Ok(Rules { allow: list("allow")?, ask: list("ask")?, deny: list("deny")? })
}

fn build_tree(
    files: &Map<String, Value>,
    policy: &Policy,
    home: &Path,
) -> Result<VirtualTree, String> {
    let mut tree = VirtualTree::new(Some(home.to_path_buf()));
    for directory in &policy.directories {
        tree.insert(Path::new(directory), PathEntry::Directory);
    }
    let here = Path::new(policy.cwd().unwrap_or("/"));
    for (path, what) in files {
        let entry = match what.as_object().and_then(|what| what.iter().next()) {
            Some((kind, Value::String(target))) if kind == "symlink" => {
                PathEntry::Symlink(target.into())
            }
            Some((kind, Value::String(_))) if kind == "file" => PathEntry::File,
            Some((kind, Value::Bool(true))) if kind == "dir" => PathEntry::Directory,
            Some((kind, Value::Bool(true))) if kind == "fifo" => PathEntry::Special,
            _ => {
                return Err(format!(
                    "`files.{path}` must be one of {{\"file\": text}}, {{\"symlink\": target}}, \
                     {{\"dir\": true}}, {{\"fifo\": true}}"
                ));
            }
        };
        let path = match path.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => here.join(path),
        };
        tree.insert(&path, entry);
    }
    Ok(tree)
}
