//! A shell line, understood as far as it can be trusted.
//!
//! `grammar` makes a tree of it, `walk` takes the tree apart into parts, each a simple command that
//! could run; `wrapper` finds the commands that parts run in turn. What a part does is said by
//! `effect`, `reading`, `risk` and the lists in `table`. Where the grammar is at a loss, `loose`
//! guesses, for deny rules only. Nothing here runs or expands anything.

mod bash_grammar;
mod char_cursor;
mod command_effect;
mod command_pattern;
mod critical_removal;
mod file_operands;
mod interpreter;
mod loose_scanner;
mod parsed_script;
mod plain_words;
mod program_table;
mod read_only_command;
mod rule_reach;
mod sed_awk;
mod shell_builtin;
mod shell_variable;
mod shell_word;
mod strip_wrappers;
mod syntax_walker;
mod wrapper;

pub(crate) use command_effect::{
    CommandEffect, check_read_only, classify_effect, find_certain_file_words, find_read_words,
    find_written_words,
};
pub(crate) use command_pattern::{CommandPattern, MatchCertainty};
pub(crate) use critical_removal::find_critical_removal;
pub(crate) use interpreter::is_interpreter;
pub(crate) use parsed_script::{
    ParseDoubt, ParsedShellScript, PossibleDirectories, RedirectAccess, SimpleCommand,
};
pub use plain_words::parse_plain_words;
pub use read_only_command::{ReadOnlyCommand, analyze_read_only};
pub(crate) use rule_reach::reaches_beyond_rule;
pub(crate) use shell_word::ShellWord;
pub(crate) use strip_wrappers::strip_wrappers;
pub(crate) use syntax_walker::{ScriptContext, parse_script as read_script};
pub(crate) use wrapper::{base_name, is_runner};

use std::path::{Path, PathBuf};

use crate::call_subject::PathAccess;
use crate::file_system_view::{NoFileSystem, ResolvedPath};
use crate::glob::{overlaps, overlaps_with_dots};
use crate::path_pattern::ShellGlob;
use crate::workspace_roots::{WorkspaceRoots, find_path_candidates};

/// A shell line, taken apart once for all rules.
#[derive(Debug)]
pub(crate) struct ParsedCommandLine {
    /// As written.
    pub(crate) text: String,
    pub(crate) script: ParsedShellScript,
    /// Every file a part may touch.
    pub(crate) files: Vec<FileUse>,
    /// The spellings of those files in small letters.
    pub(crate) paths: Vec<String>,
}

/// A file that a part may touch.
#[derive(Debug)]
pub(crate) struct FileUse {
    /// The part's place in the list.
    pub(crate) part: usize,
    /// The word as shown.
    pub(crate) text: String,
    pub(crate) access: PathAccess,
    /// What it may mean; empty when that cannot be known.
    pub(crate) paths: Vec<ResolvedPath>,
    /// The same with patterns of the shell in it: it stands for every file that fits one.
    pub(crate) globs: Vec<ShellGlob>,
}

impl ParsedCommandLine {
    pub(crate) fn parse(text: &str, scene: ScriptContext<'_>, ground: &WorkspaceRoots<'_>) -> Self {
        let mut script = syntax_walker::parse_script(text, scene);
        if !script.is_understood() {
            loose_scanner::scan_loosely(text, scene, 0, &mut script);
        }
        // Where the shell stands may not be known; where it stood at first is the best guess.
        let here = scene.cwd.map_or(PossibleDirectories::Unknown, |cwd| {
            PossibleDirectories::single(cwd.to_path_buf())
        });
        let mut files = Vec::new();
        let fits = if globs_match_dotfiles(text) { overlaps_with_dots } else { overlaps };
        for (at, part) in script.parts.iter().enumerate() {
            let mut take = |words: Vec<&ShellWord>, access| {
                for word in words {
                    let here = if part.working_directories.as_slice().is_empty() {
                        &here
                    } else {
                        &part.working_directories
                    };
                    let (meant, is_glob) = (resolve_file_word(word, here, ground), is_glob(word));
                    for (text, meant) in meant {
                        let readings =
                            meant.iter().filter(|_| is_glob).flat_map(ResolvedPath::both_paths);
                        let globs = readings.map(|path| ShellGlob::new(path, fits)).collect();
                        files.push(FileUse { part: at, text, access, paths: meant, globs });
                    }
                }
            };
            take(find_read_words(part), PathAccess::Read);
            take(find_written_words(part), PathAccess::Write);
        }
        let spelled = files
            .iter()
            .flat_map(|file| &file.paths)
            .flat_map(|meant| meant.both_paths().map(|path| path.to_string_lossy().to_lowercase()));
        let paths = spelled.collect();
        Self { text: text.to_owned(), script, files, paths }
    }

    /// The parts that must be allowed for the line to be allowed.
    pub(crate) fn own_parts(&self) -> impl Iterator<Item = &SimpleCommand> {
        self.script.parts.iter().filter(|part| !part.is_inner)
    }

    /// Does it read only?
    pub(crate) fn is_read_only(&self) -> bool {
        self.script.is_understood() && self.own_parts().all(|part| check_read_only(part).is_some())
    }
}

/// The files a word may name, as shown, and what each may mean; nothing where that cannot be known.
fn resolve_file_word(
    word: &ShellWord,
    places: &PossibleDirectories,
    ground: &WorkspaceRoots<'_>,
) -> Vec<(String, Vec<ResolvedPath>)> {
    if word.is_pipe() {
        return Vec::new();
    }
    if word.known.is_none() && !is_glob(word) {
        return vec![(word.text.clone(), Vec::new())];
    }
    let meant = |text: &str| ground.resolve_text(text, places).unwrap_or_default();
    find_path_candidates(&word.text)
        .into_iter()
        .map(|text| (text.to_owned(), meant(text)))
        .collect()
}

/// Is the word a pattern of the shell, and certain but for what fits it?
fn is_glob(word: &ShellWord) -> bool {
    word.is_glob && !word.text.contains('…')
}

/// May an option of the shell be on that lets its stars stand for a leading dot?
fn globs_match_dotfiles(text: &str) -> bool {
    ["shopt", "dotglob", "GLOBIGNORE"].iter().any(|word| text.contains(word))
}

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
        // A word of the grammar to bash, and a program to nobody but the grammar here.
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
        let written =
            part.redirects.iter().filter(|redirect| redirect.access == RedirectAccess::Write);
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
