//! On a real (pseudo-)terminal: colours, text that is taken back, and nothing that could steer it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{TestDirs, play, run};

/// Which stream goes to the terminal; the other one is a pipe.
#[derive(Clone, Copy)]
pub(crate) enum To {
    Stdout,
    Stderr,
}

/// A terminal of 60 columns: our end and theirs.
pub(crate) fn terminal() -> (OwnedFd, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    // A child that holds our end would never see it go.
    fcntl_setfd(&ours, FdFlags::CLOEXEC).expect("a terminal");
    grantpt(&ours).expect("a terminal");
    unlockpt(&ours).expect("a terminal");
    let size = Winsize { ws_row: 24, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).expect("a size");
    let name = ptsname(&ours, Vec::new()).expect("a name");
    let name = name.to_str().expect("a name");
    let theirs = OpenOptions::new().read(true).write(true).open(name).expect("the other end");
    (ours, theirs)
}

/// Runs the command at a terminal and gives what appears on it.
pub(crate) fn on_terminal(mut command: Command, which: To) -> (Option<i32>, String) {
    let (ours, theirs) = terminal();
    match which {
        To::Stdout => command.stdout(Stdio::from(theirs)),
        To::Stderr => command.stderr(Stdio::from(theirs)),
    };
    let mut child = command.spawn().expect("the command starts");
    // The other end closes with the child only if nobody else holds it.
    drop(command);
    let screen = read_all(ours);
    let status = child.wait().expect("an end");
    (status.code(), screen)
}

/// A terminal whose other end is closed says so with an error.
fn read_all(ours: OwnedFd) -> String {
    let mut file = File::from(ours);
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = file.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(bytes).expect("text")
}

fn demo(dirs: &TestDirs, variables: &[(&str, &str)]) -> String {
    let mut command = dirs.windlass(&["demo", "--fast"]);
    command.envs(variables.iter().copied());
    let (code, screen) = on_terminal(command, To::Stdout);
    assert_eq!(code, Some(0), "{screen}");
    screen
}

#[test]
fn the_demo_uses_what_a_terminal_can_do() {
    let dirs = TestDirs::new();
    let screen = demo(&dirs, &[("TERM", "xterm-256color")]);
    // Green for what came, red for what went, and a countdown in place.
    assert!(screen.contains("\u{1b}[32m+"), "{screen}");
    assert!(screen.contains("\u{1b}[31m-"), "{screen}");
    assert!(screen.contains("\r\u{1b}[2K\u{1b}[33m! 529: the model is overloaded"), "{screen}");
    // What broke off is erased and shown again, struck out.
    assert!(screen.contains("\u{1b}[J\u{1b}[2;9mThe script takes"), "{screen}");
    let too_wide = |line: &str| {
        let plain = line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
        visible(plain).chars().count() > 60
    };
    assert!(!screen.lines().any(too_wide), "{screen}");
}

#[test]
fn without_colours_it_still_moves_and_on_a_dumb_terminal_it_does_not() {
    let dirs = TestDirs::new();
    let screen = demo(&dirs, &[("TERM", "xterm"), ("NO_COLOR", "1")]);
    let ends_in_colour = |rest: &str| rest.chars().find(char::is_ascii_alphabetic) == Some('m');
    assert!(!screen.split('\u{1b}').skip(1).any(ends_in_colour), "{screen}");
    assert!(screen.contains("\r\u{1b}[2K! 529"), "{screen}");
    for variables in [&[("TERM", "dumb")][..], &[]] {
        let screen = demo(&dirs, variables);
        assert!(!screen.contains('\u{1b}'), "{screen}");
    }
}

#[test]
fn an_answer_cannot_steer_the_terminal_but_stays_as_it_is_in_a_pipe() {
    let dirs = TestDirs::new();
    let evil = "before\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}after";
    let server = play(Script::new().answer(ScriptedAnswer::text(evil).repeat(0)));
    let (code, screen) = on_terminal(dirs.asking(&server.url(), &["-p", "hi"]), To::Stdout);
    assert_eq!(code, Some(0));
    assert!(screen.contains("before") && screen.contains("after"), "{screen:?}");
    for steering in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
        assert!(!screen.contains(steering), "{screen:?}");
    }
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi"]));
    assert_eq!(finished.answer(), format!("{evil}\n"));
}

