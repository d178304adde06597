//! The real binary is ended by the kernel at every write to its journal, once before the line and
//! once in the middle of it, and by a tracer at every call that writes, waits for the disk or renames;
//! the session is continued, and a judge decides who reads only the journal's lines, a log the tools
//! wrote, and what the server was asked. The means here is a limit on the size of files: the write
//! that would cross it leaves half a line on the disk, and a tracer kills the process before it can take
//! that back.
//! What a loss of power may leave is not tried here.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod budget;
#[path = "../command/fixture.rs"]
#[allow(dead_code, reason = "another program's tests need the rest")]
mod fixture;
mod limits;
mod matrix;
mod startup;
mod storage;
mod traced;

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use fixture::{FinishedCommand, TestDirs, play, run};
use serde_json::{Value, json};
use windlass_rehearsal::{ReceivedRequest, Rehearsal, Script, ScriptedAnswer};

const SESSION: &str = "3f2a6c1e-51d0-4c0e-9b7e-0d2f4f6a8b1c";
const CALLS: usize = 3;

/// What the call after those writes.
const NOTE: &str = "All of it or none.\n";

/// Every call appends its number, and says so if its intent was not in the journal before. The last
/// one replaces a file.
fn server(dirs: &TestDirs) -> Rehearsal {
    let note = json!({"file_path": dirs.file("note"), "content": NOTE});
    let calls = (1..=CALLS).map(|number| {
        let intent = format!(r#""call":"call_{number}","tool""#);
        let command = format!(
            "grep -qsF '{intent}' ../state/windlass/sessions/*/*.jsonl && echo {number} >> log \
             || echo {number} without intent >> log"
        );
        ScriptedAnswer::empty().tool_with_id(
            format!("call_{number}"),
            "Bash",
            json!({"command": command}),
        )
    });
    let note = ScriptedAnswer::empty().tool_with_id(format!("call_{}", CALLS + 1), "Write", note);
    play(calls.chain([note, ScriptedAnswer::text("Done.").repeat(0)]).collect::<Script>())
}

/// The command, which may write files of at most so many bytes.
fn limited(
    dirs: &TestDirs,
    server: &Rehearsal,
    limit: Option<usize>,
    flags: &[&str],
) -> FinishedCommand {
    let mut arguments = vec!["--dangerously-skip-permissions"];
    arguments.extend(flags);
    let plain = dirs.asking(&server.url(), &arguments);
    let mut command = Command::new("prlimit");
    if let Some(limit) = limit {
        command.arg(format!("--fsize={limit}"));
    }
    command.arg("--core=0").arg("--");
    if limit.is_some() {
        // The half line is taken back by cutting the file: that is where it dies.
        command.args(["strace", "-f", "-qqq", "-o", "/dev/null"]);
        command.args(["-e", "trace=ftruncate", "-e", "inject=ftruncate:signal=KILL"]);
    }
    command.arg(plain.get_program()).args(plain.get_args());
    command.env_clear().current_dir(dirs.work());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// The journal: the longest, because one that was killed before its first line stays empty.
fn journal_of(dirs: &TestDirs) -> Option<PathBuf> {
    dirs.journals().into_iter().max_by_key(|path| path.metadata().expect("a journal").len())
}

fn text_of(dirs: &TestDirs) -> String {
    let bytes = journal_of(dirs).map(|path| std::fs::read(path).expect("a journal"));
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// The whole lines' items, in order.
fn items(journal: &str) -> Vec<Value> {
    let lines = journal.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let records = lines.map(|line| serde_json::from_str::<Value>(line).expect("a whole line"));
    records.flat_map(|line| line["rec"]["items"].as_array().cloned().unwrap_or_default()).collect()
}

/// Calls by id, and whether their result is kept.
fn kept_results(items: &[Value]) -> HashMap<String, bool> {
    let is_kept =
        |ticket: &Value| items.iter().any(|item| &item["event"]["ToolEnded"]["ticket"] == ticket);
    let intents = items.iter().map(|item| &item["note"]["intended"]).filter(|it| it.is_object());
    intents
        .map(|it| (it["call"].as_str().expect("an id").to_owned(), is_kept(&it["ticket"])))
        .collect()
}

/// The call of an intent.
fn call_of<'a>(items: &'a [Value], ticket: &Value) -> &'a str {
    let mut intents = items.iter().map(|item| &item["note"]["intended"]);
    let intent = intents.find(|it| it.is_object() && &it["ticket"] == ticket);
    intent.expect("an intent before every end")["call"].as_str().expect("an id")
}

/// The blocks of a type in a request.
fn blocks(request: &ReceivedRequest, kind: &str) -> Vec<Value> {
    let body = request.json().expect("JSON");
    let messages = body["messages"].as_array().expect("messages").clone();
    let all = messages.iter().flat_map(|message| message["content"].as_array().cloned());
    all.flatten().filter(|block| block["type"] == kind).collect()
}

/// What must hold at the moment of death: the first promise, and results kept before they are told.
fn judge_the_dead(journal: &str, requests: &[ReceivedRequest]) {
    let items = items(journal);
    let kept = kept_results(&items);
    for request in requests {
        assert!(
            items
                .iter()
                .any(|item| item["event"]["UserSubmitted"]["content"][0]["Text"] == "log it"),
            "a request was sent, and the user's words are not kept"
        );
        for result in blocks(request, "tool_result") {
            let call = result["tool_use_id"].as_str().expect("an id");
            assert_eq!(kept.get(call), Some(&true), "{call}: told before it was kept");
        }
    }
}

/// A call whose end nobody saw is told as one, not as a success. How many were there?
fn judge_the_revived(left: &str, request: &ReceivedRequest) -> usize {
    let results = blocks(request, "tool_result");
    let mut unseen = 0;
    for (call, is_kept) in kept_results(&items(left)) {
        let told = results.iter().find(|result| result["tool_use_id"] == call.as_str());
        let is_error = told.map(|result| result["is_error"] == true);
        if is_kept {
            assert_eq!(is_error, Some(false), "{call}: its result is kept: {told:?}");
        } else {
            assert_eq!(is_error, Some(true), "{call}: its end is not known: {told:?}");
            unseen += 1;
        }
    }
    unseen
}

/// What must hold in the end: no effect twice or unannounced, and each call with one result.
fn judge_the_end(journal: &str, (log, note): (&str, Option<&str>), requests: &[ReceivedRequest]) {
    let items = items(journal);
    let kept = kept_results(&items);
    assert!(note.is_none_or(|note| note == NOTE), "half a file: {note:?}");
    for item in &items {
        let end = &item["event"]["ToolEnded"];
        if end.is_object() && end["outcome"]["is_error"] != true {
            let call = call_of(&items, &end["ticket"]);
            let number = call.trim_start_matches("call_");
            let is_there =
                log.lines().any(|line| line == number) || number == "4" && note.is_some();
            assert!(is_there, "{call}: it is told as done, and its effect is lost");
        }
    }
    let mut seen = Vec::new();
    for line in log.lines() {
        assert!(!seen.contains(&line), "line {line} was written twice");
        assert!(kept.contains_key(&format!("call_{line}")), "{line}: no intent");
        seen.push(line);
    }
    for request in requests {
        let results = blocks(request, "tool_result");
        let calls = blocks(request, "tool_use");
        assert_eq!(calls.len(), results.len(), "request {}", request.number);
        for call in calls {
            let of_call = results.iter().filter(|result| result["tool_use_id"] == call["id"]);
            assert_eq!(of_call.count(), 1, "request {}: {}", request.number, call["id"]);
        }
    }
}

/// Kills at this size, continues, judges. Was it killed, and how many calls had no end?
fn cycle(limit: usize) -> (bool, usize) {
    cycle_with(&format!("byte {limit}"), |dirs, server| {
        limited(dirs, server, Some(limit), &["-p", "log it", "--session-id", SESSION])
    })
}

/// Kills in this way, continues, judges. Was it killed, and how many calls had no end?
fn cycle_with(
    what: &str,
    kill: impl FnOnce(&TestDirs, &Rehearsal) -> FinishedCommand,
) -> (bool, usize) {
    let dirs = TestDirs::new();
    let server = server(&dirs);
    let first = kill(&dirs, &server);
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let is_killed = first.code.is_none();
        assert!(is_killed || first.code == Some(0), "{first:?}");
        let left = text_of(&dirs);
        judge_the_dead(&left, &server.requests());
        let sent = server.request_count();
        let mut second = limited(&dirs, &server, None, &["-r", SESSION, "-p", "go on"]);
        if sent == 0 && second.code == Some(2) {
            // Nothing was asked yet and nothing was kept: it begins anew.
            second = limited(&dirs, &server, None, &["-p", "log it"]);
        }
        assert_eq!(second.code, Some(0), "{second:?}");
        let unseen = judge_the_revived(&left, &server.requests()[sent]);
        let log = std::fs::read_to_string(dirs.file("log")).unwrap_or_default();
        let note = std::fs::read_to_string(dirs.file("note")).ok();
        judge_the_end(&text_of(&dirs), (&log, note.as_deref()), &server.requests());
        let path = journal_of(&dirs).expect("a journal");
        let id = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let shown = run(&mut dirs.windlass(&["sessions", "show", &id, "--json"]));
        assert_eq!(shown.code, Some(0), "{shown:?}");
        (is_killed, unseen)
    }));
    told.unwrap_or_else(|_| {
        let log = std::fs::read_to_string(dirs.file("log")).unwrap_or_default();
        panic!("killed at {what}; the log:\n{log}\nthe journal:\n{}", text_of(&dirs));
    })
}

