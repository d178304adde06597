//! What a call is about: the part of its input that rules speak of.

use std::path::Path;

use serde_json::{Map, Value};
use windlass_vocabulary::ToolCall;

use crate::command::{Command, Scene};
use crate::ground::Ground;
use crate::host::Target;
use crate::policy::Policy;
use crate::world::{Meant, follow};

/// A call, taken apart once for all rules.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) tool: String,
    pub(crate) matter: Matter,
    pub(crate) fields: Map<String, Value>,
}

/// The part of a call that rules speak of.
#[derive(Debug)]
pub(crate) enum Matter {
    /// A shell command.
    Command(Box<Command>),
    /// A file or a directory.
    File { meant: Meant, access: Access },
    /// An address in the network.
    Address(Target),
    /// A name: of a sub-agent, of a skill.
    Name(String),
    /// Nothing that rules know how to speak of.
    Other,
    /// It should be one of the above but cannot be read.
    Unreadable,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Subject {
    pub(crate) fn new(policy: &Policy, ground: &Ground<'_>, call: &ToolCall) -> Self {
        let tool = call.name.as_str().to_owned();
        let Ok(Value::Object(fields)) = serde_json::from_str(call.input.as_str()) else {
            return Self { tool, matter: Matter::Unreadable, fields: Map::new() };
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        // A file tool that is given no file at all refuses by itself; one whose file cannot be
        // read here might read it after all.
        let file = |name: &str, access| match fields.contains_key(name) {
            true => file(policy, ground, text(name), access),
            false => Matter::Other,
        };
        let scene = Scene { cwd: policy.cwd().map(Path::new), world: ground.world, depth: 0 };
        let command = |text| Matter::Command(Box::new(Command::read(text, scene, ground)));
        let matter = match tool.as_str() {
            "Bash" => text("command").map_or(Matter::Unreadable, command),
            "Read" => file("file_path", Access::Read),
            "Glob" | "Grep" | "LS" if fields.contains_key("path") => file("path", Access::Read),
            "Glob" | "Grep" | "LS" => file_here(policy, ground),
            "Edit" | "Write" | "MultiEdit" => file("file_path", Access::Write),
            "NotebookEdit" => file("notebook_path", Access::Write),
            "WebFetch" if fields.contains_key("url") => {
                text("url").map_or(Matter::Unreadable, |url| Matter::Address(Target::read(url)))
            }
            "Agent" | "Task" => name(text("subagent_type")),
            "Skill" => name(text("skill").or(text("command"))),
            _ => Matter::Other,
        };
        Self { tool, matter, fields }
    }
}

fn file(policy: &Policy, ground: &Ground<'_>, path: Option<&str>, access: Access) -> Matter {
    let Some(path) = path.filter(|path| !path.is_empty() && !path.contains('\0')) else {
        return Matter::Unreadable;
    };
    let here = policy.cwd().unwrap_or("/");
    Matter::File { meant: follow(ground.world, Path::new(here), Path::new(path)), access }
}

/// Searching nowhere in particular is searching where we are.
fn file_here(policy: &Policy, ground: &Ground<'_>) -> Matter {
    file(policy, ground, Some("."), Access::Read)
}

fn name(text: Option<&str>) -> Matter {
    text.map_or(Matter::Other, |text| Matter::Name(text.to_owned()))
}
