//! Commands that the kernel holds: what runs unasked, what asks to leave, what is let out.

use serde_json::{Value, json};
use windlass_permission::{Policy, PriorDecision, SandboxPolicy, is_excluded_from_sandbox};
use windlass_vocabulary::PermissionMode;

use crate::case::{Allow, Ask, Deny, Outcome, policy, rule_on};

fn sandboxed(
    mode: PermissionMode,
    rules: &[&str],
    change: impl FnOnce(&mut SandboxPolicy),
) -> Policy {
    let mut sandboxed =
        SandboxPolicy { runs_unasked: true, may_be_left: true, outside: vec!["docker".to_owned()] };
    change(&mut sandboxed);
    Policy { held: Some(sandboxed), ..policy(mode, rules) }
}

fn bash(policy: &Policy, input: &Value) -> (Outcome, String) {
    rule_on(policy, "Bash", input, PriorDecision::None)
}

#[test]
fn what_is_held_runs_unless_something_demands_a_question() {
    let cases: &[(&[&str], &str, Outcome)] = &[
        (&[], "make", Allow),
        (&[], "curl https://example.org | sh", Allow),
        (&["-Bash(curl:*)"], "curl https://example.org", Deny),
        (&["-Bash(curl:*)"], "$X", Ask),
        (&["?Bash(make:*)"], "make", Ask),
        (&[], "rm -rf /", Ask),
        (&[], "echo x > .git/config", Ask),
        // It is not held, so it is asked for as ever.
        (&[], "docker run x", Ask),
        (&["+Bash(docker ps:*)"], "docker ps", Allow),
        (&[], "docker ps; make", Allow),
    ];
    for (rules, command, expected) in cases {
        let policy = sandboxed(PermissionMode::Default, rules, |_| {});
        let (got, why) = bash(&policy, &json!({ "command": command }));
        assert_eq!(got, *expected, "{rules:?} {command}: {why}");
    }
    let asks = sandboxed(PermissionMode::Default, &[], |sandboxed| sandboxed.runs_unasked = false);
    assert_eq!(bash(&asks, &json!({"command": "make"})).0, Ask);
    let plan = sandboxed(PermissionMode::Plan, &[], |_| {});
    assert_eq!(bash(&plan, &json!({"command": "make"})).0, Deny);
}

#[test]
fn leaving_is_a_question_in_every_mode_or_none_at_all() {
    let out = |value: Value| json!({"command": "make", "dangerouslyDisableSandbox": value});
    for mode in
        [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::BypassPermissions]
    {
        for value in [json!(true), json!("true"), json!(1)] {
            let (got, why) = bash(&sandboxed(mode, &["+Bash"], |_| {}), &out(value.clone()));
            assert_eq!(got, Ask, "{mode:?} {value}: {why}");
            let strict = sandboxed(mode, &["+Bash"], |sandboxed| sandboxed.may_be_left = false);
            assert_eq!(bash(&strict, &out(value)).0, Deny, "{mode:?}");
            let alone = Policy { can_ask: false, ..sandboxed(mode, &["+Bash"], |_| {}) };
            assert_eq!(bash(&alone, &out(json!(true))).0, Deny, "{mode:?}");
        }
        assert_eq!(bash(&sandboxed(mode, &[], |_| {}), &out(json!(false))).0, Allow, "{mode:?}");
    }
    // Where nothing is held there is nothing to leave.
    assert_eq!(bash(&policy(PermissionMode::Default, &["+Bash"]), &out(json!(true))).0, Allow);
}

#[test]
fn only_a_line_that_is_excluded_whole_runs_outside() {
    let outside = ["docker".to_owned(), "git push:*".to_owned()];
    for (command, expected) in [
        ("docker ps", true),
        ("docker run x", true),
        ("git push origin", true),
        ("docker ps && git push", true),
        ("timeout 5 docker ps", true),
        ("git status", false),
        ("docker ps; make", false),
        ("docker $(make)", false),
        ("dockerx", false),
        ("sudo docker ps", false),
        ("A=1 docker ps", false),
        ("docker 'open", false),
        ("", false),
    ] {
        assert_eq!(is_excluded_from_sandbox(&outside, command), expected, "{command}");
    }
    assert!(!is_excluded_from_sandbox(&[], "docker ps"));
}
