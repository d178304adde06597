//! Commands that run other commands, analysed for denials: any wrapper, in any form.

use super::named_programs::list_named_programs;
use super::parsed_script::{ParsedShellScript, PossibleDirectories, SimpleCommand};
use super::shell_variable::is_assignment;
use super::shell_word::ShellWord;
use super::syntax_walker::{ScriptContext, parse_script_at};
use super::{interpreter, loose_scanner};

/// Adds a command with everything it runs.
pub(crate) fn add_with_nested(
    mut part: SimpleCommand,
    context: ScriptContext<'_>,
    nested: u8,
    script: &mut ParsedShellScript,
) {
    let is_in_front =
        |word: &&ShellWord| is_assignment(&word.text) || GRAMMAR.contains(&word.text.as_str());
    let front = part.words.iter().take_while(is_in_front).count();
    let words = part.words.get(front..).unwrap_or_default();
    let Some((first, arguments)) = words.split_first() else {
        script.parts.push(part);
        return;
    };
    let program = base_name(&first.text).to_owned();
    let inner =
        NestedShellText { context, working_directories: part.working_directories.clone(), nested };
    let arguments = arguments.to_vec();
    part.is_wrapper = front > 0
        || WRAPPERS.contains(&program.as_str())
        || runs_elsewhere(&program, &arguments)
        || (program == "find"
            && arguments.iter().any(|word| FIND_RUNS.contains(&word.text.as_str())));
    interpreter::collect_inline_code(&part, script);
    script.mentions.extend(list_named_programs(&part, &program, &arguments));
    script.parts.push(part);
    if program == "git" {
        let values = arguments.iter().filter_map(find_git_program);
        values.for_each(|text| inner.parse_into(text, script));
    }
    match program.as_str() {
        "eval" | "trap" => inner.parse_joined(&arguments, script),
        "alias" => {
            let texts = arguments.iter().filter_map(|word| word.text.split_once('='));
            texts.for_each(|(_, text)| inner.parse_into(text, script));
        }
        "mapfile" | "readarray" | "compgen" | "complete" => {
            inner.parse_callback(&arguments, script);
        }
        // From then on, the name of one program starts another.
        "hash" => script.has_hidden |= arguments.iter().any(|word| word.text.starts_with("-p")),
        "source" | "." => script.has_hidden |= arguments.iter().any(ShellWord::is_expanded),
        "find" => inner.parse_shell_behind(&arguments, script),
        "su" => {
            inner.parse_shell_arguments(&arguments, script);
            let options = arguments.iter().filter(|word| word.text.starts_with('-'));
            options.for_each(|word| inner.parse_option_text(word, script));
        }
        name if SHELLS.contains(&name) => inner.parse_shell_arguments(&arguments, script),
        name if runs_elsewhere(name, &arguments) => {
            inner.parse_shell_behind(&arguments, script);
            let text = |word: &ShellWord| match name {
                // An address that is a command.
                "socat" => word.text.split_once(':').map(|(_, text)| format!("{text} ")),
                _ => Some(word.text.clone()),
            };
            arguments.iter().filter_map(text).for_each(|text| inner.scan_into(&text, script));
        }
        name if WRAPPERS.contains(&name) => {
            let is_in_front = |word: &&ShellWord| {
                let first = word.text.chars().next();
                is_assignment(&word.text) || first.is_none_or(|c| c == '-' || c.is_ascii_digit())
            };
            let named = arguments.iter().find(|word| !is_in_front(word));
            script.has_hidden |= named.is_some_and(ShellWord::is_expanded);
            inner.parse_shell_behind(&arguments, script);
            if TAKE_TEXT.contains(&name) {
                arguments.iter().for_each(|word| inner.parse_option_text(word, script));
            }
        }
        _ => {}
    }
}

/// Text within a line that a shell will run.
struct NestedShellText<'a> {
    context: ScriptContext<'a>,
    working_directories: PossibleDirectories,
    nested: u8,
}

