//! `git`: whether a sub-command with its options only reads.

use std::borrow::Cow;

use super::program_table::{
    CellNeed, DividedWords, GIT_LIST_OPTIONS, GIT_READINGS, GitOperands, GitReading,
};
use super::read_only_command::ReadOnlyWords;
use super::shell_word::ShellWord;

pub(super) fn analyze_git(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let (directory, arguments) = split_directory(arguments);
    let mut look = analyze_subcommand(arguments)?;
    if let Some(directory) = directory {
        // With this option, paths are outside of the repository and no longer relative to it.
        let is_elsewhere = arguments.iter().any(|word| word.text == "--no-index");
        directory.as_certain().filter(|text| !text.starts_with('-') && !is_elsewhere)?;
        look.files.push(Cow::Borrowed(directory));
    }
    Some(look)
}

/// The directory of `-C`, and the arguments after it.
fn split_directory(arguments: &[ShellWord]) -> (Option<&ShellWord>, &[ShellWord]) {
    let skip_pager =
        |words: &[ShellWord]| words.first().and_then(ShellWord::as_certain) == Some("--no-pager");
    let arguments = arguments.get(usize::from(skip_pager(arguments))..).unwrap_or_default();
    match arguments {
        [option, directory, rest @ ..] if option.as_certain() == Some("-C") => {
            (Some(directory), rest.get(usize::from(skip_pager(rest))..).unwrap_or_default())
        }
        _ => (None, arguments),
    }
}

/// The directory of `-C`, if these are the words of a git command.
pub(crate) fn find_git_directory(words: &[ShellWord]) -> Option<&str> {
    let (program, arguments) = words.split_first()?;
    let directory = split_directory(arguments).0.filter(|_| program.as_certain() == Some("git"))?;
    directory.as_certain()
}

/// Does git show files as they are on disk, wherever they are?
pub(crate) fn reads_outside_repository(words: &[ShellWord]) -> bool {
    let is_git = words.first().is_some_and(|word| super::base_name(&word.text) == "git");
    is_git && words.iter().any(|word| word.text == "--no-index")
}

/// May a word of the command line be git, or become it? Programs that run without a question start
/// it only by that name.
#[must_use]
pub fn may_start_git(command: &str) -> bool {
    let plain = command.replace(['"', '\''], "");
    let mut words = plain.split(|c: char| c.is_whitespace() || ";|&()<>".contains(c));
    plain.contains(['\\', '$', '`', '{', '*', '?', '['])
        || words.any(|word| word == "git" || word.ends_with("/git"))
}

fn analyze_subcommand(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let (sub, rest) = arguments.split_first()?;
    let sub = sub.as_certain()?;
    let second = rest.first().and_then(ShellWord::as_certain).unwrap_or_default();
    match sub {
        "config" => return analyze_config(rest),
        "reflog" if REFLOG_CHANGES.contains(&second) => return None,
        _ => {}
    }
    let pair = format!("{sub} {second}");
    let find = |name: &str| GIT_READINGS.iter().find(|reading| reading.sub == name);
    match find(&pair) {
        Some(reading) => read_arguments(reading, rest.get(1..).unwrap_or_default()),
        None => read_arguments(find(sub)?, rest),
    }
}

/// Sub-commands of `git reflog` that change the log, or might in another version.
const REFLOG_CHANGES: &[&str] = &["expire", "delete", "drop", "exists", "list", "write", "migrate"];

