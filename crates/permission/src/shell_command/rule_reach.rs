//! Checks whether a command does more than a rule says.
//!
//! A prefix rule names a program, but not every program that it can be told to run. If the words
//! after the rule's name one, or write outside of the working directories, the rule does not cover
//! the call; nor if such a word cannot be ruled out.

use super::interpreter::find_inline_code;
use super::program_table::{RISKY_OPTION_LISTS, RiskyOptions, TEXT_VALUE_OPTIONS};
use super::read_only_command::{is_abbreviation, is_cluster};
use super::sed_awk::{is_plain_awk, is_plain_sed, parse_awk_arguments};
use super::shell_word::ShellWord;
use super::wrapper::base_name;

/// Why a matching rule does not cover a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleGap {
    /// What the command does that the rule does not say.
    pub(crate) why: String,
    /// The word that causes it; a rule that names the words up to it would cover the command.
    pub(crate) at: Option<usize>,
}

impl RuleGap {
    fn from_word(words: &[ShellWord], at: usize, what: &str) -> Self {
        let word = words.get(at).map_or("", |word| word.text.as_str());
        Self { why: format!("`{word}` {what}"), at: Some(at) }
    }

    pub(super) fn without_word(why: &str) -> Self {
        Self { why: why.to_owned(), at: None }
    }
}

pub(crate) fn reaches_beyond_rule(
    words: &[ShellWord],
    named: usize,
    leads_out: &dyn Fn(&ShellWord) -> bool,
) -> bool {
    find_rule_gap(words, named, leads_out).is_some()
}

/// Finds a word after the first `named` ones that exceeds the rule. `leads_out` tells whether a
/// word may name something outside of the working directories.
pub(crate) fn find_rule_gap(
    words: &[ShellWord],
    named: usize,
    leads_out: &dyn Fn(&ShellWord) -> bool,
) -> Option<RuleGap> {
    let Some(program) = words.first().and_then(ShellWord::as_certain) else {
        return Some(RuleGap::without_word("its name is known only when it runs"));
    };
    let program = base_name(program);
    let rest = words.get(named..).unwrap_or_default();
    let runs_what_it_finds = RUN_WHAT_THEY_FIND.contains(&program);
    if writes_its_words(program) || runs_what_it_finds {
        let outside = words.iter().skip(named).position(leads_out);
        if let Some(at) = outside {
            return Some(RuleGap::from_word(words, named + at, LEADS_OUT));
        }
    }
    if let Some(at) =
        find_output_words(words, named).find(|at| words.get(*at).is_some_and(leads_out))
    {
        return Some(RuleGap::from_word(words, at, LEADS_OUT));
    }
    if program == "git"
        && let Some(at) = find_git_gap(words, named, leads_out)
    {
        return Some(RuleGap::from_word(words, at, "makes git run or read something else"));
    }
    if evaluates_names(program, rest) {
        return Some(RuleGap::without_word("it evaluates a name it is given"));
    }
    let code = find_inline_code(words);
    let acts = code
        .iter()
        .find(|code| code.at >= named && code.has_effects() && !has_script_check(program));
    if let Some(code) = acts {
        return Some(RuleGap::from_word(
            words,
            code.at,
            "brings code that starts programs or writes",
        ));
    }
    if has_script_check(program) && !names_script(program, words, named) {
        return Some(RuleGap::without_word("its script may do more than print"));
    }
    if matches!(program, "make" | "gmake") {
        let sets_program =
            |word: &ShellWord| word.text.split_once('=').is_some_and(is_make_program);
        if let Some(at) = rest.iter().position(sets_program) {
            return Some(RuleGap::from_word(words, named + at, "says which program make runs"));
        }
    }
    let at = find_risky_options(program, words).find_map(|risk| risk.find(words, named))?;
    Some(RuleGap::from_word(words, at, "runs another program, or writes what it names"))
}

const LEADS_OUT: &str = "may lie outside the working directories";

/// Is its code analysed more closely than by its words?
fn has_script_check(program: &str) -> bool {
    matches!(program, "sed" | "awk" | "gawk" | "mawk" | "nawk")
}

