//! Programs with an argument syntax of their own that show the state of the system or of a file.

use super::read_only_command::ReadOnlyWords;
use super::shell_word::ShellWord;

/// Lists processes. Other letters would show the environment of other processes.
pub(super) fn analyze_ps(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.as_certain()?;
        if PS_WITH_VALUE.contains(&text) {
            is_ps_value(words.next()?.as_certain()?).then_some(())?;
        } else if let Some((name, value)) = text.split_once('=') {
            let is_known = matches!(name, "--sort" | "--format" | "--pid" | "--ppid" | "--user");
            (is_known && is_ps_value(value)).then_some(())?;
        } else {
            PS_LISTS.contains(&text).then_some(())?;
        }
    }
    Some(ReadOnlyWords::without_files().in_cell())
}

/// Newer versions of `ps` print the environment under the name `environ`.
fn is_ps_value(text: &str) -> bool {
    !text.contains("env") && !text.starts_with('-') || text.starts_with("-%")
}

const PS_LISTS: &[&str] = &[
    "aux",
    "ax",
    "auxf",
    "auxww",
    "axf",
    "axww",
    "-ef",
    "-e",
    "-A",
    "-f",
    "-aux",
    "-l",
    "-L",
    "-T",
    "-H",
    "-j",
    "-w",
    "-ww",
    "-efww",
    "--forest",
    "--no-headers",
    "--headers",
    "--no-heading",
];

const PS_WITH_VALUE: &[&str] =
    &["-o", "-eo", "-p", "-C", "-u", "-U", "-t", "-g", "-fp", "--sort", "--pid", "--ppid", "-axo"];

/// `xxd` abbreviates its options, and writes its second file.
pub(super) fn analyze_xxd(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let mut files = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !word.may_be_option() || word.text == "-" {
            let is_one = word.known.is_some() || !word.is_split && !word.is_glob;
            is_one.then_some(())?;
            files.push(word);
            continue;
        }
        // Behind a file, what looks like an option is the file that is written.
        files.is_empty().then_some(())?;
        let text = word.as_certain()?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match text {
            "-a" | "-b" | "-e" | "-E" | "-i" | "-p" | "-ps" | "-u" | "-C" | "-d" => {}
            "-c" | "-g" | "-l" | "-s" | "-o" | "-len" | "-cols" | "-seek" => {
                words.next()?.as_certain()?;
            }
            _ => {
                let value = text.strip_prefix(['-']).and_then(|rest| rest.get(1..))?;
                let letter = text.as_bytes().get(1)?;
                let begins = value.starts_with(|c: char| c.is_ascii_digit());
                (b"cgls".contains(letter) && begins && is_number(value)).then_some(())?;
            }
        }
    }
    (files.len() <= 1).then(|| ReadOnlyWords::from_files(files))
}

/// Does this only print a program's version? Another word might be a file to run, and another
/// letter might make it run its input.
pub(super) fn shows_version(program: &str, word: &str) -> bool {
    let programs: &[&str] = match word {
        "--version" => &[
            "node", "npm", "python", "python3", "cargo", "rustc", "java", "gcc", "clang", "make",
            "cmake", "ruby", "perl", "docker", "bash", "rg", "uv", "pip", "deno", "bun", "yarn",
            "pnpm",
        ],
        "-V" => &["python", "python3", "cargo", "rustc", "rg", "uv", "pip"],
        "-v" => &["node", "npm", "yarn", "pnpm"],
        "version" => &["go", "docker"],
        "-version" => &["java"],
        _ => &[],
    };
    programs.contains(&program)
}
