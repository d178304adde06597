//! Code in arguments: `python -c`, `node -e`, `perl -e`, `awk`, `sed` and similar.
//!
//! Other languages are not parsed here. Code is searched for words: functions that start programs
//! or write files, programs that a deny rule names, removals. A rule for an interpreter covers code
//! without such words, because it covers any script as well; code with them must be named by the
//! rule. Obfuscated code would escape a human reviewer of a script, too.

use super::parsed_script::{ParsedShellScript, SimpleCommand};
use super::shell_word::ShellWord;
use super::wrapper::base_name;

/// A program that accepts code in an argument.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// Its name, without digits and dots at the end.
    name: &'static str,
    /// Short options with code.
    letters: &'static str,
    /// Long options and sub-commands with code.
    words: &'static [&'static str],
    /// Short options whose value is the next word.
    values: &'static str,
    operands: InterpreterOperand,
    /// Backquotes run a command.
    has_backticks: bool,
    /// Names with an effect in this language that are harmless in others.
    effect_names: &'static [&'static str],
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterpreterOperand {
    /// A script; the following words are its arguments.
    Script,
    FirstIsCode,
    Code,
}

const fn build_interpreter(name: &'static str, letters: &'static str) -> Interpreter {
    Interpreter {
        name,
        letters,
        words: &["--eval"],
        values: "",
        operands: InterpreterOperand::Script,
        has_backticks: false,
        effect_names: &[],
    }
}

const fn build_script_interpreter(name: &'static str, letters: &'static str) -> Interpreter {
    Interpreter {
        operands: InterpreterOperand::FirstIsCode,
        values: "Fv",
        ..build_interpreter(name, letters)
    }
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter { values: "WXQ", ..build_interpreter("python", "c") },
    Interpreter { values: "WXQ", ..build_interpreter("pypy", "c") },
    Interpreter { words: &["--eval", "--print"], values: "rC", ..build_interpreter("node", "ep") },
    Interpreter {
        words: &["--eval", "--print"],
        values: "rC",
        ..build_interpreter("nodejs", "ep")
    },
    Interpreter { words: &["--eval", "--print"], values: "r", ..build_interpreter("bun", "ep") },
    Interpreter { words: &["eval"], ..build_interpreter("deno", "") },
    Interpreter { values: "I", has_backticks: true, ..build_interpreter("perl", "eE") },
    Interpreter { values: "ICEr", has_backticks: true, ..build_interpreter("ruby", "e") },
    Interpreter {
        words: &["--run"],
        values: "dc",
        has_backticks: true,
        ..build_interpreter("php", "rBRE")
    },
    build_interpreter("lua", "e"),
    build_interpreter("luajit", "e"),
    build_interpreter("Rscript", "e"),
    build_interpreter("R", "e"),
    Interpreter {
        has_backticks: true,
        words: &["--eval", "--print"],
        ..build_interpreter("julia", "eE")
    },
    build_interpreter("ghc", "e"),
    build_interpreter("groovy", "e"),
    build_interpreter("osascript", "e"),
    build_interpreter("scala", "e"),
    build_interpreter("elixir", "e"),
    Interpreter { words: &["-eval", "-s", "-run"], ..build_interpreter("erl", "") },
    build_interpreter("swift", "e"),
    build_interpreter("guile", "c"),
    build_interpreter("racket", "e"),
    Interpreter { effect_names: &["command"], ..build_interpreter("ocaml", "e") },
    build_interpreter("octave", ""),
    Interpreter { operands: InterpreterOperand::Code, ..build_interpreter("expect", "c") },
    build_interpreter("pwsh", "c"),
    Interpreter {
        words: &["--command"],
        values: "hpUdf",
        effect_names: &["program", "PROGRAM", "copy"],
        ..build_interpreter("psql", "c")
    },
    Interpreter {
        words: &["--execute"],
        values: "hPuD",
        effect_names: &["source"],
        ..build_interpreter("mysql", "e")
    },
    Interpreter {
        words: &["-cmd"],
        operands: InterpreterOperand::Code,
        effect_names: &[
            "output", "once", "import", "load", "read", "save", "backup", "excel", "edit",
        ],
        ..build_interpreter("sqlite", "")
    },
    build_script_interpreter("awk", ""),
    build_script_interpreter("gawk", "e"),
    build_script_interpreter("mawk", ""),
    build_script_interpreter("nawk", ""),
    Interpreter {
        words: &["--expression"],
        operands: InterpreterOperand::FirstIsCode,
        ..build_interpreter("sed", "e")
    },
    Interpreter { words: &["--cmd"], ..build_interpreter("vim", "c") },
    Interpreter { words: &["--cmd"], ..build_interpreter("nvim", "c") },
    Interpreter { words: &["--eval", "--execute"], ..build_interpreter("emacs", "") },
    Interpreter { words: &["-ex", "-iex"], ..build_interpreter("gdb", "") },
];

