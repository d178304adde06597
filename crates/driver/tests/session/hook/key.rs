//! Hooks that print our own key: it reaches neither the model, nor the journal, nor people.

use serde_json::{Value, json};
use windlass_driver::{Credential, Durability, HookSet, hooks::HookSource};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{Notice, PermissionMode};

use super::{all, at, bash, says};
use crate::fixture::{FixtureOptions, SessionFixture, rehearse};

const KEY: &str = "sk-test-4711-0815";

/// Runs one prompt with these hooks and a journal, and returns everything that others may read: the
/// requests, the journal and the notices.
async fn run_and_collect(options: FixtureOptions, hooks: &Value) -> String {
    let options = FixtureOptions { credential: Credential::Key(KEY.to_owned()), ..options };
    let (set, problems) = HookSet::parse(hooks, &HookSource::new("test"));
    assert_eq!(problems, Vec::<String>::new());
    let rehearsal = rehearse([bash("touch ran"), Says::text("done")]).await;
    let journal = options.directory.path().join("journal.jsonl");
    let builder = options.builder(&rehearsal.url()).hooks(set);
    let (session, notices) = builder.journal(&journal, Durability::Written).start().unwrap();
    let wire = options.wire;
    let mut fixture =
        SessionFixture { rehearsal, session, notices, directory: options.directory, wire };
    let (_, received) = fixture.run("do it").await;
    assert!(received.iter().any(|notice| matches!(notice, Notice::Hook(_))), "{received:?}");
    fixture.session.close().await;
    let requests: String =
        fixture.rehearsal.requests().iter().map(|request| request.body.to_string()).collect();
    format!("{requests}\n{}\n{received:?}", std::fs::read_to_string(journal).unwrap())
}

fn assert_redacted(written: &str, marker: &str) {
    assert!(written.contains(&format!("{marker} [key removed]")), "{marker}: {written}");
    assert!(!written.contains(KEY), "{marker}: {written}");
}

#[tokio::test]
async fn a_key_that_a_hook_prints_reaches_neither_the_model_nor_the_journal_nor_people() {
    let after_tool =
        says(&json!({ "systemMessage": format!("message {KEY}"), "hookSpecificOutput": {
        "hookEventName": "PostToolUse",
        "updatedToolOutput": format!("output {KEY}"),
        "additionalContext": format!("context {KEY}"),
    } }));
    let before_tool = says(&json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": { "command": format!("echo input {KEY}") },
    } }));
    let hooks = all([at("PostToolUse", &after_tool), at("PreToolUse", &before_tool)]);
    let written = run_and_collect(FixtureOptions::default(), &hooks).await;
    for marker in ["message", "output", "context", "input"] {
        assert_redacted(&written, marker);
    }
}

#[tokio::test]
async fn a_key_in_a_hook_s_refusal_is_taken_out() {
    let before_tool = format!("echo 'refusal {KEY}' >&2; exit 2");
    let written = run_and_collect(FixtureOptions::default(), &at("PreToolUse", &before_tool)).await;
    assert_redacted(&written, "refusal");
    let prompt = format!("echo 'no prompt {KEY}' >&2; exit 2");
    let written =
        run_and_collect(FixtureOptions::default(), &at("UserPromptSubmit", &prompt)).await;
    assert_redacted(&written, "no prompt");
}

#[tokio::test]
async fn a_key_in_a_hook_s_answer_to_a_question_is_taken_out() {
    let answer = |decision: Value| {
        says(&json!({ "hookSpecificOutput": {
            "hookEventName": "PermissionRequest", "decision": decision,
        } }))
    };
    let asks = |settings: &mut windlass_driver::engine_settings::Settings| {
        settings.policy.mode = PermissionMode::Default;
        settings.policy.can_ask = true;
    };
    let deny = answer(json!({ "behavior": "deny", "message": format!("denial {KEY}") }));
    let options = FixtureOptions::default().with(asks);
    let written = run_and_collect(options, &at("PermissionRequest", &deny)).await;
    assert_redacted(&written, "denial");
    let allow = answer(json!({
        "behavior": "allow", "updatedInput": { "command": format!("touch answer; echo answer {KEY}") },
    }));
    let options = FixtureOptions::default().with(asks);
    let written = run_and_collect(options, &at("PermissionRequest", &allow)).await;
    assert_redacted(&written, "answer");
}
