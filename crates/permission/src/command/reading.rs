//! Commands that only read, when called the right way.
//!
//! An accept-list: a program, an option or a sub-command that is not known to be harmless makes
//! the answer `None`. Knows nothing of where the files lie; it only says which words may name
//! files.

use super::builtin;
use super::script_text::{awk_is_plain, awk_program, sed_is_plain, sed_scripts};
use super::table::{Operands, READERS, Reader};
use super::word::Word;

/// What a reading command looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Words that may name files.
    pub files: Vec<String>,
    /// It moves the shell to another directory, so it cannot run beside others.
    pub moves: bool,
}

/// What the command reads, or `None` when it may do more than read.
#[must_use]
pub fn reading(words: &[String]) -> Option<Reading> {
    let words: Vec<Word> = words.iter().map(|word| Word::literal(word)).collect();
    let look = look(&words)?;
    let files = look.files.into_iter().map(|word| word.text.clone()).collect();
    Some(Reading { files, moves: look.moves })
}

/// The same for words that may not be certain.
#[derive(Debug, Default)]
pub(crate) struct Look<'w> {
    pub(crate) files: Vec<&'w Word>,
    pub(crate) moves: bool,
    /// It walks directories, so a rule about one file below cannot be seen in its words.
    pub(crate) walks: bool,
}

impl<'w> Look<'w> {
    pub(super) fn at(files: Vec<&'w Word>) -> Self {
        Self { files, ..Self::default() }
    }
}

pub(crate) fn look(words: &[Word]) -> Option<Look<'_>> {
    let (first, arguments) = words.split_first()?;
    let program = first.certain()?;
    if let Some(reader) = READERS.iter().find(|reader| reader.program == program) {
        return listed(reader, arguments);
    }
    match program {
        "date" => dates(arguments).then(Look::default),
        "ps" => {
            // Another letter would show the variables of other processes.
            let is_list = |word: &Word| word.certain().is_some_and(|text| PS_LISTS.contains(&text));
            arguments.iter().all(is_list).then(Look::default)
        }
        "hostname" => arguments.is_empty().then(Look::default),
        "cd" => directory(arguments),
        "find" => {
            finds(arguments).then(|| Look { walks: true, ..Look::at(find_places(arguments)) })
        }
        "git" => gits(arguments),
        "sed" => {
            let (_, files) = sed_scripts(arguments)?;
            let writes = arguments
                .iter()
                .any(|word| word.text.starts_with("-i") || word.text.starts_with("--in"));
            (!writes && sed_is_plain(arguments)).then(|| Look::at(files))
        }
        "awk" | "gawk" | "mawk" => {
            let (_, files) = awk_program(arguments)?;
            awk_is_plain(arguments).then(|| Look::at(files))
        }
        "command" => match arguments {
            [flag, name] if flag.text == "-v" || flag.text == "-V" => {
                name.certain().map(|_| Look::default())
            }
            _ => None,
        },
        "test" | "[" => builtin::tests(arguments).then(Look::default),
        "read" => builtin::reads_variables(arguments).then(Look::default),
        "set" => builtin::sets(arguments).then(Look::default),
        name => match arguments {
            [only] => shows_version(name, only.certain()?).then(Look::default),
            _ => None,
        },
    }
}

/// Is a program only asked for its version? Another word might be a file to run, and another letter
/// might make it run what it is given as input.
fn shows_version(program: &str, word: &str) -> bool {
    let programs: &[&str] = match word {
        "--version" => &[
            "node", "npm", "python", "python3", "cargo", "rustc", "java", "gcc", "clang", "make",
            "cmake", "ruby", "perl", "docker", "bash", "rg", "uv", "pip", "deno", "bun", "yarn",
            "pnpm",
        ],
        "-V" => &["python", "python3", "cargo", "rustc", "rg", "uv", "pip"],
        "-v" => &["node", "npm", "yarn", "pnpm"],
        "version" => &["go", "docker"],
        _ => &[],
    };
    programs.contains(&program)
}

