//! It feels instant: limits with room for a busy machine. The pure part is measured more closely by
//! the terminal crate's own bench.

use std::time::{Duration, Instant};

use windlass_rehearsal::{Answer, Script};

use super::talk::{READY, Talk};
use crate::stage::{World, play};

#[test]
fn a_key_is_echoed_while_an_answer_pours_in() {
    let world = World::new();
    let long = "many words that pour in and never seem to end, ".repeat(20_000);
    let server = play(Script::new().answer(Answer::text(long).repeat(0)));
    let mut talk = Talk::begin(world.asking(&server.url(), &["talk"]));
    talk.until("many words");
    let began = Instant::now();
    let mut typed = String::new();
    for letter in "quick".chars() {
        typed.push(letter);
        talk.key(&letter.to_string());
        talk.until(&format!("> {typed}"));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    talk.key("\u{1b}");
    talk.until("ask for");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn nothing_happens_while_nothing_happens() {
    let world = World::new();
    let server = play(Script::new().answer(Answer::text("ok").repeat(0)));
    let mut talk = Talk::begin(world.asking(&server.url(), &["hello"]));
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
    }
    assert_eq!(talk.end_after_clear(), Some(0));
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
