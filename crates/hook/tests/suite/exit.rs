//! What an exit code means at each event.

use serde_json::json;
use windlass_hook::HookEvent;
use windlass_vocabulary::HookVerdict::{self, Allow, Ask, Block, Defer, Halt, Pass};

use crate::test_bed::{HookTestBed, command_hook};

fn word(verdict: &HookVerdict) -> &'static str {
    match verdict {
        Pass => "pass",
        Allow => "allow",
        Ask(_) => "ask",
        Defer(_) => "defer",
        Block(_) => "block",
        Halt(_) => "halt",
    }
}

#[tokio::test]
async fn exit_codes_mean_what_the_event_can_do() {
    let stage = HookTestBed::new();
    #[rustfmt::skip]
    let table: &[(HookEvent, [&str; 4])] = &[
        // The event, and what it comes to when a hook exits with 0, 2, 1 and 127.
        (HookEvent::PreToolUse, ["pass", "block", "ask", "ask"]),
        (HookEvent::PostToolUse, ["pass", "block", "pass", "pass"]),
        (HookEvent::PostToolUseFailure, ["pass", "block", "pass", "pass"]),
        (HookEvent::PostToolBatch, ["pass", "block", "pass", "pass"]),
        (HookEvent::UserPromptSubmit, ["pass", "block", "pass", "pass"]),
        (HookEvent::Stop, ["pass", "block", "pass", "pass"]),
        (HookEvent::SubagentStop, ["pass", "block", "pass", "pass"]),
        (HookEvent::PreCompact, ["pass", "block", "pass", "pass"]),
        (HookEvent::PermissionRequest, ["pass", "pass", "pass", "pass"]),
        (HookEvent::SessionStart, ["pass", "pass", "pass", "pass"]),
        (HookEvent::SubagentStart, ["pass", "pass", "pass", "pass"]),
        (HookEvent::Notification, ["pass", "pass", "pass", "pass"]),
        (HookEvent::StopFailure, ["pass", "pass", "pass", "pass"]),
        (HookEvent::PostCompact, ["pass", "pass", "pass", "pass"]),
        (HookEvent::SessionEnd, ["pass", "pass", "pass", "pass"]),
    ];
    for (event, expected) in table {
        for (code, expected) in [0, 2, 1, 127].into_iter().zip(expected) {
            let mut hook = command_hook(&format!("echo because >&2; exit {code}"));
            hook["timeout"] = 60.into();
            let joint = stage.run(*event, &[hook]).await;
            assert_eq!(word(&joint.verdict), *expected, "{event:?} {code} {joint:?}");
            let is_failure = code == 1 || code == 127;
            let ignores_two = code == 2 && *event == HookEvent::PermissionRequest;
            assert_eq!(joint.warnings.len(), usize::from(is_failure || ignores_two), "{joint:?}");
            if *expected == "block" {
                assert_eq!(joint.verdict, Block("because".to_owned()));
            }
            if code == 2 && *expected == "pass" && !ignores_two {
                assert_eq!(joint.messages, ["because"], "{event:?}: the user is told");
            }
            assert!(joint.permission_answer.is_none() && joint.context.is_empty());
        }
    }
}

#[tokio::test]
async fn a_hook_can_be_made_to_fail_closed_or_open() {
    let stage = HookTestBed::new();
    #[rustfmt::skip]
    let table = [
        (HookEvent::PreToolUse, "block", "block"), (HookEvent::PreToolUse, "continue", "pass"),
        (HookEvent::UserPromptSubmit, "block", "block"), (HookEvent::UserPromptSubmit, "continue", "pass"),
        (HookEvent::Stop, "block", "block"), (HookEvent::PostToolUse, "block", "block"),
        (HookEvent::SessionStart, "block", "pass"),
    ];
    for (event, on_failure, expected) in table {
        let hook = json!({ "type": "command", "command": "exit 7", "onFailure": on_failure });
        let joint = stage.run(event, &[hook]).await;
        assert_eq!(word(&joint.verdict), expected, "{event:?} {on_failure}");
        assert!(joint.warnings[0].contains("exit code 7"), "{joint:?}");
    }
    let hook = json!({ "type": "command", "command": "exit 7", "onFailure": "block" });
    let joint = stage.run(HookEvent::PermissionRequest, &[hook]).await;
    assert!(
        matches!(
            joint.permission_answer,
            Some(windlass_hook::PermissionRequestAnswer::Deny { .. })
        ),
        "{joint:?}"
    );
    // Where there is no model to ask, the guard is a broken one.
    let prompt = |more: serde_json::Value| {
        let mut hook = json!({ "type": "prompt", "prompt": "fine?" });
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook
    };
    let joint = stage.run(HookEvent::PreToolUse, &[prompt(json!({}))]).await;
    assert_eq!(word(&joint.verdict), "ask");
    let joint = stage.run(HookEvent::PreToolUse, &[prompt(json!({ "onFailure": "block" }))]).await;
    assert_eq!(word(&joint.verdict), "block");
}

#[tokio::test]
async fn plain_words_reach_the_model_only_where_they_should() {
    let stage = HookTestBed::new();
    for event in HookEvent::ALL.iter().copied().filter(|event| event.is_supported()) {
        let mut hook = command_hook("cat >/dev/null; echo ' plain words '");
        hook["timeout"] = 60.into();
        let joint = stage.run(event, &[hook]).await;
        let takes = matches!(
            event,
            HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::UserPromptExpansion
        );
        let expected: &[&str] = if takes { &["plain words"] } else { &[] };
        assert_eq!(joint.context, expected, "{event:?}");
        assert_eq!(joint.verdict, Pass);
        assert!(joint.warnings.is_empty());
    }
}
