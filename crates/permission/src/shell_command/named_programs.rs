//! Programs that others are told to start, by a sub-command, an option or a variable: for deny rules,
//! which then ask.

use super::parsed_script::SimpleCommand;
use super::shell_word::ShellWord;

/// Sub-commands that run a program with the words behind them.
const RUNNING_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("asdf", &["exec"]),
    ("aws-vault", &["exec"]),
    ("bundle", &["exec"]),
    ("cargo", &["run", "watch"]),
    ("conda", &["run"]),
    ("devbox", &["run"]),
    ("direnv", &["exec"]),
    ("hatch", &["run"]),
    ("mise", &["exec", "x"]),
    ("nix", &["run", "shell", "develop"]),
    ("npm", &["exec", "x"]),
    ("op", &["run"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pixi", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("rustup", &["run"]),
    ("rye", &["run"]),
    ("uv", &["run", "tool"]),
    ("yarn", &["exec", "dlx"]),
];

/// Programs that do so in any case.
const RUNNING_PROGRAMS: &[&str] = &[
    "chronic",
    "cmd.exe",
    "concurrently",
    "cross-env",
    "dotenv",
    "nix-shell",
    "nodemon",
    "open",
    "runuser",
    "ts",
    "wsl",
];

/// Options that name a program, by how they begin.
const RUNNING_OPTIONS: &[(&str, &[&str])] = &[
    ("ack", &["--pager"]),
    ("bat", &["--pager"]),
    ("ex", &["-c", "+"]),
    ("fd", &["-x", "-X", "--exec"]),
    ("fdfind", &["-x", "-X", "--exec"]),
    ("less", &["+"]),
    ("man", &["-P", "--pager"]),
    ("rg", &["--pre"]),
    ("rsync", &["-e", "--rsh"]),
    ("sort", &["--compress"]),
    ("split", &["--filter"]),
    ("tar", &["-I", "--to-command", "--use-compress", "--checkpoint-action", "--rsh"]),
    ("zip", &["-TT"]),
];

/// Variables that name a program, by how they end.
const RUNNING_VARIABLES: &[&str] =
    &["PAGER", "EDITOR", "VISUAL", "BROWSER", "_COMMAND", "_WRAPPER"];

/// The words of a part that may be programs, although they are not the first.
pub(super) fn list_named_programs(
    part: &SimpleCommand,
    program: &str,
    arguments: &[ShellWord],
) -> Vec<String> {
    let find = |table: &[(&'static str, &'static [&'static str])]| {
        table.iter().find(|(name, _)| *name == program).map(|(_, words)| *words)
    };
    let is_subcommand = |words: &[&str]| {
        let first = arguments.iter().find(|word| !word.text.starts_with('-'));
        first.is_some_and(|word| words.contains(&word.text.as_str()))
    };
    let has_option = |words: &[&str]| {
        arguments.iter().any(|word| words.iter().any(|begin| word.text.starts_with(begin)))
    };
    let runs = RUNNING_PROGRAMS.contains(&program)
        || find(RUNNING_SUBCOMMANDS).is_some_and(is_subcommand)
        || find(RUNNING_OPTIONS).is_some_and(has_option);
    // Some builtins evaluate what is quoted.
    let is_evaluated = |word: &&ShellWord| word.text.contains("$(") || word.text.contains('`');
    let named = arguments.iter().filter(|word| runs || is_evaluated(word));
    let named = named.map(|word| word.text.as_str());
    let is_running = |name: &str| RUNNING_VARIABLES.iter().any(|end| name.ends_with(end));
    let values = part.assigns.iter().filter(|assign| is_running(&assign.name));
    let texts = named.chain(values.map(|assign| assign.text.as_str()));
    let is_part = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let words = texts.flat_map(|text| text.split(move |c: char| !is_part(c)));
    let words = words.flat_map(|word| [word, word.trim_start_matches('-')]);
    words.filter(|word| !word.is_empty()).take(WORDS_MAX).map(str::to_lowercase).collect()
}

const WORDS_MAX: usize = 500;
