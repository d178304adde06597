//! Agents that work in a checkout of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_driver::{Durability, Rule, SubagentConfig};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_tool::worktree::Worktree;
use windlass_vocabulary::{Notice, PermissionMode, ToolOutcome};

use crate::agent::play;
use crate::fixture::{FixtureOptions, SessionFixture, assert_completed, rehearse};

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(directory).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository whose hooks, filters and monitor would all leave a trace if anything ran them.
fn repository(directory: &Path) {
    git(directory, &["init", "--quiet"]);
    std::fs::write(directory.join("log.txt"), "calm\n").unwrap();
    std::fs::write(directory.join(".gitignore"), "spill\n").unwrap();
    std::fs::write(directory.join(".gitattributes"), "*.txt filter=x\n").unwrap();
    git(directory, &["add", "."]);
    git(directory, &["commit", "--quiet", "-m", "first"]);
    let trace = |who: &str| format!("touch {}/ran-{who}", directory.display());
    for part in ["clean", "smudge"] {
        let run = format!("{}; cat", trace(part));
        git(directory, &["config", &format!("filter.x.{part}"), &run]);
    }
    git(directory, &["config", "filter.x.required", "true"]);
    git(directory, &["config", "core.fsmonitor", &trace("monitor")]);
    let hook = directory.join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n{}\n", trace("hook"))).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
}

/// Which of them did.
fn ran(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("ran-")).collect()
}

fn apart(prompt: &str) -> Value {
    json!({ "description": "apart", "prompt": prompt, "isolation": "worktree" })
}

