//! What people's agents run all day works in a cell as it does outside.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::held_session::{HeldSession, for_each_user, last_tool_result};

fn git(session: &HeldSession, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e"])
        .args(words)
        .current_dir(session.dirs.work())
        .stdout(std::process::Stdio::null())
        .status()
        .expect("git");
    assert!(status.success(), "{words:?}");
}

#[test]
fn everyday_readers_work() {
    for_each_user(|session| {
        fs::create_dir(session.dirs.file("src")).expect("a folder");
        fs::write(session.dirs.file("src/main.rs"), "fn main() {}\n").expect("a file");
        git(&session, &["init", "-q", "."]);
        git(&session, &["add", "."]);
        git(&session, &["commit", "-q", "-m", "first"]);
        fs::write(session.dirs.file("src/main.rs"), "fn main() { }\n").expect("a file");
        let made = Command::new("bash")
            .args(["-c", "sha256sum a.json > sums; gzip -c a.json > a.gz; tar -cf a.tar src"])
            .current_dir(session.dirs.work())
            .status();
        assert!(made.expect("bash").success());
        let marks = "ABCDEFGH".repeat(1_000);
        let long = format!("cat <<'END' | wc -c\n{marks}\nEND");
        for (command, expected) in [
            ("git status --short", "M src/main.rs"),
            ("git diff", "+fn main() { }"),
            ("git log --oneline", "first"),
            ("git show HEAD --stat", "first"),
            ("git branch --list", "*"),
            ("ls -la", "a.json"),
            ("cat a.json | head -1", "\"a\""),
            ("grep -rn main src", "main.rs"),
            ("find . -name '*.rs'", "main.rs"),
            ("wc -l src/main.rs", "1"),
            ("ps aux | head -3", "PID"),
            ("sort src/main.rs | uniq -c", "1"),
            ("diff a.json src/main.rs", "<"),
            ("cat <<'END'\nhere\nEND", "here"),
            (&long, "8001"),
            ("test -f a.json && echo yes", "yes"),
            ("stat -c %s a.json", "9"),
            ("echo one 2>/dev/null; pwd; date +%Y >/dev/null", "one"),
            ("du -sh .", "."),
            ("awk '$1 == \"fn\" && NF > 2' src/main.rs", "main"),
            ("git -C src log --oneline", "first"),
            ("sha256sum -c sums", "OK"),
            ("tar -tf a.tar", "src/main.rs"),
            ("zcat a.gz", "\"a\""),
            ("git var GIT_EDITOR; echo end", "end"),
            ("id -u; whoami || true; uname", "Linux"),
            ("for f in src/*; do echo \"$f\"; done", "src/main.rs"),
        ] {
            let told = session.run_bash(&[], command);
            let who = session.user;
            assert!(told.contains(expected), "{who:?} {command}: {told}");
            assert!(!told.contains("may have failed"), "{who:?} {command}: {told}");
        }
    });
}

/// The directory of one command is where the next begins, and an exported variable is there.
#[test]
fn the_state_of_the_shell_is_carried_over() {
    for_each_user(|session| {
        fs::create_dir(session.dirs.file("sub")).expect("a folder");
        let calls = [json!({"command": "cd sub && ls"}), json!({"command": "pwd -P"})];
        let (told, _) = session.run(&[], &calls);
        let told = last_tool_result(&told);
        assert!(told.trim_end().ends_with("/sub"), "{told}");
        let spills = session.base().join("state/windlass/sessions");
        let left = walk(&spills).into_iter().filter(|name| name.contains("private-"));
        assert_eq!(left.count(), 0, "private directories are removed");
    });
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.extend(walk(&entry.path()));
        }
    }
    names
}

/// A stranger's repository names programs; none of them runs, and git works.
#[test]
fn git_runs_no_program_that_the_repository_names() {
    for_each_user(|session| {
        git(&session, &["init", "-q", "."]);
        git(&session, &["add", "."]);
        git(&session, &["commit", "-q", "-m", "first"]);
        let evil = session.base().join("evil");
        session.plant_program("evil", "#!/bin/bash\necho RAN >&2\n");
        let program = session.base().join("bin/evil").display().to_string();
        git(&session, &["config", "core.fsmonitor", &program]);
        git(&session, &["config", "core.pager", &program]);
        git(
            &session,
            &["config", "core.hooksPath", &session.base().join("bin").display().to_string()],
        );
        fs::write(session.dirs.file("a.json"), "{\"a\": 2}\n").expect("a file");
        for command in ["git status", "git diff --stat", "git log -1"] {
            let told = session.run_bash(&[], command);
            assert!(!told.contains("RAN") && !told.contains("fatal"), "{command}: {told}");
        }
        assert!(!evil.exists());
    });
}

/// Without what a cell is made of, sessions run, and less runs unasked.
#[test]
fn a_machine_without_landlock_still_has_sessions() {
    for_each_user(|session| {
        let session = session.without_landlock();
        let told = session.run_bash(&[], "cat a.json");
        assert!(told.contains("\"a\""), "{:?}: {told}", session.user);
    });
}
