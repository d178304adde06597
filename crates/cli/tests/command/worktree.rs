//! Sessions in a git worktree of their own.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer as Says};

use crate::fixture::{TestDirs, play, run};

const BYPASS: &str = "--dangerously-skip-permissions";

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
    let ended = command.current_dir(directory).output().expect("git runs");
    assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    String::from_utf8(ended.stdout).expect("text")
}

/// A repository with one commit and a folder, and the folder beside it of a worktree of this name.
fn repository(dirs: &TestDirs) -> impl Fn(&str) -> std::path::PathBuf {
    git(&dirs.work(), &["init", "-q"]);
    std::fs::create_dir(dirs.file("part")).expect("a folder");
    std::fs::write(dirs.file("part/kept.txt"), "kept\n").expect("a file");
    git(&dirs.work(), &["add", "-A"]);
    git(&dirs.work(), &["commit", "-qm", "Start"]);
    let work = dirs.work();
    move |name| {
        let own = work.file_name().and_then(|own| own.to_str()).expect("a name");
        work.with_file_name(format!("{own}-{name}"))
    }
}

#[test]
fn a_session_works_in_a_worktree_that_stays_if_it_is_used() {
    let dirs = TestDirs::new();
    let beside = repository(&dirs);
    let rules = json!({"permissions": {"deny": ["Bash(mkdir:*)"]}}).to_string();
    std::fs::create_dir(dirs.file(".claude")).expect("a folder");
    std::fs::write(dirs.file(".claude/settings.local.json"), rules).expect("a file");
    let script = Script::new()
        .answer(Says::call("Bash", json!({"command": "mkdir denied"})))
        .answer(Says::call("Bash", json!({"command": "cat kept.txt > made.txt"})))
        .answer(Says::text("done with it"))
        .answer(Says::text("again").repeat(0));
    let server = play(script);
    let ask = |flags: &[&str]| {
        let mut command = dirs.asking(&server.url(), &[&["-p", "go", BYPASS], flags].concat());
        run(command.current_dir(dirs.file("part")))
    };
    let finished = ask(&["--worktree", "one"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "done with it\n"));
    let one = beside("one");
    assert_eq!(std::fs::read_to_string(one.join("part/made.txt")).expect("a file"), "kept\n");
    assert!(!one.join("part/denied").exists(), "local rules hold there too");
    assert!(!dirs.file("part/made.txt").exists() && !dirs.file("part/denied").exists());
    let told = format!("the worktree is {} (worktree-one; files changed: 1)", one.display());
    assert!(finished.stderr.contains(&told), "{finished:?}");
    assert_eq!(git(&one, &["branch", "--show-current"]), "worktree-one\n");

    // The same name goes on there, and a new one leaves nothing behind.
    let again = ask(&["-w", "one"]);
    assert_eq!(again.stdout, "again\n", "{again:?}");
    assert!(again.stderr.contains("files changed: 1"), "{again:?}");
    let folders = || std::fs::read_dir(one.parent().expect("a folder")).expect("it").count();
    let before = folders();
    let fresh = ask(&["-w"]);
    assert_eq!(fresh.stdout, "again\n", "{fresh:?}");
    assert!(!fresh.stderr.contains("the worktree is"), "{fresh:?}");
    assert_eq!(folders(), before);
    assert_eq!(git(&dirs.work(), &["branch", "--list", "worktree-*"]).lines().count(), 1);
}

#[test]
fn what_cannot_be_a_worktree_is_refused_with_the_reason() {
    let dirs = TestDirs::new();
    let ask = |name: &str| run(&mut dirs.windlass(&["-p", "go", "--worktree", name]));
    for name in ["../up", "-x y", "fix the bug", "a..b", "x.lock"] {
        let mut command = dirs.windlass(&["-p", "go", &format!("--worktree={name}")]);
        let refused = run(&mut command);
        assert!(
            refused.error_line(2).contains("not a valid name for a worktree"),
            "{name}: {refused:?}"
        );
    }
    let refused = ask("one");
    assert!(refused.error_line(1).contains("not in a git repository"), "{refused:?}");
    let beside = repository(&dirs);
    std::fs::create_dir(beside("one")).expect("a folder");
    let refused = ask("one");
    assert!(refused.error_line(1).contains("not a worktree of this"), "{refused:?}");
    git(&dirs.work(), &["branch", "worktree-two"]);
    let refused = ask("two");
    assert!(refused.error_line(1).contains("worktree-two"), "{refused:?}");
    assert!(!beside("two").exists());
}
