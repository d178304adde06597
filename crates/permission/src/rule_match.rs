//! Matches rules with calls.
//!
//! An allow rule must cover the whole call, and everything must be understood. A deny or ask rule
//! matches as soon as any part of the call might be meant.

use serde_json::Value;

use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::file_system_view::{PathAccess, ResolvedPath};
use crate::glob::matches_text;
use crate::path_pattern::{MatchSense, PathPattern};
use crate::rule::Rule;
use crate::shell_command::{
    CommandPattern, MatchCertainty, ParsedCommandLine, RuleCoverage, ShellWord, SimpleCommand,
    may_leave_workspace,
};
use crate::workspace_roots::WorkspaceRoots;

/// The effect of a rule when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestrictionKind {
    Deny,
    Ask,
}

/// A certain or possible match, with the matched part.
#[derive(Debug)]
pub(crate) struct RuleMatch {
    pub(crate) certainty: MatchCertainty,
    pub(crate) what: String,
    /// The matched part of a command; `None` means all.
    pub(crate) part: Option<usize>,
}

impl RuleMatch {
    fn certain(what: String) -> Option<Self> {
        Some(Self { certainty: MatchCertainty::Yes, what, part: None })
    }
}

impl Rule {
    /// Does this allow rule cover the whole call? Everything must be understood and covered. The
    /// parts of a command may be covered by several rules; see `cover_part`.
    pub(crate) fn allows(&self, subject: &CallSubject, cwd: Option<&str>) -> bool {
        if self.explain_idle_allow().is_some()
            || !self.names_tool(&subject.tool, MatchSense::Narrow)
        {
            return false;
        }
        let Some(content) = self.content.as_deref() else { return true };
        match &subject.kind {
            CallSubjectKind::Command(command) => {
                content == command.text.trim() && !content.contains('*')
            }
            CallSubjectKind::File { path: resolved, .. } => self.allows_path(resolved, cwd),
            CallSubjectKind::Address(target) => target.is_allowed_by(content),
            CallSubjectKind::Name(name) => name == content,
            CallSubjectKind::Other | CallSubjectKind::Unreadable => false,
        }
    }

    /// Does this allow rule cover this part of a command? Redirects are decided separately.
    pub(crate) fn cover_part(
        &self,
        part: &SimpleCommand,
        roots: &WorkspaceRoots<'_>,
    ) -> RuleCoverage {
        let Some(content) = self.content.as_deref().filter(|_| self.tool == "Bash") else {
            return RuleCoverage::Apart;
        };
        let leads_out =
            |word: &ShellWord| may_leave_workspace(word, &part.working_directories, roots);
        CommandPattern::new(content).cover(part, &leads_out)
    }

    /// May any tool access this path under this rule? Both readings must match.
    pub(crate) fn allows_path(&self, resolved: &ResolvedPath, cwd: Option<&str>) -> bool {
        let Some(content) = self.content.as_deref() else { return true };
        let pattern = PathPattern::new(content, MatchSense::Narrow);
        !resolved.is_unresolvable && resolved.both_paths().all(|path| pattern.matches(path, cwd))
    }

    /// Does this deny or ask rule match any part of the call? What is not understood counts as a
    /// match.
    pub(crate) fn match_call(
        &self,
        subject: &CallSubject,
        cwd: Option<&str>,
        does: RestrictionKind,
        names: &[&str],
    ) -> Option<RuleMatch> {
        if let (CallSubjectKind::Command(command), Some(content)) = (&subject.kind, &self.content)
            && matches!(self.tool.as_str(), "Read" | "Edit" | "Write")
        {
            return self.match_files(command, content, cwd);
        }
        let is_write =
            matches!(subject.kind, CallSubjectKind::File { access: PathAccess::Write, .. });
        let blocks_reading = does == RestrictionKind::Deny && self.tool == "Read" && is_write;
        if !blocks_reading && !self.names_tool(&subject.tool, MatchSense::Wide) {
            return None;
        }
        let Some(content) = self.content.as_deref() else {
            return RuleMatch::certain(subject.tool.clone());
        };
        if matches_field(content, subject) {
            return RuleMatch::certain(content.to_owned());
        }
        match &subject.kind {
            CallSubjectKind::Command(command) => match_command_line(content, command, names),
            CallSubjectKind::File { path: resolved, .. } => {
                let pattern = PathPattern::new(content, MatchSense::Wide);
                let path = resolved.both_paths().find(|path| pattern.matches(path, cwd))?;
                RuleMatch::certain(path.display().to_string())
            }
            CallSubjectKind::Address(target) => {
                target.may_match(content).then(|| target.url.clone()).and_then(RuleMatch::certain)
            }
            CallSubjectKind::Name(name) => {
                matches_text(content, name).then(|| name.clone()).and_then(RuleMatch::certain)
            }
            CallSubjectKind::Other if is_field(content) => None,
            CallSubjectKind::Other | CallSubjectKind::Unreadable => {
                RuleMatch::certain(subject.tool.clone())
            }
        }
    }

