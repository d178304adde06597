//! May this part of a command run? The parts of a line are judged one by one, and the strictest
//! decides.
//!
//! A part is its command and its redirects. The command is covered by an allow rule, or needs none
//! because of what it does; each redirect is a file that is read or written and needs the same as
//! any other tool that reads or writes it.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_vocabulary::PermissionMode;

use crate::confinement::Confinement;
use crate::file_system_view::{PathAccess, PathEntry};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::shell_command::{
    CommandEffect, CommandPattern, ParsedCommandLine, ShellWord, SimpleCommand, base_name,
    classify_effect, find_path_candidates, may_leave_workspace,
};
use crate::workspace_roots::{WorkspaceRoots, is_harmless_device};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AllowReason {
    Rule(String),
    /// It only reads inside the working directories.
    Reading,
    /// It edits inside them, and the mode lets it.
    Editing,
    /// It only sets variables, or calls a function of the line.
    ShellState,
}

pub(crate) struct CommandChecker<'a> {
    policy: &'a Policy,
    roots: &'a WorkspaceRoots<'a>,
    /// The allow rules that could speak of this command at all.
    rules: Vec<&'a Rule>,
    has_read_denials: bool,
}

impl<'a> CommandChecker<'a> {
    pub(crate) fn new(
        policy: &'a Policy,
        roots: &'a WorkspaceRoots<'a>,
        command: &ParsedCommandLine,
    ) -> Self {
        let names = collect_program_names(command);
        let rules = policy.rules.allow.iter().filter(|rule| match rule.tool.as_str() {
            "Bash" => {
                rule.content.as_ref().is_some_and(|c| CommandPattern::may_match_names(c, &names))
            }
            "Read" | "Edit" => !command.files.is_empty(),
            _ => false,
        });
        let denies_reading = |rule: &Rule| rule.tool == "Read" && rule.content.is_some();
        let has_read_denials = policy.rules.deny.iter().any(denies_reading);
        Self { policy, roots, rules: rules.collect(), has_read_denials }
    }

    pub(crate) fn with_rules(&self, more: &'a [Rule]) -> Self {
        let rules = self.rules.iter().copied().chain(more).collect();
        Self { rules, ..*self }
    }

    pub(crate) fn allows_all(&self, command: &ParsedCommandLine) -> bool {
        command.script.is_understood()
            && command.own_parts().all(|part| self.check_part(part).is_ok())
    }

    /// Why the part may run, or why it may not.
    pub(crate) fn check_part(&self, part: &SimpleCommand) -> Result<AllowReason, String> {
        for redirect in &part.redirects {
            self.check_file(&redirect.target, part, redirect.access)?;
        }
        if let Some(rule) = self.rules.iter().find(|rule| rule.allows_part(part, self.roots)) {
            return Ok(AllowReason::Rule(rule.to_string()));
        }
        match classify_effect(part) {
            CommandEffect::ChangesShellState => Ok(AllowReason::ShellState),
            CommandEffect::Reads(look) => {
                let is_git = part.words.iter().any(|word| word.text == "git");
                if is_git && !self.is_in_working_directory(part) {
                    return Err("what git does elsewhere is up to that repository".to_owned());
                }
                if look.walks_directories && self.has_read_denials {
                    return Err("it may meet a file that a deny rule hides".to_owned());
                }
                look.files
                    .iter()
                    .try_for_each(|word| self.check_file(word, part, PathAccess::Read))?;
                Ok(AllowReason::Reading)
            }
            CommandEffect::Edits(files) if self.policy.mode == PermissionMode::AcceptEdits => {
                files.iter().try_for_each(|word| self.check_file(word, part, PathAccess::Write))?;
                Ok(AllowReason::Editing)
            }
            CommandEffect::Edits(_) => Err("it changes files".to_owned()),
            CommandEffect::Anything => Err("it may do more than read".to_owned()),
        }
    }

