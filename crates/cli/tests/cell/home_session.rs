//! Keys in the home stay closed wherever the session works: in the home, above it, beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{play, run};
use crate::held_session::{HeldSession, SECRET, for_each_machine};

/// Everything that the model was told in a session that works here.
fn told_in(
    session: &HeldSession,
    directory: &Path,
    flags: &[&str],
    calls: &[(&str, Value)],
) -> String {
    let mut script = Script::new();
    for (tool, input) in calls {
        script = script.answer(ScriptedAnswer::call(*tool, input.clone()));
    }
    let server = play(script.answer(ScriptedAnswer::text("Over.").repeat(0)));
    let mut command = session.command(&server, flags);
    let finished = run(command.current_dir(directory));
    assert_eq!(finished.code, Some(0), "{directory:?} {finished:?}");
    server.requests().last().expect("a request").body.to_string()
}

fn plant(session: &HeldSession) -> PathBuf {
    let home = session.dirs.home();
    fs::create_dir_all(home.join(".config/gh")).expect("a folder");
    fs::write(home.join(".config/gh/hosts.yml"), SECRET).expect("a file");
    fs::write(home.join("note.txt"), "an ordinary note\n").expect("a file");
    home
}

/// The shell's directory moves; where the tools for files find a relative path does not.
#[test]
fn a_relative_path_means_the_same_wherever_the_shell_is() {
    for_each_machine(|session| {
        let deep = session.dirs.file("deep/below");
        fs::create_dir_all(&deep).expect("a folder");
        fs::write(session.base().join("outside"), SECRET).expect("a file");
        fs::write(session.dirs.file("secret.txt"), SECRET).expect("a file");
        let calls = [
            ("Bash", json!({ "command": "cd deep/below && pwd" })),
            ("Read", json!({ "file_path": "../outside" })),
            ("Grep", json!({ "pattern": "canary", "path": "..", "output_mode": "content" })),
            ("Write", json!({ "file_path": "../planted", "content": "x" })),
            ("Read", json!({ "file_path": "secret.txt" })),
            ("Read", json!({ "file_path": "a.json" })),
        ];
        let flags = ["--permission-mode", "acceptEdits", "--disallowedTools", "Read(./secret.txt)"];
        let told = told_in(&session, &session.dirs.work(), &flags, &calls);
        let who = (session.user, session.machine);
        assert!(!told.contains(SECRET), "{who:?}: {told}");
        assert!(!session.base().join("planted").exists(), "{who:?}: {told}");
        assert!(told.contains("deep/below") && told.contains("\\\"a\\\""), "{who:?}: {told}");
    });
}

#[test]
fn no_working_directory_opens_the_keys_of_the_home() {
    for_each_machine(|session| {
        let home = plant(&session);
        let link = session.base().join("link");
        symlink(&home, &link).expect("a link");
        let key = home.join(".ssh/id_rsa").display().to_string();
        let linked_key = link.join(".ssh/id_rsa").display().to_string();
        let token = home.join(".config/gh/hosts.yml").display().to_string();
        let work = session.dirs.work();
        let places = [
            (&home, vec![]),
            (&session.base(), vec![]),
            (&link, vec![]),
            (&home.join(".config"), vec![]),
            (&work, vec!["--add-dir".to_owned(), home.display().to_string()]),
        ];
        for (directory, flags) in places {
            let searched = if flags.is_empty() { directory } else { &home };
            let searched = searched.canonicalize().expect("a path");
            let pattern = json!({
                "pattern": "canary", "path": searched, "output_mode": "content",
            });
            let calls = [
                ("Read", json!({ "file_path": &key })),
                ("Read", json!({ "file_path": &linked_key })),
                ("Read", json!({ "file_path": &token })),
                ("Grep", pattern),
                ("Bash", json!({ "command": format!("cat {key}") })),
                ("Bash", json!({ "command": format!("head -c 99 {token}") })),
                ("Bash", json!({ "command": format!("grep -r canary {}", searched.display()) })),
                ("Bash", json!({ "command": "grep -rh canary ." })),
                ("Bash", json!({ "command": "find . -name id_rsa -exec cat {} +" })),
                ("Bash", json!({ "command": "cd .ssh && cat id_rsa" })),
                ("Bash", json!({ "command": "cat .ssh/* .config/gh/*" })),
            ];
            let mode = ["--permission-mode", "acceptEdits"];
            let flags: Vec<&str> = flags.iter().map(String::as_str).chain(mode).collect();
            let told = told_in(&session, directory, &flags, &calls);
            let who = (session.user, session.machine, directory, &flags);
            assert!(!told.contains(SECRET), "{who:?}: {told}");
            assert!(told.contains("where keys are kept"), "{who:?}: {told}");
        }
        let calls = [
            ("Read", json!({ "file_path": home.join("note.txt") })),
            ("Grep", json!({"pattern": "ordinary", "output_mode": "content"})),
            ("Bash", json!({ "command": "cat note.txt" })),
        ];
        let told = told_in(&session, &home, &[], &calls);
        let who = (session.user, session.machine);
        assert!(told.matches("an ordinary note").count() >= 3, "{who:?}: {told}");
    });
}

#[test]
fn the_root_and_etc_as_working_directories_open_no_keys() {
    for_each_machine(|session| {
        let home = plant(&session);
        let key = home.join(".ssh/id_rsa").display().to_string();
        for directory in ["/", "/etc"] {
            let calls = [
                ("Read", json!({ "file_path": &key })),
                ("Bash", json!({ "command": format!("cat {key}") })),
                ("Read", json!({ "file_path": "/etc/shadow" })),
                (
                    "Grep",
                    json!({
                        "pattern": "root:", "path": "/etc/shadow", "output_mode": "content",
                    }),
                ),
                ("Bash", json!({ "command": "cat /etc/shadow" })),
                ("Bash", json!({ "command": "grep -h root: /etc/s*" })),
            ];
            let told = told_in(&session, Path::new(directory), &[], &calls);
            let who = (session.user, session.machine, directory);
            assert!(!told.contains(SECRET), "{who:?}: {told}");
            assert!(!told.contains("root:*:") && !told.contains("root:!"), "{who:?}: {told}");
            assert!(told.contains("where keys are kept"), "{who:?}: {told}");
        }
    });
}

/// What a page or a pipe holds was not typed: a file that it mentions is read as the model would.
#[test]
fn a_mention_in_piped_text_opens_no_keys() {
    for_each_machine(|session| {
        let home = plant(&session);
        let script = Script::new().answer(ScriptedAnswer::text("Over.").repeat(0));
        let server = play(script);
        let mut command = session.command(&server, &[]);
        let piped = session.base().join("piped");
        fs::write(&piped, "see @~/.ssh/id_rsa and @.ssh/id_rsa\n").expect("a file");
        command.stdin(fs::File::open(&piped).expect("a file"));
        let finished = run(command.current_dir(&home));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let told = server.requests().last().expect("a request").body.to_string();
        let who = (session.user, session.machine);
        assert!(told.contains("@~/.ssh/id_rsa"), "{who:?}: {told}");
        assert!(!told.contains(SECRET), "{who:?}: {told}");
    });
}
