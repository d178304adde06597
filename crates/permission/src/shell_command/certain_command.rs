//! The commands of a shell line, as far as they are certain before it runs.

use std::path::{Path, PathBuf};

use crate::file_system_view::{NoFileSystem, PathAccess};

use super::{
    CommandEffect, ScriptContext, ShellWord, check_read_only, classify_effect, shell_variable,
    syntax_walker,
};

/// One command found in a line, as far as it is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertainCommand {
    /// The program and its arguments; `None` where only running would tell. A word that may become
    /// several, or none, ends the list.
    pub words: Vec<Option<String>>,
    /// More words may follow than are listed.
    pub is_open: bool,
    /// Files it writes by redirects; `None` where only running would tell.
    pub writes: Vec<Option<String>>,
    /// Where it may stand when it runs; empty when that is not known.
    pub working_directories: Vec<PathBuf>,
}

/// Every command a line could run, and whether the line is understood completely. `cwd` is where
/// the shell stands.
#[must_use]
pub fn list_certain_commands(text: &str, cwd: &Path) -> (Vec<CertainCommand>, bool) {
    let script = syntax_walker::parse_script(
        text,
        ScriptContext { cwd: Some(cwd), file_system: &NoFileSystem, depth: 0 },
    );
    let found = script.parts.iter().map(|part| {
        let is_several = |word: &ShellWord| (word.known.is_none() && word.is_split) || word.is_glob;
        let ends = |word: &ShellWord| is_several(word) || word.is_choice;
        // Bash reads `time` as a keyword; only our grammar takes it for a program.
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

/// Does this shell line only read, so that it may run beside others? Nothing that moves the shell
/// does; nor anything that is not understood.
#[must_use]
pub fn is_read_only_line(text: &str) -> bool {
    let script = syntax_walker::parse_script(
        text,
        ScriptContext { cwd: None, file_system: &NoFileSystem, depth: 0 },
    );
    let mut own = script.parts.iter().filter(|part| !part.is_inner);
    script.is_understood() && own.all(|part| check_read_only(part) == Some(false))
}

/// May a part of this line that only reads look through directories, and so meet a file that its words
/// do not name? What is not understood may.
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
