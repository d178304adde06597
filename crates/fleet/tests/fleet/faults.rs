//! What must hold whatever dies: workers killed and frozen, a database restarted, sessions that kill.

use rustix::process::Signal;
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, is_running, until};

/// A script whose first tool writes down that it began, then hangs; and that goes on when it is told
/// that the outcome is not known.
fn hanging_script() -> Script {
    let hang = "echo $$ >> {{word}}; sleep 300";
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
    let tool = fleet.read_effects().trim().to_owned();
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
    let tool = fleet.read_effects().trim().to_owned();
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

/// F8: a session that kills its worker each time is parked, and the others go on.
#[test]
fn a_session_that_kills_its_process_each_time_is_parked() {
    // The process of the session is the parent of its shell, or what holds that.
    let kill = "kill -9 $(pgrep -f journal-relay | head -n 50)";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": kill })).when("poison").repeat(0))
        .answer(
            ScriptedAnswer::call("Bash", json!({ "command": kill }))
                .when_result("nknown")
                .repeat(0),
        )
        .answer(ScriptedAnswer::text("Fine.").when("good").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker =
        fleet.start_worker("one", &["--lease", "5", "--attempts", "2", "--capacity", "1"]);
    let poisoned = fleet.submit(1, "poison");
    fleet.wait_for_state(&poisoned, "parked");
    let good = fleet.submit(2, "good");
    fleet.wait_for_state(&good, "done");
    let reason =
        fleet.postgres.query("select reason from windlass.sessions where state = 'parked'");
    assert!(reason.contains("2 times in a row"), "{reason}");
}
