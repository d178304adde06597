//! The terminal is always given back, and whatever its size, nothing breaks.

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use rustix::termios::{LocalModes, tcgetattr};
use windlass_rehearsal::{Answer, Script};

use super::talk::{READY, Talk};
use crate::stage::{World, play};
use crate::terminal::terminal;

fn ok() -> Script {
    Script::new().answer(Answer::text("ok").repeat(0))
}

/// Does the terminal work as a shell expects it?
fn is_given_back(talk: &Talk) -> bool {
    let modes = tcgetattr(talk.terminal()).expect("modes");
    modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
}

#[test]
fn ctrl_z_stops_it_and_it_comes_back() {
    let world = World::new();
    let server = play(ok());
    let mut talk = Talk::begin(world.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("half a sen");
    talk.until("half a sen");
    assert!(!is_given_back(&talk));
    for is_key in [true, false] {
        match is_key {
            true => talk.key("\u{1a}"),
            false => talk.signal(Signal::TSTP),
        }
        let pid = Pid::from_child(&talk.child);
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).expect("a wait").expect("news");
        assert!(status.stopped(), "{status:?}");
        assert!(is_given_back(&talk));
        talk.signal(Signal::CONT);
        talk.key("t");
        talk.until(if is_key { "half a sent" } else { "half a sentt" });
        assert!(!is_given_back(&talk));
    }
    assert_eq!(talk.end_after_clear(), Some(0));
}

#[test]
fn whoever_ends_it_the_terminal_is_given_back() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let world = World::new();
        let server = play(ok());
        let talk = Talk::begin(world.asking::<&str>(&server.url(), &[]));
        talk.until(READY);
        talk.signal(signal);
        let keys = talk.terminal().try_clone().expect("a copy");
        assert_eq!(talk.over().code(), Some(code));
        let modes = tcgetattr(&keys).expect("modes");
        assert!(modes.local_modes.contains(LocalModes::ICANON), "{signal:?}");
    }
}

#[test]
fn any_width_and_a_storm_of_sizes() {
    let world = World::new();
    let text = "Wide 日本語 words, combining e\u{301} and עברית in a row. ".repeat(8);
    let table = "\n\n| one | two |\n|---|---|\n| 日本 | שלום |\n\n```rust\nfn main() {}\n```\n";
    let server = play(Script::new().answer(Answer::text(format!("{text}{table}")).repeat(0)));
    for columns in [40, 41, 79, 133, 300] {
        let talk = Talk::sized(world.asking(&server.url(), &["hello"]), 50, columns);
        talk.until("fn main");
        let shown = talk.until("ask for something");
        assert!(shown.contains("日本語") && shown.contains("עברית"), "{columns}:\n{shown}");
        assert_eq!(talk.end(), Some(0), "{columns}");
    }
    let mut talk = Talk::sized(world.asking(&server.url(), &["hello"]), 30, 100);
    talk.until("fn main");
    talk.until(READY);
    for step in 0..200_u16 {
        talk.resize(5 + step % 40, 40 + (step * 37) % 200);
    }
    talk.resize(30, 90);
    talk.key("still here");
    let shown = talk.when("one prompt", |screen| {
        let shown = screen.contents();
        shown.matches("> still here").count() == 1 && shown.lines().count() <= 30
    });
    assert!(shown.contains("> still here"), "{shown}");
    assert_eq!(talk.end_after_clear(), Some(0));
}

/// Keys come from one terminal and the screen is another, so that one of them can go away.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    let world = World::new();
    let server = play(ok());
    let (keys, theirs) = terminal();
    let command = world.asking::<&str>(&server.url(), &[]);
    let talk = Talk::with_keys_from(command, Some(theirs));
    talk.until(READY);
    drop(keys);
    assert_eq!(talk.over().code(), Some(0));
}
