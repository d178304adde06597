//! What commands did to the working directory is taken back: to a prompt, to a call, file by file. Nobody
//! else's work is lost on the way.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::recorded_session::{SESSION, diff, find_call, read_tree, record_session, rewind};
use crate::terminal::{To, on_terminal};
use crate::work_files::{bash, text, write};

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
fn a_rewind_that_restores_nothing_leaves_the_one_before_it_to_be_undone() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(&dirs.file("b"), "one\n");
    let _server = record_session(&dirs, &[&["echo two > a; echo two > b"]]);
    rewind(&dirs, &["--to", "1", "--files"]);
    write(&dirs.file("b"), "a person's\n");
    rewind(&dirs, &["--to", "1", "--files", "--skip-changed"]);
    rewind(&dirs, &["--undo", "--skip-changed"]);
    assert_eq!(
        (text(&dirs.file("a")), text(&dirs.file("b"))),
        ("two\n".into(), "a person's\n".into())
    );
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
fn what_files_hold_steers_no_terminal_and_is_exact_elsewhere() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let hostile =
        "printf '\\033]52;c;aGVsbG8=\\007\\033[2Jtwo\\n' > a; touch \"$(printf 'b\\033[31m')\"";
    let _server = record_session(&dirs, &[&[hostile]]);
    for arguments in [&["diff", SESSION][..], &["rewind", SESSION, "--to", "1", "--dry-run"]] {
        let (code, screen) = on_terminal(dirs.windlass(arguments), To::Stdout);
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("two") && !screen.contains('\u{1b}'), "{screen:?}");
        let piped = run(&mut dirs.windlass(arguments)).answer().to_owned();
        assert!(piped.contains("\u{1b}]52;c;aGVsbG8=\u{7}\u{1b}[2Jtwo"), "{piped:?}");
    }
}

#[test]
fn what_files_are_called_steers_no_terminal() {
    let dirs = TestDirs::new();
    let name = dirs.file("pipe\u{1b}[31m");
    assert!(Command::new("mkfifo").arg(&name).status().expect("mkfifo").success());
    let _server = record_session(&dirs, &[&["echo one > a"]]);
    let place = format!("--workspace={}", dirs.work().with_file_name("fork").display());
    let (code, screen) = on_terminal(dirs.windlass(&["fork", SESSION, &place]), To::Stdout);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("Not copied: pipe") && !screen.contains('\u{1b}'), "{screen:?}");
}

#[test]
fn nothing_hides_behind_the_names_of_a_restore() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let before = read_tree(&dirs.work());
    let _server = record_session(&dirs, &[&["echo x > .windlass-restore-1; echo two > a"]]);
    assert!(diff(&dirs, &[]).contains(".windlass-restore-1"));
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(read_tree(&dirs.work()), before);
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
fn our_own_state_in_the_directory_is_neither_kept_nor_rewound() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let server = play(
        Script::new().answer(bash("echo two > a")).answer(ScriptedAnswer::text("Done.").repeat(0)),
    );
    let inside = |command: &mut Command| {
        command.env("XDG_STATE_HOME", dirs.file(".state"));
        command.env("CLAUDE_CONFIG_DIR", dirs.file(".config"));
        run(command)
    };
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "go"];
    inside(&mut dirs.asking(&server.url(), &flags)).answer();
    assert!(
        dirs.file(".state/windlass/sessions").exists() && dirs.file(".config/projects").exists()
    );
    let shown = inside(&mut dirs.windlass(&["diff", SESSION, "--stat"]));
    assert!(shown.answer().ends_with("1 file changed, +1 -1\n"), "{shown:?}");
    let rewound = inside(&mut dirs.windlass(&["rewind", SESSION, "--to", "1", "--files"]));
    assert!(rewound.answer().contains("Restored 1 file."), "{rewound:?}");
    assert_eq!(text(&dirs.file("a")), "one\n");
    inside(&mut dirs.asking(&server.url(), &["-c", "-p", "go on"])).answer();
}
