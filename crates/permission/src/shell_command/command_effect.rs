//! The effect of a part by itself: variables, files and directories, and whether it may do more.

use std::borrow::Cow;

use super::file_operands::find_file_operands;
use super::parsed_script::{SimpleCommand, VariableAssignment};
use super::program_table::{ReadOnlyOperands, ReadOnlyProgram, find_read_only_program};
use super::read_only_command::{ReadOnlyWords, analyze_read_only_words};
use super::rule_reach::writes_its_words;
use super::sed_awk::{is_plain_sed, parse_sed_arguments};
use super::shell_builtin::is_plain_declaration;
use super::shell_variable::{
    is_harmless_assignment, is_line_local_assignment, is_line_local_variable,
};
use super::shell_word::ShellWord;
use super::strip_wrappers::strip_wrappers;
use super::xargs_command::analyze_xargs;
use crate::file_system_view::PathAccess;

/// The effect of a single command, without its redirects.
#[derive(Debug)]
pub(crate) enum CommandEffect<'p> {
    Reads(ReadOnlyWords<'p>),
    /// It changes only these files.
    Edits(Vec<&'p ShellWord>),
    /// It only sets shell variables, or calls a function defined in the line.
    ChangesShellState,
    Anything,
}

pub(crate) fn classify_effect(part: &SimpleCommand) -> CommandEffect<'_> {
    let Some(first) = part.words.first() else {
        // The values of a loop variable are not listed here.
        let is_own = |assign: &VariableAssignment| match assign.text.contains('=') {
            true => is_line_local_assignment(assign),
            false => is_line_local_variable(&assign.name),
        };
        let is_own = part.assigns.iter().all(is_own);
        return if is_own { CommandEffect::ChangesShellState } else { CommandEffect::Anything };
    };
    match first.as_certain() {
        // Alone, it lists the environment.
        Some("export") if part.words.len() == 1 && part.assigns.is_empty() => {
            return CommandEffect::Reads(ReadOnlyWords::without_files().in_cell());
        }
        Some("export") => {
            let is_fine = part.words.len() == 1 && sets_only_harmless_variables(part);
            return if is_fine {
                CommandEffect::ChangesShellState
            } else {
                CommandEffect::Anything
            };
        }
        Some("declare" | "typeset" | "local" | "readonly" | "unset") => {
            let is_own = part.assigns.iter().all(is_line_local_assignment);
            let is_fine = is_own && is_plain_declaration(part);
            return if is_fine {
                CommandEffect::ChangesShellState
            } else {
                CommandEffect::Anything
            };
        }
        _ => {}
    }
    // Set for `read`, which splits words by it, it has no other effect.
    let is_for_read = first.as_certain() == Some("read")
        && part.assigns.iter().all(|assign| assign.name == "IFS" && assign.value.is_some());
    if !sets_only_harmless_variables(part) && !is_for_read {
        return CommandEffect::Anything;
    }
    if part.is_function {
        return CommandEffect::ChangesShellState;
    }
    if let Some(look) = analyze_xargs(part) {
        return CommandEffect::Reads(look);
    }
    let Some(words) = strip_wrappers(&part.words) else { return CommandEffect::Anything };
    match analyze_read_only_words(words) {
        Some(look) => CommandEffect::Reads(look),
        None => find_edited_files(words).map_or(CommandEffect::Anything, CommandEffect::Edits),
    }
}

/// Are all variables before the command harmless for what it does?
pub(crate) fn sets_only_harmless_variables(part: &SimpleCommand) -> bool {
    part.assigns.iter().all(|assign| {
        let value = assign.value.as_ref().and_then(ShellWord::as_certain);
        value.is_some_and(|value| is_harmless_assignment(&assign.name, value))
    })
}

/// The files of a command that creates, moves, copies, removes or rewrites them.
fn find_edited_files(words: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let (first, arguments) = words.split_first()?;
    match first.as_certain()? {
        "mkdir" | "touch" | "rm" | "rmdir" | "mv" | "cp" => Some(arguments.iter().collect()),
        "sed" => {
            let (_, files) = parse_sed_arguments(arguments)?;
            is_plain_sed(arguments).then_some(files)
        }
        _ => None,
    }
}

/// Does the part only read, in any directory? The value is whether it changes the shell's
/// directory.
pub(crate) fn check_read_only(part: &SimpleCommand) -> Option<bool> {
    let is_quiet = part.redirects.iter().all(|redirect| {
        let target = redirect.target.as_known().map(std::path::Path::new);
        redirect.access == PathAccess::Read
            || target.is_some_and(crate::workspace_roots::is_harmless_device)
    });
    match classify_effect(part) {
        CommandEffect::Reads(look) if is_quiet => Some(look.changes_directory),
        CommandEffect::ChangesShellState if is_quiet => Some(false),
        CommandEffect::Reads(_)
        | CommandEffect::ChangesShellState
        | CommandEffect::Edits(_)
        | CommandEffect::Anything => None,
    }
}

