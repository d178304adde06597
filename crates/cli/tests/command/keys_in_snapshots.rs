//! Files that hold a key of ours are in no snapshot and in no pack, whichever session looks.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::fixture::{TestDirs, run};
use crate::recorded_session::{SESSION, record_session};
use crate::work_files::{text, write};

const KEY: &str = "canary-0123456789abcdef";
const FILES: [&str; 5] = ["rewind", SESSION, "--to", "1", "--files"];

fn with_key(mut command: Command) -> Command {
    command.env("OPENAI_API_KEY", KEY);
    command
}

/// Does any file below a folder hold these bytes?
fn holds(folder: &Path, bytes: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        let is_found =
            |held: Vec<u8>| held.windows(bytes.len()).any(|part| part == bytes.as_bytes());
        match path.is_dir() {
            true => holds(&path, bytes),
            false => std::fs::read(&path).is_ok_and(is_found),
        }
    })
}

#[test]
fn commands_without_a_session_keep_no_file_with_a_key() {
    let dirs = TestDirs::new();
    let state = dirs.work().with_file_name("state");
    write(&dirs.file("a"), "one\n");
    let _server = record_session(&dirs, &[&["echo two > a"]]);
    write(&dirs.file("settings"), &format!("key = {KEY}\n"));
    write(&dirs.file("control"), "key = none-0123456789abcdef\n");
    let place = dirs.work().with_file_name("fork").display().to_string();
    for arguments in [
        &["rewind", SESSION][..],
        &["rewind", SESSION, "--to", "1", "--dry-run"],
        &["diff", SESSION],
        &["fork", SESSION, &format!("--workspace={place}")],
    ] {
        assert_eq!(run(&mut with_key(dirs.windlass(arguments))).code, Some(0), "{arguments:?}");
        assert!(!holds(&state, KEY), "{arguments:?}");
    }
    assert!(holds(&state.join("windlass/workspaces"), "none-0123456789abcdef"), "the control");
    assert!(!dirs.work().with_file_name("fork").join("settings").exists());
}

#[test]
fn a_file_with_a_key_that_nobody_touched_is_no_concern_of_a_rewind() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(&dirs.file("known"), "key = test-key\n");
    write(&dirs.file("unknown"), &format!("key = {KEY}\n"));
    // The session's own key is `test-key`, which no later command is told.
    let _server = record_session(&dirs, &[&["echo two > a"]]);
    for is_told in [false, true] {
        let command = dirs.windlass(&[&FILES[..], &["--dry-run", "--json"]].concat());
        let shown = run(&mut if is_told { with_key(command) } else { command }).answer().to_owned();
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let files = shown["files"].as_array().expect("files");
        assert_eq!(files.len(), 1, "{shown}");
        assert_eq!(files[0]["standing"], "ours", "{shown}");
    }
    run(&mut with_key(dirs.windlass(&FILES))).answer();
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert!(!holds(&dirs.work().with_file_name("state"), "test-key"), "what was refused stays so");
}

#[test]
fn a_pack_holds_no_file_with_a_key_even_if_a_snapshot_does() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(&dirs.file("settings"), &format!("key = {KEY}\n"));
    // Neither the session nor this rewind know that it is one.
    let _server = record_session(&dirs, &[&["echo two > a"]]);
    run(&mut dirs.windlass(&["rewind", SESSION])).answer();
    let program = dirs.home().join("give-key");
    write(&program, &format!("#!/bin/sh\necho {KEY}\n"));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, mode).expect("a mode");
    let configured = format!("[provider.openai]\nkey_command = [\"{}\"]\n", program.display());
    for (number, config) in ["", configured.as_str()].into_iter().enumerate() {
        dirs.config(config);
        let file = dirs.home().join(format!("pack{number}"));
        let command = dirs.windlass(&["pack", SESSION, "-o", &file.display().to_string()]);
        let packed = run(&mut if config.is_empty() { with_key(command) } else { command });
        assert!(packed.answer().contains("they hold a key: settings"), "{packed:?}");
        let bytes = std::fs::read(&file).expect("a pack");
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
        let other = TestDirs::new();
        let into = other.home().join("place");
        let unpacked =
            ["unpack", &file.display().to_string(), "--into", &into.display().to_string()];
        run(&mut other.windlass(&unpacked)).answer();
        assert_eq!(text(&into.join("a")), "two\n");
        assert!(!into.join("settings").exists());
    }
    std::fs::remove_file(&program).expect("removed");
    let refused = run(&mut dirs.windlass(&["pack", SESSION, "-o", "pack"]));
    assert!(
        refused.error_line(1).contains("nothing was packed"),
        "a key is not known: {refused:?}"
    );
    assert!(!dirs.file("pack").exists());
}

#[test]
fn a_session_that_was_told_a_key_is_not_packed() {
    let dirs = TestDirs::new();
    let _server = record_session(&dirs, &[&[&format!("echo {KEY} > a")]]);
    let refused = run(&mut with_key(dirs.windlass(&["pack", SESSION, "-o", "pack"])));
    assert!(refused.error_line(1).contains("holds one of your keys"), "{refused:?}");
    assert!(!dirs.file("pack").exists() && !dirs.file("pack.part").exists());
}
