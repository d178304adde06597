//! `xargs` after a command that lists files of the working directories.
//!
//! What it runs gets names that are unknown here. They are names of listed files, so a program
//! whose options all only read is accepted. The listing command is decided as a separate part.

use super::find_command::{analyze_find, reads_any_operand};
use super::parsed_script::SimpleCommand;
use super::program_table::OptionSpec;
use super::read_only_command::{ReadOnlyWords, analyze_read_only_words};
use super::shell_word::ShellWord;

const OPTIONS: OptionSpec = OptionSpec {
    short: "0rtxn:L:P:I:d:",
    long: &["null no-run-if-empty max-args: max-procs: delimiter: verbose"],
};

pub(super) fn analyze_xargs(part: &SimpleCommand) -> Option<ReadOnlyWords<'_>> {
    let (first, arguments) = part.words.split_first()?;
    (first.as_certain() == Some("xargs") && part.reads_listed_names).then_some(())?;
    let divided = OPTIONS.divide(arguments, true)?;
    (!divided.has_unknown_option).then_some(())?;
    let command: Vec<ShellWord> = divided.operands.iter().map(|word| (*word).clone()).collect();
    let is_replaced = !divided.has_option("I") || divided.texts.iter().any(|text| text == "{}");
    let reads = command.is_empty() || reads_any_operand(&command);
    let look = ReadOnlyWords { walks_directories: true, ..ReadOnlyWords::without_files() };
    (reads && is_replaced).then(|| look.in_cell())
}

/// Does the command only print names of files below its search roots?
pub(super) fn lists_names(part: &SimpleCommand) -> bool {
    let Some((first, arguments)) = part.words.split_first() else { return false };
    if !part.assigns.is_empty() || part.words.iter().any(|word| word.as_certain().is_none()) {
        return false;
    }
    let has = |names: &[&str]| arguments.iter().any(|word| names.contains(&word.text.as_str()));
    let has_long = |names: &[&str]| {
        let is_one = |word: &ShellWord| names.iter().any(|name| word.text.starts_with(name));
        arguments.iter().any(is_one)
    };
    let second = arguments.first().map_or("", |word| word.text.as_str());
    match first.text.as_str() {
        "find" => {
            analyze_find(arguments).is_some() && !has(&["-printf", "-ls", "-exec", "-execdir"])
        }
        "ls" => !arguments.iter().any(|word| {
            let is_long =
                word.text.starts_with('-') && word.text.contains(['l', 'g', 'o', 's', 'i']);
            is_long || word.text.starts_with("--")
        }),
        // Another separator changes the path, and a label is not a file.
        "fd" => !has_long(&["--path-separator", "--format", "--base-directory"]),
        "rg" => {
            has(&["-l", "--files", "--files-with-matches"])
                && !has_long(&["--path-separator", "--replace", "--hyperlink-format"])
        }
        "grep" => {
            let lists = arguments.iter().any(|word| {
                let is_cluster = word.text.starts_with('-') && !word.text.starts_with("--");
                is_cluster && word.text.contains(['l', 'L'])
            });
            lists && !has_long(&["--label"])
        }
        "git" => match second {
            "ls-files" => !has(&["-s", "--stage", "--format"]),
            "diff" | "show" | "log" => false,
            "grep" => has(&["-l", "--name-only", "--files-with-matches"]),
            _ => false,
        },
        _ => false,
    }
}

/// Does the command pass on lines unchanged?
pub(super) fn filters_lines(part: &SimpleCommand) -> bool {
    let program = part.words.first().and_then(ShellWord::as_certain).unwrap_or_default();
    let is_filter = matches!(program, "grep" | "egrep" | "head" | "tail" | "sort" | "uniq");
    let changes = part.words.iter().skip(1).any(|word| {
        let is_option = word.text.starts_with('-');
        let is_changing =
            matches!(program, "grep" | "egrep") && word.text.contains(['o', 'n', 'c', 'b']);
        is_option && (is_changing || program == "uniq" || word.text.starts_with("--"))
    });
    let reads_files =
        analyze_read_only_words(&part.words).is_none_or(|look| !look.files.is_empty());
    is_filter && !changes && !reads_files && part.redirects.is_empty()
}
