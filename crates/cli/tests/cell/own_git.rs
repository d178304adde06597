//! The git that the product runs by itself, in a repository full of programs: none of them starts.

use std::fs;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{play, run};
use crate::held_session::{HeldSession, for_each_user, last_tool_result};
use crate::hostile_git::{
    CanaryWatch, LASTING_KEYS, NAMING_KEYS, create_hostile_repository, git, plant_canary,
};

/// Commands that look at the directory they are started in.
const COMMANDS: &[&[&str]] = &[
    &["doctor", "--offline"],
    &["context"],
    &["sessions", "list"],
    &["mcp", "list"],
    &["permission", "check", "Bash(git status)"],
];

/// Programs that a file named by the configuration names, and a second one that the first names.
fn include_more_programs(session: &HeldSession) {
    let deep = plant_canary(session, "deep include");
    let shallow = plant_canary(session, "include");
    let text = format!(
        "[include]\n\tpath = deeper\n[core]\n\tfsmonitor = {shallow}\n\
         [filter \"nested\"]\n\tclean = {shallow}\n\tsmudge = {shallow}\n\trequired = true\n"
    );
    fs::write(session.dirs.file(".git/more"), text).expect("a file");
    let text = format!("[filter \"deep\"]\n\tclean = {deep}\n\tprocess = {deep}\n");
    fs::write(session.dirs.file(".git/deeper"), text).expect("a file");
    git(session, ".", &["config", "include.path", "more"]);
    fs::create_dir_all(session.dirs.file("folder")).expect("a folder");
    let attributes = "*.json filter=nested\n*.txt filter=deep\n";
    fs::write(session.dirs.file("folder/.gitattributes"), attributes).expect("a file");
    fs::write(session.dirs.file("folder/b.json"), "{}\n").expect("a file");
    fs::write(session.dirs.file("folder/c.txt"), "c\n").expect("a file");
}

/// A session with an agent in a worktree of its own, which git checks out.
fn run_agent_in_worktree(session: &HeldSession, flags: &[&str]) -> String {
    let input = json!({ "description": "apart", "prompt": "look", "isolation": "worktree" });
    let script = Script::new()
        .answer(ScriptedAnswer::call("Agent", input))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "pwd" })))
        .answer(ScriptedAnswer::text("Looked.").repeat(0));
    let server = play(script);
    let finished = run(&mut session.command(&server, flags));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let requests = server.requests();
    // What the agent was told of its own command.
    last_tool_result(&requests.get(2).expect("a request").body)
}

#[test]
fn git_that_the_product_runs_starts_nothing_that_a_repository_names() {
    for_each_user(|session| {
        create_hostile_repository(&session, &[NAMING_KEYS, LASTING_KEYS].concat());
        include_more_programs(&session);
        let watch = CanaryWatch::new(&session);
        for flags in [&[][..], &["--permission-mode", "bypassPermissions"]] {
            let told = run_agent_in_worktree(&session, flags);
            let place = session.dirs.work().display().to_string();
            assert!(told.contains("worktree") && told.trim() != place, "{told}");
            assert_eq!(watch.started(), [""; 0], "{:?} {flags:?}", session.user);
        }
        for words in COMMANDS {
            run(&mut session.prepare(session.dirs.windlass(words)));
            assert_eq!(watch.started(), [""; 0], "{:?} {words:?}", session.user);
        }
        // Otherwise nothing of this would say anything.
        let mut plain = std::process::Command::new("git");
        plain.args(["-c", "safe.directory=*", "status"]).current_dir(session.dirs.work());
        plain.output().expect("git");
        assert!(!watch.started().is_empty());
    });
}
