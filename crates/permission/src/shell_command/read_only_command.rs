//! Commands that only read, when called the right way.
//!
//! An accept-list: a program, an option or a sub-command that is not known to be harmless makes
//! the answer `None`. Knows nothing of where the files lie; it only says which words may name
//! files.

use super::program_table::{READ_ONLY_PROGRAMS, ReadOnlyOperands, ReadOnlyProgram};
use super::sed_awk::{is_plain_awk, is_plain_sed, parse_awk_arguments, parse_sed_arguments};
use super::shell_builtin;
use super::shell_word::ShellWord;

/// What a reading command looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyCommand {
    /// Words that may name files.
    pub files: Vec<String>,
    /// It moves the shell to another directory, so it cannot run beside others.
    pub changes_directory: bool,
}

/// What the command reads, or `None` when it may do more than read.
#[must_use]
pub fn analyze_read_only(words: &[String]) -> Option<ReadOnlyCommand> {
    let words: Vec<ShellWord> = words.iter().map(|word| ShellWord::literal(word)).collect();
    let look = analyze_read_only_words(&words)?;
    let files = look.files.into_iter().map(|word| word.text.clone()).collect();
    Some(ReadOnlyCommand { files, changes_directory: look.changes_directory })
}

/// The same for words that may not be certain.
#[derive(Debug, Default)]
pub(crate) struct ReadOnlyWords<'w> {
    pub(crate) files: Vec<&'w ShellWord>,
    pub(crate) changes_directory: bool,
    /// It walks directories, so a rule about one file below cannot be seen in its words.
    pub(crate) walks_directories: bool,
}

impl<'w> ReadOnlyWords<'w> {
    pub(super) fn from_files(files: Vec<&'w ShellWord>) -> Self {
        Self { files, ..Self::default() }
    }
}

