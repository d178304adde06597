//! Rules that would allow a call and calls like it.
//!
//! Suggested only when adding one really allows this call; a test holds that.

use std::path::Path;

use crate::command::{is_runner, reaches_beyond_rule};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::subject::{Access, Command, Matter, Subject};

const TEXT_CHARS_MAX: usize = 300;

/// The rules, best first.
pub(crate) fn suggestions(policy: &Policy, subject: &Subject) -> Vec<String> {
    let wanted = match &subject.matter {
        Matter::Command(command) => command_rule(command, &policy.directories),
        Matter::File { path, access } => path_rule(policy, path, *access),
        Matter::Name(name) => Some(format!("{}({name})", subject.tool)),
        Matter::Other => Some(subject.tool.clone()),
        Matter::Unreadable => None,
    };
    let allows = |text: &String| {
        Rule::parse(text).is_ok_and(|rule| rule.allows(subject, &policy.directories))
    };
    wanted.into_iter().filter(allows).collect()
}

fn command_rule(command: &Command, directories: &[String]) -> Option<String> {
    let exact = || {
        let text = command.text.trim();
        let is_short = text.len() <= TEXT_CHARS_MAX && !text.contains('\n');
        is_short.then(|| format!("Bash({text})"))
    };
    let Some(words) = &command.words else { return exact() };
    let first = words.first()?;
    let is_simple = |word: &String| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
    };
    if is_runner(first) || !is_simple(first) {
        return exact();
    }
    let takes_sub_command = WITH_SUB_COMMANDS.contains(&first.as_str());
    let sub =
        words.get(1).filter(|word| takes_sub_command && is_simple(word) && !word.starts_with('-'));
    let named = if sub.is_some() { 2 } else { 1 };
    if reaches_beyond_rule(words, named, directories) {
        return exact();
    }
    let name: Vec<&str> = words.iter().take(named).map(String::as_str).collect();
    Some(format!("Bash({}:*)", name.join(" ")))
}

const WITH_SUB_COMMANDS: &[&str] = &[
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "go",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "bundle",
    "gem",
    "brew",
    "apt",
    "apt-get",
    "gh",
    "glab",
    "rustup",
    "dotnet",
    "mvn",
    "gradle",
    "systemctl",
    "terraform",
    "make",
    "just",
    "mix",
    "swift",
    "composer",
    "aws",
    "gcloud",
    "az",
];

/// Everything in the directory of the file.
fn path_rule(policy: &Policy, path: &Path, access: Access) -> Option<String> {
    let tool = match access {
        Access::Read => "Read",
        Access::Write => "Edit",
    };
    let directory = path.parent()?;
    let below = policy.cwd().and_then(|cwd| directory.strip_prefix(cwd).ok());
    let place = match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => format!("./{}", below.to_str()?),
        None => format!("/{}", directory.to_str()?.trim_end_matches('/')),
    };
    Some(format!("{tool}({place}/**)"))
}
