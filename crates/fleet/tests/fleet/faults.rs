//! What must hold whatever dies: workers killed and frozen, a database restarted, sessions that kill.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, is_running, until};

/// A script whose first tool writes down that it began, then hangs; and that goes on when it is told
/// that the outcome is not known.
fn hanging_script() -> Script {
    let hang = "echo begun >> {{word}}; sleep 300";
    Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": hang })).when("hang "))
        .answer(ScriptedAnswer::text("It is not known.").when_result("nknown"))
}

/// F1: a worker is killed in the middle of a tool. Its tools die with it, another worker takes over, and
/// the call is told as unknown instead of being run again.
#[test]
fn a_worker_that_is_killed_in_a_tool_is_taken_over() {
    let Some(fleet) = TestFleet::start(hanging_script()) else { return };
    let first = fleet.start_worker("one", &["--lease", "2"]);
    let effects = fleet.effects();
    let session = fleet.submit(1, &format!("hang {}", effects.display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    let tool = fleet.effects().display().to_string();
    assert!(is_running(&tool));
    first.kill();
    until("the tool dies with its worker", || !is_running(&tool));
    let _second = fleet.start_worker("two", &["--lease", "2"]);
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.read_effects().lines().count(), 1, "the tool ran once");
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("It is not known."), "{result}");
    // Watchers have every message once, whoever told it.
    let told = fleet.postgres.query(
        "select count(*), count(distinct uuid) from windlass.events where frame like '%tool_use\"%' \
         and frame like '%assistant%'",
    );
    assert_eq!(told, "1|1");
    let prompts = fleet.postgres.query(
        "select count(*) from windlass.messages where is_taken; \
         select count(*) from windlass.events where frame like '%\"hang %' and frame like '%user%'",
    );
    assert_eq!(prompts, "1\n1");
}