fn read_arguments<'w>(
    reading: &GitReading,
    arguments: &'w [ShellWord],
) -> Option<ReadOnlyWords<'w>> {
    let divided = reading.options.divide(arguments, false)?;
    // Help is shown by a program that the repository's configuration may name.
    if divided.has_unknown_option
        || divided.has_option("help")
        || verifies_signatures(reading, &divided)
        || leads_up(reading, &divided)
        || arguments.iter().any(enters_submodules)
    {
        return None;
    }
    let lists = GIT_LIST_OPTIONS.iter().any(|name| divided.has_option(name));
    let count = divided.operands.len();
    let is_fine = match reading.operands {
        GitOperands::Anything => true,
        GitOperands::NoneUnlessListed => count == 0 || lists,
        GitOperands::None => count == 0,
        GitOperands::AtMostOne => {
            count <= 1 && divided.operands.iter().all(|word| word.as_certain().is_some())
        }
    };
    is_fine.then_some(())?;
    let is_pattern = |at: usize| {
        reading.sub == "grep" && at == 0 && !["e", "f"].iter().any(|name| divided.has_option(name))
    };
    let mut files = divided.file_values.clone();
    for (at, word) in divided.operands.iter().enumerate() {
        let is_one = word.known.is_some() || !word.is_split && !word.is_glob;
        if !(is_one && is_pattern(at)) {
            files.push(Cow::Borrowed(*word));
        }
    }
    let is_harmless = matches!(reading.sub, "--version" | "version");
    Some(ReadOnlyWords {
        files,
        walks_directories: reading.shows_content,
        asks_repository: !is_harmless,
        cell: if is_harmless { CellNeed::NotNeeded } else { CellNeed::Needed },
        ..ReadOnlyWords::without_files()
    })
}

/// A format or an order may ask for the state of a signature, which starts a verification program.
fn verifies_signatures(reading: &GitReading, divided: &DividedWords<'_>) -> bool {
    let is_listed = matches!(reading.sub, "for-each-ref" | "branch" | "tag");
    let verifies = |text: &String| {
        text.contains("%G")
            || text.contains("(signature")
            || is_listed && text.contains("signature")
    };
    divided.texts.iter().any(verifies)
}

/// Git looks for a list of patterns in every directory, from the top of the repository on, which may
/// be above the directory from which the words are judged.
fn leads_up(reading: &GitReading, divided: &DividedWords<'_>) -> bool {
    let is_up = |word: &Cow<'_, ShellWord>| word.text.split('/').any(|name| name == "..");
    reading.sub == "ls-files" && divided.file_values.iter().any(is_up)
}

/// Git then runs in each submodule, with that submodule's own configuration.
fn enters_submodules(word: &ShellWord) -> bool {
    let values = [("--submodule=", ["short", "log"]), ("--ignore-submodules=", ["all", "dirty"])];
    values.iter().any(|(option, harmless)| {
        word.text.strip_prefix(option).is_some_and(|value| !harmless.contains(&value))
    })
}

/// Shows settings without changing them.
fn analyze_config(rest: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let texts: Vec<&str> = rest.iter().map(ShellWord::as_certain).collect::<Option<_>>()?;
    let is_option = |text: &&str| text.starts_with('-');
    let options: Vec<&str> = texts.iter().copied().filter(is_option).collect();
    let names: Vec<&str> = texts.iter().copied().filter(|text| !is_option(text)).collect();
    let known = options.iter().all(|text| {
        CONFIG_READS.contains(text) || CONFIG_SCOPES.contains(text) || text.starts_with("--type=")
    });
    let asks = options.iter().any(|text| CONFIG_READS.contains(text));
    let lists = options.iter().any(|text| matches!(*text, "--list" | "-l"));
    let is_read = match names.as_slice() {
        [] => lists,
        [name] => !lists && (asks || is_config_name(name)),
        [_, _] => asks && !lists && !options.contains(&"--get-colorbool"),
        _ => false,
    };
    let look = ReadOnlyWords { asks_repository: true, ..ReadOnlyWords::without_files() };
    (known && is_read).then(|| look.in_cell())
}

const CONFIG_READS: &[&str] =
    &["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"];

const CONFIG_SCOPES: &[&str] = &[
    "--global",
    "--local",
    "--system",
    "--worktree",
    "--show-origin",
    "--show-scope",
    "--name-only",
    "--null",
    "-z",
    "--bool",
    "--int",
    "--path",
    "--includes",
    "--no-includes",
];

fn is_config_name(text: &str) -> bool {
    text.contains('.') && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
}
