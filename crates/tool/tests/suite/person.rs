//! Plan mode and questions to a person.

use serde_json::{Value, json};
use windlass_permission::Policy;
use windlass_tool::{CallLimits, ToolCallContext};
use windlass_vocabulary::{Concurrency, EffectClass, PermissionMode, ToolOutcome};

use crate::test_project::{TestProject, structured, text};

fn in_mode(project: &TestProject, mode: PermissionMode, can_ask: bool) -> ToolCallContext {
    let policy = Policy { mode, can_ask, ..Policy::default() };
    ToolCallContext {
        call_limits: CallLimits { policy, allowance: None },
        ..project.call_context()
    }
}

fn turned(outcome: &ToolOutcome) -> Option<PermissionMode> {
    outcome.update.as_ref().and_then(|update| update.mode)
}

#[tokio::test]
async fn plan_mode_is_entered_where_somebody_can_end_it() {
    let project = TestProject::new();
    for (mode, can_ask, expected, words) in [
        (PermissionMode::Default, true, Some(PermissionMode::Plan), "Plan mode is on: nothing"),
        (PermissionMode::AcceptEdits, true, Some(PermissionMode::Plan), "Plan mode is on: nothing"),
        (
            PermissionMode::BypassPermissions,
            true,
            Some(PermissionMode::Plan),
            "Plan mode is on: nothing",
        ),
        (PermissionMode::Plan, true, None, "on already"),
        (PermissionMode::Plan, false, None, "on already"),
        (PermissionMode::BypassPermissions, false, None, "Nobody can approve a plan here"),
    ] {
        let call = in_mode(&project, mode, can_ask);
        let outcome = project.call_in("EnterPlanMode", json!({}), call).await;
        assert_eq!(turned(&outcome), expected, "{mode:?}");
        assert!(text(&outcome).contains(words), "{mode:?}: {}", text(&outcome));
        assert_eq!(outcome.is_error, words.starts_with("Nobody"));
    }
}

#[tokio::test]
async fn an_approved_plan_ends_plan_mode_and_no_other() {
    let project = TestProject::new();
    let plan = json!({"plan": "1. dig\n2. fill"});
    for (mode, expected, words) in [
        (PermissionMode::Plan, Some(PermissionMode::Default), "The plan was approved"),
        (PermissionMode::AcceptEdits, None, "The plan was approved"),
        (PermissionMode::BypassPermissions, None, "Plan mode was not on"),
    ] {
        let call = in_mode(&project, mode, true);
        let outcome = project.call_in("ExitPlanMode", plan.clone(), call).await;
        assert_eq!((turned(&outcome), outcome.is_error), (expected, false), "{mode:?}");
        assert!(text(&outcome).starts_with(words), "{mode:?}: {}", text(&outcome));
        assert_eq!(structured(&outcome), plan);
    }
    // Plan mode forbids what is not pure, and nothing may run beside a change of mode.
    for (tool, input) in [("EnterPlanMode", json!({})), ("ExitPlanMode", plan)] {
        let seen = project.inspect(tool, &input);
        assert_eq!(seen.problem, None);
        assert_eq!((seen.class, seen.concurrency), (EffectClass::Pure, Concurrency::Exclusive));
    }
    for (input, why) in [
        (json!({}), "missing field `plan`"),
        (json!({"plan": " "}), "field `plan`: empty"),
        (json!({"plan": "x".repeat(50_001)}), "field `plan`: more than 50000"),
    ] {
        assert!(project.inspect("ExitPlanMode", &input).problem.unwrap().contains(why));
    }
}

fn question(text: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({"label": label, "description": "so"})).collect();
    json!({"question": text, "header": "H", "options": options, "multiSelect": false})
}

#[tokio::test]
async fn answers_come_back_in_words_and_in_structure() {
    let project = TestProject::new();
    let questions = json!([
        question("Which colour?", &["red", "blue"]),
        question("Which parts?", &["hull", "mast", "sail"]),
        question("When?", &["now", "later"]),
    ]);
    let answers = json!({
        "Which colour?": "a shade of green",
        "Which parts?": ["hull", "sail"],
        "Never asked?": "no",
        "When?": " ",
    });
    let input = json!({"questions": questions, "answers": answers});
    assert_eq!(project.inspect("AskUserQuestion", &input).problem, None);
    let outcome = project.call("AskUserQuestion", input).await;
    assert_eq!(
        text(&outcome),
        "Which colour?\n→ a shade of green\n\nWhich parts?\n→ hull, sail\n\nWhen?\n(not answered)"
    );
    let expected = json!({
        "questions": questions,
        "answers": {"Which colour?": "a shade of green", "Which parts?": "hull, sail"},
    });
    assert_eq!(structured(&outcome), expected);
    for answers in [json!(null), json!({}), json!({"Other?": "x"}), json!({"When?": []})] {
        let input = json!({"questions": questions, "answers": answers});
        let outcome = project.call("AskUserQuestion", input).await;
        assert!(outcome.is_error && text(&outcome).contains("Nobody answered"), "{answers}");
    }
}

#[test]
fn questions_are_few_and_can_be_told_apart() {
    let project = TestProject::new();
    let one = || question("Which?", &["a", "b"]);
    let cases = [
        (json!([]), "must be 1 to 4"),
        (json!(["1?", "2?", "3?", "4?", "5?"].map(|q| question(q, &["a", "b"]))), "must be 1 to 4"),
        (json!([one(), one()]), "the same question twice"),
        (json!([question(" ", &["a", "b"])]), "is empty"),
        (json!([question("Which?", &["a"])]), "options must be 2 to 4"),
        (json!([question("Which?", &["a", "b", "c", "d", "e"])]), "options must be 2 to 4"),
        (json!([question("Which?", &["a", "a"])]), "labels must be given and differ"),
        (json!([question("Which?", &["a", ""])]), "labels must be given and differ"),
        (json!([{"question": "Which?", "header": "H"}]), "missing field `options`"),
        (json!("Which?"), "field `questions`"),
    ];
    for (questions, why) in cases {
        let input = json!({"questions": questions});
        let problem = project.inspect("AskUserQuestion", &input).problem.unwrap();
        assert!(problem.contains(why), "{input}: {problem}");
    }
    let found = project.registry.get("AskUserQuestion").unwrap().spec().clone();
    assert!(
        !found.input_schema.as_str().contains("\"answers\""),
        "the model does not answer itself"
    );
    assert!(found.input_schema.as_str().contains("multiSelect"));
}
