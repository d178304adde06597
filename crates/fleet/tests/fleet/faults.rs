//! What must hold when parts fail: killed and frozen workers, a restarted database, crashing
//! sessions.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{TestFleet, TestProcess, is_running, run_git, until};
use crate::gateway::{call, printed, token};
use crate::link::TestLink;
use crate::postgres::is_root;

/// A script whose first tool records that it began, then hangs; the model answers when it is told
/// that the outcome is unknown.
fn hanging_script() -> Script {
    let hang = "echo begun >> {{word}}; sleep 300";
    Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": hang })).when("hang "))
        .answer(ScriptedAnswer::text("It is not known.").when_result("nknown"))
}

/// F1: a worker is killed during a tool. Its tools die with it, another worker takes over, and the
/// call is reported as unknown instead of being run again.
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
    // Each message is among the events once, whichever worker added it.
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

/// F2: a worker is frozen past its lease. Its tools are dead before another worker begins, and
/// after it is resumed everything it writes is refused.
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

/// The only worker is cut off for longer than its lease and comes back. The session it lost is
/// requeued, and the worker claims it again.
#[test]
fn a_worker_that_was_away_gives_back_what_it_lost() {
    let Some(fleet) = TestFleet::start(hanging_script()) else { return };
    let link = TestLink::start(fleet.postgres.port());
    let url = fleet.postgres.url_through(link.address());
    let mut worker = fleet.start_worker("one", &["--lease", "2", "--store", &url]);
    let session = fleet.submit(1, &format!("hang {}", fleet.effects().display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    let tool = fleet.effects().display().to_string();
    link.hold(true);
    until("the tool is ended by its guard", || !is_running(&tool));
    fleet.postgres.wait_for("select lease_until < now() from windlass.workers", "t");
    worker.wait_for_line("lost to another worker");
    assert_eq!(fleet.postgres.query("select state from windlass.sessions"), "running");
    link.hold(false);
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.read_effects().lines().count(), 1, "the tool ran once");
    let row = fleet.postgres.query("select result from windlass.sessions");
    assert!(row.contains("It is not known."), "{row}");
}

/// F4: a database that accepts connections and never responds. The session ends with its lease, the
/// worker ends when told to, and the gateway reports that it cannot answer.
#[test]
fn a_database_that_never_answers_holds_up_nobody() {
    let Some(fleet) = TestFleet::start(hanging_script()) else { return };
    let link = TestLink::start(fleet.postgres.port());
    let url = fleet.postgres.url_through(link.address());
    let mut worker = fleet.start_worker("one", &["--lease", "4", "--store", &url]);
    let mut gateway = fleet.command(&["serve", "--listen", "127.0.0.1:0", "--store", &url]);
    let mut gateway = TestProcess::start(&mut gateway);
    let line = gateway.wait_for_line("serving at ");
    let address = line.split_once("serving at ").unwrap().1.to_owned();
    fleet.submit(1, &format!("hang {}", fleet.effects().display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    link.hold(true);
    worker.signal(Signal::TERM);
    let (status, answer) = call(&address, "GET /v1/health HTTP/1.1", "");
    assert!(status == 503 && answer.contains("try again"), "{status} {answer}");
    assert_eq!(worker.wait(), Some(143));
    assert!(!is_running(&fleet.effects().display().to_string()));
    // The health check works, then the database hangs during a query.
    let watch = token(&fleet, "wes", "team", "watch");
    link.hold_at("windlass.tokens");
    let list = format!("GET /v1/sessions HTTP/1.1\r\nAuthorization: Bearer {watch}");
    let (status, answer) = call(&address, &list, "");
    assert!(status == 503 && answer.contains("try again"), "{status} {answer}");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait(), Some(143));
}

/// A message answered without a model leaves no record. It is marked as taken nevertheless, and the
/// session ends like any other.
#[test]
fn a_message_answered_without_a_model_ends_like_any_other() {
    let script = Script::new().answer(ScriptedAnswer::text("Fine.").when("good").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker = fleet.start_worker("one", &["--capacity", "1"]);
    let session = fleet.submit(1, "/cost");
    fleet.wait_for_state(&session, "done");
    let next = fleet.submit(2, "good");
    fleet.wait_for_state(&next, "done");
    fleet.add_message(&next, 3, "/cost");
    let open = "select count(*) from windlass.messages where not is_taken";
    fleet.postgres.wait_for(open, "0");
    fleet.wait_for_state(&next, "done");
    let results = "select count(*) from windlass.events where frame like '%\"type\":\"result\"%'";
    assert_eq!(fleet.postgres.query(results), "3", "each was answered once");
}

/// A process that dies while it works on a second message does not end with the result of the
/// first.
#[test]
fn a_crash_after_a_second_message_is_no_end() {
    let wait =
        "echo begun >> {{word}}; while [ ! -e {{word}}.go ]; do sleep 0.05; done; echo let-go";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": wait })).when("alpha "))
        .answer(ScriptedAnswer::text("Alpha is done.").when_result("let-go"))
        .answer(
            ScriptedAnswer::call(
                "Bash",
                json!({ "command": "echo second >> {{word}}; sleep 300" }),
            )
            .when("beta "),
        )
        .answer(ScriptedAnswer::text("It is not known.").when_result("nknown"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker = fleet.start_worker("one", &[]);
    // A unique number, because processes are found by it.
    let effects = fleet.effects().display().to_string();
    let session = fleet.submit(707_707, &format!("alpha {effects}"));
    until("the first tool begins", || fleet.read_effects() == "begun\n");
    fleet.add_message(&session, 3, &format!("beta {effects}"));
    let sent = "select count(*) from windlass.events where frame like '%beta %'";
    fleet.postgres.wait_for(sent, "1");
    std::fs::write(fleet.effects().with_extension("go"), "").unwrap();
    until("the second tool begins", || fleet.read_effects().contains("second\n"));
    kill_session_process(&session);
    fleet.wait_for_state(&session, "done");
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("It is not known."), "{result}");
    assert_eq!(fleet.read_effects(), "begun\nsecond\n");
}

/// A provider limits the rate: the session waits in the queue instead of holding its worker, other
/// sessions of the same provider wait too, and all continue afterwards.
#[test]
fn a_rate_limit_is_waited_for_in_the_queue_and_by_all() {
    let limit = ScriptedFault::refuse_for(429, 600);
    let script = Script::new()
        .answer(ScriptedAnswer::from_fault(limit).when("first"))
        .answer(ScriptedAnswer::text("Fine.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker = fleet.start_worker("one", &["--capacity", "2"]);
    let first = fleet.submit(1, "the first");
    let waits = "select count(*) from windlass.sessions s, windlass.back_offs \
        where state = 'queued' and worker is null and until > now() + interval '500 seconds' \
        and windlass.explain_wait(s) like '%limits the rate%'";
    fleet.postgres.wait_for(waits, "1");
    let asked = fleet.model.request_count();
    let second = fleet.submit(2, "the second");
    // Waits for two renewals, in which the worker could have claimed the session.
    let workers = "select count(distinct lease_until) from windlass.workers";
    let mut leases = std::collections::BTreeSet::new();
    until("the worker lives on", || {
        leases.insert(fleet.postgres.query("select lease_until from windlass.workers"));
        leases.len() > 2
    });
    assert_eq!(fleet.postgres.query(workers), "1");
    let claims = "select epoch, state from windlass.sessions order by id";
    assert_eq!(fleet.postgres.query(claims), "1|queued\n0|queued");
    assert_eq!(fleet.model.request_count(), asked, "nobody asks before");
    fleet.postgres.query("update windlass.back_offs set until = now()");
    for session in [first, second] {
        fleet.wait_for_state(&session, "done");
    }
    let prompts = "select count(*) from windlass.events where frame like '%the first%'";
    assert_eq!(fleet.postgres.query(prompts), "1");
}

/// A session that continues with message after message stays within its own budget and within what
/// its tenant reserved for it.
#[test]
fn a_session_that_goes_on_stays_within_its_budget() {
    let script = Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    printed(&fleet.run(&["store", "tenant", "poor", "--budget-usd", "0.05"]));
    let _worker = fleet.start_worker("one", &[]);
    let (_gateway, url) = fleet.start_gateway();
    let submitter = token(&fleet, "sam", "poor", "submit");
    let post = |path: &str, body: serde_json::Value| {
        let head = format!("POST {path} HTTP/1.1\r\nAuthorization: Bearer {submitter}");
        let (status, answer) = call(&url, &head, &body.to_string());
        assert!(status < 300, "{answer}");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        answer["id"].as_str().unwrap().to_owned()
    };
    let spec = json!({ "max_budget_usd": 0.05 });
    let session = post("/v1/sessions", json!({ "prompt": "go on", "spec": spec }));
    let state = "select state in ('queued', 'running') from windlass.sessions";
    for _ in 0..12 {
        fleet.postgres.wait_for(state, "f");
        post(&format!("/v1/sessions/{session}/messages"), json!({ "content": "go on" }));
    }
    fleet.postgres.wait_for(state, "f");
    let sums = "select spent_micro <= 50000, reserved_micro, spent_micro from windlass.tenants \
        where id = 'poor'";
    let sums = fleet.postgres.query(sums);
    assert!(sums.starts_with("t|0|"), "{sums}");
    assert!(fleet.model.request_count() > 2, "{sums}");
}

/// F9: the store is migrated while a worker of the previous version runs. It finishes its session
/// and claims nothing new; a worker of the new version does.
#[test]
fn a_worker_of_another_schema_finishes_and_takes_nothing_new() {
    let step = "while [ ! -e {{word}} ]; do sleep 0.05; done; echo let-go";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": step })).when("wait for "))
        .answer(ScriptedAnswer::text("Let go.").when_result("let-go"))
        .answer(ScriptedAnswer::text("Fine.").when("good"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let mut old = fleet.start_worker("one", &["--lease", "3"]);
    let first = fleet.submit(1, &format!("wait for {}", fleet.effects().display()));
    fleet.wait_for_state(&first, "running");
    fleet.postgres.query("update windlass.store set version = version + 1");
    old.wait_for_line("the store was migrated");
    fleet.postgres.query("update windlass.store set version = version - 1");
    let second = fleet.submit(2, "good");
    fleet.postgres.query("update windlass.store set version = version + 1");
    std::fs::write(fleet.effects(), "").unwrap();
    fleet.wait_for_state(&first, "done");
    assert_eq!(old.wait(), Some(1));
    assert_eq!(
        fleet.postgres.query("select state from windlass.sessions order by id"),
        "done\nqueued"
    );
    fleet.postgres.query("update windlass.store set version = version - 1");
    let _new = fleet.start_worker("two", &[]);
    fleet.wait_for_state(&second, "done");
}

/// F4: the database restarts during a session. The session waits and continues; nothing is done
/// twice.
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
    // The tool ends while nothing can be stored.
    std::fs::write(fleet.effects().with_extension("go"), "").unwrap();
    fleet.postgres.start_server();
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.read_effects(), "begun\n");
    let row = fleet.postgres.query("select attempts, epoch, result from windlass.sessions");
    assert!(row.starts_with("0|1|") && row.contains("Done after all."), "{row}");
}

/// F4: connections break repeatedly, also during commits: what was committed without a response is
/// not stored twice, and the journal is complete.
#[test]
fn connections_that_break_lose_nothing_and_do_nothing_twice() {
    const STEPS: usize = 6;
    // In the fixture's home, because the script does not know the path of the effects.
    let step = |number: usize| format!("echo {number} >> $HOME/../effects/log; echo step-{number}");
    let mut script = Script::new();
    let first = json!({ "command": step(1) });
    script = script.answer(ScriptedAnswer::call("Bash", first).when("count"));
    for number in 2..=STEPS {
        let next = json!({ "command": step(number) });
        let answer = ScriptedAnswer::call("Bash", next);
        script = script.answer(answer.when_result(format!("step-{}", number - 1)));
    }
    script = script.answer(ScriptedAnswer::text("Counted.").when_result(format!("step-{STEPS}")));
    let Some(fleet) = TestFleet::start(script) else { return };
    let link = TestLink::start(fleet.postgres.port());
    let url = fleet.postgres.url_through(link.address());
    let _worker = fleet.start_worker("one", &["--lease", "30", "--store", &url]);
    let session = fleet.submit(1, "count");
    let row = "select state, (select count(*) from windlass.journal) from windlass.sessions";
    let (mut seen, mut cuts) = (String::new(), 0);
    until("it is done", || {
        // A change was stored: the cut loses the response to it.
        let now = fleet.postgres.query(row);
        if now != seen {
            link.cut();
            cuts += 1;
        }
        seen = now;
        seen.starts_with("done|")
    });
    assert!(cuts > STEPS, "{cuts}");
    let effects: String = (1..=STEPS).map(|number| format!("{number}\n")).collect();
    assert_eq!(fleet.read_effects(), effects);
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("Counted."), "{result}");
    printed(&fleet.run(&["store", "run", &session, "--", "replay"]));
}

/// F4: a database that is read-only for a while, as after a failover.
#[test]
fn a_database_that_is_read_only_for_a_while_is_waited_for() {
    let step = "echo begun >> {{word}}; while [ ! -e {{word}}.go ]; do sleep 0.05; done";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": step })).when("step "))
        .answer(ScriptedAnswer::text("Done after all.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let mut worker = fleet.start_worker("one", &["--lease", "30"]);
    let session = fleet.submit(1, &format!("step {}", fleet.effects().display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    let set = |value: &str| {
        fleet.postgres.query(&format!("alter system set default_transaction_read_only = {value}"));
        fleet.postgres.query("select pg_reload_conf()");
    };
    set("on");
    std::fs::write(fleet.effects().with_extension("go"), "").unwrap();
    worker.wait_for_line("read-only");
    set("off");
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.read_effects(), "begun\n");
    assert!(fleet.postgres.query("select epoch from windlass.sessions") == "1");
}

/// F4: frames that the store does not take for a while are stored afterwards, each once.
#[test]
fn a_frame_that_cannot_be_stored_for_long_is_not_lost() {
    const REFUSALS: u32 = 40;
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "echo let-go" })).when("begin"))
        .answer(ScriptedAnswer::text("Seen to the end.").when_result("let-go"));
    let Some(fleet) = TestFleet::start(script) else { return };
    // A sequence counts what is rolled back, too.
    fleet.postgres.query(&format!(
        "create sequence windlass.refusals; \
         create function windlass.refuse() returns trigger language plpgsql as $$ begin \
         if new.frame like '%tool_use\"%' and nextval('windlass.refusals') <= {REFUSALS} then \
         raise exception 'no space left' using errcode = '53100'; end if; return new; end $$; \
         create trigger refuse before insert on windlass.events for each row \
         execute function windlass.refuse()"
    ));
    let _worker = fleet.start_worker("one", &["--lease", "60"]);
    let session = fleet.submit(1, "begin");
    fleet.wait_for_state(&session, "done");
    let frames = "select count(*) from windlass.events where frame like '%tool_use\"%'";
    assert_eq!(fleet.postgres.query(frames), "1");
    let order = "select string_agg(frame::json->>'type', ' ' order by number) \
         from windlass.events where frame::json->>'type' <> 'system'";
    assert_eq!(fleet.postgres.query(order), "user assistant user assistant result");
    assert_eq!(fleet.postgres.query("select epoch from windlass.sessions"), "1");
}

/// F4: a database that fails while a session is prepared is waited for, and is no attempt of the session.
#[test]
fn a_database_that_fails_while_a_session_is_prepared_is_waited_for() {
    let script = Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let repository = fleet.path("git");
    std::fs::create_dir(&repository).unwrap();
    run_git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    run_git(&repository, &["commit", "--quiet", "--allow-empty", "--message=one"]);
    fleet.postgres.query(
        "create sequence windlass.refusals; \
         create function windlass.refuse() returns trigger language plpgsql as $$ begin \
         if nextval('windlass.refusals') <= 5 then \
         raise exception 'no space left' using errcode = '53100'; end if; return new; end $$; \
         create trigger refuse before update of base_commit on windlass.sessions for each row \
         execute function windlass.refuse()",
    );
    let _worker = fleet.start_worker("one", &["--lease", "60", "--attempts", "1"]);
    let spec =
        serde_json::json!({ "workspace": { "git": format!("file://{}", repository.display()) } });
    let session = fleet.submit_with(1, "good", &spec.to_string());
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.postgres.query("select epoch from windlass.sessions"), "1");
}

/// F8: a session whose process dies every time is parked, and others continue.
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
    // A unique number, because processes are found by it.
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

/// F6: a worker's clock is an hour off. Its lease lasts as long as any other: no other worker takes
/// its session while it lives, and one does after its death.
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

/// F7: many sessions on five workers, killed one after another; `WINDLASS_FLEET_SESSIONS` says how
/// many. Every session ends, no effect is there twice, none that was reported is missing, and the
/// sums of money agree.
#[test]
fn nothing_is_lost_or_done_twice_while_workers_are_killed() {
    let sessions: u32 = std::env::var("WINDLASS_FLEET_SESSIONS")
        .map_or(24, |count| count.parse().expect("WINDLASS_FLEET_SESSIONS is a number"));
    let kills = if sessions > 24 { sessions / 25 } else { 4 };
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
        ["a", "b", "c", "d", "e"].iter().map(|name| fleet.start_worker(name, &more)).collect();
    // A budget for what all of them cost, what dead workers leave set aside, and about twelve that run
    // at once.
    let budget = u64::from(sessions) * 60_000 + 6_000_000;
    fleet.postgres.query(&format!(
        "insert into windlass.batches (id, tenant, name, budget_micro) \
         values ('team/night', 'team', 'night', {budget})"
    ));
    let spec = r#"{"permission_mode":"bypassPermissions","max_budget_usd":0.5}"#;
    for number in 1..=sessions {
        let effects = fleet.effects().display().to_string();
        let prompt = format!("perform: echo {number} >> {effects}; sleep 0.3; echo finished");
        fleet.submit_in(number, &prompt, spec, Some("team/night"));
    }
    for round in 0..kills {
        let wanted = sessions / (kills + 2) * (round + 1);
        until("effects are made", || {
            fleet.read_effects().lines().count() >= usize::try_from(wanted).unwrap()
        });
        workers.remove(0).kill();
        workers.push(fleet.start_worker(&format!("new {round}"), &more));
    }
    let count = "select count(*) from windlass.sessions where state = 'done'";
    let failed = "select result from windlass.sessions where state = 'failed'";
    // In steps, each with patience of its own, because many take long.
    for tenth in 1..=10 {
        until("all end", || {
            assert_eq!(fleet.postgres.query(failed), "");
            let passed = "select count(*) from windlass.batches \
                 where spent_micro + reserved_micro > budget_micro";
            assert_eq!(fleet.postgres.query(passed), "0");
            fleet.postgres.query(count).parse::<u32>().unwrap() >= sessions * tenth / 10
        });
    }
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
         spent_micro > 0, (select b.spent_micro = t.spent_micro and b.reserved_micro = 0 \
         from windlass.batches b) from windlass.tenants t where id = 'team'",
    );
    assert_eq!(sums, "t|0|t|t");
}

/// A session taken over by another host has the files of its last finished tool, on top of a fresh
/// checkout, and nothing of the tool that was running.
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
    run_git(&repository, &["init", "-q", "-b", "trunk"]);
    run_git(&repository, &["add", "base.txt"]);
    run_git(&repository, &["commit", "-q", "-m", "base"]);
    let spec = json!({ "permission_mode": "bypassPermissions", "workspace": {
        "git": format!("file://{}", repository.display()), "commit": "trunk" } });
    let session = fleet.submit_with(3, "begin", &spec.to_string());
    let worker = fleet.start_worker("one", &["--lease", "2"]);
    let hanging = fleet.path(&format!("one/sessions/{session}/workspace/hanging"));
    until("the second tool hangs", || hanging.exists());
    worker.kill();
    // The branch moves on meanwhile; the session stays at its commit.
    std::fs::write(repository.join("base.txt"), "moved\n").unwrap();
    run_git(&repository, &["commit", "-q", "-a", "-m", "moved"]);
    let _second = fleet.start_worker("two", &["--lease", "2"]);
    fleet.wait_for_state(&session, "done");
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("All there."), "{result}");
    std::fs::write(repository.join("base.txt"), "base\n").unwrap();
    let told =
        fleet.postgres.query("select frame from windlass.events where frame like '%base.txt%'");
    assert!(told.contains("cannot access 'hanging'") && told.contains("?? made.txt"), "{told}");

    // The changes are a patch that git applies, whichever host made which part.
    let patch = fleet
        .postgres
        .query("select convert_from(bytes, 'utf8') from windlass.blobs where name = 'patch'");
    std::fs::write(fleet.path("patch"), format!("{patch}\n")).unwrap();
    let apply = ["apply", "../patch"];
    run_git(&repository, &apply);
    let read = |name: &str| std::fs::read_to_string(repository.join(name)).unwrap();
    assert_eq!((read("made.txt"), read("base.txt")), ("made\n".into(), "base\nchanged\n".into()));
}

