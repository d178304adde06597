//! Questions that no allow rule and no hook can answer.

use serde_json::Value;
use windlass_vocabulary::Mode;

use crate::command::{Command, Part, only_reads, removes_critical};
use crate::decide::Opinion;
use crate::explain;
use crate::ground::Ground;
use crate::held::runs_outside;
use crate::host::Reach;
use crate::policy::Policy;
use crate::protected::{protected_name, protected_word};
use crate::rule::Rule;
use crate::scope::Does;
use crate::subject::{Access, Matter, Subject};

/// Why somebody must be asked.
#[derive(Debug)]
pub(crate) struct Demand {
    pub(crate) why: String,
    /// The rule that wants it.
    pub(crate) rule: Option<String>,
    /// A rule could answer it for good.
    pub(crate) is_default: bool,
    /// It is an edit that a mode would allow.
    pub(crate) is_edit: bool,
}

impl Demand {
    pub(crate) fn by_default((why, is_edit): (String, bool)) -> Self {
        Self { why, rule: None, is_default: true, is_edit }
    }

    fn always(why: String) -> Self {
        Self { why, rule: None, is_default: false, is_edit: false }
    }

    fn by(rule: &Rule, why: String) -> Self {
        Self { rule: Some(rule.to_string()), ..Self::always(why) }
    }
}

/// The demand on this call, if there is one.
pub(crate) fn demand(
    policy: &Policy,
    ground: &Ground<'_>,
    subject: &Subject,
    names: &[&str],
    perhaps: Option<(&Rule, String)>,
    opinion: Opinion,
) -> Option<Demand> {
    if opinion == Opinion::Answered {
        return None;
    }
    let cwd = policy.cwd();
    let asked = |rule: &Rule| {
        let spoken = rule.touches(subject, cwd, Does::Ask, names)?;
        Some(Demand::by(rule, explain::asked_by_rule(rule, &spoken.what)))
    };
    if let Some(demand) = policy.rules.ask.iter().find_map(asked) {
        return Some(demand);
    }
    if let Opinion::Ask(why) = opinion {
        return Some(Demand::always(explain::asked_by_hook(&why)));
    }
    if needs_a_person(policy, subject) {
        return Some(Demand::always(explain::needs_a_person(&subject.tool)));
    }
    if asks_outside(policy, subject) == Outside::Asked {
        return Some(Demand::always(explain::asks_outside()));
    }
    if let Matter::Command(command) = &subject.matter
        && let Some(demand) = of_command(policy, ground, command)
    {
        return Some(demand);
    }
    if let Some((rule, what)) = perhaps {
        return Some(Demand::by(rule, explain::perhaps_denied(rule, &what)));
    }
    if let Matter::Address(target) = &subject.matter
        && target.reach() == Reach::Near
        && policy.mode != Mode::BypassPermissions
    {
        let names = |rule: &Rule| {
            let content = rule.content.as_deref().filter(|_| rule.tool == "WebFetch");
            content.is_some_and(|content| target.is_named_by(content))
        };
        if !policy.rules.allow.iter().any(names) {
            return Some(Demand::always(explain::near_address(&target.url)));
        }
    }
    protected(subject).map(|name| Demand::always(explain::protected_place(name)))
}

/// Where a command runs when commands are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It is not a command, or none are held.
    Nowhere,
    /// It is held.
    No,
    /// The user lets it run outside.
    Excluded,
    /// It asks to, and may ask.
    Asked,
    /// It asks to, and may not.
    Refused,
}

pub(crate) fn asks_outside(policy: &Policy, subject: &Subject) -> Outside {
    let (Matter::Command(command), Some(held)) = (&subject.matter, &policy.held) else {
        return Outside::Nowhere;
    };
    if runs_outside(&held.outside, &command.text) {
        return Outside::Excluded;
    }
    // Whatever the tool might take for a yes is one.
    let asks = match subject.fields.get("dangerouslyDisableSandbox") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !matches!(text.as_str(), "" | "false"),
        Some(_) => true,
    };
    match (asks, held.may_be_left) {
        (false, _) => Outside::No,
        (true, true) => Outside::Asked,
        (true, false) => Outside::Refused,
    }
}

fn of_command(policy: &Policy, ground: &Ground<'_>, command: &Command) -> Option<Demand> {
    if let Some(target) = removes_critical(&command.script, &policy.directories, ground.world) {
        return Some(Demand::always(explain::critical_removal(&target)));
    }
    let mentioned = |rule: &&Rule| {
        let first = rule.content.as_deref().filter(|_| rule.tool == "Bash");
        let first = first.and_then(|text| text.split([' ', ':', '*']).next());
        first.is_some_and(|name| command.script.mentions.contains(&name.to_lowercase()))
    };
    if let Some(rule) = policy.rules.deny.iter().find(mentioned) {
        return Some(Demand::by(rule, explain::perhaps_denied(rule, &command.text)));
    }
    let speaks_of_commands = |rule: &&Rule| rule.tool == "Bash" && rule.content.is_some();
    let is_hidden = command.script.has_hidden || !command.script.is_understood();
    let rule = policy.rules.deny.iter().find(speaks_of_commands).filter(|_| is_hidden)?;
    let why = match command.script.doubts.first() {
        Some(doubt) => explain::doubtful_command(rule, doubt),
        None => explain::hidden_command(rule),
    };
    Some(Demand::by(rule, why))
}

/// Is the call a question to a person itself? Who waves everything through approves every plan,
/// but has still not said what to answer.
fn needs_a_person(policy: &Policy, subject: &Subject) -> bool {
    match subject.tool.as_str() {
        "AskUserQuestion" => true,
        "ExitPlanMode" => policy.mode != Mode::BypassPermissions,
        _ => false,
    }
}

/// Does a call bring the answers that only the person who is asked can give?
pub(crate) fn answers_itself(subject: &Subject) -> bool {
    let is_something = |value: &Value| match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    subject.tool == "AskUserQuestion" && subject.fields.get("answers").is_some_and(is_something)
}

fn protected(subject: &Subject) -> Option<&'static str> {
    match &subject.matter {
        Matter::File { meant, access: Access::Write } => meant.readings().find_map(protected_name),
        Matter::Command(command) => {
            let by_words = command.script.parts.iter().find_map(protected_part);
            by_words.or_else(|| protected_file(command))
        }
        _ => None,
    }
}

/// A command that can only read may name what it likes; any other may not name such a place.
pub(crate) fn protected_part(part: &Part) -> Option<&'static str> {
    let named = match only_reads(part) {
        Some(_) => &[],
        None if only_takes_in(part) => &[],
        None => part.words.get(1..).unwrap_or_default(),
    };
    let written = part.redirects.iter().filter(|r| r.does == crate::command::Does::Write);
    let targets = written.map(|redirect| &redirect.target);
    targets.chain(named).find_map(|word| protected_word(&word.text))
}

/// Does git only take the files it names into its own keeping?
fn only_takes_in(part: &Part) -> bool {
    let word = |at: usize| part.words.get(at).map(|word| word.text.as_str());
    word(0) == Some("git") && matches!(word(1), Some("add" | "commit"))
}

/// What is written may lead to such a place by a link, or by where the shell stands.
fn protected_file(command: &Command) -> Option<&'static str> {
    let reads = |at: usize| command.script.parts.get(at).is_some_and(|p| only_reads(p).is_some());
    let written = command.files.iter().filter(|file| file.access == Access::Write);
    let mut places = written.filter(|file| !reads(file.part)).flat_map(|file| &file.meant);
    places.find_map(|meant| meant.readings().find_map(protected_name))
}
