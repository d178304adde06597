//! Commands that the kernel holds, as far as a ruling rests on it.
//!
//! How they are held is said elsewhere. What asks to run outside is a question to a person in every
//! mode; what is held and harms nothing outside may run without one.

use serde::{Deserialize, Serialize};

use crate::file_system_view::NoFileSystem;
use crate::shell_command::{CommandPattern, ScriptContext, read_script};

/// How shell commands are held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// What is held runs without a question, unless a rule or what it does demands one.
    pub runs_unasked: bool,
    /// A call may ask to run outside.
    pub may_be_left: bool,
    /// Commands that run outside by the user's wish: `docker`, `git push:*`.
    pub outside: Vec<String>,
}

/// Does a line run outside by the user's wish? Only when all of it does.
#[must_use]
pub fn is_excluded_from_sandbox(outside: &[String], command: &str) -> bool {
    if outside.is_empty() {
        return false;
    }
    let script =
        read_script(command, ScriptContext { cwd: None, file_system: &NoFileSystem, depth: 0 });
    let texts: Vec<String> = outside.iter().map(|text| to_prefix_pattern(text)).collect();
    let patterns: Vec<CommandPattern<'_>> =
        texts.iter().map(|text| CommandPattern::new(text)).collect();
    let mut own = script.parts.iter().filter(|part| !part.is_inner).peekable();
    script.is_understood()
        && own.peek().is_some()
        && own.all(|part| patterns.iter().any(|pattern| pattern.matches_prefix(part)))
}

fn to_prefix_pattern(text: &str) -> String {
    match text.ends_with(":*") || text.ends_with(" *") {
        true => text.to_owned(),
        false => format!("{text}:*"),
    }
}
