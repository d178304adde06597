//! `windlass --store URL …`: ordinary commands on sessions of the store.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, TestProcess, find_windlass, is_running, until};
use crate::gateway::printed;

/// `windlass --store URL` with these words, on a host with this home.
fn on_store(fleet: &TestFleet, home: &str, words: &[&str]) -> Command {
    let programs = fleet.path("programs");
    if !programs.exists() {
        std::fs::create_dir(&programs).unwrap();
        let fleet_program = env!("CARGO_BIN_EXE_windlass-fleet");
        for (from, name) in
            [(find_windlass().to_str().unwrap(), "windlass"), (fleet_program, "windlass-fleet")]
        {
            // A program finds the other one beside its real path.
            std::fs::hard_link(from, programs.join(name))
                .or_else(|_| std::fs::copy(from, programs.join(name)).map(drop))
                .unwrap();
        }
    }
    std::fs::create_dir_all(fleet.path(home)).unwrap();
    std::fs::create_dir_all(fleet.path("project")).unwrap();
    let like = fleet.command(&[]);
    let mut command = Command::new(programs.join("windlass"));
    command.env_clear();
    for (name, value) in like.get_envs() {
        command.env(name, value.unwrap());
    }
    command
        .env("HOME", fleet.path(home))
        .env_remove("WINDLASS_STORE")
        .arg("--store")
        .arg(fleet.postgres.url())
        .args(words)
        .current_dir(fleet.path("project"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(fleet: &TestFleet, home: &str, words: &[&str]) -> Output {
    on_store(fleet, home, words).output().unwrap()
}

#[test]
fn a_session_of_one_host_goes_on_at_another_with_ordinary_commands() {
    let script = Script::new()
        .answer(ScriptedAnswer::text("It is blue.").when("the second"))
        .answer(ScriptedAnswer::text("It is red.").when("the first"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let said = printed(&run(&fleet, "here", &["-p", "the first question"]));
    assert_eq!(said.trim(), "It is red.");
    let row =
        "select tenant, state, worker is null, seq > 3, cost_micro > 0 from windlass.sessions";
    assert_eq!(fleet.postgres.query(row), "local|idle|t|t|t");
    let session = fleet.postgres.query("select id from windlass.sessions");

    // Nothing of it lies on the first host, and a second host has all of it.
    let left = |home: &str| {
        let state = fleet.path(home).join(".local/state/windlass");
        ["sessions", "stores"].map(|name| {
            std::fs::read_dir(state.join(name)).map_or(0, |entries| entries.flatten().count())
        })
    };
    assert_eq!(left("here"), [0, 0]);
    let said = printed(&run(&fleet, "there", &["-p", "-c", "the second question"]));
    assert_eq!(said.trim(), "It is blue.");
    let request = fleet.model.requests().last().unwrap().json().unwrap().to_string();
    assert!(request.contains("It is red.") && request.contains("the second"), "{request}");
    assert_eq!(fleet.postgres.query("select count(*), min(epoch) from windlass.sessions"), "1|2");

    let listed = printed(&run(&fleet, "there", &["sessions", "list"]));
    assert!(listed.contains(&session[..8]) && listed.contains("the first"), "{listed}");
    // The database says which sessions are worth copying; quotes are not spelled the same there.
    for (words, is_found) in
        [("blue", true), ("BLUE", true), ("is \\ \"blue\"", false), ("purple", false)]
    {
        let found = run(&fleet, "there", &["sessions", "search", words]);
        let said = String::from_utf8_lossy(&found.stdout).into_owned();
        assert_eq!(said.contains("It is blue"), is_found, "{words}: {found:?}");
    }
    for words in [["why", &session], ["replay", &session], ["cost", &session]] {
        let said = printed(&run(&fleet, "here", &words));
        assert!(!said.trim().is_empty(), "{words:?}");
    }
    printed(&run(&fleet, "here", &["sessions", "rename", &session, "colours"]));
    let listed = printed(&run(&fleet, "there", &["sessions", "list"]));
    assert!(listed.contains("colours"), "{listed}");
    printed(&run(&fleet, "here", &["sessions", "delete", &session]));
    assert_eq!(fleet.postgres.query("select count(*) from windlass.sessions"), "0");
    assert_eq!(left("there"), [0, 0]);
}

/// One that is killed leaves nothing running; the session is free when its lease has ended.
#[test]
fn a_command_that_is_killed_takes_its_tools_with_it() {
    let hang = "echo begun >> {{word}}; sleep 300";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": hang })).when("hang "))
        .answer(ScriptedAnswer::text("It is not known.").when_result("nknown"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let tool = fleet.effects().display().to_string();
    let prompt = format!("hang {tool}");
    let words = ["-p", prompt.as_str(), "--permission-mode", "bypassPermissions"];
    let process = TestProcess::start(&mut on_store(&fleet, "here", &words));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    let session = fleet.postgres.query("select id from windlass.sessions");
    // The session is in use, and says by whom.
    let busy = run(&fleet, "there", &["-p", "-r", &session, "more"]);
    let line = String::from_utf8_lossy(&busy.stderr).into_owned();
    assert!(!busy.status.success() && line.contains("in use by process"), "{line}");
    process.signal(Signal::KILL);
    drop(process);
    until("the tool is ended by its guard", || !is_running(&tool));
    fleet.postgres.query("update windlass.workers set lease_until = now()");
    let words = ["-p", "-r", &session, "--continue-run"];
    let said = printed(&run(&fleet, "there", &words));
    assert_eq!(said.trim(), "It is not known.");
    assert_eq!(fleet.read_effects().lines().count(), 1, "the tool ran once");
}

#[test]
fn what_a_store_cannot_do_is_one_line() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let wrong = on_store(&fleet, "here", &[]);
    let program = wrong.get_program().to_owned();
    let with_store = |url: &str| {
        let mut command = Command::new(&program);
        for (name, value) in wrong.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(["--store", url, "-p", "hello"]).stdin(Stdio::null()).output().unwrap()
    };
    let none = format!("{}one", fleet.postgres.url().trim_end_matches('w'));
    let outputs = [
        (with_store("mysql://x/y"), "postgres://"),
        (with_store("postgres://windlass@127.0.0.1:1/w"), "cannot be reached"),
        (with_store(&none), "does not exist"),
        (run(&fleet, "here", &["race", "x"]), "--store"),
        (run(&fleet, "here", &["-p", "x", "--journal", "y"]), "--journal"),
        (run(&fleet, "here", &["sessions", "restore"]), "trash"),
    ];
    for (output, words) in outputs {
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && line.contains(words), "{words}: {line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    assert_eq!(fleet.model.request_count(), 0);
    assert_eq!(fleet.postgres.query("select count(*) from windlass.sessions"), "0");
}

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The viewer shows what workers run, while they run it, and what is queued meanwhile.
#[test]
fn the_viewer_shows_the_fleet_as_it_runs() {
    let step = "while [ ! -e {{word}} ]; do sleep 0.05; done; echo let-go";
    let script = Script::new()
        .answer(ScriptedAnswer::text("Rope.").when("rope or chain"))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": step })).when("wait for "))
        .answer(ScriptedAnswer::text("Seen to the end.").when_result("let-go"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker = fleet.start_worker("one", &[]);
    let first = fleet.submit(1, "rope or chain?");
    fleet.wait_for_state(&first, "done");
    let mut command = on_store(&fleet, "desk", &["view", "--no-open"]);
    let mut viewer = KilledOnDrop(command.stderr(Stdio::inherit()).spawn().unwrap());
    let mut lines = BufReader::new(viewer.0.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap();
    let (url, token) = address.split_once("/#token=").unwrap();
    let ask = |path: &str| -> Value {
        let host = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}");
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{answer}");
        serde_json::from_str(body).unwrap()
    };
    let state_of = |id: &str| {
        let listed = ask("/api/sessions");
        let rows = listed["sessions"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["id"] == id);
        row.map_or(Value::Null, |row| row["state"].clone())
    };
    assert_eq!(state_of(&first), "done");
    let second = fleet.submit(2, &format!("wait for {}", fleet.effects().display()));
    until("it is shown while it runs", || state_of(&second) == "running");
    std::fs::write(fleet.effects(), "").unwrap();
    until("its end is shown", || state_of(&second) == "done");
    let overview = ask(&format!("/api/sessions/{second}"));
    assert_eq!(overview["runs"][0]["terminal"], "completed", "{overview}");
    let pid = rustix::process::Pid::from_child(&viewer.0);
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    assert!(viewer.0.wait().unwrap().code().is_some());
    let left = std::fs::read_dir(fleet.path("desk/.local/state/windlass/stores")).unwrap();
    assert_eq!(left.count(), 0, "the copies are removed");
    let refused = run(&fleet, "desk", &["view", "--act"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--store"), "{refused:?}");
}
