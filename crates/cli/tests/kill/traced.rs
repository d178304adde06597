//! The real binary under a tracer: killed as it enters each write to its journal, each wait for the
//! disk and each renaming, and told by its disk that something cannot be kept. Writes are made by one
//! thread, whose calls the tracer counts by itself; the others come from any thread, so they are held
//! back for a moment and counted here.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use windlass_rehearsal::Rehearsal;

use super::{CALLS, SESSION, cycle_with, server};
use crate::fixture::{FinishedCommand, TestDirs, run};

/// Calls that may come from any thread, kind by kind, and how many there are at least.
const SCATTERED: [(&str, usize); 3] =
    [("fdatasync", CALLS + 1), ("fsync", 2), ("rename,renameat,renameat2", 1)];
/// Each is held back by this many microseconds.
const HELD: &str = "100000";
/// Cycles at once: most of a cycle is waiting.
const AT_ONCE: usize = 4;
/// More calls of a kind than there are.
const POINTS_MAX: usize = 120;

const BYPASS: [&str; 1] = ["--dangerously-skip-permissions"];
const ASK: [&str; 4] = ["-p", "log it", "--session-id", SESSION];

/// Is there a tracer? Where all tests are wanted there must be.
pub(crate) fn has_tracer() -> bool {
    let is_there = Command::new("strace").arg("-V").output().is_ok();
    let words = "not traced: `strace` is missing; apt-get install -y strace";
    assert!(is_there || std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{words}");
    if !is_there {
        eprintln!("{words}");
    }
    is_there
}

/// The command under a tracer with these flags, which may speak of the journal.
fn traced(dirs: &TestDirs, server: &Rehearsal, tracer: &[&str], flags: &[&str]) -> FinishedCommand {
    let mut arguments = vec!["--dangerously-skip-permissions"];
    arguments.extend(flags);
    let plain = dirs.asking(&server.url(), &arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-qqq"]).args(tracer).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().current_dir(dirs.work());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// With this done to the calls on the journal.
fn injected(dirs: &TestDirs, server: &Rehearsal, inject: &str, flags: &[&str]) -> FinishedCommand {
    let journal = journal_in(dirs);
    let journal = journal.to_str().expect("a path of letters");
    traced(dirs, server, &["-o", "/dev/null", "-e", inject, "-P", journal], flags)
}

/// Killed as it enters the call of this kind with this number, if there are so many.
pub(crate) fn killed_at(
    dirs: &TestDirs,
    server: &Rehearsal,
    (kind, number): (&str, usize),
    flags: &[&str],
) -> FinishedCommand {
    let pipe = dirs.work().with_file_name("calls");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let path = pipe.to_str().expect("a path of letters").to_owned();
    let watching = std::thread::spawn(move || watch(&pipe, number));
    let only = format!("trace={kind}");
    let hold = format!("inject={kind}:delay_enter={HELD}");
    let tracer = ["-o", &path, "-e", "signal=none", "-e", &only, "-e", &hold];
    let finished = traced(dirs, server, &tracer, flags);
    watching.join().expect("a watcher");
    finished
}

/// Reads what the tracer tells, which it does as a call begins: the thread, the name, a bracket.
fn watch(pipe: &Path, number: usize) {
    let mut told = String::new();
    let mut chunk = [0; 4096];
    let mut is_killed = false;
    let mut pipe = std::fs::File::open(pipe).expect("the pipe");
    // Read to the end in any case: a tracer without a reader would end otherwise than it should.
    while let Ok(read @ 1..) = pipe.read(&mut chunk) {
        told.push_str(&String::from_utf8_lossy(&chunk[..read]));
        let begun = told.lines().filter(|line| !line.contains("resumed>"));
        let mut heads = begun.filter_map(|line| line.split_once('('));
        if !is_killed && let Some((head, _)) = heads.nth(number - 1) {
            let thread = head.split_whitespace().next().and_then(|thread| thread.parse().ok());
            // It may be gone by itself.
            let _ = kill_process(thread.and_then(Pid::from_raw).expect("a thread"), Signal::KILL);
            is_killed = true;
        }
    }
}

/// Where the journal of our session lies, by the words of `docs/wire/journal.md`.
fn journal_in(dirs: &TestDirs) -> PathBuf {
    let work = dirs.work().canonicalize().expect("a folder");
    let spelt = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let key: String = work.to_string_lossy().chars().map(spelt).collect();
    let root = work.parent().expect("a folder").join("state/windlass/sessions");
    root.join(key).join(format!("{SESSION}.jsonl"))
}

/// Points are tried one after the other, several at once, until one comes after the end. Gives the
/// number of kills, and of calls whose end was unknown.
fn every_point(
    what: &str,
    kill: impl Fn(&TestDirs, &Rehearsal, usize) -> FinishedCommand + Sync,
) -> [usize; 2] {
    let [next, kills, unknown] = [1, 0, 0].map(AtomicUsize::new);
    let work = || {
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number > POINTS_MAX {
                return;
            }
            let at = format!("{what} {number}");
            let (is_killed, unseen) = cycle_with(&at, |dirs, server| kill(dirs, server, number));
            unknown.fetch_add(unseen, Relaxed);
            match is_killed {
                true => drop(kills.fetch_add(1, Relaxed)),
                false => next.store(POINTS_MAX + 1, Relaxed),
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    [kills, unknown].map(AtomicUsize::into_inner)
}

#[test]
fn a_session_killed_at_any_call_of_the_system_goes_on() {
    if !has_tracer() {
        return;
    }
    let began = Instant::now();
    let [mut kills, mut unknown] = every_point("write", |dirs, server, number| {
        let inject = format!("inject=write:signal=KILL:when={number}");
        injected(dirs, server, &inject, &ASK)
    });
    assert!(kills > 6 * CALLS, "only {kills} writes");
    let mut told = format!("write: {kills}");
    for (kind, at_least) in SCATTERED {
        let [killed, unseen] =
            every_point(kind, |dirs, server, number| killed_at(dirs, server, (kind, number), &ASK));
        assert!(killed >= at_least, "{kind}: only {killed}");
        let kind = kind.split(',').next().unwrap_or(kind);
        told = format!("{told}, {kind}: {killed}");
        (kills, unknown) = (kills + killed, unknown + unseen);
    }
    println!(
        "{kills} kill/resume cycles of the binary in {:.0?}, on entering each {told}; calls of \
         unknown outcome: {unknown}",
        began.elapsed(),
    );
    assert!(unknown >= CALLS, "no kill fell between an intent and its result");
}

#[test]
fn a_disk_that_cannot_keep_a_file_stops_everything_and_nothing_is_lost() {
    if !has_tracer() {
        return;
    }
    // The first wait is for the prompt; of the others each thread counts its own.
    for number in [1, 2] {
        let dirs = TestDirs::new();
        let server = server(&dirs);
        let inject = format!("inject=fdatasync:error=EIO:when={number}");
        let finished = injected(&dirs, &server, &inject, &ASK);
        assert_eq!(finished.code, Some(1), "{number}: {finished:?}");
        assert!(finished.stderr.contains("could not keep the journal"), "{finished:?}");
        assert!(journal_in(&dirs).with_extension("2.jsonl").exists(), "the next file");
        let before = std::fs::read_to_string(dirs.file("log")).unwrap_or_default();
        let asked = server.request_count();
        assert!(asked < CALLS + 2, "{number}: it went on");
        assert!(number > 1 || (asked, before.as_str()) == (0, ""), "{asked}: {before}");
        // What was said is there, and what ran does not run again.
        let flags = ["-r", SESSION, "-p", "go on"];
        let again = run(&mut dirs.asking(&server.url(), &[&flags[..], &BYPASS].concat()));
        assert_eq!(again.code, Some(0), "{number}: {again:?}");
        let words = server.requests().pop().expect("a request").body;
        assert!(words.contains("log it") && words.contains("go on"), "{words}");
        let log = std::fs::read_to_string(dirs.file("log")).expect("a log");
        assert!(log.starts_with(&before), "{log}");
        let mut lines: Vec<&str> = log.lines().collect();
        lines.dedup();
        assert_eq!(lines.len(), log.lines().count(), "{number}: ran twice: {log}");
    }
}

#[test]
fn a_disk_that_takes_no_more_stops_what_would_follow_and_is_named() {
    if !has_tracer() {
        return;
    }
    let cases = [
        ("ENOSPC", "make room on that file system", "text"),
        ("ENOSPC", "make room on that file system", "json"),
        ("EROFS", "make that place writable", "json"),
        ("ESTALE", "its folder is gone", "json"),
    ];
    for (error, words, format) in cases {
        let dirs = TestDirs::new();
        let server = server(&dirs);
        let flags: Vec<&str> = ASK.into_iter().chain(["--output-format", format]).collect();
        let inject = format!("inject=write:error={error}:when=12+");
        let finished = injected(&dirs, &server, &inject, &flags);
        assert_eq!(finished.code, Some(1), "{finished:?}");
        assert!(finished.stderr.contains(words), "{finished:?}");
        assert!(server.request_count() < CALLS + 2, "it went on");
        if format == "json" {
            let result: serde_json::Value =
                serde_json::from_str(&finished.stdout).expect("one object");
            assert_eq!(result["outcome"], "storage_failed", "{result}");
            assert_eq!(result["is_error"], true, "{result}");
        }
    }
}
