//! When a rule speaks of a call.
//!
//! As an allow it must cover the whole call, and everything must be understood. As a deny or an ask
//! it speaks as soon as it might mean any part of the call.

use std::path::Path;

use serde_json::Value;

use crate::command::{Part, Pattern, Word, base_name, reading, writes_its_words};
use crate::glob::matches_text;
use crate::path::{PathPattern, Sense, resolve};
use crate::rule::Rule;
use crate::subject::{Access, Command, Matter, Subject};

impl Rule {
    /// May the call run under this rule, as an allow rule? Everything must be understood and
    /// covered.
    pub(crate) fn allows(&self, subject: &Subject, directories: &[String]) -> bool {
        if self.idle_as_allow().is_some() || !self.names(&subject.tool, Sense::Narrow) {
            return false;
        }
        let Some(content) = self.content.as_deref() else { return true };
        match &subject.matter {
            Matter::Command(command) => {
                let pattern = Pattern::new(content);
                let fits = |words: &Vec<String>| pattern.allows(words, directories);
                pattern.is_text(&command.text) || command.words.as_ref().is_some_and(fits)
            }
            Matter::File { path, .. } => {
                let cwd = directories.first().map(String::as_str);
                PathPattern::new(content, Sense::Narrow).matches(path, cwd)
            }
            Matter::Name(name) => name == content,
            Matter::Other | Matter::Unreadable => false,
        }
    }

    /// Does the rule speak of any part of the call, as a deny or an ask rule? Returns that part in
    /// words. What is not understood counts.
    pub(crate) fn touches(
        &self,
        subject: &Subject,
        cwd: Option<&str>,
        does: Does,
    ) -> Option<String> {
        if let (Matter::Command(command), Some(content)) = (&subject.matter, &self.content)
            && matches!(self.tool.as_str(), "Read" | "Edit" | "Write")
        {
            return self.touches_files_of(command, content, cwd);
        }
        let is_write = matches!(subject.matter, Matter::File { access: Access::Write, .. });
        let blocks_reading = does == Does::Deny && self.tool == "Read" && is_write;
        if !blocks_reading && !self.names(&subject.tool, Sense::Wide) {
            return None;
        }
        let Some(content) = self.content.as_deref() else { return Some(subject.tool.clone()) };
        if names_field(content, subject) {
            return Some(content.to_owned());
        }
        match &subject.matter {
            Matter::Command(command) => touched_part(&Pattern::new(content), command),
            Matter::File { path, .. } => PathPattern::new(content, Sense::Wide)
                .matches(path, cwd)
                .then(|| path.display().to_string()),
            Matter::Name(name) => matches_text(content, name).then(|| name.clone()),
            Matter::Other if is_field(content) => None,
            Matter::Other | Matter::Unreadable => Some(subject.tool.clone()),
        }
    }

    /// Files that a command reads by a program known for it, or writes by a redirect.
    fn touches_files_of(
        &self,
        command: &Command,
        content: &str,
        cwd: Option<&str>,
    ) -> Option<String> {
        let pattern = PathPattern::new(content, Sense::Wide);
        let here = Path::new(cwd.unwrap_or("/"));
        let is_meant = |word: &String| {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            let path = resolve(here, Path::new(value));
            pattern.matches(&path, cwd)
        };
        let texts = |words: &[Word]| -> Vec<String> {
            words.iter().map(|word| word.text.clone()).collect()
        };
        let files = |part: &Part| -> Vec<String> {
            let words = texts(&part.words);
            let arguments = words.get(1..).unwrap_or_default().to_vec();
            let (mut files, given) = match self.tool.as_str() {
                "Read" => (
                    texts(&part.reads),
                    read_words(&words).or(part.is_wrapper.then_some(arguments)),
                ),
                _ => {
                    let writes = writes_its_words(part) || part.is_wrapper;
                    (texts(&part.writes), writes.then_some(arguments))
                }
            };
            files.extend(given.unwrap_or_default());
            files
        };
        command.parts.commands.iter().flat_map(files).find(is_meant)
    }

    /// Is this the tool the rule names? A rule for a family speaks of its members.
    fn names(&self, tool: &str, sense: Sense) -> bool {
        let own = self.tool.as_str();
        let family = match own {
            "Edit" => matches!(tool, "Write" | "NotebookEdit" | "MultiEdit"),
            "Read" => matches!(tool, "Glob" | "Grep" | "LS"),
            "Task" => tool == "Agent",
            "Agent" => tool == "Task",
            _ => false,
        };
        let is_server = own.starts_with("mcp__")
            && tool.strip_prefix(own).is_some_and(|rest| rest.starts_with("__"));
        let by_star = own.contains('*') && matches_text(own, tool);
        own == tool
            || family
            || is_server
            || by_star
            || (sense == Sense::Wide && { own.eq_ignore_ascii_case(tool) })
    }
}

/// What a rule does when it speaks of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Deny,
    Ask,
}

fn touched_part(pattern: &Pattern<'_>, command: &Command) -> Option<String> {
    if pattern.is_text(&command.text) {
        return Some(command.text.clone());
    }
    let touched = command.parts.commands.iter().find(|part| pattern.touches(part))?;
    let words: Vec<&str> = touched.words.iter().map(|word| word.text.as_str()).collect();
    Some(words.join(" "))
}

/// `field:value`: one scalar of the input.
fn names_field(content: &str, subject: &Subject) -> bool {
    let Some((field, wanted)) = content.split_once(':') else { return false };
    let primary = ["command", "file_path", "notebook_path", "path", "pattern", "content"];
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

/// The words that name files, for a program that shows what is in them.
fn read_words(words: &[String]) -> Option<Vec<String>> {
    if let Some(reading) = reading(words) {
        return Some(reading.files);
    }
    let (program, arguments) = words.split_first()?;
    READERS.contains(&base_name(program)).then(|| arguments.to_vec())
}

/// Programs that show what is in a file, beyond those that can do nothing else.
const READERS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "most", "bat", "grep", "egrep", "fgrep", "rg", "ag",
    "sed", "awk", "gawk", "cut", "sort", "uniq", "wc", "diff", "cmp", "comm", "xxd", "od",
    "hexdump", "strings", "base64", "base32", "tac", "nl", "rev", "paste", "join", "split", "cp",
    "mv", "ln", "tee", "tar", "zip", "gzip", "curl", "scp", "rsync", "vim", "vi", "nano", "view",
    "jq", "yq", "python", "python3", "node", "perl", "ruby", "openssl", "source", ".", "bash",
    "sh", "env", "xargs", "dd", "git", "column", "fold", "tr", "file", "stat", "readlink",
];
