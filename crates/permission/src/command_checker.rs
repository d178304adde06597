//! Decides whether a part of a command may run. The parts of a line are decided one by one, and the
//! strictest decision counts.
//!
//! A part is a command with its redirects. The command must be covered by an allow rule, or be
//! harmless by what it does; each redirect reads or writes a file, and needs the same permission as
//! a tool that does.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_vocabulary::PermissionMode;

use crate::confinement::{CellSupport, Confinement};
use crate::explain;
use crate::file_system_view::{FileSystemView, PathAccess, PathEntry, ResolvedPath, resolve_links};
use crate::path_pattern::{MatchSense, PathPattern};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::shell_command::{
    CellNeed, CommandEffect, CommandPattern, ParsedCommandLine, ProgramStart, ReadOnlyWords,
    RuleCoverage, ShellWord, SimpleCommand, analyze_read_only_words, base_name, classify_effect,
    find_git_directory, find_path_candidates, find_program_start, find_read_words,
    find_search_roots, is_file_reader, list_matching_paths, may_leave_workspace,
    reads_outside_repository, strip_wrappers,
};
use crate::unheld_edit::{DirectoryChange, list_changed_directories, look_at_transfers};
use crate::workspace_roots::{WorkspaceRoots, is_harmless_device};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AllowReason {
    Rule(String),
    /// It only reads inside the working directories.
    Reading,
    /// It edits files inside them, and the mode allows that.
    Editing,
    /// It only sets variables, or calls a function defined in the line.
    ShellState,
}