/// Does the script only print, or does the rule name it?
fn names_script(program: &str, words: &[ShellWord], named: usize) -> bool {
    let arguments = words.get(1..).unwrap_or_default();
    if program != "sed" {
        let files = parse_awk_arguments(arguments).map(|(_, files)| files.len());
        return is_plain_awk(arguments)
            || files.is_some_and(|files| words.len().saturating_sub(files) <= named);
    }
    let is_option = |word: &ShellWord| word.may_be_option();
    let is_named = words.iter().take(named).skip(1).any(|word| !is_option(word));
    // Another script or a file with one may follow.
    let brings = |word: &ShellWord| is_option(word) && word.text.contains(['e', 'f']);
    let rest = words.get(named..).unwrap_or_default();
    is_plain_sed(arguments) || is_named && !rest.iter().any(brings)
}

/// Does this variable of `make` name a program by a path, or contain code?
fn is_make_program((name, value): (&str, &str)) -> bool {
    value.contains(['$', '`']) || value.contains('/') && MAKE_PROGRAMS.contains(&name)
}

const MAKE_PROGRAMS: &[&str] = &[
    "AR", "AS", "CARGO", "CC", "CMAKE", "CPP", "CXX", "FC", "GO", "INSTALL", "LD", "LEX", "MAKE",
    "NODE", "NPM", "PYTHON", "RANLIB", "RM", "RUSTC", "STRIP", "YACC",
];

fn find_risky_options<'w>(
    program: &'w str,
    words: &'w [ShellWord],
) -> impl Iterator<Item = &'static RiskyOptions> + 'w {
    let arguments = words.get(1..).unwrap_or_default();
    let sub = find_first_operand(program, arguments);
    RISKY_OPTION_LISTS.iter().flat_map(|list| list.iter()).filter(move |risk| {
        let is_sub = || match sub.map(|sub| &sub.known) {
            Some(Some(sub)) => risk.subs.contains(&sub.as_str()),
            Some(None) => true,
            None => false,
        };
        risk.program == program && (risk.subs.is_empty() || is_sub())
    })
}

/// The first word that is neither an option nor the value of one.
fn find_first_operand<'w>(program: &str, arguments: &'w [ShellWord]) -> Option<&'w ShellWord> {
    let takes_value = |text: &str| program == "git" && matches!(text, "-C" | "-c");
    let mut skip = false;
    arguments.iter().find(|word| {
        let is_value = std::mem::replace(&mut skip, takes_value(&word.text));
        !is_value && !word.text.starts_with(['-', '+'])
    })
}

impl RiskyOptions {
    /// The index of the first word that names one of them.
    fn find(&self, words: &[ShellWord], named: usize) -> Option<usize> {
        let arguments = words.get(1..).unwrap_or_default();
        let behind = named.max(1) - 1;
        let operand = find_first_operand(self.program, arguments);
        let operand_at =
            operand.and_then(|word| arguments.iter().position(|w| std::ptr::eq(w, word)));
        let is_command = operand_at.is_some_and(|at| {
            at >= behind
                && operand.is_some_and(|word| match word.as_certain() {
                    Some(text) => self.commands.contains(&text),
                    None => !self.commands.is_empty(),
                })
        });
        let mut before: Option<&ShellWord> = named.checked_sub(1).and_then(|at| words.get(at));
        let mut is_ended = false;
        if is_command {
            return operand_at.map(|at| at + 1);
        }
        let found = arguments.iter().skip(behind).position(|word| {
            let is_value = before.is_some_and(|word| self.takes_text(&word.text));
            is_ended |= word.text == "--" && ENDS_OPTIONS.contains(&self.program);
            before = Some(word);
            !is_value && !is_ended && self.may_name(word)
        });
        found.map(|at| at + behind + 1)
    }

    fn takes_text(&self, option: &str) -> bool {
        TEXT_VALUE_OPTIONS
            .iter()
            .any(|(program, options)| *program == self.program && options.contains(&option))
    }

    fn may_name(&self, word: &ShellWord) -> bool {
        let has_options = !self.long.is_empty() || !self.short.is_empty() || !self.words.is_empty();
        match word.as_certain() {
            Some(text) => self.is_named_by(text),
            None => {
                (has_options && (word.may_be_option() || word.is_split))
                    || (word.is_choice && self.is_named_by(&word.text))
            }
        }
    }

    fn is_named_by(&self, word: &str) -> bool {
        let by_word = |risky: &&str| {
            word == *risky || risky.strip_suffix('=').is_some_and(|start| word.starts_with(start))
        };
        // Old programs accept the first option letters without a dash.
        let is_bare = self.program == "tar"
            && word.len() < 12
            && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        let letters = if is_bare { word } else { word.get(1..).unwrap_or_default() };
        is_abbreviation(word, self.long)
            || ((is_cluster(word) || is_bare) && letters.chars().any(|c| self.short.contains(c)))
            || self.words.iter().any(by_word)
    }
}

