//! A session goes on elsewhere with its files: in a fork beside the original, or from a pack on another
//! machine.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::recorded_session::{SESSION, record_session};
use crate::work_files::{bash, text, write};

#[test]
fn a_fork_has_the_files_of_its_moment_and_both_go_on_alone() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let server = record_session(&dirs, &[&["echo two > a"], &["echo three > a; echo x > later"]]);
    let place = dirs.work().with_file_name("fork");
    let workspace = format!("--workspace={}", place.display());
    let forked = run(&mut dirs.windlass(&["fork", SESSION, "--at", "2", &workspace, "--json"]))
        .answer()
        .to_owned();
    let forked: Value = serde_json::from_str(&forked).expect("JSON");
    assert_eq!(text(&place.join("a")), "two\n", "as it was before the second prompt");
    assert!(!place.join("later").exists());
    assert_eq!(text(&dirs.file("a")), "three\n", "the original stays");
    let id = forked["session_id"].as_str().expect("an id");
    let mut command = dirs.asking(&server.url(), &["-r", id, "-p", "another way"]);
    run(command.current_dir(&place)).answer();
    let said =
        server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string();
    assert!(said.contains("echo two") && !said.contains("echo three"), "{said}");
    let taken = run(&mut dirs.windlass(&["fork", SESSION, &workspace]));
    assert!(taken.error_line(1).contains("not empty"));
}

#[test]
fn a_fork_in_the_same_directory_takes_back_what_was_done_before_it() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let _server = record_session(&dirs, &[&["echo two > a"], &["echo three > a; echo x > later"]]);
    let fork = |flags: &[&str]| {
        let forked = run(dirs.windlass(&["fork", SESSION, "--json"]).args(flags));
        let forked: Value = serde_json::from_str(forked.answer()).expect("JSON");
        forked["session_id"].as_str().expect("an id").to_owned()
    };
    let (early, whole) = (fork(&["--at", "2"]), fork(&[]));
    run(&mut dirs.windlass(&["sessions", "delete", SESSION])).answer();
    // What no session needs any more is given up when the next one begins.
    let noise = "head -c 2000000 /dev/urandom > noise; rm noise";
    let script = Script::new().answer(bash(noise)).answer(ScriptedAnswer::text("Done.").repeat(0));
    let other = play(script);
    let flags = ["--dangerously-skip-permissions", "-p", "go"];
    run(&mut dirs.asking(&other.url(), &flags)).answer();
    let back = ["--to", "1", "--files"];
    let asked = run(dirs.windlass(&["rewind", &early]).args(back));
    let line = asked.error_line(1);
    assert!(line.contains("work/a") && line.contains("later"), "not done before it: {line}");
    run(dirs.windlass(&["rewind", &whole]).args(back)).answer();
    assert_eq!((text(&dirs.file("a")), dirs.file("later").exists()), ("one\n".into(), false));
    run(&mut dirs.windlass(&["rewind", &whole, "--undo"])).answer();
    assert_eq!((text(&dirs.file("a")), dirs.file("later").exists()), ("three\n".into(), true));
    let shown = run(&mut dirs.windlass(&["diff", &early, "--stat"])).answer().to_owned();
    assert!(shown.contains('a') && !shown.contains("later"), "{shown}");
}

