//! `windlass --store URL …`: ordinary commands on sessions of the store.

use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::json;
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
    let found = printed(&run(&fleet, "there", &["sessions", "search", "blue"]));
    assert!(found.contains("blue"), "{found}");
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
