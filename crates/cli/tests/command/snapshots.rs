//! What commands did to the working directory is shown, and taken back: to a prompt, to a call, file by
//! file. Nobody else's work is lost on the way.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use rustix::process::Signal;

use crate::fixture::{RunningCommand, TestDirs, play, run, wait_for_file};

const SESSION: &str = "7a0e9d8c-7b6a-4958-8473-625140312233";

fn bash(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("Bash", json!({"command": command, "description": "Change files"}))
}

/// One session; each prompt is answered by these calls, one after the other.
fn record_session(dirs: &TestDirs, prompts: &[&[&str]]) -> Rehearsal {
    let mut script = Script::new();
    for commands in prompts {
        for command in *commands {
            script = script.answer(bash(command));
        }
        script = script.answer(ScriptedAnswer::text("Done."));
    }
    let server = play(script.answer(ScriptedAnswer::text("Nothing more.").repeat(0)));
    for (place, _) in prompts.iter().enumerate() {
        let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
        let prompt = format!("prompt {}", place + 1);
        match place {
            0 => command.args(["--session-id", SESSION, "-p", &prompt]),
            _ => command.args(["-c", "-p", &prompt]),
        };
        run(&mut command).answer();
    }
    server
}

fn rewind(dirs: &TestDirs, arguments: &[&str]) -> String {
    run(dirs.windlass(&["rewind", SESSION]).args(arguments)).answer().to_owned()
}

fn diff(dirs: &TestDirs, arguments: &[&str]) -> String {
    run(dirs.windlass(&["diff", SESSION]).args(arguments)).answer().to_owned()
}

/// Every path below a folder, with what it holds and its mode.
fn read_tree(folder: &Path) -> Vec<(String, String, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"))
    {
        let path = entry.path();
        let metadata = path.symlink_metadata().expect("metadata");
        let mode = metadata.permissions().mode();
        let held = match () {
            () if metadata.is_dir() => {
                found.extend(read_tree(&path));
                "folder".to_owned()
            }
            () if metadata.is_symlink() => {
                format!("link to {}", std::fs::read_link(&path).expect("a link").display())
            }
            () => String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned(),
        };
        found.push((path.display().to_string(), held, mode));
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

#[test]
fn everything_a_command_did_is_taken_back_and_forth() {
    let dirs = TestDirs::new();
    write(&dirs.file("a.txt"), "one\nmore\n");
    write(&dirs.file("deep/er/c.txt"), "c\n");
    write(&dirs.file("run.sh"), "echo\n");
    std::fs::create_dir(dirs.file("empty")).expect("a folder");
    symlink("a.txt", dirs.file("link")).expect("a link");
    let before = read_tree(&dirs.work());
    let command = "sed -i s/one/two/ a.txt; rm -r deep; mkdir -p new/sub; echo n > new/sub/n; \
                   chmod 755 run.sh; rmdir empty; rm link; ln -s run.sh link; mkdir deep; echo x > deep/er";
    let _server = record_session(&dirs, &[&[command]]);
    let after = read_tree(&dirs.work());
    assert_ne!(before, after);
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(read_tree(&dirs.work()), before, "bytes, modes, links and empty folders");
    rewind(&dirs, &["--undo"]);
    assert_eq!(read_tree(&dirs.work()), after, "going back is itself taken back");
    rewind(&dirs, &["--undo"]);
    assert_eq!(read_tree(&dirs.work()), before, "and that too");
}

#[test]
fn a_diff_shows_a_session_a_turn_and_a_call() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let _server =
        record_session(&dirs, &[&["echo two >> a", "echo b > b"], &["echo three >> a; rm b"]]);
    let whole = diff(&dirs, &[]);
    assert!(whole.contains("+two\n+three\n") && !whole.contains("b/b"), "{whole}");
    let first = diff(&dirs, &["--turn", "1"]);
    assert!(
        first.contains("+two") && first.contains("+++ b/b") && !first.contains("three"),
        "{first}"
    );
    let last = diff(&dirs, &["--last", "--stat"]);
    assert!(last.contains("modified  a  +1 -0") && last.contains("deleted   b  +0 -1"), "{last}");
    assert!(last.ends_with("2 files changed, +1 -1\n"), "{last}");
    let object: Value = serde_json::from_str(&diff(&dirs, &["--json"])).expect("JSON");
    assert_eq!(object["files"][0]["path"], "a", "{object}");
    let call = find_call(&dirs, "echo b > b");
    let shown = diff(&dirs, &["--call", &call]);
    assert!(shown.contains("+++ b/b") && !shown.contains("two"), "{shown}");
    assert!(
        run(&mut dirs.windlass(&["diff", SESSION, "--turn", "9"])).error_line(2).contains("has 2")
    );
    run(&mut dirs.windlass(&["diff", SESSION, "--call", "nothing"])).error_line(2);
}

/// The id of the call of this command, as the transcript has it.
fn find_call(dirs: &TestDirs, command: &str) -> String {
    let exported = run(&mut dirs.windlass(&["sessions", "export", SESSION, "--format", "jsonl"]))
        .answer()
        .to_owned();
    let call = exported
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|line| line.to_string().contains(command).then(|| find_id(&line)).flatten());
    call.unwrap_or_else(|| panic!("no call in {exported}"))
}

