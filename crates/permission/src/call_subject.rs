//! The subject of a call: the part of its input that rules can match.

use std::path::Path;

use serde_json::{Map, Value};
use windlass_vocabulary::ToolCall;

use crate::fetch_target::FetchTarget;
use crate::file_system_view::{PathAccess, ResolvedPath, resolve_links};
use crate::policy::Policy;
use crate::shell_command::{ParsedCommandLine, ScriptContext};
use crate::workspace_roots::WorkspaceRoots;

/// A call, parsed once for all rules.
#[derive(Debug)]
pub(crate) struct CallSubject {
    pub(crate) tool: String,
    pub(crate) kind: CallSubjectKind,
    pub(crate) fields: Map<String, Value>,
}

/// The part of a call that rules can match.
#[derive(Debug)]
pub(crate) enum CallSubjectKind {
    Command(Box<ParsedCommandLine>),
    File {
        path: ResolvedPath,
        access: PathAccess,
    },
    Address(FetchTarget),
    /// The name of a sub-agent or a skill.
    Name(String),
    /// Nothing that rules can match.
    Other,
    /// It should be one of the above, but is malformed.
    Unreadable,
}

impl CallSubject {
    pub(crate) fn new(policy: &Policy, roots: &WorkspaceRoots<'_>, call: &ToolCall) -> Self {
        let tool = call.name.as_str().to_owned();
        let Ok(Value::Object(fields)) = serde_json::from_str(call.input.as_str()) else {
            return Self { tool, kind: CallSubjectKind::Unreadable, fields: Map::new() };
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        // A file tool without any file fails by itself; one whose file cannot be parsed here might
        // still parse it.
        let file = |name: &str, access| match fields.contains_key(name) {
            true => resolve_file(policy, roots, text(name), access),
            false => CallSubjectKind::Other,
        };
        let context = ScriptContext {
            cwd: policy.cwd().map(Path::new),
            file_system: roots.file_system,
            depth: 0,
        };
        let command = |text| {
            CallSubjectKind::Command(Box::new(ParsedCommandLine::parse(text, context, roots)))
        };
        let kind = match tool.as_str() {
            "Bash" => text("command").map_or(CallSubjectKind::Unreadable, command),
            "Read" => file("file_path", PathAccess::Read),
            "Glob" | "Grep" | "LS" if fields.contains_key("path") => file("path", PathAccess::Read),
            "Glob" | "Grep" | "LS" => resolve_working_directory(policy, roots),
            "Edit" | "Write" | "MultiEdit" => file("file_path", PathAccess::Write),
            "NotebookEdit" => file("notebook_path", PathAccess::Write),
            "WebFetch" if fields.contains_key("url") => text("url")
                .map_or(CallSubjectKind::Unreadable, |url| {
                    CallSubjectKind::Address(FetchTarget::parse(url))
                }),
            "Agent" | "Task" => to_name(text("subagent_type")),
            "Skill" => to_name(text("skill").or(text("command"))),
            _ => CallSubjectKind::Other,
        };
        Self { tool, kind, fields }
    }
}

impl CallSubject {
    /// The shell command of the call, if there is one.
    pub(crate) fn command(&self) -> Option<&ParsedCommandLine> {
        if let CallSubjectKind::Command(command) = &self.kind { Some(command) } else { None }
    }
}

fn resolve_file(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    path: Option<&str>,
    access: PathAccess,
) -> CallSubjectKind {
    let Some(path) = path.filter(|path| !path.is_empty() && !path.contains('\0')) else {
        return CallSubjectKind::Unreadable;
    };
    // The tools for files do not follow the shell to another directory.
    let here = policy.root().unwrap_or("/");
    CallSubjectKind::File {
        path: resolve_links(roots.file_system, Path::new(here), Path::new(path)),
        access,
    }
}

/// A search without a path searches the working directory.
fn resolve_working_directory(policy: &Policy, roots: &WorkspaceRoots<'_>) -> CallSubjectKind {
    resolve_file(policy, roots, Some("."), PathAccess::Read)
}

fn to_name(text: Option<&str>) -> CallSubjectKind {
    text.map_or(CallSubjectKind::Other, |text| CallSubjectKind::Name(text.to_owned()))
}