    /// Matches files that a command writes, or reads with a known program.
    fn match_files(
        &self,
        command: &ParsedCommandLine,
        content: &str,
        cwd: Option<&str>,
    ) -> Option<RuleMatch> {
        let is_read = self.tool == "Read";
        let wanted = if is_read { PathAccess::Read } else { PathAccess::Write };
        let mut files = command.files.iter().filter(|file| file.access == wanted).peekable();
        files.peek()?;
        let is_near = PathPattern::may_match_any(content, &command.paths);
        let mut globs = files.clone().flat_map(|file| &file.globs);
        if !is_near && !globs.any(|glob| glob.may_match_pattern(content)) {
            let open = files.find(|file| file.paths.is_empty())?;
            let what = open.text.clone();
            let part = Some(open.part);
            return Some(RuleMatch { certainty: MatchCertainty::Maybe, what, part });
        }
        let pattern = PathPattern::new(content, MatchSense::Wide);
        let mut perhaps = None;
        for file in files {
            let matched = |touch| {
                Some(RuleMatch { certainty: touch, what: file.text.clone(), part: Some(file.part) })
            };
            let mut readings = file.paths.iter().flat_map(ResolvedPath::both_paths);
            if !file.globs.is_empty() {
                if file.globs.iter().any(|glob| pattern.may_match_glob(glob, cwd)) {
                    perhaps = perhaps.or_else(|| matched(MatchCertainty::Maybe));
                }
            } else if file.paths.is_empty() {
                perhaps = perhaps.or_else(|| matched(MatchCertainty::Maybe));
            } else if readings.any(|path| pattern.matches(path, cwd)) {
                return matched(MatchCertainty::Yes);
            }
        }
        perhaps
    }

    /// Is this the tool the rule names? A rule for a family matches its members.
    fn names_tool(&self, tool: &str, sense: MatchSense) -> bool {
        let own = self.tool.as_str();
        let family = match own {
            "Edit" => matches!(tool, "Write" | "NotebookEdit" | "MultiEdit"),
            "Read" => matches!(tool, "Glob" | "Grep" | "LS"),
            "Task" => tool == "Agent",
            "Agent" => tool == "Task",
            _ => false,
        };
        // A server may be named `github__evil`: an allow rule for `github` covers no tool whose
        // name could be split that way.
        let is_one_name = |rest: &str| sense == MatchSense::Wide || !rest.contains("__");
        let is_server = own.starts_with("mcp__")
            && tool
                .strip_prefix(own)
                .and_then(|rest| rest.strip_prefix("__"))
                .is_some_and(is_one_name);
        let behind_star = own.split('*').next().and_then(|start| tool.strip_prefix(start));
        let by_star =
            own.contains('*') && matches_text(own, tool) && behind_star.is_some_and(is_one_name);
        own == tool
            || family
            || is_server
            || by_star
            || (sense == MatchSense::Wide && own.eq_ignore_ascii_case(tool))
    }
}

fn match_command_line(
    content: &str,
    command: &ParsedCommandLine,
    names: &[&str],
) -> Option<RuleMatch> {
    let is_text = content.trim() == command.text.trim() && !content.contains('*');
    if is_text {
        return RuleMatch::certain(command.text.clone());
    }
    if !CommandPattern::may_match_names(content, names) {
        return None;
    }
    let pattern = CommandPattern::new(content);
    let mut perhaps = None;
    for (at, part) in command.script.parts.iter().enumerate() {
        let touch = pattern.match_command(part);
        if touch == MatchCertainty::No {
            continue;
        }
        let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        let matched = RuleMatch { certainty: touch, what: words.join(" "), part: Some(at) };
        if touch == MatchCertainty::Yes {
            return Some(matched);
        }
        perhaps = perhaps.or(Some(matched));
    }
    perhaps
}

/// `field:value`: matches one scalar of the input.
fn matches_field(content: &str, subject: &CallSubject) -> bool {
    let Some((field, wanted)) = content.split_once(':') else { return false };
    let primary = ["command", "file_path", "notebook_path", "path", "pattern", "content", "url"];
    if primary.contains(&field) {
        return false;
    }
    match subject.fields.get(field) {
        Some(Value::String(text)) => matches_text(wanted, text),
        Some(Value::Bool(value)) => matches_text(wanted, if *value { "true" } else { "false" }),
        Some(Value::Number(number)) => matches_text(wanted, &number.to_string()),
        _ => false,
    }
}

fn is_field(content: &str) -> bool {
    content.split_once(':').is_some_and(|(field, _)| {
        field != "domain" && field.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}