#[test]
fn a_session_killed_at_any_write_goes_on_without_loss_or_repetition() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        let words = "not killed: `prlimit` is missing; apt-get install -y util-linux";
        assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{words}");
        eprintln!("{words}");
        return;
    }
    if !traced::has_tracer() {
        return;
    }
    let dirs = TestDirs::new();
    let server = server(&dirs);
    limited(&dirs, &server, None, &["-p", "log it", "--session-id", SESSION]).answer();
    assert_eq!(std::fs::read_to_string(dirs.file("log")).expect("a log"), "1\n2\n3\n");
    let mut at = 0;
    let mut limits = Vec::new();
    for line in text_of(&dirs).split_inclusive('\n') {
        limits.extend([at, at + line.len() / 2]);
        at += line.len();
    }
    let points = limits.len();
    let next = Mutex::new(limits.into_iter());
    let take = || next.lock().expect("no cycle panicked").next();
    let work = || {
        let mut results = Vec::new();
        while let Some(limit) = take() {
            results.push(cycle(limit));
        }
        results
    };
    // Most of a cycle is waiting.
    let results: Vec<(bool, usize)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("cycles")).collect()
    });
    let kills = results.iter().filter(|(is_killed, _)| *is_killed).count();
    let unknown: usize = results.iter().map(|(_, unseen)| unseen).sum();
    println!("{kills} kill/resume cycles at {points} points, {unknown} calls of unknown outcome");
    // Lengths differ a little from run to run, so that the last few may come too late.
    assert!(kills + 4 >= points, "only {kills} of {points} were killed");
    assert!(unknown >= CALLS, "no kill fell between an intent and its result");
}