#[test]
fn a_pack_goes_on_on_another_machine_and_a_bad_one_leaves_nothing() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(&dirs.file(".gitignore"), ".env\n");
    write(&dirs.file(".env"), "SECRET=1\n");
    let server = record_session(&dirs, &[&["echo two > a; mkdir d; echo x > d/x; chmod 700 d/x"]]);
    let pack = dirs.work().with_file_name("session.pack");
    let name = pack.display().to_string();
    run(&mut dirs.windlass(&["pack", SESSION, "-o", &name])).answer();
    let bytes = std::fs::read(&pack).expect("a pack");
    assert!(!String::from_utf8_lossy(&bytes).contains("SECRET=1"), "what is ignored stays");

    let other = TestDirs::new();
    let place = other.work().with_file_name("elsewhere");
    let into = place.display().to_string();
    for length in [0, 10, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
        let cut = other.file("cut");
        std::fs::write(&cut, &bytes[..length]).expect("a file");
        let refused = run(&mut other.windlass(&["unpack", "cut", "--into", &into]));
        assert!(refused.error_line(1).contains("nothing was unpacked"), "{refused:?}");
        assert!(!place.exists() && other.journals().is_empty(), "cut at {length}");
    }
    let mut damaged = bytes.clone();
    let middle = damaged.len() - 40;
    damaged[middle] ^= 1;
    std::fs::write(other.file("cut"), &damaged).expect("a file");
    run(&mut other.windlass(&["unpack", "cut", "--into", &into])).error_line(1);
    assert!(!place.exists() && other.journals().is_empty());
    let escaping = String::from_utf8_lossy(&bytes).replacen(
        &format!("{SESSION}.jsonl"),
        &format!("../{SESSION}.jsonl"),
        1,
    );
    std::fs::write(other.file("cut"), escaping).expect("a file");
    let refused = run(&mut other.windlass(&["unpack", "cut", "--into", &into]));
    assert!(refused.error_line(1).contains("no place"), "{refused:?}");

    run(&mut other.windlass(&["unpack", &name, "--into", &into])).answer();
    assert_eq!(text(&place.join("a")), "two\n");
    let mode = place.join("d/x").metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(!place.join(".env").exists());
    let mut command = other.asking(&server.url(), &["-c", "-p", "go on"]);
    run(command.current_dir(&place)).answer();
    let said =
        server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string();
    assert!(said.contains("prompt 1") && said.contains("go on"), "{said}");
    let again = run(&mut other.windlass(&["unpack", &name, "--into", &into]));
    assert!(again.error_line(1).contains("already exists here"));
}

/// A pack of this session with empty files of these names, as another program could write it.
fn build_pack(names: &[&str]) -> String {
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let files = names.iter().map(|name| json!({"name": name, "bytes": 0, "sha256": EMPTY}));
    let files: Vec<Value> = files.collect();
    let manifest = json!({"session": SESSION, "project": "/somewhere", "files": files});
    format!("windlass-session-pack 1\n{manifest}\n")
}

#[test]
fn a_pack_brings_no_history_that_a_rewind_would_follow_out_of_its_directory() {
    let other = TestDirs::new();
    let place = other.home().join("place").display().to_string();
    let file = other.file("pack");
    let name = format!("{SESSION}.jsonl");
    for hostile in [
        format!("{SESSION}.kept/log"),
        format!("{SESSION}.KEPT/log"),
        format!("{SESSION}.\u{212a}ept/log"),
        format!("{SESSION}.kept/blobs/../../../outside"),
        format!("{SESSION}.agents/1.kept/log"),
        format!("{SESSION}.spill/../../outside"),
        format!("/{SESSION}.spill/outside"),
        "../outside".to_owned(),
        "other.jsonl".to_owned(),
    ] {
        std::fs::write(&file, build_pack(&[&name, &hostile])).expect("a pack");
        let refused = run(&mut other.windlass(&["unpack", "pack", "--into", &place]));
        assert!(refused.error_line(1).contains("no place"), "{hostile}: {refused:?}");
        assert!(!other.home().join("place").exists() && other.journals().is_empty());
    }
    // Nothing but good names, and no session.
    for names in [&[name.as_str()][..], &[]] {
        std::fs::write(&file, build_pack(names)).expect("a pack");
        run(&mut other.windlass(&["unpack", "pack", "--into", &place])).error_line(1);
        assert!(!other.home().join("place").exists() && other.journals().is_empty());
    }
}

#[test]
fn a_pack_does_not_choose_a_hidden_folder_for_its_files() {
    let dirs = TestDirs::new();
    let hidden = dirs.file(".git");
    std::fs::create_dir(&hidden).expect("a folder");
    write(&hidden.join("config"), "[core]\n");
    let script = Script::new().answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let flags = ["--session-id", SESSION, "-p", "go"];
    run(dirs.asking(&server.url(), &flags).current_dir(&hidden)).answer();
    let name = dirs.home().join("pack").display().to_string();
    run(dirs.windlass(&["pack", SESSION, "-o", &name]).current_dir(&hidden)).answer();
    let other = TestDirs::new();
    let refused = run(&mut other.windlass(&["unpack", &name]));
    assert!(refused.error_line(2).contains("--into"), "{refused:?}");
    assert!(!other.file(".git").exists() && other.journals().is_empty());
    let into = ["unpack", &name, "--into", "visible"];
    run(&mut other.windlass(&into)).answer();
    assert_eq!(text(&other.file("visible/config")), "[core]\n");
}
