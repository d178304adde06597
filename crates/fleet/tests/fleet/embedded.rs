//! `windlass serve` without a database: the same API, with sessions in files of this host.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer};

use crate::fixture::{TestProcess, find_windlass, is_running, run_git, until};
use crate::gateway::call;

pub(crate) struct EmbeddedFleet {
    model: Rehearsal,
    folder: TempDir,
}

impl EmbeddedFleet {
    pub(crate) fn new(script: Script) -> Self {
        let model = Rehearsal::start_blocking(script, RehearsalOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.claude", "tmp", "effects"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let settings = json!({ "permissions": {
            "additionalDirectories": [folder.path().join("effects")] } });
        let path = folder.path().join("home/.claude/settings.json");
        std::fs::write(path, settings.to_string()).unwrap();
        Self { model, folder }
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path().join("home"))
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "test-key")
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn directory(&self) -> String {
        self.folder.path().join("serve").display().to_string()
    }

    /// Returns the process, its URL and the token.
    pub(crate) fn serve(&self) -> (TestProcess, String, String) {
        self.serve_with(&[])
    }

    fn serve_with(&self, more: &[&str]) -> (TestProcess, String, String) {
        let windlass = find_windlass();
        let directory = self.directory();
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--allow-unsandboxed", "--drain", "0"];
        let mut command = self.command(&arguments);
        command.args(["--dir", &directory, "--windlass", windlass.to_str().unwrap()]).args(more);
        let mut process = TestProcess::start(&mut command);
        let line = process.wait_for_line("serving at ");
        let (_, url) = line.split_once("serving at ").unwrap();
        let token = std::fs::read_to_string(format!("{directory}/store/token")).unwrap();
        process.wait_for_line("is ready");
        (process, url.to_owned(), token)
    }
}

/// The status and the body of a request with a token.
pub(crate) fn ask(url: &str, token: &str, request: &str, body: &Value) -> (u16, Value) {
    let head = format!("{request} HTTP/1.1\r\nAuthorization: Bearer {token}");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (status, answer) = call(url, &head, &body);
    (status, serde_json::from_str(&answer).unwrap_or(Value::String(answer)))
}

fn wait_for_state(url: &str, token: &str, session: &str, state: &str) {
    let path = format!("GET /v1/sessions/{session}");
    until(&format!("{session} is {state}"), || {
        ask(url, token, &path, &Value::Null).1["state"] == state
    });
}

#[test]
fn sessions_run_without_a_database_behind_the_same_api() {
    let write = json!({ "file_path": "note.txt", "content": "x\n" });
    let script = Script::new()
        .answer(ScriptedAnswer::text("Rope.").when("rope or chain"))
        .answer(ScriptedAnswer::text("Four.").when("how many"))
        .answer(ScriptedAnswer::call("Write", write).when("write it"))
        .answer(ScriptedAnswer::text("Written.").when_result("note.txt"));
    let fleet = EmbeddedFleet::new(script);
    let (_process, url, token) = fleet.serve();
    let submit = |body: Value| {
        let (status, answer) = ask(&url, &token, "POST /v1/sessions", &body);
        assert_eq!(status, 201, "{answer}");
        answer["id"].as_str().unwrap().to_owned()
    };
    let first = submit(json!({ "prompt": "rope or chain?", "name": "gear" }));
    wait_for_state(&url, &token, &first, "done");
    let one = format!("/v1/sessions/{first}");
    let (_, result) = ask(&url, &token, &format!("GET {one}/result"), &Value::Null);
    assert_eq!(result["result"], "Rope.");
    let (_, row) = ask(&url, &token, &format!("GET {one}"), &Value::Null);
    assert!(row["cost_micro_usd"].as_u64().unwrap() > 0 && row["name"] == "gear", "{row}");
    // A message goes on with the conversation, and the events are those of both runs, numbered.
    let message = json!({ "content": "how many?" });
    assert_eq!(ask(&url, &token, &format!("POST {one}/messages"), &message).0, 200);
    until("the second answer", || {
        let (_, result) = ask(&url, &token, &format!("GET {one}/result"), &Value::Null);
        result["result"] == "Four."
    });
    wait_for_state(&url, &token, &first, "done");
    let (_, events) = ask(&url, &token, &format!("GET {one}/events"), &Value::Null);
    let events = events.as_str().unwrap();
    let ids: Vec<u64> =
        events.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(ids, (1..=u64::try_from(ids.len()).unwrap()).collect::<Vec<_>>());
    assert!(events.contains("Rope.") && events.contains("Four.") && events.contains("event: end"));

    // A question waits for its answer; the change is a patch.
    let second = submit(json!({ "prompt": "write it" }));
    let two = format!("/v1/sessions/{second}");
    let mut question = Value::Null;
    until("it asks", || {
        let (_, listed) = ask(&url, &token, &format!("GET {two}/questions"), &Value::Null);
        question = listed["questions"][0]["question"].clone();
        question.is_string()
    });
    let answer = json!({ "question": question, "behavior": "allow" });
    assert_eq!(ask(&url, &token, &format!("POST {two}/answers"), &answer).0, 200);
    wait_for_state(&url, &token, &second, "done");
    let (_, patch) = ask(&url, &token, &format!("GET {two}/patch"), &Value::Null);
    assert!(patch.as_str().unwrap().contains("+x"), "{patch}");
    let (_, listed) = ask(&url, &token, "GET /v1/sessions?state=done", &Value::Null);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    let (status, metrics) = ask(&url, &token, "GET /metrics", &Value::Null);
    assert!(status == 200 && metrics.as_str().unwrap().contains("{state=\"done\"} 2"));
    assert_eq!(ask(&url, "wlf_00", &format!("GET {one}"), &Value::Null).0, 401);
    let foreign = json!({ "prompt": "x", "tenant": "other" });
    assert_eq!(ask(&url, &token, "POST /v1/sessions", &foreign).0, 400);
}

