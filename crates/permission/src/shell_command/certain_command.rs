//! The commands of a shell line, as far as they are certain before it runs.

use std::path::{Path, PathBuf};

use crate::file_system_view::{NoFileSystem, PathAccess};

use super::{
    CommandEffect, ScriptContext, ShellWord, check_read_only, classify_effect, shell_variable,
    syntax_walker,
};

/// One command of a line, as far as it is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertainCommand {
    /// The program and its arguments; `None` for a word known only at run time. The list ends
    /// before a word that may become several words, or none.
    pub words: Vec<Option<String>>,
    /// More words may follow.
    pub is_open: bool,
    /// Files written by redirects; `None` if known only at run time.
    pub writes: Vec<Option<String>>,
    /// The directories in which it may run; empty if unknown.
    pub working_directories: Vec<PathBuf>,
}

/// Every command a line could run, and whether the line is fully understood. `cwd` is the shell's
/// directory.
#[must_use]
pub fn list_certain_commands(text: &str, cwd: &Path) -> (Vec<CertainCommand>, bool) {
    let script = syntax_walker::parse_script(
        text,
        ScriptContext { cwd: Some(cwd), file_system: &NoFileSystem, depth: 0 },
    );
    let found = script.parts.iter().map(|part| {
        let is_several = |word: &ShellWord| (word.known.is_none() && word.is_split) || word.is_glob;
        let ends = |word: &ShellWord| is_several(word) || word.is_choice;
        // In bash `time` is a keyword; our grammar treats it as a program.
        let is_grammar = |word: &&ShellWord| {
            matches!(word.text.as_str(), "time" | "-p") || shell_variable::is_assignment(&word.text)
        };
        let front = match part.words.first() {
            Some(first) if first.text == "time" => part.words.iter().take_while(is_grammar).count(),
            _ => 0,
        };
        let all = part.words.get(front..).unwrap_or_default();
        let certain = all.iter().take_while(|word| !ends(word));
        let words: Vec<_> = certain.map(|word| word.known.clone()).collect();
        let written = part.redirects.iter().filter(|redirect| redirect.access == PathAccess::Write);
        CertainCommand {
            is_open: words.len() < all.len(),
            words,
            writes: written.map(|redirect| redirect.target.known.clone()).collect(),
            working_directories: part.working_directories.as_slice().to_vec(),
        }
    });
    (found.collect(), script.is_understood())
}

/// Does this shell line only read, so that it may run concurrently? False if it changes the shell's
/// directory or is not understood.
#[must_use]
pub fn is_read_only_line(text: &str) -> bool {
    let script = syntax_walker::parse_script(
        text,
        ScriptContext { cwd: None, file_system: &NoFileSystem, depth: 0 },
    );
    let mut own = script.parts.iter().filter(|part| !part.is_inner);
    script.is_understood() && own.all(|part| check_read_only(part) == Some(false))
}

/// May a reading part of this line walk directories, and so find a file that its words do not name?
/// True if it is not understood.
#[must_use]
pub fn may_walk_directories(text: &str) -> bool {
    let script = syntax_walker::parse_script(
        text,
        ScriptContext { cwd: None, file_system: &NoFileSystem, depth: 0 },
    );
    let mut own = script.parts.iter().filter(|part| !part.is_inner);
    !script.is_understood()
        || own.any(|part| {
            matches!(classify_effect(part), CommandEffect::Reads(look) if look.walks_directories)
        })
}