fn listed<'w>(reader: &Reader, arguments: &'w [Word]) -> Option<Look<'w>> {
    let can_refuse = !reader.refused_long.is_empty() || !reader.refused_short.is_empty();
    let mut files = Vec::new();
    let mut is_value = false;
    let mut is_ended = false;
    let mut has_pattern = reader.operands != Operands::PatternThenFiles;
    let mut walks = matches!(reader.program, "rg" | "fd");
    for word in arguments {
        if std::mem::take(&mut is_value) {
            continue;
        }
        let text = word.text.as_str();
        if !is_ended && word.may_be_option() {
            // A word that may turn out to be an option may turn out to be any of them.
            if can_refuse && (word.known.is_none() || refuses(reader, text)) {
                return None;
            }
            is_ended = text == "--";
            walks |= is_cluster(text) && text.contains(['r', 'R']) || text.starts_with("--rec");
            let last = text.chars().last().filter(|_| is_cluster(text));
            is_value = last.is_some_and(|c| reader.values.contains(c));
            let brings = matches!(text, "-e" | "-f") || text.starts_with("--reg");
            has_pattern |= brings || (is_cluster(text) && is_value && text.ends_with(['e', 'f']));
            if word.known.is_none() || text.contains(['/', '.', '=']) || text.starts_with("--f") {
                files.push(word);
            }
            if text.starts_with("-f") && !text.starts_with("--") {
                is_value = false;
                files.push(word);
            }
            continue;
        }
        // Behind the first text nothing is an option any more.
        is_ended |= reader.operands == Operands::Text;
        if !has_pattern {
            has_pattern = true;
            continue;
        }
        files.push(word);
    }
    let operands = files.iter().filter(|word| !word.may_be_option()).count();
    match reader.operands {
        Operands::Text => files.clear(),
        Operands::OneFile if operands > 1 || files.iter().any(|word| word.is_split) => return None,
        _ => {}
    }
    walks &= reader.operands == Operands::PatternThenFiles || reader.program == "diff";
    Some(Look { files, moves: false, walks })
}

fn refuses(reader: &Reader, text: &str) -> bool {
    let letters = text.get(1..).unwrap_or_default();
    is_abbreviation(text, reader.refused_long)
        || (is_cluster(text) && letters.chars().any(|c| reader.refused_short.contains(c)))
}

pub(super) fn is_abbreviation(word: &str, long: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2 && name.starts_with("--") && long.iter().any(|full| full.starts_with(name))
}

pub(super) fn is_cluster(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !word.starts_with("--")
}

fn dates(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| {
        let text = word.text.as_str();
        text.starts_with('+') || text.starts_with("-I") || matches!(text, "-u" | "-R")
    })
}

fn directory(arguments: &[Word]) -> Option<Look<'_>> {
    match arguments {
        [to] if !to.may_be_option() => Some(Look { moves: true, ..Look::at(vec![to]) }),
        _ => None,
    }
}

fn finds(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| {
        let text = word.text.as_str();
        let acts =
            FIND_ACTS.contains(&text) || text.starts_with("-fprint") || text.starts_with("-files0");
        !acts && (word.known.is_some() || !word.may_be_option())
    })
}

/// Where to look, and files to compare with; not the patterns for names.
fn find_places(arguments: &[Word]) -> Vec<&Word> {
    let is_pattern = |option: &str| {
        ["-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename", "-printf"]
            .contains(&option)
    };
    let mut before = "";
    let mut places = Vec::new();
    for word in arguments {
        if !is_pattern(before) {
            places.push(word);
        }
        before = &word.text;
    }
    places
}

const FIND_ACTS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls"];

fn gits(arguments: &[Word]) -> Option<Look<'_>> {
    let arguments = match arguments.split_first() {
        Some((first, rest)) if first.text == "--no-pager" => rest,
        _ => arguments,
    };
    let (sub, rest) = arguments.split_first()?;
    let only = |known: &[&str]| rest.iter().all(|word| known.contains(&word.text.as_str()));
    let first =
        |known: &[&str]| rest.first().is_some_and(|word| known.contains(&word.text.as_str()));
    let reads = match sub.certain()? {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "ls-tree" | "blame"
        | "describe" | "shortlog" | "rev-list" | "merge-base" | "cat-file" | "name-rev" => true,
        "grep" => !rest.iter().any(|word| is_cluster(&word.text) && word.text.contains('O')),
        "branch" => only(&["-a", "-r", "-v", "-vv", "--all", "--list", "--show-current"]),
        "remote" => only(&["-v", "--verbose"]) || first(&["get-url"]),
        "--version" => rest.is_empty(),
        "tag" => only(&["-l", "--list", "-n"]),
        "stash" => first(&["list"]),
        "worktree" => first(&["list"]),
        "reflog" => rest.is_empty() || first(&["show"]),
        "config" => first(&["--get", "--list", "-l"]) || (rest.len() == 1 && is_name(rest)),
        _ => false,
    };
    let is_refused = |word: &Word| {
        is_abbreviation(&word.text, GIT_RUNS) || (word.known.is_none() && word.may_be_option())
    };
    if !reads || rest.iter().any(is_refused) {
        return None;
    }
    let walks = matches!(sub.text.as_str(), "grep" | "show" | "diff" | "log" | "cat-file");
    Some(Look { walks, ..Look::at(rest.iter().collect()) })
}

/// The name of a setting, which is shown and not set.
fn is_name(words: &[Word]) -> bool {
    let text = words.first().and_then(Word::certain).unwrap_or_default();
    text.contains('.')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        && !text.starts_with('-')
}

const PS_LISTS: &[&str] = &["aux", "ax", "auxf", "auxww", "-ef", "-e", "-A", "-f", "-aux"];

const GIT_RUNS: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--exec",
    "--open-files-in-pager",
    "--upload-pack",
    "--receive-pack",
    "--edit",
    "--unset",
    "--contents",
];
