//! Calls before which no snapshot can be taken: asked about where somebody can be asked.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_permission::file_system_view::NO_SNAPSHOT_KEY;
use windlass_permission::{PermissionDecision, Policy, PriorDecision, decide};
use windlass_vocabulary::{EffectClass, PathKind, PermissionMode, ToolInspection};

use crate::case::{Allow, Ask, Outcome, call, inspection, policy};

fn decide_without_snapshot(
    policy: &Policy,
    tool: &str,
    input: &Value,
    prior: PriorDecision,
) -> Outcome {
    let seen = vec![(Arc::from(NO_SNAPSHOT_KEY), PathKind::Symlink(Arc::from("the disk is full")))];
    let known = ToolInspection { seen, ..inspection(EffectClass::Effect) };
    match decide(policy, call(tool, input), &known, prior) {
        PermissionDecision::Allow(_) => Allow,
        PermissionDecision::Ask(question) => {
            let view = question.view();
            assert!(view.why.contains("cannot be taken back"), "{view:?}");
            assert!(view.why.contains("the disk is full"), "{view:?}");
            assert!(view.suggestions.is_empty(), "no rule can answer it: {view:?}");
            Ask
        }
        PermissionDecision::Deny { why, .. } => panic!("{why}"),
    }
}

#[test]
fn what_may_change_files_is_asked_about_where_somebody_can_be_asked() {
    let rules = ["+Bash(make:*)", "+mcp__files__move", "+Edit", "+TodoWrite"];
    let edit = json!({"file_path": "/w/repo/a", "old_string": "a", "new_string": "b"});
    let calls = [
        ("Bash", json!({"command": "make all"}), true),
        ("Agent", json!({"description": "a", "prompt": "b"}), true),
        ("mcp__files__move", json!({}), true),
        ("Bash", json!({"command": "ls"}), false),
        ("Edit", edit, false),
        ("TodoWrite", json!({"todos": []}), false),
    ];
    for (tool, input, may_change_files) in &calls {
        for (mode, can_ask, asks) in [
            (PermissionMode::Default, true, true),
            (PermissionMode::AcceptEdits, true, true),
            (PermissionMode::Default, false, false),
            (PermissionMode::DontAsk, true, false),
            (PermissionMode::BypassPermissions, true, false),
        ] {
            let policy = Policy { can_ask, ..policy(mode, &rules) };
            let expected = if asks && *may_change_files { Ask } else { Allow };
            for prior in [PriorDecision::None, PriorDecision::Allow] {
                let got = decide_without_snapshot(&policy, tool, input, prior);
                assert_eq!(got, expected, "{tool} {input} {mode:?} {can_ask}");
            }
            let answered = PriorDecision::Answered;
            assert_eq!(decide_without_snapshot(&policy, tool, input, answered), Allow);
        }
    }
}
