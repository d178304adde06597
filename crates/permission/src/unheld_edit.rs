//! Edits that no sandbox confines: what their words do not show.
//!
//! Words are judged before the line runs. A directory that is moved or copied takes its symlinks
//! along, so a name that did not exist when it was judged may lead elsewhere when another part uses
//! it; and `cp` writes through a symlink that it finds in its target directory.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::explain;
use crate::file_system_view::{PathEntry, ResolvedPath, resolve_links};
use crate::shell_command::{
    ShellWord, SimpleCommand, find_file_operands, find_path_candidates, find_read_words,
    list_matching_paths, strip_wrappers,
};
use crate::workspace_roots::WorkspaceRoots;

/// A part of a line that may run, and what it may do without the user's or a rule's yes.
#[derive(Debug)]
pub(crate) struct UnheldPart<'p> {
    pub(crate) part: &'p SimpleCommand,
    /// It edits because the mode allows it.
    pub(crate) edits: bool,
    /// It reads because it only reads, and no cell confines it.
    pub(crate) reads: bool,
}

/// Why the line may write or read a file that its words do not name.
pub(crate) fn find_unjudged_file(
    parts: &[UnheldPart<'_>],
    roots: &WorkspaceRoots<'_>,
) -> Option<String> {
    let transfers = parts.iter().enumerate().filter_map(|(at, one)| {
        let transfer = Transfer::find(one.part, roots)?;
        Some((at, one, transfer))
    });
    let transfers: Vec<_> = transfers.collect();
    for (_, one, transfer) in transfers.iter().filter(|(_, one, _)| one.edits) {
        if transfer.writes_through_link(one.part, roots) {
            return Some(explain::describe_followed_link(&one.part.text));
        }
    }
    for (at, user) in parts.iter().enumerate() {
        let before = transfers.iter().filter(|(own, ..)| *own != at);
        let created: Vec<&PathBuf> =
            before.flat_map(|(_, _, transfer)| &transfer.created).collect();
        for word in list_used_words(user) {
            let is_created = |path: &Path| created.iter().any(|one| path.starts_with(one));
            let paths = resolve_word(&word, user.part, roots);
            if paths.iter().flat_map(ResolvedPath::both_paths).any(is_created) {
                return Some(explain::describe_moved_link(&word.text));
            }
        }
    }
    None
}

/// What a command does with whole directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryChange {
    Copied,
    Moved,
    Removed,
}

/// The directories that a part copies, moves or removes with everything in them.
pub(crate) fn list_changed_directories(
    part: &SimpleCommand,
    roots: &WorkspaceRoots<'_>,
) -> Option<(DirectoryChange, Vec<PathBuf>)> {
    let words = strip_wrappers(&part.words).unwrap_or(&part.words);
    let change = match words.first().and_then(ShellWord::as_certain)? {
        "cp" => DirectoryChange::Copied,
        "mv" => DirectoryChange::Moved,
        "rm" => DirectoryChange::Removed,
        _ => return None,
    };
    // The target is a name that stays, but nothing tells it apart where an option may name it.
    let sources = match find_file_operands(words) {
        Some(operands) if change != DirectoryChange::Removed => operands.reads,
        _ => words.iter().skip(1).filter(|word| !word.text.starts_with('-')).collect(),
    };
    let resolve = |word: &&ShellWord| {
        list_matching_paths(word, &part.working_directories, roots)
            .unwrap_or_else(|| resolve_word(word, part, roots))
    };
    let paths = sources.iter().flat_map(resolve).map(|path| path.spelled);
    let is_directory = |path: &PathBuf| roots.file_system.entry_at(path) == PathEntry::Directory;
    Some((change, paths.filter(is_directory).collect()))
}

/// Looks up every path that the decision may need.
pub(crate) fn look_at_transfers(part: &SimpleCommand, roots: &WorkspaceRoots<'_>) {
    list_changed_directories(part, roots);
    if let Some(transfer) = Transfer::find(part, roots) {
        transfer.writes_through_link(part, roots);
    }
}

/// The words of a part that name files which nothing but the judgement confines.
fn list_used_words<'p>(user: &UnheldPart<'p>) -> Vec<Cow<'p, ShellWord>> {
    let part = user.part;
    let mut words: Vec<Cow<'p, ShellWord>> =
        part.redirects.iter().map(|redirect| Cow::Borrowed(&redirect.target)).collect();
    if user.reads {
        words.extend(find_read_words(part));
    }
    if user.edits {
        words.extend(part.words.iter().skip(1).map(Cow::Borrowed));
    }
    words
}

fn resolve_word(
    word: &ShellWord,
    part: &SimpleCommand,
    roots: &WorkspaceRoots<'_>,
) -> Vec<ResolvedPath> {
    let text = word.as_known().unwrap_or(&word.prefix);
    roots.resolve_text(text, part.working_directories.as_slice()).unwrap_or_default()
}