    /// What a part that may run for this reason is held to.
    pub(crate) fn confinement(&self, part: &SimpleCommand, reason: &AllowReason) -> Confinement {
        let by_reason = match reason {
            AllowReason::Rule(_) => Confinement::Unconfined,
            AllowReason::Editing => Confinement::WriteInsideRoots,
            AllowReason::Reading | AllowReason::ShellState => Confinement::ReadOnly,
        };
        let redirects = part.redirects.iter().filter(|one| one.access == PathAccess::Write);
        let edited = match classify_effect(part) {
            CommandEffect::Edits(files) => files,
            CommandEffect::Reads(_)
            | CommandEffect::ChangesShellState
            | CommandEffect::Anything => Vec::new(),
        };
        let written = redirects.map(|one| &one.target).chain(edited);
        written.map(|word| self.write_confinement(word, part)).fold(by_reason, Ord::max)
    }

    /// What must stay possible for a file to be written that may be written.
    fn write_confinement(&self, word: &ShellWord, part: &SimpleCommand) -> Confinement {
        let resolved = word
            .as_known()
            .and_then(|text| self.roots.resolve_text(text, part.working_directories.as_slice()))
            .unwrap_or_default();
        if !resolved.is_empty() && resolved.iter().all(|one| is_harmless_device(&one.spelled)) {
            return Confinement::ReadOnly;
        }
        match may_leave_workspace(word, &part.working_directories, self.roots) {
            // A rule for this file lets it be written.
            true => Confinement::Unconfined,
            false => Confinement::WriteInsideRoots,
        }
    }

    /// Is the part sure to stand where the session works?
    fn is_in_working_directory(&self, part: &SimpleCommand) -> bool {
        let cwd = self.policy.cwd().map(Path::new);
        matches!(part.working_directories.as_slice(), [one] if Some(one.as_path()) == cwd)
    }

    fn check_file(
        &self,
        word: &ShellWord,
        part: &SimpleCommand,
        access: PathAccess,
    ) -> Result<(), String> {
        if word.may_be_option()
            && word.known.is_some()
            && find_path_candidates(&word.text).is_empty()
        {
            return Ok(());
        }
        let resolved = word
            .as_known()
            .and_then(|text| self.roots.resolve_text(text, part.working_directories.as_slice()));
        let resolved = resolved.unwrap_or_default();
        if !resolved.is_empty()
            && resolved.iter().all(|resolved| is_harmless_device(&resolved.spelled))
        {
            return Ok(());
        }
        let tool = if access == PathAccess::Read { "Read" } else { "Edit" };
        let cwd = self.policy.cwd();
        let is_covered = !resolved.is_empty()
            && resolved.iter().all(|resolved| {
                self.rules.iter().any(|rule| rule.tool == tool && rule.allows_path(resolved, cwd))
            });
        if is_covered {
            return Ok(());
        }
        let is_inside = !may_leave_workspace(word, &part.working_directories, self.roots);
        match access {
            PathAccess::Read if is_inside => Ok(()),
            PathAccess::Write if is_inside && self.policy.mode == PermissionMode::AcceptEdits => {
                Ok(())
            }
            PathAccess::Write if is_inside => Err(format!("it writes `{}`", word.text)),
            PathAccess::Read
                if resolved.iter().any(|resolved| resolved.entry == PathEntry::Special) =>
            {
                Err(format!("`{}` is not a file", word.text))
            }
            PathAccess::Read | PathAccess::Write => {
                Err(format!("`{}` may lie outside the working directories", word.text))
            }
        }
    }
}

/// Every name that a command of the line may go by.
pub(crate) fn collect_program_names(command: &ParsedCommandLine) -> Vec<&str> {
    let mut names = BTreeSet::new();
    for part in &command.script.parts {
        // Behind a wrapper any word may be the name that counts.
        let is_wrapped = part.is_wrapper || !part.assigns.is_empty();
        let reach = if is_wrapped { part.words.len() } else { 1 };
        for word in part.words.iter().take(reach) {
            names.insert(word.text.as_str());
            names.insert(base_name(&word.text));
        }
    }
    names.into_iter().collect()
}
