//! Hooks that print our own key: it reaches neither the model, nor the journal, nor people.

use serde_json::{Value, json};
use windlass_driver::{Credential, Durability, HookSet, hooks::HookSource};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{Notice, PermissionMode};

use super::{all, at, bash, says};
use crate::stage::{Setting, Stage, rehearse};

const KEY: &str = "sk-test-4711-0815";

/// Runs one prompt with these hooks and a journal, and returns everything that others may read: the
/// requests, the journal and the notices.
async fn run_and_collect(setting: Setting, hooks: &Value) -> String {
    let setting = Setting { credential: Credential::Key(KEY.to_owned()), ..setting };
    let (set, problems) = HookSet::parse(hooks, &HookSource::new("test"));
    assert_eq!(problems, Vec::<String>::new());
    let rehearsal = rehearse([bash("touch ran"), Says::text("done")]).await;
    let journal = setting.directory.path().join("journal.jsonl");
    let builder = setting.builder(&rehearsal.url()).hooks(set);
    let (session, notices) = builder.journal(&journal, Durability::Written).start().unwrap();
    let wire = setting.wire;
    let mut stage = Stage { rehearsal, session, notices, directory: setting.directory, wire };
    let (_, told) = stage.run("do it").await;
    assert!(told.iter().any(|notice| matches!(notice, Notice::Hook(_))), "{told:?}");
    stage.session.close().await;
    let requests: String =
        stage.rehearsal.requests().iter().map(|request| request.body.to_string()).collect();
    format!("{requests}\n{}\n{told:?}", std::fs::read_to_string(journal).unwrap())
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
    let written = run_and_collect(Setting::default(), &hooks).await;
    for marker in ["message", "output", "context", "input"] {
        assert_redacted(&written, marker);
    }
}

#[tokio::test]
async fn a_key_in_a_hook_s_refusal_is_taken_out() {
    let before_tool = format!("echo 'refusal {KEY}' >&2; exit 2");
    let written = run_and_collect(Setting::default(), &at("PreToolUse", &before_tool)).await;
    assert_redacted(&written, "refusal");
    let prompt = format!("echo 'no prompt {KEY}' >&2; exit 2");
    let written = run_and_collect(Setting::default(), &at("UserPromptSubmit", &prompt)).await;
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
    let setting = Setting::default().with(asks);
    let written = run_and_collect(setting, &at("PermissionRequest", &deny)).await;
    assert_redacted(&written, "denial");
    let allow = answer(json!({
        "behavior": "allow", "updatedInput": { "command": format!("touch answer; echo answer {KEY}") },
    }));
    let setting = Setting::default().with(asks);
    let written = run_and_collect(setting, &at("PermissionRequest", &allow)).await;
    assert_redacted(&written, "answer");
}
