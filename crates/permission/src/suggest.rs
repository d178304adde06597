//! Rules that would allow a call and calls like it.
//!
//! Suggested only when adding them really allows this call; a test holds that.

use std::path::Path;

use crate::command::{Command, Part, Word, is_runner, reaches_beyond_rule, unwrapped};
use crate::ground::Ground;
use crate::judge::Judge;
use crate::policy::Policy;
use crate::rule::Rule;
use crate::subject::{Access, Matter, Subject};

const TEXT_CHARS_MAX: usize = 300;

/// A line with more parts that need a rule gets one for its whole text.
const RULES_MAX: usize = 5;

/// The rules; together they allow the call. Asked only when nothing but a rule is missing.
pub(crate) fn suggestions(policy: &Policy, ground: &Ground<'_>, subject: &Subject) -> Vec<String> {
    if let Matter::Command(command) = &subject.matter {
        let judge = Judge::new(policy, ground, command);
        let texts = part_rules(&judge, ground, command).unwrap_or_default();
        let rules: Vec<Rule> = texts.iter().filter_map(|text| Rule::parse(text).ok()).collect();
        if !rules.is_empty() && rules.len() == texts.len() && judge.and(&rules).allows_all(command)
        {
            return texts;
        }
    }
    let wanted = match &subject.matter {
        Matter::Command(command) => exact(&command.text),
        Matter::File { meant, access } => path_rule(policy, &meant.spelled, *access),
        Matter::Address(target) => target.rule(),
        Matter::Name(name) => Some(format!("{}({name})", subject.tool)),
        Matter::Other => Some(subject.tool.clone()),
        Matter::Unreadable => None,
    };
    let allows =
        |text: &String| Rule::parse(text).is_ok_and(|rule| rule.allows(subject, policy.cwd()));
    wanted.into_iter().filter(allows).collect()
}

/// One rule for each part that needs one.
fn part_rules(judge: &Judge<'_>, ground: &Ground<'_>, command: &Command) -> Option<Vec<String>> {
    if !command.script.is_understood() {
        return None;
    }
    let mut rules = Vec::new();
    for part in command.own_parts().filter(|part| judge.part(part).is_err()) {
        let rule = part_rule(part, ground)?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    (rules.len() <= RULES_MAX).then_some(rules)
}

fn part_rule(part: &Part, ground: &Ground<'_>) -> Option<String> {
    let words = unwrapped(&part.words).filter(|_| part.assigns.is_empty());
    let Some(words) = words else { return exact(&part.text) };
    let first = words.first()?.certain()?;
    let is_simple = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
    };
    if is_runner(first) || !is_simple(first) {
        return exact(&part.text);
    }
    let takes_sub_command = WITH_SUB_COMMANDS.contains(&first);
    let sub = words.get(1).and_then(Word::certain);
    let sub = sub.filter(|word| takes_sub_command && is_simple(word) && !word.starts_with('-'));
    let named = if sub.is_some() { 2 } else { 1 };
    // A script is named as well: what else it may run is its own affair.
    let script = words.get(2).and_then(Word::certain);
    let runs_script = matches!(sub, Some("run" | "run-script"));
    let script = script.filter(|word| runs_script && is_simple(word) && !word.starts_with('-'));
    let named = named + usize::from(script.is_some());
    let leads_out = |word: &Word| ground.leads_out(word, &part.places);
    if reaches_beyond_rule(words, named, &leads_out) {
        return exact(&part.text);
    }
    let name: Vec<&str> = words.iter().take(named).map(|word| word.text.as_str()).collect();
    Some(format!("Bash({}:*)", name.join(" ")))
}

fn exact(text: &str) -> Option<String> {
    let text = text.trim();
    let is_short = text.len() <= TEXT_CHARS_MAX && !text.contains(['\n', '*']);
    is_short.then(|| format!("Bash({text})"))
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