/// All words that may name files a part reads; empty if it is not known to read any.
pub(crate) fn find_read_words(part: &SimpleCommand) -> Vec<Cow<'_, ShellWord>> {
    let mut words: Vec<Cow<'_, ShellWord>> = redirect_targets(part, PathAccess::Read);
    let stripped = strip_wrappers(&part.words).unwrap_or(&part.words);
    match analyze_read_only_words(stripped) {
        Some(look) => words.extend(look.files),
        None if !part.is_wrapper && find_file_operands(stripped).is_some() => {
            let touched = find_file_operands(stripped);
            let reads = touched.map(|touched| touched.reads).unwrap_or_default();
            words.extend(reads.into_iter().map(Cow::Borrowed));
        }
        None => {
            let program = stripped.first().map(|word| super::base_name(&word.text));
            let is_reader = program.is_some_and(|program| FILE_READERS.contains(&program));
            if is_reader || part.is_wrapper {
                // Some programs mostly take text, so only their plausible paths count.
                let is_text = program.is_some_and(|program| TAKE_TEXT.contains(&program));
                let words_of = stripped.iter().skip(1);
                let seen = words_of.filter(|word| !is_text || word.known.is_some());
                words.extend(seen.map(Cow::Borrowed));
            }
        }
    }
    words
}

pub(crate) fn find_written_words(part: &SimpleCommand) -> Vec<Cow<'_, ShellWord>> {
    let mut words: Vec<Cow<'_, ShellWord>> = redirect_targets(part, PathAccess::Write);
    let stripped = strip_wrappers(&part.words).unwrap_or(&part.words);
    if !part.is_wrapper
        && let Some(touched) = find_file_operands(stripped)
    {
        words.extend(touched.writes.into_iter().map(Cow::Borrowed));
        return words;
    }
    let writes = stripped.first().is_some_and(|word| writes_its_words(&word.text));
    if writes || part.is_wrapper {
        words.extend(stripped.iter().skip(1).map(Cow::Borrowed));
    }
    words
}

/// Words that certainly name files, those read first, for display.
pub(crate) fn find_certain_file_words(part: &SimpleCommand) -> CertainFileWords<'_> {
    let mut reads = redirect_targets(part, PathAccess::Read);
    let mut writes = redirect_targets(part, PathAccess::Write);
    let stripped = strip_wrappers(&part.words).unwrap_or(&part.words);
    if let Some(look) = analyze_read_only_words(stripped) {
        reads.extend(look.files);
    } else if let Some(touched) = find_file_operands(stripped).filter(|_| !part.is_wrapper) {
        reads.extend(touched.reads.into_iter().map(Cow::Borrowed));
        writes.extend(touched.writes.into_iter().map(Cow::Borrowed));
    }
    CertainFileWords { reads, writes }
}

/// Words that certainly name files.
#[derive(Debug)]
pub(crate) struct CertainFileWords<'w> {
    pub(crate) reads: Vec<Cow<'w, ShellWord>>,
    pub(crate) writes: Vec<Cow<'w, ShellWord>>,
}

fn redirect_targets(part: &SimpleCommand, does: PathAccess) -> Vec<Cow<'_, ShellWord>> {
    let resolved = part.redirects.iter().filter(|redirect| redirect.access == does);
    resolved.map(|redirect| Cow::Borrowed(&redirect.target)).collect()
}

/// Does this program only show files?
pub(crate) fn is_file_reader(program: &str) -> bool {
    let name = super::base_name(program);
    let shows = |reader: &ReadOnlyProgram| {
        use ReadOnlyOperands::{Files, OneFile, PatternThenFiles};
        matches!(reader.operands, Files | OneFile | PatternThenFiles)
    };
    find_read_only_program(name).is_some_and(shows) || OTHER_FILE_VIEWERS.contains(&name)
}

/// Programs that show files, but are not in the list of those that run without a question, or have
/// an analysis of their own.
const OTHER_FILE_VIEWERS: &[&str] = &[
    "find", "jq", "yq", "xxd", "less", "more", "most", "bat", "batcat", "ag", "ack", "zcat",
    "zgrep", "zless", "xzcat", "bzcat", "pr", "look", "view", "hd", "sed", "awk", "gawk", "mawk",
    "nawk", "fdfind", "eza", "exa",
];

/// Programs whose words are text as often as files.
const TAKE_TEXT: &[&str] = &[
    "git", "curl", "wget", "python", "python3", "node", "perl", "ruby", "php", "lua", "openssl",
    "nc", "socat", "tr", "dd", "env",
];

/// Programs that show the content of files, in addition to those that can do nothing else.
const FILE_READERS: &[&str] = &[
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "most",
    "bat",
    "batcat",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "sed",
    "awk",
    "gawk",
    "mawk",
    "cut",
    "sort",
    "uniq",
    "wc",
    "diff",
    "cmp",
    "comm",
    "xxd",
    "od",
    "hexdump",
    "hd",
    "strings",
    "base64",
    "base32",
    "basenc",
    "tac",
    "nl",
    "rev",
    "paste",
    "join",
    "split",
    "csplit",
    "cp",
    "mv",
    "ln",
    "tee",
    "tar",
    "zip",
    "gzip",
    "zcat",
    "bzip2",
    "xz",
    "xzcat",
    "curl",
    "wget",
    "scp",
    "rsync",
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "view",
    "ex",
    "ed",
    "jq",
    "yq",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "lua",
    "openssl",
    "source",
    ".",
    "bash",
    "sh",
    "zsh",
    "dash",
    "env",
    "xargs",
    "dd",
    "git",
    "column",
    "fold",
    "fmt",
    "pr",
    "tr",
    "file",
    "stat",
    "readlink",
    "install",
    "mapfile",
    "readarray",
    "iconv",
    "shuf",
    "look",
    "sum",
    "cksum",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "b2sum",
    "gpg",
    "pandoc",
    "expand",
    "unexpand",
    "tsort",
    "ptx",
    "dos2unix",
    "patch",
    "sqlite3",
    "nc",
    "socat",
    "busybox",
];