/// F2: a worker is frozen past its lease. Its tools are dead before another worker begins, and when it is
/// woken everything it writes is refused.
#[test]
fn a_worker_that_is_frozen_past_its_lease_does_nothing_more() {
    let Some(fleet) = TestFleet::start(hanging_script()) else { return };
    let mut first = fleet.start_worker("one", &["--lease", "2"]);
    let session = fleet.submit(1, &format!("hang {}", fleet.effects().display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    let tool = fleet.effects().display().to_string();
    first.signal(Signal::STOP);
    until("the tool is ended by its guard", || !is_running(&tool));
    let left = "select lease_until > now() from windlass.workers";
    let _second = fleet.start_worker("two", &["--lease", "2"]);
    assert!(!fleet.postgres.query(left).is_empty());
    fleet.wait_for_state(&session, "done");
    let events = fleet.postgres.query("select max(number), max(epoch) from windlass.events");
    first.signal(Signal::CONT);
    first.wait_for_line("lost to another worker");
    assert_eq!(fleet.postgres.query("select max(number), max(epoch) from windlass.events"), events);
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.read_effects().lines().count(), 1, "the tool ran once");
}

/// F4: the database is restarted in the middle of a session. It waits and goes on; nothing is done twice.
#[test]
fn a_restart_of_the_database_is_waited_for() {
    let step = "echo begun >> {{word}}; while [ ! -e {{word}}.go ]; do sleep 0.05; done";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": step })).when("step "))
        .answer(ScriptedAnswer::text("Done after all.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker = fleet.start_worker("one", &["--lease", "60"]);
    let session = fleet.submit(1, &format!("step {}", fleet.effects().display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    fleet.postgres.stop_server();
    // The tool ends while nothing can be written down.
    std::fs::write(fleet.effects().with_extension("go"), "").unwrap();
    fleet.postgres.start_server();
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.read_effects(), "begun\n");
    let row = fleet.postgres.query("select attempts, epoch, result from windlass.sessions");
    assert!(row.starts_with("0|1|") && row.contains("Done after all."), "{row}");
}

/// F8: a session whose process dies each time is parked, and the others go on.
#[test]
fn a_session_that_loses_its_process_each_time_is_parked() {
    let hang = "echo begun; sleep 300";
    let call = || ScriptedAnswer::call("Bash", json!({ "command": hang })).repeat(0);
    let script = Script::new()
        .answer(ScriptedAnswer::text("Fine.").when("good").repeat(0))
        .answer(call().when("poison"))
        .answer(call().when_result("nknown"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let more = ["--lease", "5", "--attempts", "2", "--capacity", "1"];
    let _worker = fleet.start_worker("one", &more);
    // A number of its own: processes are looked for by it.
    let poisoned = fleet.submit(808_808, "poison");
    let state = format!("select state from windlass.sessions where id = '{poisoned}'");
    until("it is parked", || {
        kill_session_process(&poisoned);
        fleet.postgres.query(&state) == "parked"
    });
    let good = fleet.submit(2, "good");
    fleet.wait_for_state(&good, "done");
    let reason =
        fleet.postgres.query("select reason from windlass.sessions where state = 'parked'");
    assert!(reason.contains("2 times in a row"), "{reason}");
}

/// F6: the clock of a worker is an hour off. Its lease is as long as any other, no other worker takes its
/// session while it lives, and one does when it is dead.
#[test]
fn a_worker_whose_clock_is_off_holds_its_sessions_and_no_others() {
    for shift in ["+1h", "-1h"] {
        let Some(fleet) = TestFleet::start(hanging_script()) else { return };
        let Some(first) = fleet.start_worker_with_clock("one", shift) else { return };
        let session = fleet.submit(1, &format!("hang {}", fleet.effects().display()));
        until("the tool begins", || fleet.read_effects().ends_with('\n'));
        let second = fleet.start_worker("two", &["--lease", "2"]);
        let lease = "select max(lease_until) from windlass.workers where lease_until < \
             now() + interval '3 seconds' and id = (select worker from windlass.sessions)";
        let mut leases = std::collections::BTreeSet::new();
        until("the lease is renewed again and again", || {
            leases.insert(fleet.postgres.query(lease));
            leases.len() > 5
        });
        assert!(!leases.contains(""), "a lease is as long as any other: {leases:?}");
        let row = fleet.postgres.query("select state, epoch from windlass.sessions");
        assert_eq!(row, "running|1", "no other worker took it");
        first.kill();
        fleet.wait_for_state(&session, "done");
        drop(second);
    }
}

/// F7, small: many sessions, workers killed one after the other. Every session comes to its end, no effect
/// is there twice, none that was told is missing, and the sums of money agree.
#[test]
fn nothing_is_lost_or_done_twice_while_workers_are_killed() {
    const SESSIONS: u32 = 24;
    let script = Script::new()
        .answer(
            ScriptedAnswer::call("Bash", json!({ "command": "{{rest}}" }))
                .when("perform: ")
                .repeat(0),
        )
        .answer(ScriptedAnswer::text("It ran.").when_result("finished").repeat(0))
        .answer(ScriptedAnswer::text("Not known.").when_result("nknown").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let more = ["--lease", "2", "--attempts", "100"];
    let mut workers: Vec<_> =
        ["a", "b", "c"].iter().map(|name| fleet.start_worker(name, &more)).collect();
    for number in 1..=SESSIONS {
        let effects = fleet.effects().display().to_string();
        fleet.submit(
            number,
            &format!("perform: echo {number} >> {effects}; sleep 0.3; echo finished"),
        );
    }
    for round in 0..4 {
        let wanted = SESSIONS / 6 * (round + 1);
        until("effects are made", || {
            fleet.read_effects().lines().count() >= usize::try_from(wanted).unwrap()
        });
        workers.remove(0).kill();
        workers.push(fleet.start_worker(&format!("new {round}"), &more));
    }
    let count = "select count(*) from windlass.sessions where state = 'done'";
    let failed = "select result from windlass.sessions where state = 'failed'";
    until("all end", || {
        assert_eq!(fleet.postgres.query(failed), "");
        fleet.postgres.query(count) == SESSIONS.to_string()
    });
    let effects = fleet.read_effects();
    let mut made: Vec<&str> = effects.lines().collect();
    made.sort_unstable();
    let all = made.len();
    made.dedup();
    assert_eq!(made.len(), all, "an effect is there twice: {made:?}");
    let told = fleet
        .postgres
        .query("select right(id, 12)::int from windlass.sessions where result like '%It ran.%'");
    for number in told.lines() {
        assert!(made.contains(&number), "{number} was told and is not there");
    }
    let sums = fleet.postgres.query(
        "select (select sum(cost_micro) from windlass.sessions) = spent_micro, reserved_micro, \
         spent_micro > 0 from windlass.tenants where id = 'team'",
    );
    assert_eq!(sums, "t|0|t");
}

/// A session that is taken over on another host has the files of its last finished tool, on top of a
/// fresh checkout, and nothing of the tool that was running.
#[test]
fn files_are_handed_over_with_the_session() {
    let bash = |command: &str| ScriptedAnswer::call("Bash", json!({ "command": command }));
    let first = "echo made > made.txt; echo changed >> base.txt; echo first-done";
    let script = Script::new()
        .answer(bash(first).when("begin"))
        .answer(bash("touch hanging; sleep 300").when_result("first-done"))
        .answer(bash("cat made.txt base.txt; ls hanging; git status --short").when_result("nknown"))
        .answer(ScriptedAnswer::text("All there.").when_result("base\nchanged"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let repository = fleet.path("repository");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("base.txt"), "base\n").unwrap();
    for arguments in [
        vec!["init", "-q", "-b", "trunk"],
        vec!["add", "base.txt"],
        vec!["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "base"],
    ] {
        let git =
            std::process::Command::new("git").args(arguments).current_dir(&repository).status();
        assert!(git.unwrap().success());
    }
    let spec = json!({ "permission_mode": "bypassPermissions", "workspace": {
        "git": format!("file://{}", repository.display()), "commit": "trunk" } });
    let session = fleet.submit_with(3, "begin", &spec.to_string());
    let worker = fleet.start_worker("one", &["--lease", "2"]);
    let hanging = fleet.path(&format!("one/sessions/{session}/workspace/hanging"));
    until("the second tool hangs", || hanging.exists());
    worker.kill();
    let _second = fleet.start_worker("two", &["--lease", "2"]);
    fleet.wait_for_state(&session, "done");
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("All there."), "{result}");
    let told =
        fleet.postgres.query("select frame from windlass.events where frame like '%base.txt%'");
    assert!(told.contains("cannot access 'hanging'") && told.contains("?? made.txt"), "{told}");
}

/// Kills the process of a session, if it has begun to work.
fn kill_session_process(session: &str) {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let pid = entry.file_name().to_string_lossy().parse().ok();
        let is_own = line.contains("--journal-relay") && !line.contains(" guard ");
        if let (true, Some(pid)) = (is_own && line.contains(session), pid) {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}
