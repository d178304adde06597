//! The terminal is always given back, and whatever its size, nothing breaks.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::termios::{LocalModes, tcgetattr};
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{PATIENCE, TestDirs, play};
use crate::terminal::terminal;

fn ok() -> Script {
    Script::new().answer(ScriptedAnswer::text("ok").repeat(0))
}

/// Does the terminal work as a shell expects it?
fn is_given_back(talk: &Talk) -> bool {
    let modes = tcgetattr(talk.terminal()).expect("modes");
    modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
}

#[test]
fn ctrl_z_stops_it_and_it_comes_back() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
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
        let dirs = TestDirs::new();
        let server = play(ok());
        let talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
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
    let dirs = TestDirs::new();
    let text = "Wide 日本語 words, combining e\u{301} and עברית in a row. ".repeat(8);
    let table = "\n\n| one | two |\n|---|---|\n| 日本 | שלום |\n\n```rust\nfn main() {}\n```\n";
    let server =
        play(Script::new().answer(ScriptedAnswer::text(format!("{text}{table}")).repeat(0)));
    for columns in [40, 41, 79, 133, 300] {
        let talk = Talk::sized(dirs.asking(&server.url(), &["hello"]), 50, columns);
        talk.until("fn main");
        let shown = talk.until("Ask for something");
        assert!(shown.contains("日本語") && shown.contains("עברית"), "{columns}:\n{shown}");
        assert_eq!(talk.end(), Some(0), "{columns}");
    }
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["hello"]), 30, 100);
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
    let dirs = TestDirs::new();
    let server = play(ok());
    let (keys, theirs) = terminal();
    let command = dirs.asking::<&str>(&server.url(), &[]);
    let talk = Talk::with_keys_from(command, Some(theirs));
    talk.until(READY);
    drop(keys);
    assert_eq!(talk.over().code(), Some(0));
}

/// A window that is dragged about while an answer pours in.
#[test]
fn a_storm_of_sizes_while_an_answer_comes() {
    let dirs = TestDirs::new();
    let text: String =
        (0..400).map(|number| format!("Part {number} of a long answer.\n\n")).collect();
    let answer = ScriptedAnswer::text(format!("{text}The end.")).pace(Duration::from_millis(1));
    let server = play(Script::new().answer(answer.repeat(0)));
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["go"]), 30, 100);
    talk.until("Part ");
    for step in 0..150_u16 {
        talk.resize(6 + step % 30, 40 + (step * 53) % 260);
    }
    talk.resize(30, 100);
    talk.until("The end.");
    talk.until(READY);
    talk.key("still here");
    talk.when("one prompt", |screen| screen.contents().matches("> still here").count() == 1);
    assert_eq!(talk.end_after_clear(), Some(0));
}

/// Nobody can type: it says so and leaves the terminal as it is.
#[test]
fn without_keys_there_is_no_conversation() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let nothing = std::fs::File::open("/dev/null").expect("nothing");
    let talk = Talk::with_keys_from(dirs.asking::<&str>(&server.url(), &[]), Some(nothing));
    let keys = talk.terminal().try_clone().expect("a copy");
    let status = talk.over();
    assert!(!status.success(), "{status:?}");
    let modes = tcgetattr(&keys).expect("modes");
    assert!(modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
}

/// Nobody reads what is written, as when a connection hangs: it can still be ended, and the modes of
/// the terminal are as before.
#[test]
fn a_terminal_nobody_reads_does_not_hold_it() {
    let dirs = TestDirs::new();
    let long = "words that fill whatever lies between two ends\n\n".repeat(20_000);
    let server = play(Script::new().answer(ScriptedAnswer::text(long).repeat(0)));
    let (ours, theirs) = terminal();
    let copy = |file: &std::fs::File| Stdio::from(file.try_clone().expect("a copy"));
    let mut command = dirs.asking(&server.url(), &["go"]);
    command.env("TERM", "xterm-256color").stdin(copy(&theirs)).stdout(copy(&theirs));
    let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
    drop(command);
    // The request is made and answered, and what is written has nowhere to go.
    let limit = Instant::now() + PATIENCE;
    let is_full = || {
        let mut ready = [PollFd::new(&theirs, PollFlags::OUT)];
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut ready, Some(&none)).expect("a look") == 0
    };
    while !is_full() {
        assert!(Instant::now() < limit, "it never filled up");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it is there");
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if Instant::now() >= limit {
            let _ = child.kill();
            panic!("it does not leave");
        }
        std::thread::park_timeout(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(143));
    let modes = tcgetattr(&theirs).expect("modes");
    assert!(modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    drop(ours);
}

/// Behind another terminal, as over a connection: keys, sizes and the way back go through both.
#[test]
fn behind_another_terminal_it_is_the_same() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let inner = dirs.asking::<&str>(&server.url(), &[]);
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-c"]).arg(inner.get_program()).arg("/dev/null").env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("SHELL", "/bin/sh").current_dir(dirs.work());
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let mut talk = Talk::begin(command);
    talk.until(READY);
    talk.key("hello there\r");
    talk.until("ok");
    talk.until(READY);
    talk.resize(20, 44);
    talk.key("narrow");
    talk.until("> narrow");
    talk.key("\u{3}");
    talk.until(READY);
    talk.key("\u{4}");
    let keys = talk.terminal().try_clone().expect("a copy");
    assert_eq!(talk.over().code(), Some(0));
    let modes = tcgetattr(&keys).expect("modes");
    assert!(modes.local_modes.contains(LocalModes::ICANON));
}