/// Killed in the middle of a tool and started again: the session goes on, the tool ran once and is
/// told as unknown, and everything that was answered before is still there.
#[test]
fn sessions_go_on_when_the_server_is_started_again() {
    let hang = "echo begun >> {{word}}; sleep 300";
    let script = Script::new()
        .answer(ScriptedAnswer::text("Fine.").when("good"))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": hang })).when("hang "))
        .answer(ScriptedAnswer::text("It is not known.").when_result("nknown"));
    let fleet = EmbeddedFleet::new(script);
    let effects = fleet.folder.path().join("effects/log");
    let tool = effects.display().to_string();
    let (process, url, token) = fleet.serve();
    let bypass = json!({ "permission_mode": "bypassPermissions" });
    let body = json!({ "prompt": "good" });
    let (_, good) = ask(&url, &token, "POST /v1/sessions", &body);
    wait_for_state(&url, &token, good["id"].as_str().unwrap(), "done");
    let body = json!({ "prompt": format!("hang {tool}"), "spec": bypass });
    let (_, hanging) = ask(&url, &token, "POST /v1/sessions", &body);
    // The shell makes the file before it writes to it.
    let read = || std::fs::read_to_string(&effects).unwrap_or_default();
    until("the tool begins", || read().ends_with('\n'));
    // A second server on the same folder is refused in one line.
    let directory = fleet.directory();
    let mut second = fleet.command(&["serve", "--listen", "127.0.0.1:0", "--dir", &directory]);
    let refused = second.output().unwrap();
    let line = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && line.contains("in use"), "{line}");
    assert_eq!(line.lines().count(), 1);
    process.signal(Signal::KILL);
    drop(process);
    until("the tool is ended by its guard", || !is_running(&tool));
    let (_process, url, again) = fleet.serve();
    assert_eq!(token, again);
    wait_for_state(&url, &token, hanging["id"].as_str().unwrap(), "done");
    let (_, listed) = ask(&url, &token, "GET /v1/sessions", &Value::Null);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_to_string(&effects).unwrap(), "begun\n");
}