impl NestedShellText<'_> {
    fn parse_into(&self, text: &str, script: &mut ParsedShellScript) {
        let mut inner = ParsedShellScript::default();
        parse_script_at(
            text,
            self.context,
            self.working_directories.clone(),
            self.nested + 1,
            &mut inner,
        );
        if !inner.is_understood() {
            inner.has_hidden = true;
            loose_scanner::scan_loosely(text, self.context, self.nested + 1, &mut inner);
        }
        inner.parts.iter_mut().for_each(|part| part.is_inner = true);
        inner.forget_word_starts();
        script.has_hidden |= inner.has_hidden;
        script.parts.append(&mut inner.parts);
        script.removals.append(&mut inner.removals);
        script.mentions.append(&mut inner.mentions);
    }

    /// The value of `-C`, which these builtins run.
    fn parse_callback(&self, arguments: &[ShellWord], script: &mut ParsedShellScript) {
        let mut is_value = false;
        for word in arguments {
            let attached = word.text.strip_prefix('-').and_then(|rest| rest.split_once('C'));
            let code = match attached {
                _ if is_value => Some(word.text.as_str()),
                Some((_, code)) if !code.is_empty() => Some(code),
                Some(_) | None => None,
            };
            is_value = !is_value && attached.is_some_and(|(_, code)| code.is_empty());
            if let Some(code) = code {
                script.has_hidden |= word.is_expanded();
                self.parse_into(code, script);
            }
        }
    }

    /// A word that a shell will run, or an option with such a text attached.
    fn parse_option_text(&self, word: &ShellWord, script: &mut ParsedShellScript) {
        let text = word.text.as_str();
        let attached = match text.strip_prefix('-') {
            Some(name) if name.starts_with('-') => text.split_once('=').map(|(_, value)| value),
            Some(_) => text.get(2..),
            None => None,
        };
        self.parse_into(attached.unwrap_or(text), script);
    }

    /// Text that may or may not be run by a shell, so a parse failure means nothing.
    fn scan_into(&self, text: &str, script: &mut ParsedShellScript) {
        let mut inner = ParsedShellScript::default();
        if text.contains(char::is_whitespace) || text.contains(['$', '`', ';', '|', '&']) {
            loose_scanner::scan_loosely(text, self.context, self.nested + 1, &mut inner);
        }
        script.parts.append(&mut inner.parts);
        script.removals.append(&mut inner.removals);
    }

    /// The text of `eval`, which joins its words.
    fn parse_joined(&self, words: &[ShellWord], script: &mut ParsedShellScript) {
        script.has_hidden |= words.iter().any(ShellWord::is_expanded);
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        self.parse_into(&text.join(" "), script);
    }

    /// A shell with `-c` runs that text; one without a file runs commands we do not see.
    fn parse_shell_arguments(&self, arguments: &[ShellWord], script: &mut ParsedShellScript) {
        let is_option = |word: &ShellWord| word.text.starts_with(['-', '+']);
        let takes_text = arguments
            .iter()
            .any(|word| is_option(word) && !word.text.starts_with("--") && word.text.contains('c'));
        let rest = || arguments.iter().filter(|word| !is_option(word));
        script.has_hidden |= rest().next().is_none() || rest().any(ShellWord::is_expanded);
        if takes_text {
            rest().for_each(|word| self.parse_into(&word.text, script));
        }
    }

    /// A command after a wrapper may start at any of its words; a shell with `-c` must be analysed
    /// as well.
    fn parse_shell_behind(&self, arguments: &[ShellWord], script: &mut ParsedShellScript) {
        let is_shell = |word: &ShellWord| SHELLS.contains(&base_name(&word.text));
        let at = arguments.iter().position(is_shell);
        if let Some(rest) = at.and_then(|at| arguments.get(at + 1..)) {
            self.parse_shell_arguments(rest, script);
        }
    }
}

