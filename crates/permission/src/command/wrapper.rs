//! Commands that run other commands, looked through for denials: any wrapper, in any form.

use super::script::{Part, Places, Script};
use super::variable::is_assignment;
use super::walk::{Scene, read_at};
use super::word::Word;
use super::{interpreter, loose};

/// Adds a command to what was found, with everything it runs in turn.
pub(crate) fn add(mut part: Part, scene: Scene<'_>, nested: u8, script: &mut Script) {
    let is_in_front =
        |word: &&Word| is_assignment(&word.text) || GRAMMAR.contains(&word.text.as_str());
    let front = part.words.iter().take_while(is_in_front).count();
    let words = part.words.get(front..).unwrap_or_default();
    let Some((first, arguments)) = words.split_first() else {
        script.parts.push(part);
        return;
    };
    let program = base_name(&first.text).to_owned();
    let inner = Inner { scene, places: part.places.clone(), nested };
    let arguments = arguments.to_vec();
    part.is_wrapper = front > 0
        || WRAPPERS.contains(&program.as_str())
        || runs_elsewhere(&program, &arguments)
        || (program == "find"
            && arguments.iter().any(|word| FIND_RUNS.contains(&word.text.as_str())));
    interpreter::look_into(&part, script);
    script.parts.push(part);
    match program.as_str() {
        "eval" | "trap" => inner.joined(&arguments, script),
        "alias" => {
            let texts = arguments.iter().filter_map(|word| word.text.split_once('='));
            texts.for_each(|(_, text)| inner.read(text, script));
        }
        "source" | "." => script.has_hidden |= arguments.iter().any(Word::is_expanded),
        "find" => inner.shell_behind(&arguments, script),
        "su" => inner.shell(&arguments, script),
        name if SHELLS.contains(&name) => inner.shell(&arguments, script),
        name if runs_elsewhere(name, &arguments) => {
            inner.shell_behind(&arguments, script);
            let text = |word: &Word| match name {
                // An address that is a command.
                "socat" => word.text.split_once(':').map(|(_, text)| format!("{text} ")),
                _ => Some(word.text.clone()),
            };
            arguments.iter().filter_map(text).for_each(|text| inner.glance(&text, script));
        }
        name if WRAPPERS.contains(&name) => {
            let is_in_front = |word: &&Word| {
                let first = word.text.chars().next();
                is_assignment(&word.text) || first.is_none_or(|c| c == '-' || c.is_ascii_digit())
            };
            let named = arguments.iter().find(|word| !is_in_front(word));
            script.has_hidden |= named.is_some_and(Word::is_expanded);
            inner.shell_behind(&arguments, script);
            if TAKE_TEXT.contains(&name) {
                arguments.iter().for_each(|word| inner.read(&word.text, script));
            }
        }
        _ => {}
    }
}

/// Text within a line that a shell will read.
struct Inner<'a> {
    scene: Scene<'a>,
    places: Places,
    nested: u8,
}

impl Inner<'_> {
    fn read(&self, text: &str, script: &mut Script) {
        let mut inner = Script::default();
        read_at(text, self.scene, self.places.clone(), self.nested + 1, &mut inner);
        if !inner.is_understood() {
            inner.has_hidden = true;
            loose::scan(text, self.scene, self.nested + 1, &mut inner);
        }
        inner.parts.iter_mut().for_each(|part| part.is_inner = true);
        script.has_hidden |= inner.has_hidden;
        script.parts.append(&mut inner.parts);
        script.removals.append(&mut inner.removals);
        script.mentions.append(&mut inner.mentions);
    }

    /// Text that may be for a shell, and as well may not: not understanding it means nothing.
    fn glance(&self, text: &str, script: &mut Script) {
        let mut inner = Script::default();
        if text.contains(char::is_whitespace) || text.contains(['$', '`', ';', '|', '&']) {
            loose::scan(text, self.scene, self.nested + 1, &mut inner);
        }
        script.parts.append(&mut inner.parts);
        script.removals.append(&mut inner.removals);
    }

    /// The text handed to `eval`, which joins its words.
    fn joined(&self, words: &[Word], script: &mut Script) {
        script.has_hidden |= words.iter().any(Word::is_expanded);
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        self.read(&text.join(" "), script);
    }

    /// A shell with text of its own runs that; one without a file reads commands we do not see.
    fn shell(&self, arguments: &[Word], script: &mut Script) {
        let is_option = |word: &Word| word.text.starts_with(['-', '+']);
        let takes_text = arguments
            .iter()
            .any(|word| is_option(word) && !word.text.starts_with("--") && word.text.contains('c'));
        let rest = || arguments.iter().filter(|word| !is_option(word));
        script.has_hidden |= rest().next().is_none() || rest().any(Word::is_expanded);
        if takes_text {
            rest().for_each(|word| self.read(&word.text, script));
        }
    }

    /// What stands behind a wrapper is looked for at each of its words; a shell with text of its
    /// own has to be looked into as well.
    fn shell_behind(&self, arguments: &[Word], script: &mut Script) {
        let is_shell = |word: &Word| SHELLS.contains(&base_name(&word.text));
        let at = arguments.iter().position(is_shell);
        if let Some(rest) = at.and_then(|at| arguments.get(at + 1..)) {
            self.shell(rest, script);
        }
    }
}

/// Texts that commands are given as input are commands themselves if any of them is a shell.
pub(crate) fn feed_shells(
    from: usize,
    documents: &[String],
    scene: Scene<'_>,
    nested: u8,
    script: &mut Script,
) {
    let is_shell = |part: &Part| {
        let reach = if part.is_wrapper { part.words.len() } else { 1 };
        let reads = |name: &str| SHELLS.contains(&name) || matches!(name, "at" | "batch" | "ssh");
        part.words.iter().take(reach).any(|word| reads(base_name(&word.text)))
    };
    let has_shell = script.parts.get(from..).is_some_and(|parts| parts.iter().any(is_shell));
    if has_shell {
        let inner = Inner { scene, places: Places::Unknown, nested };
        documents.iter().for_each(|text| inner.read(text, script));
    }
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Does it hand a command to another place, or keep it for later? Looked through for denials; a rule
/// for the program still covers what happens there.
fn runs_elsewhere(program: &str, arguments: &[Word]) -> bool {
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

/// Words of the shell's grammar that may stand in front of a command.
const GRAMMAR: &[&str] =
    &["if", "then", "else", "elif", "do", "while", "until", "!", "coproc", "function", "{", "}"];

const FIND_RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Wrappers that may be given their command as one text.
const TAKE_TEXT: &[&str] =
    &["env", "watch", "parallel", "flock", "script", "systemd-run", "npx", "hyperfine"];

/// Programs that run the program named behind them.
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

/// Does this program only run others?
pub(crate) fn is_runner(program: &str) -> bool {
    let name = base_name(program);
    WRAPPERS.contains(&name)
        || SHELLS.contains(&name)
        || matches!(name, "su" | "eval" | "source" | "." | "trap" | "alias")
}