/// A `cp` or `mv`.
#[derive(Debug)]
struct Transfer<'p> {
    copies: bool,
    sources: Vec<&'p ShellWord>,
    targets: Vec<ResolvedPath>,
    /// Names that may be, or contain, a symlink afterwards.
    created: Vec<PathBuf>,
}

impl<'p> Transfer<'p> {
    fn find(part: &'p SimpleCommand, roots: &WorkspaceRoots<'_>) -> Option<Self> {
        let words = strip_wrappers(&part.words).unwrap_or(&part.words);
        let program = words.first().and_then(ShellWord::as_certain)?;
        let copies = match program {
            "cp" => true,
            "mv" => false,
            _ => return None,
        };
        let resolve = |word: &ShellWord| {
            list_matching_paths(word, &part.working_directories, roots)
                .unwrap_or_else(|| resolve_word(word, part, roots))
        };
        let mut targets = Vec::new();
        let sources: Vec<&ShellWord> = match find_file_operands(words) {
            Some(operands) => {
                let is_source =
                    |word: &ShellWord| operands.reads.iter().any(|own| std::ptr::eq(*own, word));
                let written = operands.writes.iter().filter(|word| !is_source(word));
                targets.extend(written.flat_map(|word| resolve(word)));
                operands.reads
            }
            // With other options, any word or value of an option may be either.
            None => {
                let all = words.iter().skip(1);
                let values = all.clone().flat_map(|word| find_path_candidates(&word.text));
                targets.extend(values.flat_map(|text| resolve(&ShellWord::literal(text))));
                all.filter(|word| !word.text.starts_with('-')).collect()
            }
        };
        let mut transfer = Self { copies, sources, targets, created: Vec::new() };
        transfer.created = transfer.list_created(part, roots);
        Some(transfer)
    }

    fn list_created(&self, part: &SimpleCommand, roots: &WorkspaceRoots<'_>) -> Vec<PathBuf> {
        let mut created = Vec::new();
        for source in self.sources.iter().filter(|word| brings_links(word, part, roots)) {
            for target in &self.targets {
                let name = find_copied_name(source).filter(|_| is_directory(target, roots));
                created.extend(target.both_paths().map(|path| match name {
                    Some(name) => path.join(name),
                    None => path.to_owned(),
                }));
            }
        }
        created
    }

    /// May it write to where a symlink in its target directory leads?
    fn writes_through_link(&self, part: &SimpleCommand, roots: &WorkspaceRoots<'_>) -> bool {
        let mut targets = self.targets.iter().filter(|target| is_directory(target, roots));
        let leads_out = |path: &Path| {
            let is_link = matches!(roots.file_system.entry_at(path), PathEntry::Symlink(_));
            is_link && !roots.is_inside(&resolve_links(roots.file_system, path, Path::new("")))
        };
        if !self.copies {
            return false;
        }
        // The same words again in a loop, over what the last round has brought.
        let comes_again = |word: &&ShellWord| word.is_choice && brings_links(word, part, roots);
        self.sources.iter().any(comes_again)
            || targets.any(|target| {
                self.sources.iter().any(|source| {
                    let names = list_names(source, part, roots);
                    brings_links(source, part, roots)
                        || names.iter().any(|name| leads_out(&target.real.join(name)))
                })
            })
    }
}

/// The name of a source in its target directory; `None` if its content is put there instead.
fn find_copied_name(word: &ShellWord) -> Option<&std::ffi::OsStr> {
    let text = word.as_certain()?;
    if text.ends_with("/.") || text.ends_with("/..") {
        return None;
    }
    Path::new(text).file_name()
}

fn is_directory(target: &ResolvedPath, roots: &WorkspaceRoots<'_>) -> bool {
    roots.file_system.entry_at(&target.real) == PathEntry::Directory
}

/// May this source be, or contain, a symlink?
fn brings_links(word: &ShellWord, part: &SimpleCommand, roots: &WorkspaceRoots<'_>) -> bool {
    let is_plain = |path: &Path| {
        let entry = roots.file_system.entry_at(path);
        matches!(entry, PathEntry::File | PathEntry::Missing | PathEntry::Unknown)
    };
    if let Some(paths) = list_matching_paths(word, &part.working_directories, roots) {
        return !paths.iter().all(|path| is_plain(&path.spelled));
    }
    word.known.is_some()
        && !resolve_word(word, part, roots).iter().all(|path| is_plain(&path.spelled))
}

/// The names that a source may have in its target directory.
fn list_names(
    word: &ShellWord,
    part: &SimpleCommand,
    roots: &WorkspaceRoots<'_>,
) -> Vec<std::ffi::OsString> {
    let paths = list_matching_paths(word, &part.working_directories, roots)
        .unwrap_or_else(|| resolve_word(word, part, roots));
    paths.iter().filter_map(|path| Some(path.spelled.file_name()?.to_owned())).collect()
}
