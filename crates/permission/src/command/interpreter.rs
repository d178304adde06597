//! Code in an argument: `python -c`, `node -e`, `perl -e`, `awk`, `sed` and their like.
//!
//! No other language is parsed here. Code is looked into for words: names it calls that start
//! programs or write files, programs that a deny rule speaks of, removals. A rule for an interpreter
//! covers code without such names, because it covers any script as well; code with them has to be
//! named by the rule. Whoever hides the words from us hides them from the reader of a script too.

use super::script::{Part, Script};
use super::word::Word;
use super::wrapper::base_name;

/// A program that takes code in an argument.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// Its name; digits and dots at the end do not count.
    name: &'static str,
    /// Letters of short options that bring code.
    letters: &'static str,
    /// Longer options that do, and sub-commands.
    words: &'static [&'static str],
    /// Letters of short options whose value is the next word.
    values: &'static str,
    operands: Operand,
    /// A quote of this kind runs a command.
    has_backticks: bool,
    /// Names that act in this language and mean something else in others.
    acts: &'static [&'static str],
}

/// What a word is that is no option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// A script, and what follows is for it.
    Script,
    FirstIsCode,
    Code,
}

const fn with(name: &'static str, letters: &'static str) -> Interpreter {
    Interpreter {
        name,
        letters,
        words: &["--eval"],
        values: "",
        operands: Operand::Script,
        has_backticks: false,
        acts: &[],
    }
}

const fn script(name: &'static str, letters: &'static str) -> Interpreter {
    Interpreter { operands: Operand::FirstIsCode, values: "Fv", ..with(name, letters) }
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter { values: "WXQ", ..with("python", "c") },
    Interpreter { values: "WXQ", ..with("pypy", "c") },
    Interpreter { words: &["--eval", "--print"], values: "rC", ..with("node", "ep") },
    Interpreter { words: &["--eval", "--print"], values: "rC", ..with("nodejs", "ep") },
    Interpreter { words: &["--eval", "--print"], values: "r", ..with("bun", "ep") },
    Interpreter { words: &["eval"], ..with("deno", "") },
    Interpreter { values: "I", has_backticks: true, ..with("perl", "eE") },
    Interpreter { values: "ICEr", has_backticks: true, ..with("ruby", "e") },
    Interpreter { words: &["--run"], values: "dc", has_backticks: true, ..with("php", "rBRE") },
    with("lua", "e"),
    with("luajit", "e"),
    with("Rscript", "e"),
    with("R", "e"),
    Interpreter { has_backticks: true, words: &["--eval", "--print"], ..with("julia", "eE") },
    with("ghc", "e"),
    with("groovy", "e"),
    with("osascript", "e"),
    with("scala", "e"),
    with("elixir", "e"),
    Interpreter { words: &["-eval", "-s", "-run"], ..with("erl", "") },
    with("swift", "e"),
    with("guile", "c"),
    with("racket", "e"),
    Interpreter { acts: &["command"], ..with("ocaml", "e") },
    with("octave", ""),
    Interpreter { operands: Operand::Code, ..with("expect", "c") },
    with("pwsh", "c"),
    Interpreter {
        words: &["--command"],
        values: "hpUdf",
        acts: &["program", "PROGRAM", "copy"],
        ..with("psql", "c")
    },
    Interpreter { words: &["--execute"], values: "hPuD", acts: &["source"], ..with("mysql", "e") },
    Interpreter {
        words: &["-cmd"],
        operands: Operand::Code,
        acts: &["output", "once", "import", "load", "read", "save", "backup", "excel", "edit"],
        ..with("sqlite", "")
    },
    script("awk", ""),
    script("gawk", "e"),
    script("mawk", ""),
    script("nawk", ""),
    Interpreter { words: &["--expression"], operands: Operand::FirstIsCode, ..with("sed", "e") },
    Interpreter { words: &["--cmd"], ..with("vim", "c") },
    Interpreter { words: &["--cmd"], ..with("nvim", "c") },
    Interpreter { words: &["--eval", "--execute"], ..with("emacs", "") },
    Interpreter { words: &["-ex", "-iex"], ..with("gdb", "") },
];

/// One piece of code among the words of a command.
#[derive(Debug)]
pub(crate) struct Code<'w> {
    /// Which word brings it.
    pub(crate) at: usize,
    /// `None` when it only exists at run time.
    text: Option<&'w str>,
    known: &'static Interpreter,
}

impl Code<'_> {
    /// Does it name anything that starts a program or changes a file?
    pub(crate) fn acts(&self) -> bool {
        let Some(text) = self.text else { return true };
        let is_output = |token: &str| token.contains("stdout") || token.contains("stderr");
        let mut names = tokens(text)
            .filter(|token| !is_output(token))
            .flat_map(|token| token.split(['.', ':', '-']));
        let acts = |name: &str| ACTS.contains(&name) || self.known.acts.contains(&name);
        (self.known.has_backticks && text.contains('`')) || text.contains("\\!") || names.any(acts)
    }
}

/// Does the program run whatever it is given, in a language of its own?
pub(crate) fn is_interpreter(program: &str) -> bool {
    let name = plain_name(program);
    // These are also a project's tools, with sub-commands.
    let is_tool = matches!(name, "bun" | "deno" | "swift");
    let is_known = |one: &Interpreter| one.name == name && one.operands == Operand::Script;
    !is_tool && INTERPRETERS.iter().any(is_known)
}

