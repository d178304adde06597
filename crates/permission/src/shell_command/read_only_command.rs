//! Commands that only read, with the right arguments.
//!
//! An allow list: a program, option or sub-command that is not known to be harmless makes the
//! result `None`. Only returns which words may name files, and does not check where those are.

use std::borrow::Cow;

use super::archive_listing::{analyze_tar, analyze_unzip};
use super::find_command::analyze_find;
use super::git_command::analyze_git;
use super::jq_command::analyze_jq;
use super::program_table::{
    CellNeed, DividedWords, ReadOnlyOperands, ReadOnlyProgram, WorstOption, find_read_only_program,
};
use super::sed_awk::{is_plain_awk, is_plain_sed, parse_awk_arguments, parse_sed_arguments};
use super::shell_builtin;
use super::shell_word::ShellWord;
use super::system_command::{analyze_ps, analyze_xxd, shows_version};

/// What a reading command accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyCommand {
    /// Words that may name files.
    pub files: Vec<String>,
    /// It changes the shell's directory, so it cannot run concurrently.
    pub changes_directory: bool,
}

/// What the command reads, or `None` if it is not known to be read-only.
#[must_use]
pub fn analyze_read_only(words: &[String]) -> Option<ReadOnlyCommand> {
    let words: Vec<ShellWord> = words.iter().map(|word| ShellWord::literal(word)).collect();
    let look = analyze_read_only_words(&words)?;
    let files = look.files.into_iter().map(|word| word.text.clone()).collect();
    Some(ReadOnlyCommand { files, changes_directory: look.changes_directory })
}

/// The same for uncertain words.
#[derive(Debug)]
pub(crate) struct ReadOnlyWords<'w> {
    pub(crate) files: Vec<Cow<'w, ShellWord>>,
    pub(crate) changes_directory: bool,
    /// It walks directories, so a rule about a file in them cannot be checked by its words.
    pub(crate) walks_directories: bool,
    /// It uses the repository of its directory, which may be untrusted.
    pub(crate) asks_repository: bool,
    /// Whether it may run without a question if there is no cell.
    pub(crate) cell: CellNeed,
}

impl<'w> ReadOnlyWords<'w> {
    /// It reads no file that its words name.
    pub(super) fn without_files() -> Self {
        Self {
            files: Vec::new(),
            changes_directory: false,
            walks_directories: false,
            asks_repository: false,
            cell: CellNeed::NotNeeded,
        }
    }

    pub(super) fn from_files(files: Vec<&'w ShellWord>) -> Self {
        let files = files.into_iter().map(Cow::Borrowed).collect();
        Self { files, ..Self::without_files() }
    }

    pub(super) fn in_cell(self) -> Self {
        Self { cell: CellNeed::Needed, ..self }
    }
}

pub(crate) fn analyze_read_only_words(words: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let (first, arguments) = words.split_first()?;
    let program = first.as_certain()?;
    if let Some(reader) = find_read_only_program(program) {
        return analyze_listed_program(reader, arguments);
    }
    let plain = |is_plain: bool| is_plain.then(ReadOnlyWords::without_files);
    match program {
        "ps" => analyze_ps(arguments),
        "xxd" => analyze_xxd(arguments),
        "env" => plain(arguments.is_empty()).map(ReadOnlyWords::in_cell),
        "cd" => analyze_cd(arguments),
        "find" => analyze_find(arguments),
        "git" => analyze_git(arguments),
        "jq" => analyze_jq(arguments),
        "tar" => analyze_tar(arguments),
        "unzip" => analyze_unzip(arguments),
        "sed" => {
            let (_, files) = parse_sed_arguments(arguments)?;
            let writes = arguments
                .iter()
                .any(|word| word.text.starts_with("-i") || word.text.starts_with("--in"));
            (!writes && is_plain_sed(arguments)).then(|| ReadOnlyWords::from_files(files))
        }
        "awk" | "gawk" | "mawk" => {
            let (_, files) = parse_awk_arguments(arguments)?;
            is_plain_awk(arguments).then(|| ReadOnlyWords::from_files(files).in_cell())
        }
        "command" => match arguments {
            [flag, name] if flag.text == "-v" || flag.text == "-V" => {
                plain(name.as_certain().is_some())
            }
            _ => None,
        },
        "test" => plain(shell_builtin::is_plain_test(arguments)),
        "[" => match arguments.split_last() {
            Some((last, words)) if last.as_certain() == Some("]") => {
                plain(shell_builtin::is_plain_test(words))
            }
            _ => None,
        },
        "read" => plain(shell_builtin::is_plain_read(arguments)),
        "set" => plain(shell_builtin::is_plain_set(arguments)),
        name => match arguments {
            [only] => plain(shows_version(name, only.as_certain()?)).map(ReadOnlyWords::in_cell),
            _ => None,
        },
    }
}