/// Whatever a model, a tool, a server or a user brings, every way to a terminal is clean.
#[test]
fn nothing_that_is_shown_steers_the_terminal() {
    let dirs = TestDirs::new();
    let evil =
        "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{1b}[?25l\u{202e}\u{200b}x\u{8}\u{1b}P1\u{1b}\\";
    let script = Script::new()
        .answer(
            ScriptedAnswer::text(evil)
                .tool("Bash", serde_json::json!({"command": format!("printf '%s' '{evil}' | tee /dev/stderr; false")}))
                .tool("Read", serde_json::json!({"file_path": format!("/{evil}")})),
        )
        .answer(ScriptedAnswer::text(format!("answer {evil}")).repeat(0));
    let server = play(script);
    let flags = ["-p", evil, "--verbose", "--dangerously-skip-permissions"];
    let (code, verbose) = on_terminal(dirs.asking(&server.url(), &flags), To::Stderr);
    assert_eq!(code, Some(0), "{verbose:?}");
    let (_, answer) = on_terminal(dirs.asking(&server.url(), &flags), To::Stdout);
    let call = serde_json::json!({ "command": format!("touch '{evil}'") });
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", call))
        .answer(ScriptedAnswer::text("Over."));
    let other = play(script);
    let (_, denied) = on_terminal(dirs.asking(&other.url(), &["-p", "go"]), To::Stderr);
    assert!(denied.contains("^["), "spelled out: {denied:?}");
    let id = dirs.journals()[0].file_stem().expect("a name").to_string_lossy().into_owned();
    let (_, show) = on_terminal(dirs.windlass(&["sessions", "show", &id]), To::Stdout);
    let (_, list) = on_terminal(dirs.windlass(&["sessions", "list"]), To::Stdout);
    let explained = ["permission", "explain", &format!("make '{evil}'")];
    let (_, explain) = on_terminal(dirs.windlass(&explained), To::Stdout);
    assert!(explain.contains("^[") && explain.contains("<U+202E>"), "spelled out: {explain:?}");
    let fault = ScriptedFault::refuse_with(
        400,
        format!("{{\"error\":{{\"message\":\"{}\"}}}}", "\\u001b[2J\\u202e"),
    );
    let failing = play(Script::new().answer(ScriptedAnswer::from_fault(fault).repeat(0)));
    let (_, error) = on_terminal(dirs.asking(&failing.url(), &["-p", "go"]), To::Stderr);
    let (_, usage) = on_terminal(dirs.windlass(&["--model", evil, "--what"]), To::Stderr);
    for (name, screen) in [
        ("verbose", verbose),
        ("answer", answer),
        ("denied", denied),
        ("show", show),
        ("list", list),
        ("explain", explain),
        ("error", error),
        ("usage", usage),
    ] {
        assert!(!screen.is_empty(), "{name}");
        for steering in [
            "\u{1b}]",
            "\u{1b}[2J",
            "\u{1b}[?25l",
            "\u{7}",
            "\u{8}",
            "\u{9b}",
            "\u{202e}",
            "\u{200b}",
            "\u{1b}P",
        ] {
            assert!(!screen.contains(steering), "{name}: {steering:?} in {screen:?}");
        }
    }
}

#[test]
fn somebody_who_watches_hears_of_another_model() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(404)).when_model("first"))
        .answer(ScriptedAnswer::text("fine").when_model("second"));
    let server = play(script);
    let arguments = ["-p", "go", "--model", "first", "--fallback-model", "second"];
    let (code, screen) = on_terminal(dirs.asking(&server.url(), &arguments), To::Stderr);
    assert_eq!(code, Some(0));
    assert!(screen.contains("asking second instead of first"), "{screen}");
    assert_eq!(screen.lines().count(), 1, "only what would puzzle: {screen}");
}

/// The text without escape sequences.
fn visible(text: &str) -> String {
    let mut visible = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            visible.push(letter);
        }
    }
    visible
}