/// The name without its version.
fn plain_name(program: &str) -> &str {
    base_name(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// The code among the words of a command.
pub(crate) fn codes(words: &[Word]) -> Vec<Code<'_>> {
    let Some((first, arguments)) = words.split_first() else { return Vec::new() };
    let name = plain_name(&first.text);
    let Some(known) = INTERPRETERS.iter().find(|one| one.name == name) else { return Vec::new() };
    let mut found = Vec::new();
    // The option that was read last: it brings code, or a value that is none.
    let (mut brings, mut is_value) = (None, false);
    for (word, at) in arguments.iter().zip(1..) {
        let mut push = |at, text| found.push(Code { at, text, known });
        if let Some(option) = brings.take() {
            push(option, word.certain());
            continue;
        }
        if std::mem::take(&mut is_value) {
            continue;
        }
        let text = word.text.as_str();
        if word.known.is_none() && word.may_be_option() && !word.is_glob {
            // It may turn out to be any option.
            push(at, None);
        } else if known.words.iter().any(|own| text.split('=').next() == Some(own)) {
            match text.split_once('=') {
                Some((_, code)) => push(at, Some(code)),
                None => brings = Some(at),
            }
        } else if word.may_be_option() && text.len() > 1 {
            let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            let letters = letters.unwrap_or_default();
            match letters.split_once(|c| known.letters.contains(c)) {
                Some((_, rest)) if rest.chars().all(|c| known.letters.contains(c)) => {
                    brings = Some(at);
                }
                Some((_, code)) => push(at, Some(code)),
                None => is_value = letters.ends_with(|c| known.values.contains(c)),
            }
            if name == "python" && letters.ends_with('m') {
                // The rest belongs to a module.
                break;
            }
        } else if known.operands == Operand::Code {
            push(at, word.certain());
        } else if known.operands == Operand::FirstIsCode {
            push(at, word.certain());
            break;
        } else {
            // The rest belongs to a script.
            break;
        }
    }
    found
}

/// Keeps what the code of a part mentions, for deny rules and for removals.
pub(crate) fn look_into(part: &Part, script: &mut Script) {
    // Behind a wrapper it may begin at any word.
    let reach = if part.is_wrapper { part.words.len().min(STARTS_MAX) } else { 1 };
    for from in 0..reach {
        let words = part.words.get(from..).unwrap_or_default();
        for code in codes(words) {
            let Some(text) = code.text else {
                script.has_hidden = true;
                continue;
            };
            let all: Vec<Word> = tokens(text).take(TOKENS_MAX).map(Word::literal).collect();
            for (at, word) in all.iter().enumerate() {
                let name = word.text.rsplit(['.', ':', '/']).next().unwrap_or_default();
                if REMOVES.contains(&name) {
                    let rest = all.iter().skip(at + 1).take(ARGUMENTS_MAX).cloned();
                    let words = std::iter::once(Word::literal("rm")).chain(rest).collect();
                    let (text, places) = (part.text.clone(), part.places.clone());
                    script.removals.push(Part { text, words, places, ..Part::default() });
                }
            }
            script.mentions.extend(all.iter().map(|word| base_name(&word.text).to_lowercase()));
        }
    }
}

/// The words of any language: names and paths.
fn tokens(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./~*$-:".contains(c);
    code.split(move |c: char| !is_part(c)).filter(|token| !token.is_empty())
}

/// Words that the code of a wrapper may begin at.
const STARTS_MAX: usize = 16;
const TOKENS_MAX: usize = 4_000;
/// Words behind a removal that may be its target.
const ARGUMENTS_MAX: usize = 8;

const REMOVES: &[&str] = &[
    "rm",
    "rmdir",
    "rmtree",
    "rmSync",
    "rmdirSync",
    "removeSync",
    "rm_rf",
    "rm_r",
    "remove_tree",
    "remove_dir_all",
    "delete_tree",
];

/// Names by which languages start programs, load what is not in the text, or change files.
const ACTS: &[&str] = &[
    "system",
    "system2",
    "popen",
    "popen2",
    "popen3",
    "Popen",
    "subprocess",
    "exec",
    "execv",
    "execve",
    "execvp",
    "execl",
    "execlp",
    "execle",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnl",
    "spawnv",
    "spawnSync",
    "posix_spawn",
    "child_process",
    "fork",
    "qx",
    "shell_exec",
    "passthru",
    "proc_open",
    "pcntl_exec",
    "Open3",
    "execute",
    "pty",
    "ctypes",
    "dlopen",
    "eval",
    "__import__",
    "importlib",
    "Runtime",
    "ProcessBuilder",
    "Process",
    "Command",
    "cmd",
    "shell",
    "load_extension",
    "write",
    "writelines",
    "write_text",
    "write_bytes",
    "writeFile",
    "writeFileSync",
    "writefile",
    "appendFile",
    "appendFileSync",
    "createWriteStream",
    "file_put_contents",
    "fwrite",
    "w",
    "wb",
    "unlink",
    "unlinkSync",
    "remove",
    "removedirs",
    "rename",
    "renameSync",
    "copyfile",
    "copyFile",
    "copyFileSync",
    "symlink",
    "symlinkSync",
    "chmod",
    "chmodSync",
    "truncate",
    "rmtree",
    "rmSync",
    "rmdirSync",
    "rm_rf",
    "rm",
    "rmdir",
];
