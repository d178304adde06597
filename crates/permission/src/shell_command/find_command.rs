//! `find`: its search roots, and whether it changes anything.
//!
//! Every accepted test and action is listed. The caller decides about the command of `-exec`, with
//! unknown file names as operands.

use std::borrow::Cow;

use super::read_only_command::{ReadOnlyWords, analyze_read_only_words};
use super::shell_word::ShellWord;

const WITHOUT_VALUE: &[&str] = &[
    "-H",
    "-P",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "(",
    ")",
    "!",
    ",",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-nogroup",
    "-nouser",
    "-true",
    "-false",
    "-daystart",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-noleaf",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-warn",
    "-nowarn",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-help",
    "--help",
    "-version",
    "--version",
];

const WITH_TEXT: &[&str] = &[
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-mmin",
    "-mtime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-name",
    "-path",
    "-perm",
    "-regex",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
    "-context",
    "-maxdepth",
    "-mindepth",
    "-regextype",
    "-printf",
];

const WITH_FILE: &[&str] = &["-anewer", "-cnewer", "-newer", "-samefile"];

/// The actions that run a command, all words of which are checked.
const RUNS: &[&str] = &["-exec", "-execdir"];

pub(super) fn analyze_find(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let mut files = Vec::new();
    let mut runs = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        at += 1;
        if !word.may_be_option() && !matches!(word.text.as_str(), "(" | ")" | "!" | ",") {
            files.push(word);
            continue;
        }
        let text = word.as_certain()?;
        if WITHOUT_VALUE.contains(&text) {
            continue;
        }
        if RUNS.contains(&text) {
            let rest = arguments.get(at..).unwrap_or_default();
            at += skip_run_command(rest)?;
            runs = true;
            continue;
        }
        let value = arguments.get(at)?;
        let is_one = value.known.is_some() || !value.is_split && !value.is_glob;
        at += 1;
        is_one.then_some(())?;
        if WITH_FILE.contains(&text) || is_newer(text, false) {
            files.push(value);
        } else if !WITH_TEXT.contains(&text) && !is_newer(text, true) {
            return None;
        }
    }
    // A leading dot can only come first in a name if nothing precedes it.
    let look = ReadOnlyWords { walks_directories: true, ..ReadOnlyWords::from_files(files) };
    Some(if runs { look.in_cell() } else { look })
}

/// The search roots, for any other arguments.
pub(crate) fn find_search_roots(arguments: &[ShellWord]) -> Vec<Cow<'_, ShellWord>> {
    let is_root = |word: &&ShellWord| {
        !word.may_be_option() && !matches!(word.text.as_str(), "(" | ")" | "!" | ",")
    };
    arguments.iter().take_while(is_root).map(Cow::Borrowed).collect()
}

/// `-newermt` and similar compare with a time, the others with a file.
fn is_newer(text: &str, wants_time: bool) -> bool {
    let letters = text.strip_prefix("-newer").map(str::as_bytes);
    matches!(letters, Some([b'a' | b'B' | b'c' | b'm', last])
        if (*last == b't') == wants_time && matches!(last, b'a' | b'B' | b'c' | b'm' | b't'))
}

/// The words of a command that only reads, up to the `;` or `+` that ends them.
fn skip_run_command(words: &[ShellWord]) -> Option<usize> {
    let end = words.iter().position(|word| {
        let is_plus = word.text == "+";
        word.text == ";" || is_plus
    })?;
    let command = words.get(..end)?;
    reads_any_operand(command).then_some(end + 1)
}

/// Does a command only read, with any file names appended or in place of `{}`?
pub(super) fn reads_any_operand(command: &[ShellWord]) -> bool {
    let Some((program, rest)) = command.split_first() else { return false };
    let is_known = program.as_certain().is_some_and(|name| SHOW_OPERANDS.contains(&name));
    let is_certain = rest.iter().all(|word| word.as_certain().is_some());
    let holder = ShellWord::literal("./x");
    let given: Vec<ShellWord> = command
        .iter()
        .map(|word| if word.text == "{}" { holder.clone() } else { word.clone() })
        .collect();
    let has_embedded = rest.iter().any(|word| word.text != "{}" && word.text.contains("{}"));
    is_known
        && is_certain
        && !has_embedded
        && analyze_read_only_words(&given).is_some_and(|look| {
            let holds = |word: &Cow<'_, ShellWord>| word.text == "./x";
            look.files.iter().all(holds)
        })
}

/// Programs whose options all only read, so that a file name that looks like an option is harmless.
const SHOW_OPERANDS: &[&str] = &[
    "grep",
    "egrep",
    "fgrep",
    "cat",
    "head",
    "tail",
    "wc",
    "ls",
    "stat",
    "du",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "echo",
    "nl",
    "cut",
    "tac",
    "od",
    "test",
];