pub(crate) struct CommandChecker<'a> {
    policy: &'a Policy,
    roots: &'a WorkspaceRoots<'a>,
    /// The allow rules that could match this command.
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

    /// Why the part may run, or why not.
    pub(crate) fn check_part(&self, part: &SimpleCommand) -> Result<AllowReason, UncoveredPart> {
        let mut nearest = None;
        let mut covering = None;
        for rule in &self.rules {
            match self.apply_rule(rule, part) {
                RuleVerdict::Apart => {}
                RuleVerdict::FallsShort(why) => nearest = nearest.or(Some(why)),
                RuleVerdict::Covers => {
                    covering = Some(rule.to_string());
                    break;
                }
            }
        }
        for redirect in &part.redirects {
            let checked = self.check_file(&redirect.target, part, redirect.access);
            checked.map_err(|why| match &covering {
                Some(rule) => explain::describe_uncovered_redirect(rule, &why),
                None => UncoveredPart { why, has_rule: false },
            })?;
        }
        if let Some(why) = self.find_denied_inside(part, covering.is_some()) {
            return Err(UncoveredPart { why, has_rule: covering.is_some() });
        }
        if let Some(rule) = covering {
            return Ok(AllowReason::Rule(rule));
        }
        self.check_effect(part)
            .map_err(|why| nearest.unwrap_or(UncoveredPart { why, has_rule: false }))
    }

    /// How an allow rule applies to a part, without its redirects.
    fn apply_rule(&self, rule: &Rule, part: &SimpleCommand) -> RuleVerdict {
        let named = match rule.cover_part(part, self.roots) {
            RuleCoverage::Apart => return RuleVerdict::Apart,
            RuleCoverage::FallsShort(gap) => {
                let words = strip_wrappers(&part.words).unwrap_or(&part.words);
                let why = explain::describe_rule_gap(rule, &gap, words);
                return RuleVerdict::FallsShort(why);
            }
            RuleCoverage::Covers { named } => named,
        };
        let content = rule.content.as_deref().unwrap_or_default();
        if CommandPattern::new(content).names_place() {
            return RuleVerdict::Covers;
        }
        match self.check_reader(part, named) {
            Ok(()) => RuleVerdict::Covers,
            Err(why) => RuleVerdict::FallsShort(explain::describe_reader_rule(rule, &why)),
        }
    }

    /// A rule for a program that shows files permits those in the working directories, not those in
    /// the home. The first `named` words are the rule's own.
    fn check_reader(&self, part: &SimpleCommand, named: usize) -> Result<(), String> {
        let words = strip_wrappers(&part.words).unwrap_or(&part.words);
        let shows_files =
            |word: &&ShellWord| is_file_reader(&word.text) || reads_outside_repository(words);
        let Some(program) = words.first().filter(shows_files) else {
            return Ok(());
        };
        let behind = words.get(named..).unwrap_or_default();
        let is_named = |file: &Cow<'_, ShellWord>| match file {
            Cow::Borrowed(word) => !behind.iter().any(|own| std::ptr::eq(own, *word)),
            Cow::Owned(_) => named >= words.len(),
        };
        let files = match analyze_read_only_words(words) {
            Some(look) if look.walks_directories && self.hides_files() => {
                return Err("it may read a file that a deny rule hides".to_owned());
            }
            Some(look) => look.files,
            None if program.text == "find" => find_search_roots(behind),
            None => behind.iter().map(Cow::Borrowed).collect(),
        };
        let mut files = files.iter().filter(|file| !is_named(file));
        files.try_for_each(|word| self.check_file(word, part, PathAccess::Read))
    }

    /// Would it take a file along, in a directory, from where a deny rule names it? A cell hides it
    /// from a copy, but not from a move.
    fn find_denied_inside(&self, part: &SimpleCommand, has_rule: bool) -> Option<String> {
        let denials = &self.policy.rules.deny;
        let may_speak = |rule: &&Rule| matches!(rule.tool.as_str(), "Read" | "Edit" | "Write");
        denials.iter().find(may_speak)?;
        let (change, directories) = list_changed_directories(part, self.roots)?;
        if change == DirectoryChange::Copied
            && !has_rule
            && self.policy.cell != CellSupport::Missing
        {
            return None;
        }
        let root = self.policy.root();
        let rule = denials.iter().filter(may_speak).find(|rule| {
            let pattern = rule.content.as_deref().unwrap_or_default();
            let is_affected = match change {
                DirectoryChange::Copied => rule.tool == "Read",
                DirectoryChange::Moved => rule.tool == "Read" || is_anchored(pattern),
                DirectoryChange::Removed => rule.tool != "Read" && is_anchored(pattern),
            };
            let pattern = PathPattern::new(pattern, MatchSense::Wide);
            is_affected && directories.iter().any(|path| pattern.matches(&path.join("**"), root))
        })?;
        Some(explain::describe_denied_inside(rule))
    }

    /// May the part run because of what it does, without a rule?
    fn check_effect(&self, part: &SimpleCommand) -> Result<AllowReason, String> {
        match classify_effect(part) {
            CommandEffect::ChangesShellState => Ok(AllowReason::ShellState),
            CommandEffect::Reads(look) => {
                if self.policy.cell == CellSupport::Missing && self.needs_cell(part) {
                    return Err(explain::describe_missing_cell());
                }
                if look.asks_repository && !self.is_in_own_repository(part) {
                    return Err("what git does elsewhere is up to that repository".to_owned());
                }
                if look.walks_directories && self.hides_files() && !self.is_hidden_by_cell(&look) {
                    return Err("it may read a file that a deny rule hides".to_owned());
                }
                if look.walks_directories && self.walks_over_secrets(part, &look) {
                    return Err("it may read a place where keys are kept".to_owned());
                }
                if self.policy.cell == CellSupport::Missing {
                    look.files.iter().try_for_each(|word| self.check_matched_names(word, part))?;
                }
                look.files
                    .iter()
                    .try_for_each(|word| self.check_file(word, part, PathAccess::Read))?;
                Ok(AllowReason::Reading)
            }
            CommandEffect::Edits(files) if self.policy.mode == PermissionMode::AcceptEdits => {
                files.iter().try_for_each(|word| self.check_edited_word(word, part))?;
                let changed = list_changed_directories(part, self.roots);
                let changed = changed.map(|(_, directories)| directories).unwrap_or_default();
                if self.roots.hold_secrets(changed.iter().map(PathBuf::as_path)) {
                    return Err("it takes along a place where keys are kept".to_owned());
                }
                Ok(AllowReason::Editing)
            }
            CommandEffect::Edits(_) => Err("it changes files".to_owned()),
            CommandEffect::Anything => Err("not known to be read-only".to_owned()),
        }
    }

    /// A file whose name begins with a dash acts as an option, such as `--files0-from=x`.
    fn check_matched_names(&self, word: &ShellWord, part: &SimpleCommand) -> Result<(), String> {
        let is_first = word.known.is_none() && word.may_be_option();
        let matches = list_matching_paths(word, &part.working_directories, self.roots);
        let is_option = |path: &ResolvedPath| {
            part.working_directories.as_slice().iter().any(|place| {
                let name = path.spelled.strip_prefix(place).unwrap_or(&path.spelled);
                name.as_os_str().as_encoded_bytes().starts_with(b"-")
            })
        };
        match is_first && matches.unwrap_or_default().iter().any(is_option) {
            true => Err(format!("a file that `{}` stands for acts as an option", word.text)),
            false => Ok(()),
        }
    }

    /// Checks a word of a command that creates, moves, copies or removes files.
    fn check_edited_word(&self, word: &ShellWord, part: &SimpleCommand) -> Result<(), String> {
        let words = strip_wrappers(&part.words).unwrap_or(&part.words);
        let is_word = |own: &&ShellWord| std::ptr::eq(*own, word);
        let is_behind_dashes =
            words.iter().take_while(|own| !is_word(own)).any(|own| own.text == "--");
        // A file named like an option acts as one, and changes the meaning of the others.
        let may_be_option = word.known.is_none() && word.may_be_option() && !is_behind_dashes;
        if may_be_option && self.policy.cell == CellSupport::Missing {
            return Err(format!("`{}` may turn out to be an option", word.text));
        }
        // Moving, removing or backing up a device affects the device itself.
        let is_source = words.first().is_some_and(|program| program.text == "cp")
            && words.last().is_some_and(|last| !is_word(&last));
        let is_touched = words.first().is_some_and(|program| program.text == "touch");
        let is_device = |text: &str| is_harmless_device(&self.resolve_spelled(text, part));
        if !is_source && !is_touched && word.as_known().is_some_and(is_device) {
            return Err(format!("`{}` is a device", word.text));
        }
        self.check_file(word, part, PathAccess::Write)
    }

    /// The path of a text as it is spelled; empty if that is uncertain.
    fn resolve_spelled(&self, text: &str, part: &SimpleCommand) -> PathBuf {
        let resolved = self.roots.resolve_text(text, part.working_directories.as_slice());
        match resolved.unwrap_or_default().as_slice() {
            [one] => one.spelled.clone(),
            _ => PathBuf::new(),
        }
    }

    /// Resolves the paths of all words of a line.
    pub(crate) fn look_at_paths(&self, command: &ParsedCommandLine) {
        for part in &command.script.parts {
            let targets = part.redirects.iter().map(|redirect| &redirect.target);
            for word in part.words.iter().chain(targets) {
                may_leave_workspace(word, &part.working_directories, self.roots);
            }
            if part.words.iter().any(|word| word.text == "git") {
                self.is_in_own_repository(part);
            }
            look_at_transfers(part, self.roots);
        }
    }

    /// Can a command that walks directories see a file that a deny rule hides?
    fn hides_files(&self) -> bool {
        self.has_read_denials
    }

    /// Does a command that walks directories come to where keys are kept, and no cell hides them?
    fn walks_over_secrets(&self, part: &SimpleCommand, look: &ReadOnlyWords<'_>) -> bool {
        if self.policy.cell != CellSupport::Missing || self.policy.held.is_some() {
            return false;
        }
        let directories = part.working_directories.as_slice();
        let resolve = |text: &str| self.roots.resolve_text(text, directories);
        let holds = |text: Option<&str>| {
            text.and_then(resolve).is_none_or(|found| {
                self.roots.hold_secrets(found.iter().flat_map(ResolvedPath::both_paths))
            })
        };
        let mut files = look.files.iter().filter(|word| !word.is_pipe());
        holds(Some(".")) && look.files.is_empty() || files.any(|word| holds(word.as_known()))
    }

    /// Does the cell hide from a walking command what deny rules hide? It hides files, but not
    /// their contents in a repository's history.
    fn is_hidden_by_cell(&self, look: &ReadOnlyWords<'_>) -> bool {
        self.policy.cell == CellSupport::Available && !look.asks_repository
    }

    /// The offset of a reading part's program, if a cell must confine it because the line as a
    /// whole is not confined. The error is why the part may not run there.
    pub(crate) fn find_held_word(&self, part: &SimpleCommand) -> Result<Option<usize>, String> {
        if self.policy.cell != CellSupport::Available || self.policy.held.is_some() {
            return Ok(None);
        }
        match find_program_start(part) {
            ProgramStart::InShell if self.needs_cell(part) => {
                Err(explain::describe_unheld_part(&part.text))
            }
            ProgramStart::InShell => Ok(None),
            ProgramStart::At(start) => Ok(Some(start)),
            ProgramStart::Unknown if self.relies_on_hiding(part) => {
                Err(explain::describe_unhidden_line())
            }
            ProgramStart::Unknown if self.needs_cell(part) => {
                Err(explain::describe_unheld_part(&part.text))
            }
            ProgramStart::Unknown => Ok(None),
        }
    }

    fn needs_cell(&self, part: &SimpleCommand) -> bool {
        let CommandEffect::Reads(look) = classify_effect(part) else { return false };
        look.cell == CellNeed::Needed || self.compares_directories(part, &look)
    }

    /// Beside a directory, `diff` reads the file of the same name in it, and follows it if it is a
    /// symlink.
    fn compares_directories(&self, part: &SimpleCommand, look: &ReadOnlyWords<'_>) -> bool {
        let words = strip_wrappers(&part.words).unwrap_or(&part.words);
        let is_directory = |word: &Cow<'_, ShellWord>| {
            let files = word.as_known().and_then(|text| {
                self.roots.resolve_text(text, part.working_directories.as_slice())
            });
            files.is_none_or(|files| files.iter().any(|file| file.entry == PathEntry::Directory))
        };
        let is_diff = words.first().is_some_and(|word| word.text == "diff");
        is_diff && look.files.iter().any(|word| !word.is_pipe() && is_directory(word))
    }

    /// May it run only because files that deny rules hide are invisible to it?
    fn relies_on_hiding(&self, part: &SimpleCommand) -> bool {
        self.hides_files()
            && matches!(classify_effect(part), CommandEffect::Reads(look)
                if look.walks_directories && self.is_hidden_by_cell(&look))
    }

    /// The confinement of a part that may run for this reason.
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

    /// Does a line with git in it only read, so that it could run in a cell without a question? A
    /// rule for `git log` permits git to read, but not the programs that the repository's
    /// configuration names, so such a line is confined as it would be without the rule.
    pub(crate) fn only_reads_repository(&self, command: &ParsedCommandLine) -> bool {
        let asks_repository = |part: &SimpleCommand| matches!(classify_effect(part), CommandEffect::Reads(look) if look.asks_repository);
        let reads = |part: &SimpleCommand| {
            let is_elsewhere = asks_repository(part) && !self.is_in_own_repository(part);
            let writes = part.redirects.iter().any(|one| {
                one.access == PathAccess::Write
                    && self.write_confinement(&one.target, part) != Confinement::ReadOnly
            });
            let is_plain = match classify_effect(part) {
                CommandEffect::Reads(_) | CommandEffect::ChangesShellState => true,
                CommandEffect::Edits(_) | CommandEffect::Anything => false,
            };
            is_plain && !is_elsewhere && !writes
        };
        command.own_parts().any(asks_repository) && command.own_parts().all(reads)
    }

    /// The access that a permitted write to this file needs.
    fn write_confinement(&self, word: &ShellWord, part: &SimpleCommand) -> Confinement {
        let resolved = word
            .as_known()
            .and_then(|text| self.roots.resolve_text(text, part.working_directories.as_slice()))
            .unwrap_or_default();
        if !resolved.is_empty() && resolved.iter().all(|one| is_harmless_device(&one.spelled)) {
            return Confinement::ReadOnly;
        }
        match may_leave_workspace(word, &part.working_directories, self.roots) {
            // A rule for this file permits writing it.
            true => Confinement::Unconfined,
            false => Confinement::WriteInsideRoots,
        }
    }

    /// Is the part certainly in the repository where the session was started? There may be another
    /// one below the root, whose configuration names programs.
    fn is_in_own_repository(&self, part: &SimpleCommand) -> bool {
        let Some(root) = self.policy.root().map(Path::new) else { return false };
        let is_own = |place: &Path| {
            let resolved = resolve_links(self.roots.file_system, place, Path::new(""));
            let is_here = resolved.spelled == root;
            let is_below = self.roots.is_inside(&resolved)
                && resolved.real == resolved.spelled
                && place.starts_with(root)
                && place
                    .ancestors()
                    .take_while(|above| *above != root)
                    .all(|above| !may_be_repository(self.roots.file_system, above));
            is_here || is_below
        };
        let words = strip_wrappers(&part.words).unwrap_or(&part.words);
        let directory = Path::new(find_git_directory(words).unwrap_or_default());
        match part.working_directories.as_slice() {
            [one] if directory.as_os_str().is_empty() => is_own(one),
            [one] => is_own(&one.join(directory)),
            _ => false,
        }
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
        if self.are_covered(&resolved, access) {
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
            PathAccess::Read | PathAccess::Write
                if resolved.iter().any(|resolved| self.roots.is_secret(resolved)) =>
            {
                Err(format!("`{}` is a place where keys are kept", word.text))
            }
            PathAccess::Read | PathAccess::Write => {
                Err(format!("`{}` may lie outside the working directories", word.text))
            }
        }
    }
}

