//! A shell line with every file it may access.

use std::borrow::Cow;

use crate::file_system_view::{PathAccess, ResolvedPath};
use crate::glob::{overlaps, overlaps_with_dots};
use crate::path_pattern::ShellGlob;
use crate::workspace_roots::WorkspaceRoots;

use super::word_paths::{is_glob, resolve_file_word};
use super::{
    ParsedShellScript, PossibleDirectories, ScriptContext, ShellWord, SimpleCommand,
    check_read_only, find_read_words, find_written_words, loose_scanner, syntax_walker,
};

/// A shell line, parsed once for all rules.
#[derive(Debug)]
pub(crate) struct ParsedCommandLine {
    pub(crate) text: String,
    pub(crate) script: ParsedShellScript,
    pub(crate) files: Vec<FileUse>,
    /// The paths of those files in lower case.
    pub(crate) paths: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct FileUse {
    /// The index of the part.
    pub(crate) part: usize,
    pub(crate) text: String,
    pub(crate) access: PathAccess,
    /// Its possible paths; empty if unknown.
    pub(crate) paths: Vec<ResolvedPath>,
    /// The same if it is a shell pattern, which stands for every file that matches.
    pub(crate) globs: Vec<ShellGlob>,
}

impl ParsedCommandLine {
    pub(crate) fn parse(
        text: &str,
        context: ScriptContext<'_>,
        roots: &WorkspaceRoots<'_>,
    ) -> Self {
        let mut script = syntax_walker::parse_script(text, context);
        if !script.is_understood() {
            loose_scanner::scan_loosely(text, context, 0, &mut script);
        }
        // If the shell's directory is unknown, its initial one is the best guess.
        let here = context.cwd.map_or(PossibleDirectories::Unknown, |cwd| {
            PossibleDirectories::single(cwd.to_path_buf())
        });
        let mut files = Vec::new();
        let fits = if globs_match_dotfiles(text) { overlaps_with_dots } else { overlaps };
        for (at, part) in script.parts.iter().enumerate() {
            let mut take = |words: Vec<Cow<'_, ShellWord>>, access| {
                for word in &words {
                    let here = if part.working_directories.as_slice().is_empty() {
                        &here
                    } else {
                        &part.working_directories
                    };
                    let resolved = resolve_file_word(word, here, roots);
                    let is_glob = is_glob(word);
                    for (text, resolved) in resolved {
                        let readings =
                            resolved.iter().filter(|_| is_glob).flat_map(ResolvedPath::both_paths);
                        let globs = readings.map(|path| ShellGlob::new(path, fits)).collect();
                        files.push(FileUse { part: at, text, access, paths: resolved, globs });
                    }
                }
            };
            take(find_read_words(part), PathAccess::Read);
            take(find_written_words(part), PathAccess::Write);
        }
        let spelled = files.iter().flat_map(|file| &file.paths).flat_map(|resolved| {
            resolved.both_paths().map(|path| path.to_string_lossy().to_lowercase())
        });
        let paths = spelled.collect();
        Self { text: text.to_owned(), script, files, paths }
    }

    /// The parts that must be allowed for the line to be allowed.
    pub(crate) fn own_parts(&self) -> impl Iterator<Item = &SimpleCommand> {
        self.script.parts.iter().filter(|part| !part.is_inner)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.script.is_understood() && self.own_parts().all(|part| check_read_only(part).is_some())
    }
}

/// May `dotglob` be on, so that stars match a leading dot?
fn globs_match_dotfiles(text: &str) -> bool {
    ["shopt", "dotglob", "GLOBIGNORE"].iter().any(|word| text.contains(word))
}