/// Code in one word of a command.
#[derive(Debug)]
pub(crate) struct InlineCode<'w> {
    /// The index of the word.
    pub(crate) at: usize,
    /// `None` if it is known only at run time.
    text: Option<&'w str>,
    interpreter: &'static Interpreter,
}

impl InlineCode<'_> {
    /// Does it contain a name that starts a program or changes a file?
    pub(crate) fn has_effects(&self) -> bool {
        let Some(text) = self.text else { return true };
        let is_output = |token: &str| token.contains("stdout") || token.contains("stderr");
        let mut names = split_tokens(text)
            .filter(|token| !is_output(token))
            .flat_map(|token| token.split(['.', ':', '-']));
        let acts =
            |name: &str| ACTS.contains(&name) || self.interpreter.effect_names.contains(&name);
        (self.interpreter.has_backticks && text.contains('`'))
            || text.contains("\\!")
            || names.any(acts)
    }
}

/// Does the program run any code it gets, in a language of its own?
pub(crate) fn is_interpreter(program: &str) -> bool {
    let name = strip_version(program);
    // These are also tools for projects, with sub-commands.
    let is_tool = matches!(name, "bun" | "deno" | "swift");
    let is_known =
        |one: &Interpreter| one.name == name && one.operands == InterpreterOperand::Script;
    !is_tool && INTERPRETERS.iter().any(is_known)
}

fn strip_version(program: &str) -> &str {
    base_name(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

pub(crate) fn find_inline_code(words: &[ShellWord]) -> Vec<InlineCode<'_>> {
    let Some((first, arguments)) = words.split_first() else { return Vec::new() };
    let name = strip_version(&first.text);
    let Some(known) = INTERPRETERS.iter().find(|one| one.name == name) else { return Vec::new() };
    let mut found = Vec::new();
    // Whether the last option takes code, or another value.
    let mut brings = None;
    let mut is_value = false;
    for (word, at) in arguments.iter().zip(1..) {
        let mut push = |at, text| found.push(InlineCode { at, text, interpreter: known });
        if let Some(option) = brings.take() {
            push(option, word.as_certain());
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
                // The other words are arguments of a module.
                break;
            }
        } else if known.operands == InterpreterOperand::Code {
            push(at, word.as_certain());
        } else if known.operands == InterpreterOperand::FirstIsCode {
            push(at, word.as_certain());
            break;
        } else {
            // The other words are arguments of a script.
            break;
        }
    }
    found
}

/// Records the words in a part's code, for deny rules and removals.
pub(crate) fn collect_inline_code(part: &SimpleCommand, script: &mut ParsedShellScript) {
    // After a wrapper the code may be in any word.
    let reach = if part.is_wrapper { part.words.len().min(STARTS_MAX) } else { 1 };
    for from in 0..reach {
        let words = part.words.get(from..).unwrap_or_default();
        for code in find_inline_code(words) {
            let Some(text) = code.text else {
                script.has_hidden = true;
                continue;
            };
            let all: Vec<ShellWord> =
                split_tokens(text).take(TOKENS_MAX).map(ShellWord::literal).collect();
            for (at, word) in all.iter().enumerate() {
                let name = word.text.rsplit(['.', ':', '/']).next().unwrap_or_default();
                if REMOVES.contains(&name) {
                    let rest = all.iter().skip(at + 1).take(ARGUMENTS_MAX).cloned();
                    let words = std::iter::once(ShellWord::literal("rm")).chain(rest).collect();
                    let text = part.text.clone();
                    let directories = part.working_directories.clone();
                    script.removals.push(SimpleCommand {
                        text,
                        words,
                        working_directories: directories,
                        ..SimpleCommand::default()
                    });
                }
            }
            script.mentions.extend(all.iter().map(|word| base_name(&word.text).to_lowercase()));
        }
    }
}

/// Names and paths in code of any language.
fn split_tokens(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./~*$-:".contains(c);
    code.split(move |c: char| !is_part(c)).filter(|token| !token.is_empty())
}

/// Limit on the words at which a wrapper's code may start.
const STARTS_MAX: usize = 16;
const TOKENS_MAX: usize = 4_000;
/// Limit on the words after a removal that may be its target.
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

/// Names with which languages start programs, load other code, or change files.
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