impl CommandChecker<'_> {
    /// Do rules for files allow all of these?
    fn are_covered(&self, files: &[ResolvedPath], access: PathAccess) -> bool {
        let tool = if access == PathAccess::Read { "Read" } else { "Edit" };
        let root = self.policy.root();
        let is_covered = |file: &ResolvedPath| {
            self.rules.iter().any(|rule| rule.tool == tool && rule.allows_path(file, root))
        };
        !files.is_empty() && files.iter().all(is_covered)
    }

    /// The files that rules for files let this part read.
    pub(crate) fn find_covered_files(&self, part: &SimpleCommand) -> Vec<PathBuf> {
        if !self.rules.iter().any(|rule| rule.tool == "Read") {
            return Vec::new();
        }
        let resolve = |word: Cow<'_, ShellWord>| {
            let text = word.as_known()?;
            let files = self.roots.resolve_text(text, part.working_directories.as_slice())?;
            self.are_covered(&files, PathAccess::Read).then_some(files)
        };
        let files = find_read_words(part).into_iter().filter_map(resolve).flatten();
        files.map(|file| file.real).collect()
    }
}

/// Does a pattern of a rule name a place, and not a name anywhere?
fn is_anchored(pattern: &str) -> bool {
    pattern.trim_end_matches('/').contains('/') && !pattern.starts_with("**/")
}

/// May this directory be the root of a repository? A bare one has no `.git`.
fn may_be_repository(file_system: &dyn FileSystemView, directory: &Path) -> bool {
    let is_missing = |name: &str| file_system.entry_at(&directory.join(name)) == PathEntry::Missing;
    !(is_missing(".git") && (is_missing("HEAD") || is_missing("objects")))
}

/// Why a part may not run, and whether an allow rule matches it anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UncoveredPart {
    pub(crate) why: String,
    pub(crate) has_rule: bool,
}

/// How an allow rule applies to one part.
enum RuleVerdict {
    Apart,
    FallsShort(UncoveredPart),
    Covers,
}

/// All program names that a command of the line may have.
pub(crate) fn collect_program_names(command: &ParsedCommandLine) -> Vec<&str> {
    let mut names = BTreeSet::new();
    for part in &command.script.parts {
        // After a wrapper, any word may be the program.
        let is_wrapped = part.is_wrapper || !part.assigns.is_empty();
        let reach = if is_wrapped { part.words.len() } else { 1 };
        for word in part.words.iter().take(reach) {
            names.insert(word.text.as_str());
            names.insert(base_name(&word.text));
        }
    }
    names.into_iter().collect()
}
