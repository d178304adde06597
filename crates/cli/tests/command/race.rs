//! Several continuations of a session side by side: each on a trial or a copy of its own, one limit on money
//! for all, and one of them applied.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_rehearsal::{ReceivedRequest, Rehearsal, Script, ScriptedAnswer};
use windlass_vocabulary::{Tokens, Usage};

use crate::fixture::{PATIENCE, RunningCommand, TestDirs, play, run};
use crate::killed_sessions::kill_when;
use crate::work_files::{bash, count_trials, folders_that_stay, started_by, text, write};

const SESSION: &str = "7a0e9d8c-7b6a-4958-8473-625140312255";

#[test]
fn continuations_race_and_one_is_applied() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let server = play(race_script());
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "start"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    assert_eq!(text(&dirs.file("a")), "one\nfirst\n");
    let race =
        ["race", "--models", "opus,haiku", "--json", "--apply", "2", "--max-budget-usd", "5"];
    let mut racing = dirs.asking(&server.url(), &race);
    let ended = run(racing.args(["--", "--dangerously-skip-permissions"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let object: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let rows = object["continuations"].as_array().expect("a list");
    assert_eq!(rows.len(), 2, "{object}");
    assert_eq!((&rows[0]["result"], &rows[1]["result"]), (&json!("By opus."), &json!("By haiku.")));
    assert_eq!(object["applied"], 2);
    // Both began before the prompt that is raced: what it did is not in their files.
    let diff = rows[0]["changes"]["files"][0]["diff"].as_str().expect("a diff");
    assert!(diff.contains("+opus") && diff.contains("-first"), "{diff}");
    assert_eq!(text(&dirs.file("a")), "one\nhaiku\n");
    assert!(!dirs.file("o").exists());
    assert_eq!(count_trials(&dirs), 0);
    assert!(ended.stderr.contains("[1 opus] Bash"), "{}", ended.stderr);
    let next = rows[1]["session_id"].as_str().expect("an id");
    run(&mut dirs.windlass(&["sessions", "show", next])).answer();
    run(&mut dirs.windlass(&["race", "--models", "opus"])).error_line(2);
}

/// A race of two models that change a file, one of them much.
fn race_script() -> Script {
    Script::new()
        .answer(bash("echo opus >> a; echo o > o").when_model("opus"))
        .answer(ScriptedAnswer::text("By opus.").when_model("opus").repeat(0))
        .answer(bash("echo haiku >> a").when_model("haiku"))
        .answer(ScriptedAnswer::text("By haiku.").when_model("haiku").repeat(0))
        .answer(bash("echo first >> a"))
        .answer(ScriptedAnswer::text("Started.").repeat(0))
}

/// The same command where no mount namespace can be had. Where there are none anyway, nothing has to be done
/// for that.
fn without_overlays(asking: &Command) -> Command {
    let script = "unshare --user --map-root-user true || exec \"$@\"; \
                  exec unshare --user --map-root-user sh -c \
                  'echo 0 > /proc/sys/user/max_mnt_namespaces; exec \"$@\"' sh \"$@\"";
    started_by(script, asking)
}

#[test]
fn without_overlays_each_continuation_has_a_copy_of_its_own() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let server = play(race_script());
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "start"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let race = ["race", "--models", "opus,haiku", "--json", "--apply", "1"];
    let asking = dirs.asking(&server.url(), &race);
    let mut racing = without_overlays(&asking);
    racing.args(["--", "--dangerously-skip-permissions"]);
    let ended = run(&mut racing);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("each runs in a copy"), "{}", ended.stderr);
    let object: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let rows = object["continuations"].as_array().expect("a list");
    assert_eq!((&rows[0]["result"], &rows[1]["result"]), (&json!("By opus."), &json!("By haiku.")));
    let diff = rows[0]["changes"]["files"][0]["diff"].as_str().expect("a diff");
    assert!(diff.contains("+opus") && diff.contains("-first"), "{diff}");
    assert_eq!(object["applied"], 1, "{object}");
    assert_eq!(
        (text(&dirs.file("a")), text(&dirs.file("o"))),
        ("one\nopus\n".into(), "o\n".into())
    );
    assert_eq!(count_trials(&dirs), 0, "no copy is left");
    // What was applied is a part of the session, and is taken back like everything else.
    let next = rows[0]["session_id"].as_str().expect("an id");
    run(&mut dirs.windlass(&["sessions", "show", next])).answer();
    let back = run(&mut dirs.windlass(&["rewind", next, "--to", "1", "--files"]));
    assert_eq!(back.code, Some(0), "{back:?}");
    assert_eq!((text(&dirs.file("a")), dirs.file("o").exists()), ("one\nfirst\n".into(), false));
}