fn analyze_listed_program<'w>(
    reader: &ReadOnlyProgram,
    arguments: &'w [ShellWord],
) -> Option<ReadOnlyWords<'w>> {
    if reader.operands == ReadOnlyOperands::TextOnly && reader.worst_option == WorstOption::Reads {
        return Some(ReadOnlyWords { cell: reader.cell, ..ReadOnlyWords::without_files() });
    }
    let ends_at_operand = reader.operands == ReadOnlyOperands::TextOnly;
    let divided = reader.options.divide(arguments, ends_at_operand)?;
    if divided.has_unknown_option && reader.worst_option == WorstOption::Acts {
        return None;
    }
    if reader.program == "strings" && names_option_file(&divided) {
        return None;
    }
    if reader.program == "printf" && !shell_builtin::is_plain_printf(arguments) {
        return None;
    }
    let has_any = |names: &[&str]| names.iter().any(|name| divided.has_option(name));
    let has_pattern = has_any(reader.pattern_options);
    let walks = reader.walking_options.contains(&"*") || has_any(reader.walking_options);
    let mut files = divided.file_values;
    let operands = divided.operands;
    let is_one_word = |word: &ShellWord| word.known.is_some() || !word.is_split && !word.is_glob;
    match reader.operands {
        ReadOnlyOperands::Text | ReadOnlyOperands::TextOnly => {}
        ReadOnlyOperands::None => operands.is_empty().then_some(())?,
        ReadOnlyOperands::Format => {
            let is_format = |word: &&ShellWord| word.prefix.starts_with('+') && is_one_word(word);
            operands.iter().all(is_format).then_some(())?;
        }
        ReadOnlyOperands::Files => files.extend(operands.into_iter().map(Cow::Borrowed)),
        ReadOnlyOperands::OneFile => {
            let is_fine = operands.len() <= 1
                && operands.iter().all(|word| is_one_word(word))
                && !divided.is_permuted;
            is_fine.then_some(())?;
            files.extend(operands.into_iter().map(Cow::Borrowed));
        }
        ReadOnlyOperands::PatternThenFiles => {
            // A pattern that may become several words may add files.
            let skip = operands.first().is_some_and(|word| is_one_word(word)) && !has_pattern;
            let rest = operands.into_iter().skip(usize::from(skip));
            files.extend(rest.map(Cow::Borrowed));
        }
    }
    // Comparing directories follows the symlinks in them; a list of sums names further files.
    let follows_links = walks && reader.program == "diff";
    let follows_list = walks && reader.program.ends_with("sum");
    Some(ReadOnlyWords {
        files,
        walks_directories: walks,
        cell: if follows_links || follows_list { CellNeed::Needed } else { reader.cell },
        ..ReadOnlyWords::without_files()
    })
}

/// Binutils programs read further options from a file after `@`.
fn names_option_file(divided: &DividedWords<'_>) -> bool {
    divided.operands.iter().any(|word| word.text.starts_with(['@', '…']) || word.is_glob)
}

pub(super) fn is_abbreviation(word: &str, long: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2 && name.starts_with("--") && long.iter().any(|full| full.starts_with(name))
}

pub(super) fn is_cluster(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !word.starts_with("--")
}

fn analyze_cd(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    match arguments {
        [to] if !to.may_be_option() => {
            Some(ReadOnlyWords { changes_directory: true, ..ReadOnlyWords::from_files(vec![to]) })
        }
        _ => None,
    }
}
