//! Completions in the real shells: flags, commands, and what is on this machine.

use std::path::Path;
use std::process::{Command, Stdio};

use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

/// Prints what bash would offer for the words.
const BASH: &str = r#"
source <(windlass completions bash)
COMP_WORDS=(windlass "$@"); COMP_CWORD=$#
_windlass 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// The same for zsh, whose own list of words is read where the script hands it over.
const ZSH: &str = r#"
compdef() { : }
compadd() { print -l -- ${(P)@[-1]} }
_files() { : }
source <(windlass completions zsh)
words=(windlass "$@"); CURRENT=${#words}
_windlass
"#;

const FISH: &str = r#"
windlass completions fish | source
complete --do-complete "windlass $(string join ' ' -- $argv)" | string replace --regex '\t.*' ''
true
"#;

struct TestShell {
    name: &'static str,
    /// What stands before the program and between it and the words.
    flags: &'static [&'static str],
    program: &'static str,
    separator: &'static [&'static str],
}

const SHELLS: &[TestShell] = &[
    TestShell { name: "bash", flags: &["--norc", "-c"], program: BASH, separator: &["complete"] },
    TestShell { name: "zsh", flags: &["-f", "-c"], program: ZSH, separator: &["complete"] },
    TestShell { name: "fish", flags: &["--no-config", "-c"], program: FISH, separator: &["--"] },
];

impl TestShell {
    fn is_installed(&self) -> bool {
        let there = Command::new(self.name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        let is_wanted = self.name == "bash" || std::env::var_os("WINDLASS_ALL_TESTS").is_some();
        assert!(there || !is_wanted, "{} is not installed", self.name);
        there
    }

    fn complete(&self, dirs: &TestDirs, words: &[&str]) -> Vec<String> {
        let folder = Path::new(env!("CARGO_BIN_EXE_windlass")).parent().expect("a folder");
        let path = std::env::var("PATH").expect("a path");
        let mut command = Command::new(self.name);
        command
            .args(self.flags)
            .arg(self.program)
            .args(self.separator)
            .args(words)
            .env_clear()
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("HOME", dirs.home())
            .env("XDG_STATE_HOME", dirs.home().with_file_name("state"))
            .current_dir(dirs.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let finished = run(&mut command);
        // Shells have orders of their own.
        let mut lines: Vec<_> = finished.answer().lines().map(str::to_owned).collect();
        lines.retain(|line| !line.is_empty());
        lines.sort();
        lines
    }
}

#[test]
fn shells_complete_commands_flags_sessions_models_and_agents() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    run(&mut dirs.asking(&server.url(), &["-p", "the prompt"])).answer();
    let agents = dirs.home().join(".claude/agents");
    std::fs::create_dir_all(&agents).expect("a folder");
    let page = "---\nname: small\ndescription: d\n---\nYou.\n";
    std::fs::write(agents.join("small.md"), page).expect("a file");
    let journal = dirs.journals().pop().expect("a journal");
    let id = journal.file_stem().expect("a name").to_string_lossy()[..13].to_owned();
    for shell in SHELLS.iter().filter(|shell| shell.is_installed()) {
        let name = shell.name;
        let complete = |words: &[&str]| shell.complete(&dirs, words);
        assert_eq!(complete(&["sess"]), ["sessions"], "{name}");
        assert_eq!(complete(&["sessions", "renam"]), ["rename"], "{name}");
        assert_eq!(complete(&["--max-bud"]), ["--max-budget-usd"], "{name}");
        assert_eq!(complete(&["-p", "x", "--max-bud"]), ["--max-budget-usd"], "{name}");
        assert_eq!(complete(&["--output-format", "stream"]), ["stream-json"], "{name}");
        assert_eq!(complete(&["completions", ""]), ["bash", "fish", "zsh"], "{name}");
        assert_eq!(complete(&["why", ""]), [id.as_str()], "{name}");
        assert_eq!(complete(&["--resume", ""]), [id.as_str()], "{name}");
        assert_eq!(complete(&["--agent", "sm"]), ["small"], "{name}");
        let models = complete(&["--model", "anthropic/claude-haiku"]);
        assert!(models.iter().any(|model| model == "anthropic/claude-haiku-5-5"), "{models:?}");
        assert!(!complete(&[""]).iter().any(|word| word.starts_with('_')), "{name}");
    }
}

#[test]
fn a_value_behind_an_equals_sign_is_completed_however_the_shell_cuts_it() {
    let dirs = TestDirs::new();
    let ask = |words: &[&str]| {
        let words: Vec<&str> = ["__complete", "--"].iter().chain(words).copied().collect();
        run(&mut dirs.windlass(&words)).answer().to_owned()
    };
    assert!(ask(&["--output-format=stream"]).starts_with("--output-format=stream-json"));
    assert!(ask(&["--output-format", "=", "stream"]).starts_with("stream-json"));
    assert!(ask(&["--output-format", "="]).starts_with("text"));
    assert_eq!(ask(&["no-command", "nothing"]), "");
}

/// A shell inserts a word as it is, and the author of the project named its agents.
#[test]
fn a_word_that_a_shell_would_run_is_not_offered() {
    let dirs = TestDirs::new();
    let agents = dirs.work().join(".claude/agents");
    std::fs::create_dir_all(&agents).expect("a folder");
    let names = ["small", "smash$(touch made)", "smile`id`", "smoke;id", "smart one", "smug'"];
    for (number, name) in names.iter().enumerate() {
        let page = format!("---\nname: \"{name}\"\ndescription: d\n---\nYou.\n");
        std::fs::write(agents.join(format!("{number}.md")), page).expect("a file");
    }
    for shell in SHELLS.iter().filter(|shell| shell.is_installed()) {
        assert_eq!(shell.complete(&dirs, &["--agent", "sm"]), ["small"], "{}", shell.name);
    }
}