pub(crate) fn analyze_read_only_words(words: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let (first, arguments) = words.split_first()?;
    let program = first.as_certain()?;
    if let Some(reader) = READ_ONLY_PROGRAMS.iter().find(|reader| reader.program == program) {
        return analyze_listed_program(reader, arguments);
    }
    match program {
        "date" => is_plain_date(arguments).then(ReadOnlyWords::default),
        "ps" => {
            // Another letter would show the variables of other processes.
            let is_list =
                |word: &ShellWord| word.as_certain().is_some_and(|text| PS_LISTS.contains(&text));
            arguments.iter().all(is_list).then(ReadOnlyWords::default)
        }
        "hostname" => arguments.is_empty().then(ReadOnlyWords::default),
        "cd" => analyze_cd(arguments),
        "find" => is_read_only_find(arguments).then(|| ReadOnlyWords {
            walks_directories: true,
            ..ReadOnlyWords::from_files(find_search_paths(arguments))
        }),
        "git" => analyze_git(arguments),
        "sed" => {
            let (_, files) = parse_sed_arguments(arguments)?;
            let writes = arguments
                .iter()
                .any(|word| word.text.starts_with("-i") || word.text.starts_with("--in"));
            (!writes && is_plain_sed(arguments)).then(|| ReadOnlyWords::from_files(files))
        }
        "awk" | "gawk" | "mawk" => {
            let (_, files) = parse_awk_arguments(arguments)?;
            is_plain_awk(arguments).then(|| ReadOnlyWords::from_files(files))
        }
        "command" => match arguments {
            [flag, name] if flag.text == "-v" || flag.text == "-V" => {
                name.as_certain().map(|_| ReadOnlyWords::default())
            }
            _ => None,
        },
        "test" | "[" => shell_builtin::is_plain_test(arguments).then(ReadOnlyWords::default),
        "read" => shell_builtin::is_plain_read(arguments).then(ReadOnlyWords::default),
        "set" => shell_builtin::is_plain_set(arguments).then(ReadOnlyWords::default),
        name => match arguments {
            [only] => shows_version(name, only.as_certain()?).then(ReadOnlyWords::default),
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

fn analyze_listed_program<'w>(
    reader: &ReadOnlyProgram,
    arguments: &'w [ShellWord],
) -> Option<ReadOnlyWords<'w>> {
    let can_refuse = !reader.refused_long.is_empty() || !reader.refused_short.is_empty();
    let mut files = Vec::new();
    let mut is_value = false;
    let mut is_ended = false;
    let mut has_pattern = reader.operands != ReadOnlyOperands::PatternThenFiles;
    let mut walks = matches!(reader.program, "rg" | "fd");
    for word in arguments {
        if std::mem::take(&mut is_value) {
            continue;
        }
        let text = word.text.as_str();
        if !is_ended && word.may_be_option() {
            // A word that may turn out to be an option may turn out to be any of them.
            if can_refuse && (word.known.is_none() || refuses_option(reader, text)) {
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
        is_ended |= reader.operands == ReadOnlyOperands::Text;
        if !has_pattern {
            has_pattern = true;
            continue;
        }
        files.push(word);
    }
    let operands = files.iter().filter(|word| !word.may_be_option()).count();
    match reader.operands {
        ReadOnlyOperands::Text => files.clear(),
        ReadOnlyOperands::OneFile if operands > 1 || files.iter().any(|word| word.is_split) => {
            return None;
        }
        ReadOnlyOperands::OneFile
        | ReadOnlyOperands::Files
        | ReadOnlyOperands::PatternThenFiles => {}
    }
    walks &= reader.operands == ReadOnlyOperands::PatternThenFiles || reader.program == "diff";
    Some(ReadOnlyWords { files, changes_directory: false, walks_directories: walks })
}

fn refuses_option(reader: &ReadOnlyProgram, text: &str) -> bool {
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

fn is_plain_date(arguments: &[ShellWord]) -> bool {
    arguments.iter().all(|word| {
        let text = word.text.as_str();
        text.starts_with('+') || text.starts_with("-I") || matches!(text, "-u" | "-R")
    })
}

fn analyze_cd(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    match arguments {
        [to] if !to.may_be_option() => {
            Some(ReadOnlyWords { changes_directory: true, ..ReadOnlyWords::from_files(vec![to]) })
        }
        _ => None,
    }
}

fn is_read_only_find(arguments: &[ShellWord]) -> bool {
    arguments.iter().all(|word| {
        let text = word.text.as_str();
        let acts =
            FIND_ACTS.contains(&text) || text.starts_with("-fprint") || text.starts_with("-files0");
        !acts && (word.known.is_some() || !word.may_be_option())
    })
}

/// Where to look, and files to compare with; not the patterns for names.
fn find_search_paths(arguments: &[ShellWord]) -> Vec<&ShellWord> {
    let is_pattern = |option: &str| {
        ["-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename", "-printf"]
            .contains(&option)
    };
    let mut before = "";
    let mut directories = Vec::new();
    for word in arguments {
        if !is_pattern(before) {
            directories.push(word);
        }
        before = &word.text;
    }
    directories
}

const FIND_ACTS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls"];

fn analyze_git(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let arguments = match arguments.split_first() {
        Some((first, rest)) if first.text == "--no-pager" => rest,
        _ => arguments,
    };
    let (sub, rest) = arguments.split_first()?;
    let only = |known: &[&str]| rest.iter().all(|word| known.contains(&word.text.as_str()));
    let first =
        |known: &[&str]| rest.first().is_some_and(|word| known.contains(&word.text.as_str()));
    let reads = match sub.as_certain()? {
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
        "config" => first(&["--get", "--list", "-l"]) || (rest.len() == 1 && is_config_name(rest)),
        _ => false,
    };
    let is_refused = |word: &ShellWord| {
        is_abbreviation(&word.text, GIT_RUNS) || (word.known.is_none() && word.may_be_option())
    };
    if !reads || rest.iter().any(is_refused) {
        return None;
    }
    let walks = matches!(sub.text.as_str(), "grep" | "show" | "diff" | "log" | "cat-file");
    Some(ReadOnlyWords {
        walks_directories: walks,
        ..ReadOnlyWords::from_files(rest.iter().collect())
    })
}

/// The name of a setting, which is shown and not set.
fn is_config_name(words: &[ShellWord]) -> bool {
    let text = words.first().and_then(ShellWord::as_certain).unwrap_or_default();
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
