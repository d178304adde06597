//! What is read off single words of a shell command.

use windlass_permission::{
    CellSupport, PermissionDecision, Policy, PriorDecision, Rule, Rules, decide,
};
use windlass_vocabulary::{Json, ToolCall, ToolInspection};

#[cfg(test)]
fn policy(allowed: &[&str]) -> Policy {
    let allow = allowed.iter().map(|rule| Rule::parse(rule).unwrap()).collect();
    Policy {
        rules: Rules { allow, ..Rules::default() },
        directories: vec!["/w/repo".to_owned()],
        can_ask: true,
        ..Policy::default()
    }
}

fn decide_command(policy: &Policy, command: &str) -> PermissionDecision {
    let call = ToolCall {
        id: "x".into(),
        name: "Bash".into(),
        input: Json::from_checked(&serde_json::json!({ "command": command }).to_string()),
        signature: None,
    };
    decide(policy, call, &ToolInspection::EXCLUSIVE_EFFECT, PriorDecision::None)
}

/// `command -v` is the shell's own, and no program that a cell could hold.
#[test]
fn a_word_behind_an_option_of_command_is_no_program() {
    let policy = Policy { cell: CellSupport::Available, ..policy(&["Bash(make:*)"]) };
    for (command, held) in [("make; command -v git", 0), ("make; command cat a", 1)] {
        let decided = decide_command(&policy, command);
        let PermissionDecision::Allow(granted) = decided else { panic!("{command}: {decided:?}") };
        assert_eq!(granted.held_words().len(), held, "{command}");
    }
}

/// A rule for `find` covers what lies in the working directories.
#[test]
fn find_with_a_rule_does_not_search_outside() {
    let policy = policy(&["Bash(find:*)"]);
    for (command, is_allowed) in
        [("find src -unheard-of x", true), ("find /etc -unheard-of x", false)]
    {
        let decided = decide_command(&policy, command);
        let is_free = matches!(decided, PermissionDecision::Allow(_));
        assert_eq!(is_free, is_allowed, "{command}: {decided:?}");
    }
}

/// A rule for a program does not cover another program that an option names.
#[test]
fn a_program_that_an_option_names_needs_a_rule_of_its_own() {
    let policy = policy(&["Bash(zip:*)", "Bash(cpio:*)"]);
    for (command, is_allowed) in [
        ("zip a.zip x", true),
        ("zip a.zip x --unzip-command=sh", false),
        ("cpio -t", true),
        ("cpio -t --rsh-command=sh", false),
    ] {
        let decided = decide_command(&policy, command);
        let is_free = matches!(decided, PermissionDecision::Allow(_));
        assert_eq!(is_free, is_allowed, "{command}: {decided:?}");
    }
}
