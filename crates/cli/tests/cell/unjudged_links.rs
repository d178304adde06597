//! What the words of a line do not say: links that it moves or writes through, and variables that make the
//! shell read it otherwise.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{play, run};
use crate::held_session::{HeldSession, SECRET, for_each_machine, last_tool_result, serve};

const EDITS: &[&str] = &["--permission-mode", "acceptEdits", "--allowedTools", "Bash(allowed:*)"];

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// A stranger's tree with links to the home, beside files of the same names.
fn plant_links(session: &HeldSession) {
    let (work, home) = (session.dirs.work(), session.dirs.home());
    write(&work.join("a/x"), "evil\n");
    write(&work.join("y"), "y\n");
    fs::create_dir_all(work.join("d")).expect("a folder");
    fs::create_dir_all(work.join("s")).expect("a folder");
    symlink(home.join(".bashrc"), work.join("d/x")).expect("a link");
    for name in ["l", "y"] {
        symlink(home.join(".ssh/id_rsa"), work.join("s").join(name)).expect("a link");
    }
    write(&home.join(".bashrc"), "# of the user\n");
    session.plant_program("allowed", "#!/bin/bash\necho allowed\n");
}

#[test]
fn no_edit_writes_or_reads_through_a_link_that_was_not_judged() {
    for line in [
        "cp a/x d",
        "cp -r a/. d",
        "cp -rT a d",
        "mv d t; echo evil > t/x",
        "mv d t && touch t/x && sed -i s/of/evil/ t/x && cp a/x t/x",
        "mv s t && cat t/l",
        "cp -a s/. . ; cat l",
        "allowed; cp -r a/. d",
        "allowed && mv d t && echo evil > t/x",
        "allowed; mv s t; cat t/l",
    ] {
        for_each_machine(|session| {
            plant_links(&session);
            let told = session.run_bash(EDITS, line);
            let who = (session.user, session.machine);
            let bashrc = fs::read_to_string(session.dirs.home().join(".bashrc")).expect("a file");
            assert_eq!(bashrc, "# of the user\n", "{who:?} {line}: {told}");
            assert!(!told.contains(SECRET), "{who:?} {line}: {told}");
        });
    }
}

#[test]
fn a_comparison_with_a_directory_follows_no_link_out() {
    for_each_machine(|session| {
        plant_links(&session);
        for line in ["diff y s", "diff s y", "diff . s", "diff --from-file=y s", "diff -ru . s"] {
            let told = session.run_bash(&[], line);
            let who = (session.user, session.machine);
            assert!(!told.contains(SECRET), "{who:?} {line}: {told}");
        }
    });
}

/// Writes what the shell itself would say at its end, in a file that it cannot write again.
const LIAR: &str = r#"#!/bin/bash
umask 0377
for place in "$TMPDIR" "${TMPDIR%/*}"; do
  printf '%s\n\0PATH=/evil\0TOOL_SETTINGS=evil\0' "$PWD" > "$place/shell-state"
done 2>/dev/null
echo lied
"#;

/// What a later command is asked about is what it was when the user saw it.
#[test]
fn a_command_that_runs_unasked_changes_no_variable_of_later_ones() {
    for_each_machine(|session| {
        session.plant_program("jq", LIAR);
        let calls = [
            json!({"command": "TOOL_SETTINGS=evil; ls"}),
            json!({"command": "cd . && TOOL_SETTINGS=evil && export CI=yes"}),
            json!({"command": "jq . a.json; echo $PATH $TOOL_SETTINGS"}),
            json!({"command": "echo \"[$TOOL_SETTINGS] [$CI] $PATH\""}),
        ];
        let server = serve(&calls);
        let finished = run(session.command(&server, &[]).env("TOOL_SETTINGS", "kept"));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let requests = server.requests();
        let told = last_tool_result(requests.last().expect("a request").body.as_ref());
        let who = (session.user, session.machine);
        assert!(told.contains("[kept] [yes]"), "{who:?}: {told}");
        assert!(!told.contains("/evil"), "{who:?}: {told}");
    });
}

