//! One case: a policy and a call, in as few words as possible, and what must come of it.

use serde_json::{Value, json};
use windlass_permission::{
    FileSystemView, PermissionDecision, Policy, PriorDecision, Rule, Rules, decide,
    decide_with_file_system,
};
use windlass_vocabulary::{
    EffectClass, Json, PermissionMode, ToolCall, ToolCallId, ToolInspection, ToolName,
};

/// The three rulings, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Allow,
    Ask,
    Deny,
}

pub(crate) use Outcome::{Allow, Ask, Deny};

/// A policy at `/w/repo` with a user to ask. Rules: `+` allows, `?` asks, `-` denies.
pub(crate) fn policy(mode: PermissionMode, rules: &[&str]) -> Policy {
    let mut sorted = Rules::default();
    for text in rules {
        let (kind, text) = text.split_at(1);
        let rule = Rule::parse(text).unwrap();
        match kind {
            "+" => sorted.allow.push(rule),
            "?" => sorted.ask.push(rule),
            "-" => sorted.deny.push(rule),
            other => panic!("{other} is not a kind of rule"),
        }
    }
    Policy {
        mode,
        rules: sorted,
        directories: vec!["/w/repo".into(), "/w/more".into()],
        can_ask: true,
        ..Policy::default()
    }
}

pub(crate) fn call(tool: &str, input: &Value) -> ToolCall {
    ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from(tool),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    }
}

pub(crate) fn inspection(class: EffectClass) -> ToolInspection {
    ToolInspection { class, ..ToolInspection::SHARED_READ }
}

/// What comes of it, and the words it comes with.
pub(crate) fn rule_on(
    policy: &Policy,
    tool: &str,
    input: &Value,
    prior: PriorDecision,
) -> (Outcome, String) {
    judge(tool, input, |call, inspection| decide(policy, call, inspection, prior))
}

/// The same with files.
pub(crate) fn rule_with_files(
    policy: &Policy,
    tool: &str,
    input: &Value,
    files: &dyn FileSystemView,
) -> (Outcome, String) {
    judge(tool, input, |call, inspection| {
        decide_with_file_system(policy, call, inspection, PriorDecision::None, files)
    })
}

fn judge(
    tool: &str,
    input: &Value,
    decide: impl FnOnce(ToolCall, &ToolInspection) -> PermissionDecision,
) -> (Outcome, String) {
    let class = match tool {
        "Read" | "Glob" | "Grep" | "TodoWrite" | "WebFetch" | "mcp__s__read" => EffectClass::Pure,
        _ => EffectClass::Effect,
    };
    match decide(call(tool, input), &inspection(class)) {
        PermissionDecision::Allow(granted) => {
            assert_eq!(granted.get(), &call(tool, input));
            (Allow, String::new())
        }
        PermissionDecision::Ask(question) => {
            let view = question.view();
            (Ask, format!("{} {:?}", view.why, view.suggestions))
        }
        PermissionDecision::Deny { call: back, why } => {
            assert_eq!(back, call(tool, input));
            (Deny, why)
        }
    }
}

/// Judges a shell command in default mode.
pub(crate) fn bash(rules: &[&str], command: &str) -> (Outcome, String) {
    rule_on(
        &policy(PermissionMode::Default, rules),
        "Bash",
        &json!({ "command": command }),
        PriorDecision::None,
    )
}
