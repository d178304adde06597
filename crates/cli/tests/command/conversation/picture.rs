//! Images in a prompt: mentioned, dragged in, or from the clipboard; named in the conversation.

use std::os::unix::fs::PermissionsExt;

use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

fn ok() -> Script {
    Script::new().answer(ScriptedAnswer::text("Seen.").repeat(0))
}

/// Did the last request hold an image?
fn has_image(server: &Rehearsal) -> bool {
    let body = server.requests().pop().and_then(|request| request.json()).unwrap_or_default();
    body["messages"].to_string().contains("image/png")
}

#[test]
fn an_image_that_is_mentioned_is_shown_by_name_and_sent() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("dot.png"), PNG).expect("a file");
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("look @dot.png\r");
    talk.until("> look [dot.png]");
    talk.until("Seen.");
    assert!(has_image(&server));
    assert_eq!(talk.end(), Some(0));
}

/// Terminals quote what is dragged in, each in its way; a blank in a name is no end of it.
#[test]
fn an_image_that_is_dragged_in_is_mentioned_and_sent() {
    let dirs = TestDirs::new();
    let path = dirs.file("my dot.png");
    std::fs::write(&path, PNG).expect("a file");
    let path = path.to_str().expect("a path");
    let address = format!("file://{}", path.replace(' ', "%20"));
    for dragged in [format!("'{path}'"), path.replace(' ', "\\ "), address] {
        let server = play(ok());
        let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 200);
        talk.until(READY);
        talk.key(&format!("look\u{1b}[200~{dragged}\u{1b}[201~"));
        talk.until(&format!("> look @\"{path}\""));
        talk.key("\r");
        talk.until("> look [my dot.png]");
        talk.until("Seen.");
        assert!(has_image(&server), "{dragged}");
        assert_eq!(talk.end(), Some(0));
    }
}

/// A user who drags an image in from elsewhere wants the model to see it: it is brought, and nothing else of
/// that place may be read. What is not there is told.
#[test]
fn an_image_from_elsewhere_is_brought() {
    let dirs = TestDirs::new();
    let path = dirs.home().join("far away.png");
    std::fs::write(&path, PNG).expect("a file");
    let server = play(ok());
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 200);
    talk.until(READY);
    talk.key("\u{1b}[200~/not/there.png\u{1b}[201~");
    talk.until("/not/there.png: ");
    talk.key(&format!("look\u{1b}[200~'{}'\u{1b}[201~", path.display()));
    talk.until("> look [Image #1]");
    talk.key("\r");
    talk.until("Seen.");
    assert!(has_image(&server));
    assert_eq!(talk.end(), Some(0));
}

/// A home with a program that knows the clipboard.
fn with_clipboard(script: &str) -> (TestDirs, String) {
    let dirs = TestDirs::new();
    let folder = dirs.home().join("bin");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(dirs.home().join("dot.png"), PNG).expect("a file");
    let program = folder.join("xclip");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).expect("a program");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    (dirs, path)
}

fn talk(dirs: &TestDirs, server: &Rehearsal, path: &str) -> Talk {
    let mut command = dirs.asking::<&str>(&server.url(), &[]);
    command.env("PATH", path).env("DISPLAY", ":77");
    let talk = Talk::sized(command, 24, 200);
    talk.until(READY);
    talk
}

#[test]
fn an_image_from_the_clipboard_is_sent() {
    let (dirs, path) = with_clipboard("cat \"$HOME/dot.png\"");
    let server = play(ok());
    let mut talk = talk(&dirs, &server, &path);
    talk.key("look\u{16}");
    talk.until("> look [Image #1]");
    talk.key("\r");
    talk.until("Seen.");
    assert!(has_image(&server));
    assert_eq!(talk.end(), Some(0));
    // It lies with the session, nowhere else.
    let left = dirs.leftovers();
    assert!(!left.iter().any(|name| name.contains("image")), "{left:?}");
}

#[test]
fn a_clipboard_without_an_image_or_without_an_end_is_told() {
    for (script, told) in [
        ("echo words", "xclip has none"),
        ("exit 1", "xclip has none"),
        ("sleep 600", "it takes too long"),
        ("cat /dev/zero", "the image is too large"),
    ] {
        let (dirs, path) = with_clipboard(script);
        let server = play(ok());
        let mut talk = talk(&dirs, &server, &path);
        talk.key("\u{16}still typing");
        talk.until("> still typing");
        talk.until(told);
        assert_eq!(talk.end_after_clear(), Some(0), "{script}");
    }
}

/// One pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, 0x49, 0x44, 0x41, 0x54,
    0x78, 0xda, 0x63, 0xfc, 0xcf, 0xc0, 0x50, 0x0f, 0, 0x04, 0x85, 0x01, 0x80, 0x84, 0xa9, 0x8c,
    0x21, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];