fn find_id(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let own =
                fields.values().filter_map(Value::as_str).find(|text| text.starts_with("toolu"));
            own.map(str::to_owned).or_else(|| fields.values().find_map(find_id))
        }
        Value::Array(items) => items.iter().find_map(find_id),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[test]
fn files_and_conversation_go_back_to_before_one_call() {
    let dirs = TestDirs::new();
    let server = record_session(&dirs, &[&["echo 1 > one", "echo 2 > two", "echo 3 > three"]]);
    let call = find_call(&dirs, "echo 2 > two");
    let shown = rewind(&dirs, &["--to", &call]);
    assert!(shown.contains(&call), "{shown}");
    assert!(dirs.file("one").exists(), "what came before stays");
    assert!(
        !dirs.file("two").exists() && !dirs.file("three").exists(),
        "the call and what followed is gone"
    );
    run(&mut dirs.asking(&server.url(), &["-c", "-p", "and now"])).answer();
    let said =
        server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string();
    assert!(said.contains("echo 1 > one") && !said.contains("echo 2 > two"), "{said}");
}

#[test]
fn what_a_person_changed_stays_unless_that_file_is_named() {
    let dirs = TestDirs::new();
    for name in ["a", "b", "c"] {
        write(&dirs.file(name), "old\n");
    }
    let _server = record_session(
        &dirs,
        &[&["for f in a b c; do echo new > $f; done; mkdir d; echo e > d/e"]],
    );
    write(&dirs.file("a"), "by hand\n");
    write(&dirs.file("b"), "by hand too\n");
    write(&dirs.file("d/mine"), "mine\n");
    let refused = run(&mut dirs.windlass(&["rewind", SESSION, "--to", "1", "--files"]));
    let line = refused.error_line(1);
    assert!(line.contains("--skip-changed"), "{line}");
    assert_eq!(text(&dirs.file("c")), "new\n", "nothing was begun");
    let link = dirs.work().with_file_name("link");
    symlink(dirs.work(), &link).expect("a link");
    let named = link.join("b").display().to_string();
    rewind(&dirs, &["--to", "1", "--files", "--overwrite-file", &named]);
    assert_eq!(text(&dirs.file("a")), "by hand\n", "it was not named");
    assert_eq!(text(&dirs.file("b")), "old\n");
    assert_eq!(text(&dirs.file("c")), "old\n", "the rest went back");
    assert!(!dirs.file("d/e").exists());
    assert_eq!(text(&dirs.file("d/mine")), "mine\n", "a new file in a new folder is a person's");
    rewind(&dirs, &["--to", "1", "--files", "--skip-changed"]);
    assert_eq!(text(&dirs.file("a")), "by hand\n");
}