/// Texts that commands get as input are commands if any of them is a shell.
pub(crate) fn parse_shell_input(
    from: usize,
    documents: &[String],
    context: ScriptContext<'_>,
    nested: u8,
    script: &mut ParsedShellScript,
) {
    let is_shell = |part: &SimpleCommand| {
        let reach = if part.is_wrapper { part.words.len() } else { 1 };
        let reads = |name: &str| SHELLS.contains(&name) || matches!(name, "at" | "batch" | "ssh");
        part.words.iter().take(reach).any(|word| reads(base_name(&word.text)))
    };
    let has_shell = script.parts.get(from..).is_some_and(|parts| parts.iter().any(is_shell));
    if has_shell {
        let inner =
            NestedShellText { context, working_directories: PossibleDirectories::Unknown, nested };
        documents.iter().for_each(|text| inner.parse_into(text, script));
    }
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The program in a setting of git, as it stands after `-c`.
fn find_git_program(word: &ShellWord) -> Option<&str> {
    let (key, value) = word.text.split_once('=')?;
    let key = key.to_ascii_lowercase();
    let ends = ["pager", "editor", "command", "helper", "cmd", "program", "proxy", "fsmonitor"];
    let is_setting = !key.starts_with('-') && key.contains('.');
    let names_program = ends.iter().any(|end| key.ends_with(end)) || value.starts_with('!');
    (is_setting && names_program).then(|| value.trim_start_matches('!'))
}

/// Does it run a command on another machine, or later? Analysed for denials; a rule for the program
/// still covers what happens there.
fn runs_elsewhere(program: &str, arguments: &[ShellWord]) -> bool {
    let has = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.text.as_str()));
    match program {
        "ssh" | "mosh" | "tmux" | "screen" | "at" | "batch" => true,
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "lxc" | "crictl" => {
            has(&["run", "exec", "create", "debug"])
        }
        "vagrant" | "gcloud" | "az" | "fly" | "heroku" => has(&["ssh", "run", "exec"]),
        "git" => has(&["bisect"]) && has(&["run"]) || has(&["foreach", "filter-branch", "rebase"]),
        "make" | "gmake" => arguments.iter().any(|word| word.text.starts_with("SHELL=")),
        "socat" => true,
        _ => false,
    }
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Keywords that may come before a command.
const GRAMMAR: &[&str] =
    &["if", "then", "else", "elif", "do", "while", "until", "!", "coproc", "function", "{", "}"];

const FIND_RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Wrappers that accept their command as one text.
const TAKE_TEXT: &[&str] =
    &["env", "watch", "parallel", "flock", "script", "systemd-run", "npx", "hyperfine"];

/// Programs that run the program named in their arguments.
pub(crate) const WRAPPERS: &[&str] = &[
    "timeout",
    "time",
    "nice",
    "nohup",
    "stdbuf",
    "env",
    "command",
    "builtin",
    "exec",
    "setsid",
    "ionice",
    "sudo",
    "doas",
    "xargs",
    "noglob",
    "chroot",
    "flock",
    "watch",
    "strace",
    "ltrace",
    "unshare",
    "nsenter",
    "parallel",
    "chrt",
    "taskset",
    "busybox",
    "toybox",
    "script",
    "unbuffer",
    "systemd-run",
    "setpriv",
    "runuser",
    "fakeroot",
    "proot",
    "bwrap",
    "firejail",
    "prlimit",
    "caffeinate",
    "arch",
    "rlwrap",
    "coproc",
    "npx",
    "bunx",
    "pnpx",
    "uvx",
    "pipx",
    "entr",
    "valgrind",
    "gdb",
    "perf",
    "torsocks",
    "proxychains",
    "pkexec",
    "run0",
    "dbus-run-session",
    "xvfb-run",
    "catchsegv",
    "eatmydata",
    "faketime",
    "numactl",
    "cpulimit",
    "lldb",
    "hyperfine",
    "tini",
    "dumb-init",
    "catatonit",
    "gosu",
    "su-exec",
    "s6-setuidgid",
    "chpst",
    "start-stop-daemon",
    "daemonize",
    "cgexec",
    "winpty",
    "wine",
    "ld.so",
    "ld-linux.so.2",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "qemu-x86_64",
    "qemu-aarch64",
];

pub(crate) fn is_runner(program: &str) -> bool {
    let name = base_name(program);
    WRAPPERS.contains(&name)
        || SHELLS.contains(&name)
        || matches!(name, "su" | "eval" | "source" | "." | "trap" | "alias")
}
