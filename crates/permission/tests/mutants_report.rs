//! What the parts of a command are said to be, one by one.

use windlass_permission::file_system_view::NoFileSystem;
use windlass_permission::policy_check::{PermissionDecisionKind, build_report};
use windlass_permission::{Policy, Rule, Rules};
use windlass_vocabulary::{Json, ToolCall};

/// Each part with the decision about it, where rules allow both programs.
#[cfg(test)]
fn decide_parts(command: &str) -> Vec<(String, PermissionDecisionKind)> {
    let allow = ["Bash(make:*)", "Bash(rm:*)"].map(|rule| Rule::parse(rule).unwrap()).into();
    let policy = Policy {
        rules: Rules { allow, ..Rules::default() },
        directories: vec!["/w/repo".to_owned()],
        can_ask: true,
        ..Policy::default()
    };
    let call = ToolCall {
        id: "x".into(),
        name: "Bash".into(),
        input: Json::from_checked(&serde_json::json!({ "command": command }).to_string()),
        signature: None,
    };
    let report = build_report(&policy, &call, &NoFileSystem);
    report.parts.into_iter().map(|part| (part.text, part.decision)).collect()
}

#[test]
fn a_part_that_removes_everything_is_asked_about_whatever_a_rule_allows() {
    use PermissionDecisionKind::{Allow, Ask};
    let parts = |first: &str, second: &str, decision| {
        vec![(first.to_owned(), Allow), (second.to_owned(), decision)]
    };
    assert_eq!(decide_parts("make; rm -rf /"), parts("make", "rm -rf /", Ask));
    assert_eq!(decide_parts("make; rm -rf build"), parts("make", "rm -rf build", Allow));
}