/// Kills the process of a session, if it has started.
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

/// F1: the worker is killed after each record that it stores, in one session after another: before,
/// in and after a tool, and in a nested agent. Each is taken over and comes to its end; no effect is
/// there twice, and the provider is asked nothing that it would refuse.
#[test]
fn a_worker_that_is_killed_at_any_record_is_taken_over() {
    let bash = |command: &str| ScriptedAnswer::call("Bash", json!({ "command": command }));
    // The name of the session's folder, which is the same at every worker.
    let effect = |name: &str, said: &str| {
        bash(&format!(
            "echo {name} $(basename $(dirname $PWD)) >> $HOME/../effects/log; echo {said}"
        ))
    };
    let agent = json!({ "description": "nested", "prompt": "nested step",
        "subagent_type": "general-purpose" });
    let agent = ScriptedAnswer::call("Agent", agent);
    let script = Script::new()
        .answer(effect("nested", "in-the-agent").when("nested step").repeat(0))
        .answer(ScriptedAnswer::text("The agent is done.").when_result("in-the-agent").repeat(0))
        .answer(effect("outer", "out-of-it").when("outer step").repeat(0))
        .answer(agent.when_result("out-of-it").repeat(0))
        .answer(ScriptedAnswer::text("It is not known.").when_result("nknown").repeat(0))
        .answer(ScriptedAnswer::text("All is done.").when_result("The agent is done").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let more = ["--lease", "2", "--attempts", "100"];
    let mut worker = fleet.start_worker("begin", &more);
    let whole = fleet.submit(1000, "outer step");
    fleet.wait_for_state(&whole, "done");
    let rows = |session: &str| {
        let count = format!("select count(*) from windlass.journal where session = '{session}'");
        fleet.postgres.query(&count).parse::<usize>().unwrap()
    };
    let all = rows(&whole);
    assert!(all > 8, "{all}");
    // All of them takes minutes: a third, another one for each run of the tests, unless all are asked for.
    let is_all = std::env::var_os("WINDLASS_ALL_TESTS").is_some();
    let (first, step) = if is_all { (1, 1) } else { (1 + std::process::id() as usize % 3, 3) };
    for (number, wanted) in (first..all).step_by(step).enumerate() {
        let session = fleet.submit(u32::try_from(number).unwrap(), "outer step");
        until("it has come that far", || rows(&session) >= wanted);
        worker.kill();
        worker = fleet.start_worker(&format!("next-{number}"), &more);
        fleet.wait_for_state(&session, "done");
    }
    let effects = fleet.read_effects();
    let mut made: Vec<&str> = effects.lines().collect();
    made.sort_unstable();
    let count = made.len();
    made.dedup();
    assert_eq!(made.len(), count, "an effect is there twice: {made:?}");
    let refused = "select count(*) from windlass.events where frame like '%invalid_request%'";
    assert_eq!(fleet.postgres.query(refused), "0");
    let sums = fleet.postgres.query(
        "select (select sum(cost_micro) from windlass.sessions) = spent_micro, reserved_micro \
         from windlass.tenants where id = 'team'",
    );
    assert_eq!(sums, "t|0");
}

/// A small disk with a tablespace.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// `None` if nothing can be mounted and `WINDLASS_ALL_TESTS` is not set.
    fn mount(path: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&path).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "none"]).arg(&path);
        if !is_root() || !mount.status().is_ok_and(|status| status.success()) {
            let must = std::env::var_os("WINDLASS_ALL_TESTS").is_some();
            assert!(!must, "a small disk needs root");
            eprintln!("skipped: a small disk needs root");
            return None;
        }
        let disk = Self(path);
        let owned = std::process::Command::new("chown").arg("postgres").arg(&disk.0).status();
        assert!(owned.unwrap().success());
        Some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// F4: the disk of the database is full for a while. The session waits with what it has, and goes on
