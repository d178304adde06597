//! Commands that only read, when called the right way.
//!
//! An accept-list: a program, an option or a sub-command that is not known to be harmless makes
//! the answer `None`. Knows nothing of where the files lie; it only says which words may name
//! files.

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
    let (program, arguments) = words.split_first()?;
    let program = program.as_str();
    let files = match program {
        "echo" | "pwd" | "whoami" | "id" | "uname" | "arch" | "nproc" | "uptime" | "true"
        | "false" | "sleep" | "groups" | "which" | "type" | "basename" | "dirname" | "tr"
        | "seq" => Vec::new(),
        "printf" => words_without(arguments, &[], "v")?,
        "date" => dates(arguments)?,
        "hostname" => arguments.is_empty().then(Vec::new)?,
        "cd" => return directory(arguments),
        "ls" | "cat" | "head" | "tail" | "wc" | "stat" | "du" | "df" | "nl" | "tac" | "rev"
        | "cut" | "realpath" | "readlink" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum"
        | "cksum" | "b2sum" | "cmp" | "comm" | "fold" | "expand" | "strings" | "od" | "hexdump"
        | "grep" | "egrep" | "fgrep" | "jq" => arguments.to_vec(),
        "uniq" => one_file(arguments)?,
        "diff" => words_without(arguments, &["--paginate", "--output"], "l")?,
        "file" => words_without(arguments, &["--compile", "--uncompress"], "Cz")?,
        "tree" => words_without(arguments, &["--output"], "oR")?,
        "sort" => words_without(arguments, SORT_WRITES, "oT")?,
        "rg" => words_without(arguments, RG_RUNS, "z")?,
        "find" => finds(arguments)?,
        "git" => gits(arguments)?,
        _ => return None,
    };
    Some(Reading { files, moves: false })
}

/// All arguments, unless one of them is a refused option: by any abbreviation of a long one, or
/// anywhere in a cluster of short ones.
fn words_without(arguments: &[String], long: &[&str], short: &str) -> Option<Vec<String>> {
    let refused = arguments.iter().any(|word| {
        is_abbreviation(word, long) || (is_cluster(word) && word.chars().any(|c| short.contains(c)))
    });
    (!refused).then(|| arguments.to_vec())
}

pub(super) fn is_abbreviation(word: &str, long: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2 && name.starts_with("--") && long.iter().any(|full| full.starts_with(name))
}

pub(super) fn is_cluster(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !word.starts_with("--")
}

fn dates(arguments: &[String]) -> Option<Vec<String>> {
    let shows = |word: &String| {
        word.starts_with('+') || word.starts_with("-I") || matches!(word.as_str(), "-u" | "-R")
    };
    arguments.iter().all(shows).then(Vec::new)
}

fn directory(arguments: &[String]) -> Option<Reading> {
    match arguments {
        [to] if !to.starts_with('-') => Some(Reading { files: vec![to.clone()], moves: true }),
        _ => None,
    }
}

/// A second file would be written.
fn one_file(arguments: &[String]) -> Option<Vec<String>> {
    (arguments.iter().filter(|word| !word.starts_with('-')).count() <= 1)
        .then(|| arguments.to_vec())
}

fn finds(arguments: &[String]) -> Option<Vec<String>> {
    let acts = |word: &String| {
        let word = word.as_str();
        FIND_ACTS.contains(&word) || word.starts_with("-fprint") || word.starts_with("-files0")
    };
    (!arguments.iter().any(acts)).then(|| arguments.to_vec())
}

fn gits(arguments: &[String]) -> Option<Vec<String>> {
    let arguments = match arguments.split_first() {
        Some((first, rest)) if first == "--no-pager" => rest,
        _ => arguments,
    };
    let (sub, rest) = arguments.split_first()?;
    let only = |known: &[&str]| rest.iter().all(|word| known.contains(&word.as_str()));
    let reads = match sub.as_str() {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "ls-tree" | "blame"
        | "describe" | "shortlog" | "rev-list" | "merge-base" | "cat-file" | "name-rev" => true,
        "grep" => !rest.iter().any(|word| is_cluster(word) && word.contains('O')),
        "branch" => only(&["-a", "-r", "-v", "-vv", "--all", "--list", "--show-current"]),
        "remote" => only(&["-v", "--verbose"]),
        "tag" => only(&["-l", "--list", "-n"]),
        "stash" => rest.first().is_some_and(|word| word == "list"),
        "reflog" => rest.is_empty() || rest.first().is_some_and(|word| word == "show"),
        "config" => {
            rest.first().is_some_and(|word| matches!(word.as_str(), "--get" | "--list" | "-l"))
        }
        _ => false,
    };
    if reads { words_without(rest, GIT_RUNS, "") } else { None }
}

const FIND_ACTS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls"];

const SORT_WRITES: &[&str] =
    &["--output", "--compress-program", "--temporary-directory", "--files0-from"];

const RG_RUNS: &[&str] = &["--pre", "--pre-glob", "--hostname-bin", "--search-zip"];

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