/// What came of the first call of `Agent`.
async fn outcome(mut fixture: SessionFixture) -> (ToolOutcome, SessionFixture) {
    let (ending, received) = fixture.run("go").await;
    assert_completed(&ending);
    let ended = received.iter().find_map(|notice| match notice {
        Notice::ToolEnded { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    (ended.unwrap(), fixture)
}

fn kept(outcome: &ToolOutcome) -> Option<PathBuf> {
    let json: Value = serde_json::from_str(outcome.structured.as_ref()?.as_str()).unwrap();
    json["worktreePath"].as_str().map(PathBuf::from)
}

#[tokio::test]
async fn what_an_agent_changes_stays_in_its_worktree() {
    let options = FixtureOptions::default();
    let root = options.directory.path().to_owned();
    repository(&root);
    let answers = vec![
        Says::call("Agent", apart("stir the log")),
        Says::call("Bash", json!({ "command": "pwd; echo storm > log.txt" })).when("stir the log"),
        Says::text("stirred"),
        Says::text("done"),
    ];
    let (outcome, _stage) = outcome(play(options, SubagentConfig::default(), answers).await).await;
    let path = kept(&outcome).unwrap_or_else(|| panic!("{outcome:?}"));
    assert!(format!("{outcome:?}").contains("files changed: 1"), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(path.join("log.txt")).unwrap(), "storm\n");
    assert_eq!(std::fs::read_to_string(root.join("log.txt")).unwrap(), "calm\n");
    assert_eq!(ran(&root), Vec::<String>::new(), "programs of the repository ran");
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[tokio::test]
async fn a_worktree_in_which_nothing_happened_is_gone() {
    let options = FixtureOptions::default();
    let root = options.directory.path().to_owned();
    repository(&root);
    let answers = vec![
        Says::call("Agent", apart("look around")),
        Says::call("Bash", json!({ "command": "cat log.txt; pwd" })).when("look around"),
        Says::text("calm"),
        Says::text("done"),
    ];
    let (outcome, fixture) = outcome(play(options, SubagentConfig::default(), answers).await).await;
    assert_eq!((outcome.is_error, kept(&outcome)), (false, None), "{outcome:?}");
    assert_eq!(git(&root, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(ran(&root), Vec::<String>::new(), "programs of the repository ran");
    // It stood in its own copy, and the model was told so.
    let asked = fixture.rehearsal.requests();
    let result = asked.iter().find(|request| request.body.contains("calm\\n")).unwrap();
    assert!(result.body.contains("/agent-1"), "{}", result.body);
}

/// Their session was killed: only the folder beside the journal tells of them.
#[tokio::test]
async fn worktrees_that_a_killed_session_left_are_looked_after() {
    let options = FixtureOptions::default();
    let root = options.directory.path().to_owned();
    repository(&root);
    let state = tempfile::tempdir().unwrap();
    let journal = state.path().join("session.jsonl");
    let add = async |name: &str| {
        let path = journal.with_extension("worktrees").join(name);
        let made = Worktree::create(root.clone(), path, CancellationToken::new()).await.unwrap();
        made.path().to_owned()
    };
    let (idle, changed) = (add("agent-1").await, add("agent-2").await);
    let committed = add("agent-3").await;
    std::fs::write(changed.join("log.txt"), "storm\n").unwrap();
    git(&committed, &["commit", "--quiet", "--allow-empty", "-m", "own"]);
    let rehearsal = rehearse([Says::text("done")]).await;
    let builder = options.builder(&rehearsal.url()).journal(&journal, Durability::Written);
    let (session, mut notices) = builder.start().unwrap();
    session.submit("go").unwrap();
    let mut received = Vec::new();
    let closing = tokio::spawn(async move { session.close().await });
    while let Some(notice) = notices.next().await {
        received.push(notice);
    }
    closing.await.unwrap();
    let words = received.iter().find_map(|notice| match notice {
        Notice::Warning(words) if words.contains("left work") => Some(words.clone()),
        _ => None,
    });
    let words = words.unwrap_or_else(|| panic!("{received:?}"));
    assert!(words.contains("agent-2 (files changed: 1)"), "{words}");
    assert!(words.contains("agent-3 (its last commit is "), "{words}");
    assert!(!idle.exists() && changed.exists() && committed.exists(), "{words}");
}

/// The parent's roots are not the agent's any more, and what may not be read may not be read there.
#[tokio::test]
async fn rights_move_with_the_agent_and_do_not_grow() {
    let options = FixtureOptions::default();
    let root = options.directory.path().canonicalize().unwrap();
    repository(&root);
    let text = root.display();
    let options = options.with(|settings| {
        settings.policy.mode = PermissionMode::AcceptEdits;
        let rule = |text: &str| Rule::parse(text).unwrap();
        settings.policy.rules.allow = vec![rule("Agent")];
        settings.policy.rules.deny = vec![rule(&format!("Read(/{text}/log.txt)"))];
    });
    let outside = json!({ "file_path": root.join("new.txt"), "content": "x" });
    let answers = vec![
        Says::call("Agent", apart("try it")),
        Says::call("Write", outside).when("try it"),
        Says::call("Read", json!({ "file_path": "log.txt" })).when_result("new.txt"),
        Says::call("Grep", json!({ "pattern": "c.lm", "output_mode": "content" })),
        Says::call("Write", json!({ "file_path": "inside.txt", "content": "x" })),
        Says::text("tried"),
        Says::text("done"),
    ];
    let (outcome, fixture) = outcome(play(options, SubagentConfig::default(), answers).await).await;
    let path = kept(&outcome).unwrap_or_else(|| panic!("{outcome:?}"));
    assert!(path.join("inside.txt").exists(), "its own place may be written");
    assert!(!root.join("new.txt").exists(), "its parent's may not");
    let requests = fixture.rehearsal.requests();
    assert!(!requests.iter().any(|request| request.body.contains("calm")), "it was read");
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[tokio::test]
async fn without_a_repository_there_is_a_plain_answer() {
    let answers = vec![Says::call("Agent", apart("try it")), Says::text("then not")];
    let fixture = play(FixtureOptions::default(), SubagentConfig::default(), answers).await;
    let (outcome, _stage) = outcome(fixture).await;
    assert!(outcome.is_error, "{outcome:?}");
    assert!(format!("{outcome:?}").contains("is not in a git repository"), "{outcome:?}");
}