/// Programs for which everything after `--` is an operand.
const ENDS_OPTIONS: &[&str] = &["git", "rg", "grep", "sort", "sed", "man", "tar"];

/// What git can do with its global options and with URLs.
fn find_git_gap(
    words: &[ShellWord],
    named: usize,
    leads_out: &dyn Fn(&ShellWord) -> bool,
) -> Option<usize> {
    let mut before: Option<&str> = None;
    let mut is_global = true;
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = word.text.as_str();
        let is_value = matches!(before, Some("-C" | "-c"));
        let is_new = at >= named;
        if is_global && is_new && (text.starts_with("-c") || (is_value && leads_out(word))) {
            return Some(at);
        }
        is_global &= text.starts_with('-') || is_value;
        // URLs of the form `ext::…` run a program.
        if is_new
            && text.contains("::")
            && word.as_certain().is_some_and(|t| {
                t.split("::").next().is_some_and(|scheme| matches!(scheme, "ext" | "fd"))
            })
        {
            return Some(at);
        }
        before = Some(text);
    }
    find_created_repository(words, named).filter(|at| words.get(*at).is_some_and(leads_out))
}

/// The directory that `clone` or `init` creates, unless it is named after the source.
fn find_created_repository(words: &[ShellWord], named: usize) -> Option<usize> {
    let sub = words.get(1).and_then(ShellWord::as_certain)?;
    let operands = match sub {
        "clone" => 2,
        "init" => 1,
        _ => return None,
    };
    let is_operand = |word: &&ShellWord| !word.text.starts_with('-');
    let last = words.len().checked_sub(1).filter(|last| *last >= named)?;
    let count = words.iter().skip(2).filter(is_operand).count();
    (count >= operands && words.get(last).as_ref().is_some_and(is_operand)).then_some(last)
}

/// Builtins that evaluate the subscript in a name.
fn evaluates_names(program: &str, rest: &[ShellWord]) -> bool {
    let has = |option: &str| rest.iter().any(|word| word.text == option || word.known.is_none());
    match program {
        "let" => true,
        "read" | "unset" | "mapfile" | "readarray" | "getopts" | "declare" | "typeset"
        | "local" | "export" | "readonly" | "wait" => {
            rest.iter().any(|word| word.known.is_none() || word.text.contains(['[', '-']))
        }
        "test" | "[" => has("-v") || has("-R"),
        _ => false,
    }
}

/// Words that name an output file, in the notation of most programs.
fn find_output_words(words: &[ShellWord], named: usize) -> impl Iterator<Item = usize> {
    let asks = |text: &str| {
        matches!(text, "-o" | "--output" | "--out" | "--outfile" | "--out-dir" | "--output-dir")
    };
    let is_attached = |text: &str| text.starts_with("-o") || text.starts_with("--out");
    words.iter().enumerate().skip(named.max(1)).filter_map(move |(at, word)| {
        let before = words.get(at - 1).is_some_and(|before| asks(&before.text));
        (before || is_attached(&word.text)).then_some(at)
    })
}

/// Programs that run what the project in the directory configures.
const RUN_WHAT_THEY_FIND: &[&str] = &[
    "make",
    "gmake",
    "ninja",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "just",
    "mvn",
    "gradle",
    "go",
    "pytest",
    "jest",
    "cmake",
    "eslint",
    "tsc",
    "prettier",
    "docker-compose",
    "tox",
    "rake",
];

/// Does this program write the files among its words?
pub(crate) fn writes_its_words(program: &str) -> bool {
    WRITERS.contains(&base_name(program))
}

const WRITERS: &[&str] = &[
    "cp", "mv", "tee", "touch", "mkdir", "rm", "rmdir", "ln", "dd", "install", "rsync", "chmod",
    "chown", "chgrp", "truncate", "shred", "sed", "tar", "unzip", "patch", "scp", "mkfifo",
    "mknod", "split", "csplit", "unlink", "link", "gzip", "gunzip", "bzip2", "xz", "zip", "rename",
    "cpio", "setfacl", "chattr", "sponge", "ex", "ed", "mktemp", "wget", "sqlite3",
];