#[test]
fn what_was_applied_from_a_copy_by_a_killed_process_is_taken_back_with_a_yes() {
    const FILES: usize = 300;
    let dirs = TestDirs::new();
    for number in 0..FILES {
        write(&dirs.file(&format!("f{number}")), "one\n");
    }
    let script = Script::new()
        .answer(bash("for f in f*; do echo opus > $f; done").when_model("opus"))
        .answer(ScriptedAnswer::text("By opus.").when_model("opus").repeat(0))
        .answer(ScriptedAnswer::text("By haiku.").when_model("haiku").repeat(0))
        .answer(bash("touch begun"))
        .answer(ScriptedAnswer::text("Started.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "start"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let asking = dirs.asking(&server.url(), &["race", "--models", "opus,haiku", "--json"]);
    let mut racing = without_overlays(&asking);
    let ended = run(racing.args(["--", "--dangerously-skip-permissions"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let object: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let id = object["continuations"][0]["session_id"].as_str().expect("an id").to_owned();
    let count =
        |held: &str| (0..FILES).filter(|n| text(&dirs.file(&format!("f{n}"))) == held).count();
    kill_when(&mut dirs.windlass(&["apply", &id]), 0, || count("opus\n") > 0);
    let again = run(&mut dirs.windlass(&["apply", &id]));
    assert!(again.code == Some(0) || again.stderr.contains("no dry run"), "{again:?}");
    assert_eq!(count("opus\n"), FILES);
    let back = ["rewind", &id, "--to", "1", "--files", "--overwrite"];
    let back = run(&mut dirs.windlass(&back));
    assert_eq!((back.code, count("one\n")), (Some(0), FILES), "{back:?}");
}

/// In micro-dollars.
const LIMIT: u64 = 1_000_000;

const BILL: Usage = Usage {
    input: Tokens(1_000),
    output: Tokens(5_000),
    cache_write: Tokens(2_500),
    cache_read: Tokens(500),
};

fn model(request: &ReceivedRequest) -> String {
    request.json().expect("JSON")["model"].as_str().expect("a model").to_owned()
}

/// What is taken for a request: no more output than was allowed. Prices as listed.
fn price(request: &ReceivedRequest) -> u64 {
    let cap = request.json().expect("JSON")["max_tokens"].as_u64().expect("a limit");
    let output = BILL.output.0.min(cap);
    let sonnet = BILL.input.0 * 300 + BILL.cache_write.0 * 375 + BILL.cache_read.0 * 30;
    let for_sonnet = (sonnet + output * 1_500).div_ceil(100);
    if model(request).contains("haiku") { for_sonnet.div_ceil(3) } else { for_sonnet }
}

/// A session with two models that go on asking until there is no money left, except for the one that ends.
fn begin_spending(dirs: &TestDirs, ends: &str) -> Rehearsal {
    let mut script = Script::new().answer(ScriptedAnswer::text("Started.").when("start"));
    if !ends.is_empty() {
        let done = ScriptedAnswer::text("Enough.").when_model(ends).usage(BILL).repeat(0);
        script = script.answer(done);
    }
    for number in 0..100 {
        // The same call again and again would end a run by itself.
        let command = json!({"command": format!("echo {number}")});
        script = script.answer(ScriptedAnswer::empty().tool("Bash", command).usage(BILL));
    }
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "start"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    server
}

fn race_for_money(dirs: &TestDirs, server: &Rehearsal) -> Command {
    let race = ["race", SESSION, "--models", "claude-sonnet-4-5,claude-haiku-4-5", "--json"];
    let mut racing = dirs.asking(&server.url(), &race);
    racing.args(["--prompt", "spend it", "--max-budget-usd", "1"]);
    racing.args(["--", "--dangerously-skip-permissions"]);
    racing
}

/// The requests of the race: one is that of the session before it.
fn requests_of_race(server: &Rehearsal) -> Vec<ReceivedRequest> {
    server.requests().into_iter().skip(1).collect()
}

#[test]
fn what_one_continuation_leaves_of_the_budget_another_spends() {
    let dirs = TestDirs::new();
    let server = begin_spending(&dirs, "haiku");
    let ended = run(&mut race_for_money(&dirs, &server));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let object: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let requests = requests_of_race(&server);
    let sum = |part: &str| -> u64 {
        requests.iter().filter(|one| model(one).contains(part)).map(price).sum()
    };
    assert!(sum("") <= LIMIT, "{} of {LIMIT}", sum(""));
    assert!(sum("sonnet") > LIMIT / 5 * 3, "more than its half: {} of {LIMIT}", sum("sonnet"));
    let rows = object["continuations"].as_array().expect("a list");
    assert_eq!(rows[0]["reason"], "budget_exhausted", "{object}");
    assert_eq!(rows[1]["result"], "Enough.", "{object}");
}

/// A race that is under way: several requests were sent.
fn start_race(race: &mut Command, server: &Rehearsal) -> RunningCommand {
    let running = RunningCommand::start(race);
    let deadline = Instant::now() + PATIENCE;
    while requests_of_race(server).len() < 3 {
        assert!(Instant::now() < deadline, "nothing is asked");
        std::thread::yield_now();
    }
    running
}

#[test]
fn one_budget_holds_for_all_although_one_of_them_is_killed() {
    let dirs = TestDirs::new();
    let server = begin_spending(&dirs, "");
    let running = start_race(&mut race_for_money(&dirs, &server), &server);
    let child = children_of(running.id()).into_iter().next().expect("a continuation");
    let _ = kill_process(child, Signal::KILL);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let taken: u64 = requests_of_race(&server).iter().map(price).sum();
    assert!(taken <= LIMIT, "{taken} of {LIMIT}");
    assert!(taken > LIMIT / 3, "the other went on: {taken} of {LIMIT}");
}

#[test]
fn continuations_of_a_race_that_is_killed_end_with_it() {
    let dirs = TestDirs::new();
    let server = begin_spending(&dirs, "");
    let running = start_race(&mut race_for_money(&dirs, &server), &server);
    let children = children_of(running.id());
    assert!(!children.is_empty());
    running.signal(Signal::KILL);
    running.finish();
    for child in children {
        crate::fixture::wait_until_gone(&child.as_raw_nonzero().to_string());
    }
    let taken: u64 = requests_of_race(&server).iter().map(price).sum();
    assert!(taken <= LIMIT, "{taken} of {LIMIT}");
}

#[test]
fn in_copies_too_a_race_that_ends_takes_its_continuations_and_their_commands_with_it() {
    for signal in [Signal::KILL, Signal::TERM] {
        let dirs = TestDirs::new();
        // Outside of the copies, which nothing holds a command in.
        let ids = dirs.work().with_file_name("ids");
        let wait = format!("echo $$ >> {}; exec sleep 600", ids.display());
        let script = Script::new()
            .answer(ScriptedAnswer::text("Started.").when("start"))
            .answer(bash(&wait).repeat(0));
        let server = play(script);
        let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "start"];
        run(&mut dirs.asking(&server.url(), &flags)).answer();
        let race = ["race", "--models", "opus,haiku", "--prompt", "wait", "--json"];
        let mut racing = without_overlays(&dirs.asking(&server.url(), &race));
        racing.args(["--", "--dangerously-skip-permissions"]);
        let running = RunningCommand::start(&mut racing);
        let deadline = Instant::now() + PATIENCE;
        while text(&ids).lines().count() < 2 {
            assert!(Instant::now() < deadline, "no command runs");
            std::thread::yield_now();
        }
        let children = children_of(running.id());
        assert_eq!(children.len(), 2, "one for each model");
        running.signal(signal);
        running.finish();
        for child in children {
            crate::fixture::wait_until_gone(&child.as_raw_nonzero().to_string());
        }
        text(&ids).lines().for_each(crate::fixture::wait_until_gone);
    }
}

/// Neither on an overlay nor in a copy, which nothing holds a command in.
#[test]
fn a_command_on_trial_cannot_write_the_budget_it_is_paid_from() {
    for has_overlays in [true, false] {
        let (_folder, [home, work, state]) = folders_that_stay();
        let dirs = TestDirs::new();
        let trials = state.join("windlass/trials");
        let trials = trials.display();
        let command = format!(
            "if ls {trials}/*.budget; then for f in {trials}/*.budget; do echo limit 99 >> $f; done; \
             else echo $((6 * 7))-hidden; fi"
        );
        let script = Script::new()
            .answer(ScriptedAnswer::text("Started.").when("start"))
            .answer(bash(&command).when_model("opus"))
            .answer(bash(&command).when_model("haiku"))
            .answer(ScriptedAnswer::text("Tried.").repeat(0));
        let server = play(script);
        let asking = |flags: &[&str]| {
            let mut asking = dirs.asking(&server.url(), flags);
            asking.current_dir(&work).env("HOME", &home).env("XDG_STATE_HOME", &state);
            asking
        };
        let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "start"];
        run(&mut asking(&flags)).answer();
        let asked = asking(&["race", "--models", "opus,haiku", "--prompt", "raise it", "--json"]);
        let mut racing = match has_overlays {
            true => asked,
            false => without_overlays(&asked),
        };
        racing.args(["--max-budget-usd", "5", "--", "--dangerously-skip-permissions"]);
        let ended = run(&mut racing);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(!ended.stderr.contains("each runs in a copy"), has_overlays, "{ended:?}");
        let found_none =
            |one: &&ReceivedRequest| one.json().expect("JSON").to_string().contains("42-hidden");
        let count = server.requests().iter().filter(found_none).count();
        assert!(count >= 2, "{count} of two: {ended:?}");
        let object: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let rows = object["continuations"].as_array().expect("a list");
        assert!(rows.iter().all(|row| row["result"] == "Tried."), "the budget is used: {object}");
    }
}

/// Processes that this one has started.
fn children_of(parent: u32) -> Vec<Pid> {
    let is_child = |pid: &i32| {
        let status = text(Path::new(&format!("/proc/{pid}/status")));
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
    };
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(is_child).filter_map(Pid::from_raw).collect()
}
