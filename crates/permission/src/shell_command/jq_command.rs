//! `jq`: its filter, and the files it reads.
//!
//! A filter may import modules and data from any file, so one that contains an import is not
//! accepted.

use super::read_only_command::ReadOnlyWords;
use super::shell_word::ShellWord;

const FLAGS: &[&str] = &[
    "--null-input",
    "--raw-input",
    "--slurp",
    "--compact-output",
    "--raw-output",
    "--raw-output0",
    "--join-output",
    "--ascii-output",
    "--sort-keys",
    "--color-output",
    "--monochrome-output",
    "--tab",
    "--unbuffered",
    "--stream",
    "--stream-errors",
    "--seq",
    "--exit-status",
    "--help",
    "--version",
];

/// Flags without a file; all others, such as `f` and `L`, name a file.
const LETTERS: &str = "nRscrjaSCMehV";

pub(super) fn analyze_jq(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let mut filter = None;
    let mut files = Vec::new();
    let mut texts_follow = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !word.may_be_option() || word.text == "-" {
            match filter {
                None => filter = Some(word.as_certain()?),
                Some(_) if texts_follow => {}
                Some(_) => files.push(word),
            }
            continue;
        }
        let text = word.as_certain()?;
        match text {
            "--arg" | "--argjson" => {
                words.next()?.as_certain()?;
                is_single(words.next()?)?;
            }
            "--slurpfile" | "--rawfile" => {
                words.next()?.as_certain()?;
                files.push(words.next()?);
            }
            "--indent" => {
                words.next()?.as_certain()?;
            }
            "--args" | "--jsonargs" => texts_follow = true,
            _ if FLAGS.contains(&text) => {}
            _ => {
                let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
                letters.chars().all(|c| LETTERS.contains(c)).then_some(())?;
            }
        }
    }
    let filter = filter.unwrap_or_default();
    let loads = ["import", "include", "modulemeta", "get_search_list"];
    if loads.iter().any(|name| filter.contains(name)) {
        return None;
    }
    let look = ReadOnlyWords::from_files(files);
    let shows_environment = filter.contains("env") || filter.contains("ENV");
    Some(if shows_environment { look.in_cell() } else { look })
}

/// A word that stays a single word, whatever its value.
fn is_single(word: &ShellWord) -> Option<()> {
    (word.known.is_some() || !word.is_split && !word.is_glob).then_some(())
}
