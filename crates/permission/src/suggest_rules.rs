//! Suggests rules that would allow a call and similar ones.
//!
//! A rule is suggested only if it really allows this call; a test verifies that.

use std::path::Path;

use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::command_checker::CommandChecker;
use crate::file_system_view::{PathAccess, ResolvedPath};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::shell_command::{
    ParsedCommandLine, ShellWord, SimpleCommand, base_name, is_interpreter, is_runner,
    may_leave_workspace, reaches_beyond_rule, strip_wrappers,
};
use crate::workspace_roots::WorkspaceRoots;

const TEXT_CHARS_MAX: usize = 300;

/// A line with more parts that need a rule gets one for its whole text.
const RULES_MAX: usize = 5;

/// Rules that together allow the call. Called only if a rule is all that is missing.
pub(crate) fn suggest_rules(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    subject: &CallSubject,
) -> Vec<String> {
    let wanted = match &subject.kind {
        CallSubjectKind::Command(command) => {
            return suggest_command_rules(policy, roots, subject, command);
        }
        CallSubjectKind::File { path: resolved, access } => {
            suggest_path_rule(policy, roots, resolved, *access)
        }
        CallSubjectKind::Address(target) => target.suggest_rule(),
        CallSubjectKind::Name(name) => Some(format!("{}({name})", subject.tool)),
        CallSubjectKind::Other => Some(subject.tool.clone()),
        CallSubjectKind::Unreadable => None,
    };
    wanted.into_iter().filter(|text| allows_call(text, policy, subject)).collect()
}

fn allows_call(text: &str, policy: &Policy, subject: &CallSubject) -> bool {
    Rule::parse(text).is_ok_and(|rule| rule.allows(subject, policy.root()))
}

/// One rule per part that needs one, or one for the whole line if that does not work.
fn suggest_command_rules(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    subject: &CallSubject,
    command: &ParsedCommandLine,
) -> Vec<String> {
    // A line that is not understood, or that runs hidden commands, must ask each time.
    if !command.script.is_understood() || command.own_parts().any(runs_anything) {
        return Vec::new();
    }
    let checker = CommandChecker::new(policy, roots, command);
    let texts = suggest_part_rules(&checker, roots, command).unwrap_or_default();
    let rules: Vec<Rule> = texts.iter().filter_map(|text| Rule::parse(text).ok()).collect();
    if !rules.is_empty()
        && rules.len() == texts.len()
        && checker.with_rules(&rules).allows_all(command)
    {
        return texts;
    }
    build_exact_rule(&command.text)
        .into_iter()
        .filter(|text| allows_call(text, policy, subject))
        .collect()
}

/// A part that runs its arguments: a shell, a wrapper, an interpreter. A permanent rule for one of
/// these would allow everything.
fn runs_anything(part: &SimpleCommand) -> bool {
    let words = strip_wrappers(&part.words).unwrap_or(&part.words);
    let first = words.first().map(|word| word.text.as_str()).unwrap_or_default();
    part.is_wrapper && words.len() == part.words.len()
        || is_runner(first)
        || is_interpreter(first)
        || words.first().is_some_and(|word| word.as_certain().is_none())
}

fn suggest_part_rules(
    checker: &CommandChecker<'_>,
    roots: &WorkspaceRoots<'_>,
    command: &ParsedCommandLine,
) -> Option<Vec<String>> {
    let mut rules = Vec::new();
    for part in command.own_parts().filter(|part| checker.check_part(part).is_err()) {
        let rule = suggest_part_rule(part, roots)?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    (rules.len() <= RULES_MAX).then_some(rules)
}

fn suggest_part_rule(part: &SimpleCommand, roots: &WorkspaceRoots<'_>) -> Option<String> {
    let words = strip_wrappers(&part.words).filter(|_| part.assigns.is_empty());
    let Some(words) = words else { return build_exact_rule(&part.text) };
    let first = words.first()?.as_certain()?;
    let is_simple = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./:".contains(&byte))
    };
    if DESTROYERS.contains(&base_name(first)) || !is_simple(first) {
        return build_exact_rule(&part.text);
    }
    let takes_sub_command = WITH_SUB_COMMANDS.contains(&first);
    let sub = words.get(1).and_then(ShellWord::as_certain);
    let sub = sub.filter(|word| takes_sub_command && is_simple(word) && !word.starts_with('-'));
    let has_options_first = words.get(1).is_some_and(ShellWord::may_be_option);
    if takes_sub_command && has_options_first && !matches!(first, "make" | "just") {
        return build_exact_rule(&part.text);
    }
    let named = if sub.is_some() { 2 } else { 1 };
    // Includes the script's name; what the script runs cannot be known.
    let script = words.get(2).and_then(ShellWord::as_certain);
    let runs_script = matches!(sub, Some("run" | "run-script"));
    let script = script.filter(|word| runs_script && is_simple(word) && !word.starts_with('-'));
    let named = named + usize::from(script.is_some());
    let leads_out = |word: &ShellWord| may_leave_workspace(word, &part.working_directories, roots);
    if reaches_beyond_rule(words, named, &leads_out) {
        return build_exact_rule(&part.text);
    }
    let name: Vec<&str> = words.iter().take(named).map(|word| word.text.as_str()).collect();
    Some(format!("Bash({}:*)", name.join(" ")))
}

fn build_exact_rule(text: &str) -> Option<String> {
    let text = text.trim();
    let is_short = text.len() <= TEXT_CHARS_MAX && !text.contains(['\n', '*']);
    is_short.then(|| format!("Bash({text})"))
}

/// Programs that delete or expose their arguments are allowed only with these arguments.
const DESTROYERS: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "truncate",
    "dd",
    "mv",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "setfacl",
    "kill",
    "pkill",
    "killall",
    "mount",
    "umount",
    "mkfs",
    "fdisk",
    "parted",
    "iptables",
    "nft",
    "ufw",
    "systemctl",
    "service",
    "crontab",
    "at",
    "ssh",
    "scp",
    "rsync",
    "nc",
    "ncat",
    "socat",
    "curl",
    "wget",
    "tee",
    "ln",
    "install",
    "tar",
    "unzip",
    "passwd",
    "useradd",
    "usermod",
    "shutdown",
    "reboot",
    "export",
    "psql",
    "mysql",
    "sqlite3",
    "sed",
    "awk",
    "gawk",
    "mawk",
];

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

/// Suggests the file's directory; for the root or a home only the file.
fn suggest_path_rule(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    resolved: &ResolvedPath,
    access: PathAccess,
) -> Option<String> {
    let path = resolved.spelled.as_path();
    let tool = match access {
        PathAccess::Read => "Read",
        PathAccess::Write => "Edit",
    };
    let directory = path.parent()?;
    let is_home =
        roots.file_system.home_directory().is_some_and(|home| home.starts_with(directory));
    let is_wide = directory.components().count() < 2 || is_home;
    let is_own = policy.root().map(Path::new) == Some(directory);
    // One key must not open the others.
    if is_wide && !is_own || roots.is_secret(resolved) {
        return Some(format!("{tool}(/{})", path.to_str()?));
    }
    let below = policy.root().and_then(|cwd| directory.strip_prefix(cwd).ok());
    let place = match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => format!("./{}", below.to_str()?),
        None => format!("/{}", directory.to_str()?.trim_end_matches('/')),
    };
    Some(format!("{tool}({place}/**)"))
}
