//! Disks that fail under the real binary, for real: full, read-only, gone. The first call makes the
//! disk fail, so that nothing depends on time; what would follow from its result must not happen, the
//! cause is named, and what was kept before is there when the disk is well again.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::SESSION;
use crate::fixture::{TestDirs, play, run};

const BYPASS: &str = "--dangerously-skip-permissions";

/// A small file system where sessions are kept, or `None` where none may be mounted.
struct MountedVolume(PathBuf);

impl MountedVolume {
    fn mount(dirs: &TestDirs) -> Option<Self> {
        let state = dirs.work().with_file_name("state");
        std::fs::create_dir_all(&state).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"]).arg(&state);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        let words = "not tried: no file system may be mounted here; run the tests as root";
        assert!(is_mounted || std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{words}");
        is_mounted.then_some(Self(state))
    }
}

impl Drop for MountedVolume {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The first call breaks the disk, the second would be the one too many.
fn breaking(command: &str) -> Rehearsal {
    let bash =
        |command: String| ScriptedAnswer::empty().tool("Bash", json!({ "command": command }));
    let script = Script::new()
        // A file that is not full to the last block still takes a little.
        .answer(bash(format!("{command} && echo 1 >> log && seq 1 4000")))
        .answer(bash("echo 2 >> log".to_owned()).repeat(0));
    play(script)
}

/// Runs until the disk fails; what follows must not.
fn stopped(dirs: &TestDirs, command: &str, words: &str) {
    let server = breaking(command);
    let ask = ["-p", "break it", "--session-id", SESSION, "--output-format", "json", BYPASS];
    let finished = run(&mut dirs.asking(&server.url(), &ask));
    assert_eq!(finished.code, Some(1), "{command}: {finished:?}");
    assert!(finished.stderr.contains(words), "{command}: {finished:?}");
    let result: serde_json::Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["outcome"], "storage_failed", "{command}: {result}");
    assert_eq!(server.request_count(), 1, "{command}: the model was told what is not on record");
    let log = std::fs::read_to_string(dirs.file("log")).unwrap_or_default();
    assert_eq!(log, "1\n", "{command}: {finished:?}");
}

/// The session is taken up again: the prompt is there, the call that ran does not run again.
fn taken_up(dirs: &TestDirs) {
    let server = play(Script::new().answer(ScriptedAnswer::text("Well again.").repeat(0)));
    let ask = ["-r", SESSION, "-p", "go on", BYPASS];
    let finished = run(&mut dirs.asking(&server.url(), &ask));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let words = server.requests().pop().expect("a request").body;
    assert!(words.contains("break it") && words.contains("unknown"), "{words}");
    assert_eq!(std::fs::read_to_string(dirs.file("log")).expect("a log"), "1\n");
}

#[test]
fn a_disk_that_becomes_full_stops_the_run() {
    let dirs = TestDirs::new();
    let Some(mounted) = MountedVolume::mount(&dirs) else { return };
    let ballast = mounted.0.join("ballast");
    let fill = format!("! head -c 1M /dev/zero > {} 2>&-", ballast.display());
    stopped(&dirs, &fill, "make room on that file system");
    std::fs::remove_file(ballast).expect("room");
    taken_up(&dirs);
}

/// A disk cannot become read-only while it is written, so that is the tracer's to show.
#[test]
fn nothing_begins_on_a_read_only_disk_and_what_is_there_is_read() {
    let dirs = TestDirs::new();
    let Some(mounted) = MountedVolume::mount(&dirs) else { return };
    let server = play(Script::new().answer(ScriptedAnswer::text("Yes.").repeat(0)));
    let ask = |flags: &[&str]| run(&mut dirs.asking(&server.url(), flags));
    assert_eq!(ask(&["-p", "begin", "--session-id", SESSION]).code, Some(0));
    let remount = |how: &str| {
        let mut mount = Command::new("mount");
        let how = format!("remount,{how}");
        assert!(mount.args(["-o", &how]).arg(&mounted.0).status().expect("mount").success());
    };
    remount("ro");
    for flags in [&["-p", "another"][..], &["-r", SESSION, "-p", "on"]] {
        let refused = ask(flags);
        assert_eq!((refused.code, server.request_count()), (Some(1), 1), "{refused:?}");
        assert!(refused.stderr.contains("that place writable"), "{refused:?}");
    }
    let shown = run(&mut dirs.windlass(&["sessions", "show", SESSION]));
    assert!(shown.answer().contains("begin"), "{shown:?}");
    remount("rw");
    assert_eq!(ask(&["-r", SESSION, "-p", "on"]).code, Some(0));
}

#[test]
fn a_folder_that_is_deleted_stops_the_run() {
    let dirs = TestDirs::new();
    stopped(&dirs, "rm -rf ../state/windlass/sessions", "deleted");
}

/// What another program does to a journal that is open ends the run; everything that was said is in a
/// session of its own, which goes on.
#[test]
fn a_journal_that_is_damaged_while_open_stops_the_run_and_what_was_said_is_kept() {
    let journal = format!("../state/windlass/sessions/*/{SESSION}.jsonl");
    let cases = [
        (format!("truncate -s 100 {journal}"), "was cut by another program"),
        (format!("for f in {journal}; do cp $f ../copy; mv ../copy $f; done"), "was replaced"),
        (format!("rm {journal}"), "was deleted"),
        ("mv ../state/windlass/sessions ../state/windlass/elsewhere".to_owned(), "was moved away"),
    ];
    for (command, words) in cases {
        let dirs = TestDirs::new();
        stopped(&dirs, &command, words);
        let rescued: Vec<PathBuf> = dirs
            .journals()
            .into_iter()
            .filter(|path| path.file_stem().is_some_and(|stem| stem != SESSION))
            .collect();
        let [rescued] = rescued.as_slice() else { panic!("{command}: {rescued:?}") };
        let id = rescued.file_stem().expect("a name").to_string_lossy().into_owned();
        let server = play(Script::new().answer(ScriptedAnswer::text("Well again.").repeat(0)));
        let ask = ["-r", &id, "-p", "go on", BYPASS];
        let finished = run(&mut dirs.asking(&server.url(), &ask));
        assert_eq!(finished.code, Some(0), "{command}: {finished:?}");
        let body = server.requests().pop().expect("a request").body;
        assert!(body.contains("break it") && body.contains("seq 1 4000"), "{command}: {body}");
    }
}

/// What another program writes behind our records costs itself, half a line too.
#[test]
fn foreign_words_in_a_journal_that_is_open_cost_nothing_else() {
    let journal = format!("../state/windlass/sessions/*/{SESSION}.jsonl");
    for words in ["printf forged", "echo forged"] {
        let dirs = TestDirs::new();
        let command = format!("for f in {journal}; do {words} >> $f; done; seq 1 3");
        let script = Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({ "command": command })))
            .answer(ScriptedAnswer::text("Unharmed."))
            .answer(ScriptedAnswer::text("Still here."));
        let server = play(script);
        let first = ["--session-id", SESSION, "-p", "spoil it", BYPASS];
        assert_eq!(run(&mut dirs.asking(&server.url(), &first)).code, Some(0), "{words}");
        let then = run(&mut dirs.asking(&server.url(), &["-r", SESSION, "-p", "go on"]));
        assert_eq!(then.code, Some(0), "{words}: {then:?}");
        let body = server.requests().pop().expect("a request").body;
        assert!(body.contains("spoil it") && body.contains("Unharmed."), "{words}: {body}");
        assert!(!body.contains(r#"\"forged\""#), "{words}");
    }
}

/// Where the journal cannot be used any more, the transcript for other programs may be whole.
#[test]
fn a_journal_that_cannot_be_used_is_gone_on_from_its_transcript_if_the_user_says_so() {
    for garbage in ["", "no journal at all\n"] {
        let dirs = TestDirs::new();
        let server = play(Script::new().answer(ScriptedAnswer::text("Yes.").repeat(0)));
        let ask = |flags: &[&str]| run(&mut dirs.asking(&server.url(), flags));
        assert_eq!(ask(&["-p", "remember", "--session-id", SESSION]).code, Some(0));
        let journal = dirs.journals().pop().expect("a journal");
        std::fs::write(&journal, garbage).expect("damaged");
        for flags in [&["-c", "-p", "on"][..], &["-r", SESSION, "-p", "on"]] {
            let refused = ask(flags);
            let command = format!("windlass -r {SESSION} --from-transcript -p");
            assert!(refused.error_line(2).contains(&command), "{refused:?}");
            assert_eq!(std::fs::read_to_string(&journal).expect("left alone"), garbage);
        }
        let on = ask(&["-c", "--from-transcript", "-p", "on"]);
        assert_eq!(on.code, Some(0), "{on:?}");
        let body = server.requests().pop().expect("a request").body;
        assert!(body.contains("remember"), "{body}");
        let aside = journal.with_file_name(format!("{SESSION}.jsonl.damaged-1"));
        assert_eq!(std::fs::read_to_string(aside).expect("set aside"), garbage);
        let again = ask(&["-r", SESSION, "-p", "and on"]);
        assert_eq!(again.code, Some(0), "{again:?}");
    }
}

/// What stands in the place of a journal is waited for as little as a journal that is damaged.
#[test]
fn a_journal_that_is_no_file_is_not_waited_for() {
    for put in ["mkfifo \"$0\"", "mkdir \"$0\"", "ln -s /dev/zero \"$0\"", "ln -s nowhere \"$0\""] {
        let dirs = TestDirs::new();
        let server = play(Script::new().answer(ScriptedAnswer::text("Yes.").repeat(0)));
        let ask = |flags: &[&str]| run(&mut dirs.asking(&server.url(), flags));
        assert_eq!(ask(&["-p", "remember", "--session-id", SESSION]).code, Some(0));
        let journal = dirs.journals().pop().expect("a journal");
        std::fs::remove_file(&journal).expect("it goes");
        let made = Command::new("sh").args(["-c", put]).arg(&journal).status().expect("a shell");
        assert!(made.success(), "{put}");
        assert_eq!(ask(&["sessions", "list"]).code, Some(0), "{put}");
        assert_eq!(ask(&["cost"]).code, Some(0), "{put}");
        let refused = ask(&["-r", SESSION, "-p", "on"]);
        assert!(refused.error_line(2).contains("--from-transcript"), "{put}: {refused:?}");
        let newest = ask(&["-c", "-p", "on"]);
        assert_eq!(newest.code, Some(2), "{put}: {newest:?}");
        let on = ask(&["-r", SESSION, "--from-transcript", "-p", "on"]);
        assert_eq!(on.code, Some(0), "{put}: {on:?}");
        assert!(server.requests().pop().expect("a request").body.contains("remember"), "{put}");
    }
}

/// A limit on the size of files is a disk that is full, not the end of the process.
#[test]
fn a_limit_on_the_size_of_files_stops_the_run_and_does_not_kill_the_process() {
    let dirs = TestDirs::new();
    let call = ScriptedAnswer::empty().tool("Bash", json!({ "command": "seq 1 4000" }));
    let server = play(Script::new().answer(call.repeat(0)));
    let ask = ["-p", "break it", "--session-id", SESSION, "--output-format", "json", BYPASS];
    let plain = dirs.asking(&server.url(), &ask);
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -f 96; exec \"$0\" \"$@\""]).arg(plain.get_program());
    limited.args(plain.get_args()).env_clear().current_dir(dirs.work());
    limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.stdin(std::process::Stdio::null());
    limited.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let finished = run(&mut limited);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("ulimit -f"), "{finished:?}");
    let result: serde_json::Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["outcome"], "storage_failed", "{result}");
    let server = play(Script::new().answer(ScriptedAnswer::text("Well again.").repeat(0)));
    let ask = ["-r", SESSION, "-p", "go on", BYPASS];
    assert_eq!(run(&mut dirs.asking(&server.url(), &ask)).code, Some(0));
    assert!(server.requests().pop().expect("a request").body.contains("break it"));
}
