//! When a rule speaks of a call.
//!
//! As an allow it must cover the whole call, and everything must be understood. As a deny or an ask
//! it speaks as soon as it might mean any part of the call.

use serde_json::Value;

use crate::command::{Command, Part, Pattern, Touch, Word};
use crate::glob::matches_text;
use crate::ground::Ground;
use crate::path::{PathPattern, Sense};
use crate::rule::Rule;
use crate::subject::{Access, Matter, Subject};
use crate::world::Meant;

/// What a rule does when it speaks of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Deny,
    Ask,
}

/// That a rule speaks of a call, for certain or perhaps, and of what in it.
#[derive(Debug)]
pub(crate) struct Spoken {
    pub(crate) touch: Touch,
    pub(crate) what: String,
    /// The part of a command it speaks of; `None` means all.
    pub(crate) part: Option<usize>,
}

impl Spoken {
    fn surely(what: String) -> Option<Self> {
        Some(Self { touch: Touch::Yes, what, part: None })
    }
}

impl Rule {
    /// May the whole call run under this rule, as an allow rule? Everything must be understood and
    /// covered. Commands with several parts may be covered by several rules; see `allows_part`.
    pub(crate) fn allows(&self, subject: &Subject, cwd: Option<&str>) -> bool {
        if self.idle_as_allow().is_some() || !self.names(&subject.tool, Sense::Narrow) {
            return false;
        }
        let Some(content) = self.content.as_deref() else { return true };
        match &subject.matter {
            Matter::Command(command) => content == command.text.trim() && !content.contains('*'),
            Matter::File { meant, .. } => self.allows_path(meant, cwd),
            Matter::Address(target) => target.is_allowed_by(content),
            Matter::Name(name) => name == content,
            Matter::Other | Matter::Unreadable => false,
        }
    }

    /// May this part of a command run under this rule? Redirects are judged apart.
    pub(crate) fn allows_part(&self, part: &Part, ground: &Ground<'_>) -> bool {
        let Some(content) = self.content.as_deref().filter(|_| self.tool == "Bash") else {
            return false;
        };
        let leads_out = |word: &Word| ground.leads_out(word, &part.places);
        Pattern::new(content).allows(part, &leads_out)
    }

    /// May this path be touched under this rule, by whichever tool? Both readings must fit.
    pub(crate) fn allows_path(&self, meant: &Meant, cwd: Option<&str>) -> bool {
        let Some(content) = self.content.as_deref() else { return true };
        let pattern = PathPattern::new(content, Sense::Narrow);
        !meant.is_lost && meant.readings().all(|path| pattern.matches(path, cwd))
    }

    /// Does the rule speak of any part of the call, as a deny or an ask rule? What is not
    /// understood counts.
    pub(crate) fn touches(
        &self,
        subject: &Subject,
        cwd: Option<&str>,
        does: Does,
        names: &[&str],
    ) -> Option<Spoken> {
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
        let Some(content) = self.content.as_deref() else {
            return Spoken::surely(subject.tool.clone());
        };
        if names_field(content, subject) {
            return Spoken::surely(content.to_owned());
        }
        match &subject.matter {
            Matter::Command(command) => touched_part(content, command, names),
            Matter::File { meant, .. } => {
                let pattern = PathPattern::new(content, Sense::Wide);
                let path = meant.readings().find(|path| pattern.matches(path, cwd))?;
                Spoken::surely(path.display().to_string())
            }
            Matter::Address(target) => {
                target.is_touched_by(content).then(|| target.url.clone()).and_then(Spoken::surely)
            }
            Matter::Name(name) => {
                matches_text(content, name).then(|| name.clone()).and_then(Spoken::surely)
            }
            Matter::Other if is_field(content) => None,
            Matter::Other | Matter::Unreadable => Spoken::surely(subject.tool.clone()),
        }
    }

    /// Files that a command reads by a program known for it, or writes.
    fn touches_files_of(
        &self,
        command: &Command,
        content: &str,
        cwd: Option<&str>,
    ) -> Option<Spoken> {
        let is_read = self.tool == "Read";
        let wanted = if is_read { Access::Read } else { Access::Write };
        let mut files = command.files.iter().filter(|file| file.access == wanted).peekable();
        files.peek()?;
        let is_near = PathPattern::may_speak_of(content, &command.paths);
        let mut globs = files.clone().flat_map(|file| &file.globs);
        if !is_near && !globs.any(|glob| glob.may_be_meant_by(content)) {
            let open = files.find(|file| file.meant.is_empty())?;
            let (what, part) = (open.text.clone(), Some(open.part));
            return Some(Spoken { touch: Touch::Maybe, what, part });
        }
        let pattern = PathPattern::new(content, Sense::Wide);
        let mut perhaps = None;
        for file in files {
            let spoken =
                |touch| Some(Spoken { touch, what: file.text.clone(), part: Some(file.part) });
            let mut readings = file.meant.iter().flat_map(Meant::readings);
            if !file.globs.is_empty() {
                if file.globs.iter().any(|glob| pattern.may_match_glob(glob, cwd)) {
                    perhaps = perhaps.or_else(|| spoken(Touch::Maybe));
                }
            } else if file.meant.is_empty() {
                perhaps = perhaps.or_else(|| spoken(Touch::Maybe));
            } else if readings.any(|path| pattern.matches(path, cwd)) {
                return spoken(Touch::Yes);
            }
        }
        perhaps
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
            || (sense == Sense::Wide && own.eq_ignore_ascii_case(tool))
    }
}

fn touched_part(content: &str, command: &Command, names: &[&str]) -> Option<Spoken> {
    let is_text = content.trim() == command.text.trim() && !content.contains('*');
    if is_text {
        return Spoken::surely(command.text.clone());
    }
    if !Pattern::may_speak_of(content, names) {
        return None;
    }
    let pattern = Pattern::new(content);
    let mut perhaps = None;
    for (at, part) in command.script.parts.iter().enumerate() {
        let touch = pattern.touches(part);
        if touch == Touch::No {
            continue;
        }
        let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        let spoken = Spoken { touch, what: words.join(" "), part: Some(at) };
        if touch == Touch::Yes {
            return Some(spoken);
        }
        perhaps = perhaps.or(Some(spoken));
    }
    perhaps
}

/// `field:value`: one scalar of the input.
fn names_field(content: &str, subject: &Subject) -> bool {
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