/// when there is room; its tool ran once.
#[test]
fn a_database_whose_disk_is_full_is_waited_for() {
    let step = "echo begun >> {{word}}; while [ ! -e {{word}}.go ]; do sleep 0.05; done; seq 2000";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": step })).when("step "))
        .answer(ScriptedAnswer::text("Done after all.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    // Not below the database's own folder, which only its user may enter.
    let Some(disk) =
        SmallDisk::mount(std::env::temp_dir().join(format!("wlf-small-{}", std::process::id())))
    else {
        return;
    };
    let place = disk.0.display().to_string();
    fleet.postgres.query(&format!("create tablespace small location '{place}'"));
    fleet.postgres.query("alter table windlass.journal set tablespace small");
    fleet.postgres.query("create table filler (line text) tablespace small");
    fleet.postgres.query("alter table filler alter column line set storage plain");
    let mut worker = fleet.start_worker("one", &["--lease", "30"]);
    let session = fleet.submit(1, &format!("step {}", fleet.effects().display()));
    until("the tool begins", || fleet.read_effects().ends_with('\n'));
    let fill = "do $$ begin loop insert into filler select repeat('x', 7000) \
        from generate_series(1, 2); commit; end loop; end $$";
    until("the disk is full", || {
        fleet.postgres.try_query(fill).is_err_and(|it| it.contains("space"))
    });
    std::fs::write(fleet.effects().with_extension("go"), "").unwrap();
    // What is stored for the tool's end does not fit, and is tried again and again.
    let failures = "select xact_rollback from pg_stat_database where datname = 'w'";
    let before: u64 = fleet.postgres.query(failures).parse().unwrap();
    until("the store refuses what does not fit", || {
        fleet.postgres.query(failures).parse::<u64>().unwrap() > before + 3
    });
    let row = "select state, epoch from windlass.sessions";
    assert_eq!(fleet.postgres.query(row), "running|1");
    fleet.postgres.query("drop table filler; checkpoint");
    fleet.wait_for_state(&session, "done");
    assert_eq!(fleet.read_effects(), "begun\n");
    let result = fleet.postgres.query("select epoch, result from windlass.sessions");
    assert!(result.starts_with("1|") && result.contains("Done after all."), "{result}");
    worker.signal(Signal::TERM);
    assert_eq!(worker.wait(), Some(143));
    fleet.postgres.query("alter table windlass.journal set tablespace pg_default");
    fleet.postgres.query("drop tablespace small");
}