#[test]
fn nothing_a_repository_names_runs_for_a_snapshot() {
    let dirs = TestDirs::new();
    let git = |arguments: &[&str]| {
        let done =
            Command::new("git").args(arguments).current_dir(dirs.work()).output().expect("git");
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    write(&dirs.file("a.txt"), "one\n");
    git(&["add", "-A"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]);
    let canary = dirs.work().with_file_name("canary");
    let program = format!("touch {}; cat", canary.display());
    for name in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.evil.textconv"]
    {
        git(&["config", name, &program]);
    }
    write(&dirs.file(".gitattributes"), "* filter=evil diff=evil\n");
    for hook in ["post-index-change", "post-checkout", "pre-commit"] {
        let path = dirs.work().join(".git/hooks").join(hook);
        write(&path, &format!("#!/bin/sh\ntouch {}\n", canary.display()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let index = std::fs::read(dirs.work().join(".git/index")).expect("an index");
    let _server = record_session(&dirs, &[&["echo two > a.txt"]]);
    assert!(diff(&dirs, &[]).contains("+two"));
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(text(&dirs.file("a.txt")), "one\n");
    assert!(!canary.exists(), "a program of the repository ran");
    assert_eq!(std::fs::read(dirs.work().join(".git/index")).expect("an index"), index);
}

#[test]
fn a_commit_of_the_turn_is_taken_back_with_the_files() {
    let dirs = TestDirs::new();
    let git = |arguments: &[&str]| {
        let done =
            Command::new("git").args(arguments).current_dir(dirs.work()).output().expect("git");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@b"]);
    write(&dirs.file("a.txt"), "one\n");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    let head = git(&["rev-parse", "HEAD"]);
    let _server = record_session(
        &dirs,
        &[&["echo two > a.txt; git commit -qam second; git branch other; git stash list"]],
    );
    assert_ne!(git(&["rev-parse", "HEAD"]), head);
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(git(&["rev-parse", "HEAD"]), head);
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["branch", "--list", "other"]), "");
    assert_eq!(git(&["log", "--format=%s"]), "first");
}

#[test]
fn frames_name_the_files_that_calls_changed() {
    let dirs = TestDirs::new();
    let script = Script::new().answer(bash("echo x > made")).answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let arguments = [
        "--dangerously-skip-permissions",
        "-p",
        "go",
        "--output-format",
        "stream-json",
        "--verbose",
    ];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    let frames: Vec<Value> =
        finished.answer().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let place =
        frames.iter().position(|frame| frame["subtype"] == "files_changed").expect("a frame");
    assert_eq!(frames[place]["files"], json!([{"path": "made", "kind": "created"}]));
    assert_eq!(frames[place]["count"], 1);
    let end = frames.iter().position(|frame| frame["type"] == "result").expect("a result");
    assert!(place < end, "what changed is told before the run is over");
}

#[test]
fn a_home_is_not_kept_as_a_whole_and_edits_go_back_all_the_same() {
    let dirs = TestDirs::new();
    let path = dirs.home().join("note");
    let write_call = json!({"file_path": path, "content": "new\n"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Write", write_call))
        .answer(bash("echo by a command > other"))
        .answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
    command.args(["--session-id", SESSION, "--verbose", "-p", "go"]).current_dir(dirs.home());
    let finished = run(&mut command);
    assert!(finished.stderr.contains("home folder"), "{}", finished.stderr);
    rewind(&dirs, &["--to", "1", "--files"]);
    assert!(!path.exists(), "what a tool named is taken back as before");
    assert!(dirs.home().join("other").exists(), "what a command did there is not");
}

#[test]
fn what_goes_on_in_the_background_is_taken_back_too() {
    let dirs = TestDirs::new();
    let later = json!({
        "command": "until [ -e go ]; do sleep 0.02; done; echo late > late", "run_in_background": true,
        "description": "Wait",
    });
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", later))
        .answer(bash("touch go; until [ -s late ]; do sleep 0.02; done"))
        .answer(ScriptedAnswer::text("Done."))
        .answer(ScriptedAnswer::text("It ended.").repeat(0));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
    run(command.args(["--session-id", SESSION, "-p", "go"])).answer();
    assert_eq!(text(&dirs.file("late")), "late\n");
    rewind(&dirs, &["--to", "1", "--files"]);
    assert!(!dirs.file("late").exists() && !dirs.file("go").exists());
}

#[test]
fn what_hooks_and_nested_sessions_did_is_taken_back_with_their_call() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(
        &dirs.home().join(".claude/settings.json"),
        r#"{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "echo formatted >> a"}]}]}}"#,
    );
    let agent =
        json!({"description": "help", "prompt": "do it", "subagent_type": "general-purpose"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Agent", agent))
        .answer(bash("echo nested > b"))
        .answer(ScriptedAnswer::text("Nested done."))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
    run(command.args(["--session-id", SESSION, "-p", "go"])).answer();
    assert!(text(&dirs.file("a")).ends_with("formatted\n"));
    assert_eq!(text(&dirs.file("b")), "nested\n");
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert!(!dirs.file("b").exists());
}

#[test]
fn snapshots_that_no_session_needs_any_more_are_given_up() {
    let dirs = TestDirs::new();
    let server = record_session(&dirs, &[&["head -c 3000000 /dev/urandom > big; echo a > a"]]);
    let journal = dirs.journals().pop().expect("a journal");
    let stores = || {
        let state = journal.ancestors().nth(3).expect("a folder");
        let root = state.join("workspaces");
        let stores =
            std::fs::read_dir(root).expect("stores").map(|entry| entry.expect("one").path());
        stores.collect::<Vec<_>>()
    };
    let measure = || -> u64 {
        let files =
            stores().into_iter().flat_map(|store| std::fs::read_dir(store).expect("a store"));
        files.map(|file| file.expect("a file").metadata().expect("metadata").len()).sum()
    };
    assert_eq!(stores().len(), 1, "one for each working directory");
    assert!(measure() > 3_000_000, "what was made is kept");
    std::fs::remove_file(dirs.file("big")).expect("removed");
    run(&mut dirs.windlass(&["sessions", "delete", SESSION])).answer();
    let again = "8a0e9d8c-7b6a-4958-8473-625140312233";
    let script = Script::new().answer(bash("echo b > b")).answer(ScriptedAnswer::text("Done."));
    let other = play(script);
    let mut command = dirs.asking(&other.url(), &["--dangerously-skip-permissions"]);
    run(command.args(["--session-id", again, "-p", "go"])).answer();
    assert!(measure() < 1_000_000, "{}", measure());
    run(&mut dirs.windlass(&["rewind", again, "--to", "1", "--files"])).answer();
    assert!(!dirs.file("b").exists() && dirs.file("a").exists());
    drop(server);
}

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
fn a_process_killed_in_the_middle_of_a_command_can_still_be_taken_back() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let script = Script::new()
        .answer(bash("echo two > a; echo begun > begun; exec sleep 600"))
        .answer(ScriptedAnswer::text("Going on.").repeat(0));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
    let process = RunningCommand::start(command.args(["--session-id", SESSION, "-p", "go"]));
    wait_for_file(&dirs.file("begun"));
    process.signal(Signal::KILL);
    process.finish();
    run(&mut dirs.asking(&server.url(), &["-c", "-p", "go on"])).answer();
    assert!(diff(&dirs, &[]).contains("+two"), "the next look is its end");
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert!(!dirs.file("begun").exists());
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

#[test]
fn what_cannot_be_restored_is_told_and_not_counted() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let big = std::fs::File::create(dirs.file("big")).expect("a file");
    big.set_len(17 << 20).expect("a size");
    let _server = record_session(&dirs, &[&["echo two > a; echo more >> big"]]);
    let told = rewind(&dirs, &["--to", "1", "--files"]);
    let line = told.lines().find(|line| line.contains("/big")).expect("a line");
    assert!(line.contains("cannot be restored"), "{told}");
    assert!(told.contains("Restored 1 file."), "{told}");
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert_eq!(dirs.file("big").metadata().expect("a file").len(), (17 << 20) + 5);
}

#[test]
fn directories_that_were_added_are_taken_back_too() {
    let dirs = TestDirs::new();
    let other = dirs.work().parent().expect("a folder").join("other");
    write(&dirs.file("a"), "one\n");
    write(&other.join("deep/b"), "one\n");
    let before = (read_tree(&dirs.work()), read_tree(&other));
    let change = format!("echo two > a; echo two > {0}/deep/b; echo n > {0}/new", other.display());
    let script =
        Script::new().answer(bash(&change)).answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "--add-dir"];
    let mut asking = dirs.asking(&server.url(), &flags);
    run(asking.arg(&other).args(["-p", "go"])).answer();
    let after = (read_tree(&dirs.work()), read_tree(&other));
    let shown = diff(&dirs, &["--stat"]);
    let named = format!("modified  {}/deep/b", other.display());
    assert!(shown.contains(&named) && shown.contains("modified  a  "), "{shown}");
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!((read_tree(&dirs.work()), read_tree(&other)), before);
    rewind(&dirs, &["--undo"]);
    assert_eq!((read_tree(&dirs.work()), read_tree(&other)), after);
}

#[test]
fn hooks_are_told_which_files_changed_commands_included() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let log = dirs.home().join("hooks.log");
    let script = Script::new()
        .answer(bash("echo two > a; echo b > b"))
        .answer(bash("rm b"))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let command = format!("tr -d '\\n' >> {0}; echo >> {0}", log.display());
    let hooks = json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({"hooks": {"PostToolUse": hooks, "Stop": hooks}}).to_string();
    let flags = ["--dangerously-skip-permissions", "--settings", &settings, "-p", "go"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let told: Vec<Value> = text(&log)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let files = |told: &Value| told["files_changed"].to_string();
    let [first, second, stop] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(
        files(first),
        json!([{"path": "a", "kind": "modified"}, {"path": "b", "kind": "created"}]).to_string()
    );
    assert_eq!(files(second), json!([{"path": "b", "kind": "deleted"}]).to_string());
    assert_eq!(
        (&stop["hook_event_name"], &stop["files_changed_count"]),
        (&json!("Stop"), &json!(2))
    );
}

#[test]
fn snapshots_are_bounded_by_settings() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let _server = record_session(&dirs, &[&["echo two > a"]]);
    let journal = dirs.journals().pop().expect("a journal");
    let folder = journal.parent().expect("a folder");
    let lists = std::fs::read_dir(folder).expect("a folder").flatten();
    let log = lists.map(|entry| entry.path().join("log")).find(|path| path.is_file());
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 24 * 60 * 60);
    let log = std::fs::File::options().write(true).open(log.expect("a list")).expect("a file");
    log.set_modified(old).expect("an older time");
    let looked = rewind(&dirs, &["--to", "1", "--files", "--dry-run"]);
    assert!(looked.contains("Would restore 1 file") && !looked.contains("given up"), "{looked}");
    // Noise does not become smaller: more than a megabyte of it has no room.
    let script = Script::new()
        .answer(bash("head -c 3000000 /dev/urandom > noise; echo three > a"))
        .answer(bash("echo four > a"))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let settings = json!({"snapshotPeriodDays": 1, "snapshotMegabytesMax": 1}).to_string();
    let flags = ["--dangerously-skip-permissions", "--settings", &settings, "-p", "go"];
    let ended = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let given_up = rewind(&dirs, &["--to", "1", "--files", "--dry-run"]);
    assert!(given_up.contains("were given up"), "{given_up}");
    let call = find_call(&dirs, "echo two > a");
    assert!(given_up.contains(&call), "what is not restored is named: {given_up}");
    assert!(rewind(&dirs, &[]).contains(&call), "in the list of prompts, too");
    let stats = run(&mut dirs.windlass(&["stats", "--json"])).answer().to_owned();
    let stats: Value = serde_json::from_str(&stats).expect("JSON");
    assert!(stats["snapshots"]["bytes"].as_u64().expect("a size") <= 1 << 20, "{stats}");
}

#[test]
fn a_second_session_in_a_directory_is_told_of_the_first() {
    let dirs = TestDirs::new();
    let ready = dirs.file("ready");
    let wait = format!("echo r > {}; while [ ! -e go ]; do sleep 0.02; done", ready.display());
    let slow =
        play(Script::new().answer(bash(&wait)).answer(ScriptedAnswer::text("First.").repeat(0)));
    let quick = play(
        Script::new().answer(bash("echo x > x")).answer(ScriptedAnswer::text("Second.").repeat(0)),
    );
    let flags = ["--dangerously-skip-permissions", "-p", "go"];
    let first = RunningCommand::start(&mut dirs.asking(&slow.url(), &flags));
    wait_for_file(&ready);
    let mut second = dirs.asking(&quick.url(), &flags);
    let second = run(second.arg("--verbose"));
    write(&dirs.file("go"), "");
    assert_eq!(first.finish().code, Some(0));
    assert!(second.stderr.contains("another session works in this directory"), "{second:?}");
}
