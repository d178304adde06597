//! What `action.yml` runs: a pinned version is installed, one prompt is run, outputs and summary are written.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, TestDirs, play, run};
use crate::update::{ReleaseHost, sha256};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/action.sh");
const VERSION: &str = "9.9.9";

/// A machine of the workflow.
struct ActionRunner {
    dirs: TestDirs,
    host: ReleaseHost,
    sum: String,
}

impl ActionRunner {
    /// The published program says its version and is this one in everything else.
    fn new() -> Self {
        let host = ReleaseHost::open();
        let own = env!("CARGO_BIN_EXE_windlass");
        let program = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && exec echo windlass {VERSION}\nexec {own} \"$@\"\n"
        );
        let sum = sha256(&host.publish(VERSION, &program));
        Self { dirs: TestDirs::new(), host, sum }
    }

    fn run(&self, server: &Rehearsal, inputs: &[(&str, &str)]) -> FinishedCommand {
        let mut command = Command::new("bash");
        command
            .arg(SCRIPT)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a path"))
            .env("HOME", self.dirs.home())
            .env("RUNNER_TEMP", self.dirs.home().with_file_name("tmp"))
            .env("GITHUB_OUTPUT", self.dirs.file("output"))
            .env("GITHUB_STEP_SUMMARY", self.dirs.file("summary"))
            .env("ANTHROPIC_BASE_URL", server.url())
            .env("ANTHROPIC_API_KEY", "test-key")
            .env("INPUT_VERSION", VERSION)
            .env("INPUT_SHA256", &self.sum)
            .env("INPUT_RELEASES_URL", &self.host.url)
            .envs(inputs.iter().copied())
            .current_dir(self.dirs.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        run(&mut command)
    }

    /// An output of the step: what stands between its name and its end mark.
    fn output(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.dirs.file("output")).expect("outputs");
        let (_, rest) = text.split_once(&format!("{name}<<")).expect("the output");
        let (mark, rest) = rest.split_once('\n').expect("a line");
        rest.split_once(&format!("\n{mark}")).expect("an end").0.to_owned()
    }
}

fn has_jq() -> bool {
    let there = Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_ok();
    assert!(there || std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "jq is not installed");
    there
}

#[test]
fn a_prompt_is_run_with_its_rules_and_told_in_outputs_and_summary() {
    if !has_jq() {
        return;
    }
    let runner = ActionRunner::new();
    let call = json!({"command": "touch made", "description": "d"});
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", call))
            .answer(ScriptedAnswer::text("Two words:\nend-of it")),
    );
    let inputs = [
        ("INPUT_PROMPT", "-x $(touch evil) `touch evil`"),
        ("INPUT_ALLOWED_TOOLS", "Read\nBash(touch made)"),
    ];
    let finished = runner.run(&server, &inputs);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(runner.output("conclusion"), "success");
    assert_eq!(runner.output("result"), "Two words:\nend-of it");
    assert_eq!(runner.output("session_id").len(), 36);
    let file = runner.output("execution_file");
    assert!(Path::new(&file).is_file(), "{file}");
    let summary = std::fs::read_to_string(runner.dirs.file("summary")).expect("a summary");
    assert!(summary.starts_with("## Windlass: success\n\nTwo words:"), "{summary}");
    assert!(runner.dirs.file("made").exists(), "the rule allowed it");
    assert!(!runner.dirs.file("evil").exists(), "a prompt is no shell");
    let sent = server.requests()[0].json().expect("JSON").to_string();
    assert!(sent.contains("-x $(touch evil)"), "{sent}");
}

#[test]
fn a_failure_and_another_checksum_are_told() {
    if !has_jq() {
        return;
    }
    let runner = ActionRunner::new();
    let server =
        play(Script::new().answer(ScriptedAnswer::call("Glob", json!({"pattern": "*"})).repeat(0)));
    let failed = runner.run(&server, &[("INPUT_PROMPT", "go"), ("INPUT_MAX_TURNS", "2")]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(runner.output("conclusion"), "failure");
    let asked = server.request_count();
    let other = "0".repeat(64);
    let refused = runner.run(&server, &[("INPUT_PROMPT", "go"), ("INPUT_SHA256", &other)]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("was asked for"), "{refused:?}");
    let missing = runner.run(&server, &[]);
    assert!(missing.stdout.contains("::error::the input for INPUT_PROMPT"), "{missing:?}");
    assert_eq!(server.request_count(), asked, "nothing was asked again");
}