/// The user's shell may go elsewhere, or see other files, than its words say.
#[test]
fn variables_of_the_user_do_not_move_what_a_line_names() {
    for_each_machine(|session| {
        let (work, home) = (session.dirs.work(), session.dirs.home());
        write(&work.join("notes/x"), "of the project\n");
        write(&home.join("notes/x"), SECRET);
        symlink(home.join("notes/x"), work.join("notes/.hidden")).expect("a link");
        let calls = [
            json!({"command": "cd notes && cat x"}),
            json!({"command": "cat *"}),
            json!({"command": "cat x -n x"}),
        ];
        let server = serve(&calls);
        let mut started = session.command(&server, &[]);
        started.env("CDPATH", &home).env("BASHOPTS", "dotglob").env("POSIXLY_CORRECT", "1");
        let finished = run(&mut started);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let requests = server.requests();
        let told = requests.last().expect("a request").body.to_string();
        let who = (session.user, session.machine);
        assert!(!told.contains(SECRET), "{who:?}: {told}");
        assert!(told.contains("1\\tof the project"), "{who:?}: {told}");
    });
}

/// Runs these commands as calls of one answer.
fn run_together(session: &HeldSession, flags: &[&str], commands: &[&str]) -> String {
    let answer = commands.iter().fold(ScriptedAnswer::empty(), |answer, command| {
        answer.tool("Bash", json!({ "command": command }))
    });
    let server = play(Script::new().answer(answer).answer(ScriptedAnswer::text("Over.").repeat(0)));
    let finished = run(&mut session.command(&server, flags));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let requests = server.requests();
    requests.last().expect("a request").body.to_string()
}

/// A call is judged when it arrives, and others of its answer run before it.
#[test]
fn a_command_is_judged_by_what_the_one_before_it_has_left() {
    for commands in [
        ["cd s", "cat y"],
        ["cd s", "head -1 < y"],
        ["mv s t", "cat t/l"],
        ["cd d", "echo evil > x"],
        ["mv d t", "echo evil > t/x"],
        ["mv d t", "cp a/x t/x"],
        ["cd deep/.vscode", "echo evil > tasks.json"],
        ["cd deep", "cat hidden.txt"],
        ["cd deep", "tac hidden.txt"],
        ["cd deep && true", "cp hidden.txt ../shown.txt"],
    ] {
        for_each_machine(|session| {
            plant_links(&session);
            write(&session.dirs.file("deep/.vscode/settings.json"), "{}\n");
            write(&session.dirs.file("deep/hidden.txt"), SECRET);
            write(&session.dirs.file("hidden.txt"), "harmless\n");
            let mut flags = EDITS.to_vec();
            flags.extend(["Bash(tac:*)", "--disallowedTools", "Read(deep/hidden.txt)"]);
            let told = run_together(&session, &flags, &commands);
            let who = (session.user, session.machine);
            let bashrc = fs::read_to_string(session.dirs.home().join(".bashrc")).expect("a file");
            assert_eq!(bashrc, "# of the user\n", "{who:?} {commands:?}: {told}");
            assert!(!told.contains(SECRET), "{who:?} {commands:?}: {told}");
            let planted = session.dirs.file("deep/.vscode/tasks.json");
            assert!(!planted.exists(), "{who:?} {commands:?}: {told}");
            assert!(!session.dirs.file("shown.txt").exists(), "{who:?} {commands:?}: {told}");
        });
    }
}

#[test]
fn commands_of_one_answer_follow_each_other() {
    for_each_machine(|session| {
        write(&session.dirs.file("sub/x"), "below\n");
        let flags = ["--permission-mode", "acceptEdits"];
        let commands = ["cd sub", "cat x", "echo more > new && cat new", "cp new x", "pwd; cat x"];
        let told = run_together(&session, &flags, &commands);
        let who = (session.user, session.machine);
        assert!(told.contains("below") && !told.contains("Not started"), "{who:?}: {told}");
        assert!(told.contains("/sub\\nmore"), "{who:?}: {told}");
    });
}

/// Under another name no rule would speak of it.
#[test]
fn a_denied_file_is_not_taken_along_in_its_directory() {
    for change in ["mv deep t", "cp -r deep t"] {
        for_each_machine(|session| {
            write(&session.dirs.file("deep/hidden.txt"), SECRET);
            let calls = [
                json!({ "command": change }),
                json!({ "command": "cat t/hidden.txt; grep -r canary t" }),
            ];
            for mode in [&EDITS[..2], &["--allowedTools", "Bash(mv:*)", "Bash(cp:*)"]] {
                let flags = [mode, &["--disallowedTools", "Read(deep/hidden.txt)"]].concat();
                let (told, _) = session.run(&flags, &calls);
                let who = (session.user, session.machine);
                assert!(!told.contains(SECRET), "{who:?} {change} {mode:?}: {told}");
            }
        });
    }
}
