//! It feels instant: limits with room for a busy machine. The pure part is measured more closely by
//! the terminal crate's own bench.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play, run};

/// How long each key of a word takes to its echo; the middle one of them.
fn echo(talk: &mut Talk, word: &str) -> Duration {
    let mut typed = String::new();
    let mut spans: Vec<Duration> = word
        .chars()
        .map(|letter| {
            typed.push(letter);
            let began = Instant::now();
            talk.key(&letter.to_string());
            talk.until(&format!("> {typed}"));
            began.elapsed()
        })
        .collect();
    spans.sort();
    talk.key("\u{15}");
    talk.until_gone(&format!("> {typed}"));
    spans.get(spans.len() / 2).copied().unwrap_or_default()
}

#[test]
fn a_key_is_echoed_while_an_answer_pours_in() {
    let dirs = TestDirs::new();
    let long = "many words that pour in and never seem to end, ".repeat(20_000);
    let server = play(Script::new().answer(ScriptedAnswer::text(long).repeat(0)));
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    let quiet = echo(&mut talk, "quick");
    talk.key("talk\r");
    talk.until("many words");
    let busy = echo(&mut talk, "quick");
    // Both on the same machine at the same time, whatever else it does.
    assert!(busy < quiet * 20 + Duration::from_millis(500), "{busy:?} after {quiet:?}");
    assert_eq!(talk.end(), Some(0));
}

/// The longest a key can wait for its echo is what the terminal's thread works between two looks at
/// the keys: a bounded piece, at the end of a long answer, too. Work is counted, not time, so it does
/// not matter what else the machine does.
#[cfg(target_os = "linux")]
#[test]
fn the_end_of_a_long_answer_holds_no_key_up() {
    let dirs = TestDirs::new();
    let long: String =
        (0..30_000).map(|number| format!("Part {number} of it, in *some* `words`.\n\n")).collect();
    let answer = ScriptedAnswer::text(format!("{long}The end.")).chunk(400);
    let server = play(Script::new().answer(answer.repeat(0)));
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["talk"]));
    talk.until("Part ");
    let mut most = Duration::ZERO;
    let mut number = 0;
    let thread = thread(talk.child.id(), "terminal");
    loop {
        let before = thread_time(&thread);
        // Each number is another line to wait for.
        number += 1;
        talk.key(&format!("\u{15}{number};"));
        let shown = talk.until(&format!("> {number};"));
        most = most.max(thread_time(&thread) - before);
        if shown.contains("The end.") && !shown.contains("· turn ") {
            break;
        }
    }
    // Drawn in one go, the answer takes seconds where nothing is optimised.
    assert!(most < Duration::from_millis(400), "{most:?} of work for one key");
    assert_eq!(talk.end_after_clear(), Some(0));
}

/// The file that counts what a thread of this name works.
#[cfg(target_os = "linux")]
pub(super) fn thread(pid: u32, name: &str) -> PathBuf {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
    let is_named = |path: &PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name)
    };
    tasks.map(|task| task.path()).find(is_named).expect("the thread").join("schedstat")
}

#[cfg(target_os = "linux")]
pub(super) fn thread_time(thread: &Path) -> Duration {
    let text = std::fs::read_to_string(thread).expect("a count");
    let nanos = text.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.expect("a number"))
}

/// The first frame is a matter of milliseconds: a few times what the smallest command takes.
#[test]
fn the_first_frame_is_there_at_once() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let mut smallest = Duration::MAX;
    let mut first = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        run(&mut dirs.windlass(&["--version"])).answer();
        smallest = smallest.min(began.elapsed());
        let began = Instant::now();
        let talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
        talk.until(READY);
        first = first.min(began.elapsed());
        assert_eq!(talk.end(), Some(0));
    }
    let limit = smallest * 10 + Duration::from_millis(200);
    assert!(first < limit, "{first:?}; the smallest command takes {smallest:?}");
}

#[test]
fn nothing_happens_while_nothing_happens() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["hello"]));
    talk.until("ok");
    talk.until(READY);
    // A key costs a few bytes, not a screen.
    talk.key("a");
    talk.until("> a");
    let mut shown = "> a".to_owned();
    let costs = ["b", "c", "d", "e"].map(|key| {
        let before = talk.sent_bytes();
        talk.key(key);
        shown.push_str(key);
        talk.until(&shown);
        talk.sent_bytes() - before
    });
    // Beside one of them something else may be painted.
    assert!(costs.iter().any(|cost| *cost < 200), "{costs:?} bytes");
    #[cfg(target_os = "linux")]
    {
        let span = Duration::from_secs(4);
        // What was begun for the key may still settle.
        talk.silent(Duration::from_secs(1));
        let before = wakes(talk.child.id());
        talk.silent(span);
        let wakes = wakes(talk.child.id()) - before;
        assert!(wakes < span.as_secs(), "{wakes} times in {span:?}");
        let kilobytes = own_memory(talk.child.id());
        assert!(kilobytes < 30 * 1024, "{kilobytes} kB");
    }
    assert_eq!(talk.end_after_clear(), Some(0));
}

/// Memory that is the process's own, in kilobytes: not the program itself, which is larger where
/// nothing is optimised.
#[cfg(target_os = "linux")]
fn own_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// How often any thread of a process gave up the processor by itself, which is how often it woke.
#[cfg(target_os = "linux")]
fn wakes(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
    let count = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
        .map(count)
        .sum()
}
