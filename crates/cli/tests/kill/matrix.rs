//! What is under way when the process dies: an agent inside the session, a command in the background, a
//! summary of the history. The process is killed at each of its waits for the disk; the session goes on,
//! nothing ran twice, nothing that was said is lost, and no command outlives both processes.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::traced::{has_tracer, killed_at};
use super::{SESSION, blocks};
use crate::fixture::{FinishedCommand, PATIENCE, TestDirs, play, run, wait_until_gone};

const BYPASS: &str = "--dangerously-skip-permissions";
const BEGIN: [&str; 4] = ["-p", "begin the work", "--session-id", SESSION];
const GO_ON: [&str; 5] = ["-r", SESSION, "-p", "now finish it", BYPASS];
/// Points tried at once: most of a cycle is waiting.
const AT_ONCE: usize = 4;
/// More points than there are.
const POINTS_MAX: usize = 60;

struct Scenario {
    name: &'static str,
    script: fn() -> Script,
    /// Runs that are not killed come first.
    prepare: fn(&TestDirs, &Rehearsal),
    killed_run: &'static [&'static str],
    /// A tracer would wait for what is left in the background.
    is_traced: bool,
    /// Words of which one must be in the request after the resumption.
    remembered: [&'static str; 2],
}

fn bash(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::empty().tool("Bash", json!({ "command": command }))
}

fn finished() -> ScriptedAnswer {
    ScriptedAnswer::text("all is done").when("now finish it").repeat(0)
}

fn nested_script() -> Script {
    let agent = json!({"description": "an errand", "prompt": "do the errand"});
    Script::new()
        .answer(finished())
        .answer(ScriptedAnswer::text("the parent is done").when_result("agent is done").repeat(0))
        .answer(ScriptedAnswer::text("the agent is done").when_result("worked").repeat(0))
        .answer(bash("echo worked | tee -a log").when("do the errand").repeat(0))
        .answer(ScriptedAnswer::empty().tool("Agent", agent).when("begin the work").repeat(0))
}

fn background_script() -> Script {
    let command = "echo first >> log; echo $$ > pid; exec sleep 300";
    let background = json!({"command": command, "run_in_background": true});
    Script::new()
        .answer(finished())
        .answer(ScriptedAnswer::empty().tool("Bash", background))
        .answer(bash("echo second >> log"))
        .answer(ScriptedAnswer::text("done").repeat(0))
}

fn compaction_script() -> Script {
    Script::new()
        .answer(finished())
        .answer(bash("echo once >> log"))
        .answer(ScriptedAnswer::text("long ".repeat(4_000)))
        .answer(ScriptedAnswer::text("more ".repeat(4_000)))
        .answer(ScriptedAnswer::text("SUMMARY: the work was begun").repeat(0))
}

const SCENARIOS: [Scenario; 3] = [
    Scenario {
        name: "an agent",
        script: nested_script,
        prepare: |_, _| {},
        killed_run: &BEGIN,
        is_traced: true,
        remembered: ["begin the work", "begin the work"],
    },
    Scenario {
        name: "a command in the background",
        script: background_script,
        prepare: |_, _| {},
        killed_run: &BEGIN,
        is_traced: false,
        remembered: ["begin the work", "begin the work"],
    },
    Scenario {
        name: "a summary",
        script: compaction_script,
        prepare: |dirs, server| {
            let mut command = dirs.asking(&server.url(), &BEGIN);
            assert_eq!(run(command.arg(BYPASS)).code, Some(0));
            let more = ["-r", SESSION, "-p", "tell me more", BYPASS];
            assert_eq!(run(&mut dirs.asking(&server.url(), &more)).code, Some(0));
        },
        killed_run: &["-r", SESSION, "-p", "/compact"],
        is_traced: true,
        remembered: ["begin the work", "SUMMARY"],
    },
];

/// Kills as soon as the journal has so many lines.
fn killed_at_line(
    dirs: &TestDirs,
    server: &Rehearsal,
    lines: usize,
    flags: &[&str],
) -> FinishedCommand {
    let began = Instant::now();
    let mut command = dirs.asking(&server.url(), flags);
    command.arg(BYPASS).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    while child.try_wait().expect("a child").is_none() && count_lines(dirs) < lines {
        assert!(began.elapsed() < PATIENCE, "it neither writes nor ends");
        std::thread::yield_now();
    }
    // It may be gone by itself.
    let _ = child.kill();
    let code = child.wait().expect("a child").code();
    FinishedCommand { code, stdout: String::new(), stderr: String::new(), took: began.elapsed() }
}

fn count_lines(dirs: &TestDirs) -> usize {
    let journal = dirs.journals().into_iter().next();
    let bytes = journal.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Kills at this point, goes on, judges. Was it killed?
fn cycle(scenario: &Scenario, number: usize) -> bool {
    let dirs = TestDirs::new();
    let server = play((scenario.script)());
    (scenario.prepare)(&dirs, &server);
    let killed = match scenario.is_traced {
        true => killed_at(&dirs, &server, ("fdatasync", number), scenario.killed_run),
        false => killed_at_line(&dirs, &server, number, scenario.killed_run),
    };
    let what = format!("{}, wait {number}", scenario.name);
    let is_killed = killed.code.is_none();
    assert!(is_killed || killed.code == Some(0), "{what}: {killed:?}");
    let sent = server.request_count();
    let on = run(&mut dirs.asking(&server.url(), &GO_ON));
    if sent == 0 && on.code == Some(2) {
        // Nothing was asked yet and nothing was kept.
        return is_killed;
    }
    assert_eq!((on.code, on.stdout.as_str()), (Some(0), "all is done\n"), "{what}: {on:?}");
    let requests = server.requests();
    let last = requests.last().expect("a request");
    let is_remembered = scenario.remembered.iter().any(|words| last.body.contains(words));
    // What was not kept yet was not asked either.
    assert!(is_remembered || sent == 0, "{what}: what was said is lost");
    for request in &requests {
        let results = blocks(request, "tool_result");
        for call in blocks(request, "tool_use") {
            let of_call = results.iter().filter(|result| result["tool_use_id"] == call["id"]);
            assert_eq!(of_call.count(), 1, "{what}: request {}: {}", request.number, call["id"]);
        }
    }
    let log = std::fs::read_to_string(dirs.file("log")).unwrap_or_default();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), log.lines().count(), "{what}: something ran twice: {log}");
    if let Ok(pid) = std::fs::read_to_string(dirs.file("pid"))
        && !pid.trim().is_empty()
    {
        wait_until_gone(&pid);
    }
    let replayed = run(&mut dirs.windlass(&["replay", SESSION]));
    assert_eq!(replayed.code, Some(0), "{what}: {replayed:?}");
    is_killed
}

#[test]
fn what_is_under_way_is_killed_anywhere_and_goes_on() {
    if !has_tracer() {
        return;
    }
    for scenario in &SCENARIOS {
        let [next, kills] = [1, 0].map(AtomicUsize::new);
        let work = || {
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number > POINTS_MAX {
                    return;
                }
                match cycle(scenario, number) {
                    true => drop(kills.fetch_add(1, Relaxed)),
                    false => next.store(POINTS_MAX + 1, Relaxed),
                }
            }
        };
        std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
        let kills = kills.into_inner();
        println!("{}: {kills} kill/resume cycles", scenario.name);
        assert!(kills >= 2, "{}: only {kills} kills", scenario.name);
    }
}