/// The files of a repository, at the commit it began with, and its changes as a patch.
#[test]
fn a_repository_is_worked_on_without_a_database() {
    let bash = |command: &str| ScriptedAnswer::call("Bash", json!({ "command": command }));
    let script = Script::new()
        .answer(bash("echo changed >> base.txt; echo changed-it").when("change"))
        .answer(ScriptedAnswer::text("Changed.").when_result("changed-it"));
    let fleet = EmbeddedFleet::new(script);
    let repository = fleet.folder.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("base.txt"), "base\n").unwrap();
    run_git(&repository, &["init", "-q", "-b", "trunk"]);
    run_git(&repository, &["add", "base.txt"]);
    run_git(&repository, &["commit", "-q", "-m", "base"]);
    let (mut process, url, token) = fleet.serve();
    let spec = json!({ "permission_mode": "bypassPermissions",
        "workspace": { "git": format!("file://{}", repository.display()) } });
    let body = json!({ "prompt": "change", "spec": spec });
    let (_, session) = ask(&url, &token, "POST /v1/sessions", &body);
    let session = session["id"].as_str().unwrap();
    wait_for_state(&url, &token, session, "done");
    let patch = format!("GET /v1/sessions/{session}/patch");
    let (_, patch) = ask(&url, &token, &patch, &Value::Null);
    std::fs::write(fleet.folder.path().join("patch"), patch.as_str().unwrap()).unwrap();
    run_git(&repository, &["apply", "../patch"]);
    let base = std::fs::read_to_string(repository.join("base.txt")).unwrap();
    assert_eq!(base, "base\nchanged\n");
    process.signal(Signal::TERM);
    assert_eq!(process.wait(), Some(143));
}

/// A question outlives the server: it is told who answered, and a session that waits holds no place.
#[test]
fn questions_are_kept_without_a_database() {
    let write = json!({ "file_path": "note.txt", "content": "x\n" });
    let script = Script::new()
        .answer(ScriptedAnswer::text("Fine.").when("good"))
        .answer(ScriptedAnswer::call("Write", write).when("write it"))
        .answer(ScriptedAnswer::text("Written.").when_result("note.txt"));
    let fleet = EmbeddedFleet::new(script);
    let more = ["--capacity", "1", "--question-wait", "1"];
    let (mut process, url, token) = fleet.serve_with(&more);
    let submit = |url: &str, body: Value| {
        let (status, answer) = ask(url, &token, "POST /v1/sessions", &body);
        assert_eq!(status, 201, "{answer}");
        answer["id"].as_str().unwrap().to_owned()
    };
    let asking = submit(&url, json!({ "prompt": "write it" }));
    let one = format!("/v1/sessions/{asking}");
    let waits = |url: &str| {
        let (_, row) = ask(url, &token, &format!("GET {one}"), &Value::Null);
        row["state"] == "queued" && row["reason"].as_str().is_some_and(|it| it.contains("answer"))
    };
    until("it waits", || waits(&url));
    let good = submit(&url, json!({ "prompt": "good" }));
    wait_for_state(&url, &token, &good, "done");
    process.signal(Signal::TERM);
    assert_eq!(process.wait(), Some(143));
    let (_process, url, _) = fleet.serve_with(&more);
    assert!(waits(&url));
    let (_, listed) = ask(&url, &token, &format!("GET {one}/questions"), &Value::Null);
    let answer = json!({ "question": listed["questions"][0]["question"], "behavior": "allow" });
    assert_eq!(ask(&url, &token, &format!("POST {one}/answers"), &answer).0, 200);
    assert_eq!(ask(&url, &token, &format!("POST {one}/answers"), &answer).0, 404);
    wait_for_state(&url, &token, &asking, "done");
    let (_, answers) = ask(&url, &token, &format!("GET {one}/answers"), &Value::Null);
    assert_eq!(answers["answers"][0]["answered_by"], "owner", "{answers}");
    assert_eq!(answers["answers"][0]["outcome"], "allow", "{answers}");
    let (_, events) = ask(&url, &token, &format!("GET {one}/events"), &Value::Null);
    assert!(events.as_str().unwrap().contains("permission_answered"));
    let budget = json!({ "name": "night", "max_budget_usd": 1 });
    assert_eq!(ask(&url, &token, "POST /v1/batches", &budget).0, 400);
    assert_eq!(ask(&url, &token, "POST /v1/batches", &json!({ "name": "night" })).0, 201);
    let (_, batches) = ask(&url, &token, "GET /v1/batches", &Value::Null);
    assert_eq!(batches["batches"][0]["name"], "night", "{batches}");
}
