//! What the JSON of a hook means, and what several hooks mean together.

use serde_json::{Value, json};
use windlass_hook::{HookEvent, PermissionRequestAnswer};
use windlass_vocabulary::HookVerdict::{Allow, Ask, Block, Defer, Halt, Pass};

use crate::test_bed::{HookTestBed, command_hook};

fn says(value: &Value) -> Value {
    says_and(value, 0)
}

fn says_and(value: &Value, code: i32) -> Value {
    command_hook(&format!("cat >/dev/null; printf '%s' '{value}'; echo complaint >&2; exit {code}"))
}

fn pre(fields: &Value) -> Value {
    let mut specific = json!({ "hookEventName": "PreToolUse" });
    specific.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({ "hookSpecificOutput": specific })
}

#[tokio::test]
async fn decisions_before_a_tool() {
    let stage = HookTestBed::new();
    let why = "because".to_owned();
    let decide = |decision: &str| {
        pre(&json!({ "permissionDecision": decision, "permissionDecisionReason": "because" }))
    };
    #[rustfmt::skip]
    let table = [
        (json!({}), Pass),
        (decide("allow"), Allow), (decide("deny"), Block(why.clone())),
        (decide("ask"), Ask(why.clone())), (decide("defer"), Defer(why.clone())),
        (json!({ "decision": "approve" }), Allow),
        (json!({ "decision": "block", "reason": "because" }), Block(why.clone())),
        (json!({ "continue": false, "stopReason": "because" }), Halt(why.clone())),
        (json!({ "continue": true, "suppressOutput": true, "unknownField": [1] }), Pass),
    ];
    for (value, expected) in table {
        let joint = stage.run(HookEvent::PreToolUse, &[says(&value)]).await;
        assert_eq!(joint.verdict, expected, "{value}");
        assert!(joint.warnings.is_empty(), "{joint:?}");
    }
    // `continue: false` beats a decision in the same answer.
    let mut both = decide("allow");
    both["continue"] = false.into();
    both["stopReason"] = "enough".into();
    let joint = stage.run(HookEvent::PreToolUse, &[says(&both)]).await;
    assert_eq!(joint.verdict, Halt("enough".to_owned()));
    // Exit code 2 beats an allow, and takes the reason of the JSON if there is one.
    let joint = stage.run(HookEvent::PreToolUse, &[says_and(&decide("allow"), 2)]).await;
    assert_eq!(joint.verdict, Block(why.clone()));
    let joint = stage.run(HookEvent::PreToolUse, &[says_and(&json!({}), 2)]).await;
    assert_eq!(joint.verdict, Block("complaint".to_owned()));
    // A hook that breaks is never a yes; its no counts.
    let joint = stage.run(HookEvent::PreToolUse, &[says_and(&decide("allow"), 1)]).await;
    assert!(matches!(&joint.verdict, Ask(words) if words.contains("exit code 1")), "{joint:?}");
    let joint = stage.run(HookEvent::PreToolUse, &[says_and(&decide("deny"), 1)]).await;
    assert_eq!(joint.verdict, Block(why));
}

#[tokio::test]
async fn nonsense_is_ignored_with_a_warning_and_is_never_a_yes() {
    let stage = HookTestBed::new();
    let texts = [
        "{",
        "{\"decision\": \"perhaps\"}",
        "{\"continue\": \"no\"}",
        "{\"systemMessage\": 3}",
        "{\"hookSpecificOutput\": {\"permissionDecision\": \"allow\"}}",
        "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"permissionDecision\": \"allow\"}}",
        "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"yes\"}}",
        "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"updatedInput\": 4, \"permissionDecision\": \"allow\"}}",
        "{\"hookSpecificOutput\": [], \"decision\": \"approve\"}",
    ];
    for text in texts {
        let hook = command_hook(&format!("printf '%s' '{text}'"));
        let joint = stage.run(HookEvent::PreToolUse, std::slice::from_ref(&hook)).await;
        assert!(matches!(joint.verdict, Ask(_)), "{text}: {joint:?}");
        assert_eq!((joint.warnings.len(), joint.updated_input), (1, None), "{text}");
        let joint = stage.run(HookEvent::PostToolUse, &[hook]).await;
        assert_eq!((joint.verdict, joint.warnings.len()), (Pass, 1), "{text}");
        let blocking = command_hook(&format!("printf '%s' '{text}'; echo no >&2; exit 2"));
        let joint = stage.run(HookEvent::PreToolUse, &[blocking]).await;
        assert_eq!(joint.verdict, Block("no".to_owned()), "exit code 2 still blocks: {text}");
    }
}

#[tokio::test]
async fn several_answers_combine() {
    let stage = HookTestBed::new();
    let decide = |decision: &str| {
        says(&pre(&json!({ "permissionDecision": decision, "permissionDecisionReason": decision })))
    };
    let halt = says(&json!({ "continue": false, "stopReason": "halt" }));
    let table = [
        (vec![decide("allow"), decide("ask")], Ask("ask".to_owned())),
        (vec![decide("ask"), decide("allow"), decide("deny")], Block("deny".to_owned())),
        (vec![decide("ask"), decide("defer"), decide("allow")], Defer("defer".to_owned())),
        (vec![decide("defer"), decide("deny"), decide("ask")], Block("deny".to_owned())),
        (vec![decide("deny"), halt, decide("allow")], Halt("halt".to_owned())),
        (vec![decide("allow"), says(&json!({}))], Allow),
    ];
    for (hooks, expected) in table {
        assert_eq!(stage.run(HookEvent::PreToolUse, &hooks).await.verdict, expected);
    }
    let reason = |words: &str| says(&json!({ "decision": "block", "reason": words }));
    let joint = stage.run(HookEvent::Stop, &[reason("one"), reason("two")]).await;
    assert_eq!(joint.verdict, Block("one\ntwo".to_owned()));
}

#[tokio::test]
async fn fields_arrive_where_they_belong() {
    let stage = HookTestBed::new();
    let context = |event: HookEvent| {
        let specific = json!({ "hookEventName": event.name(), "additionalContext": "know this" });
        says(&json!({ "hookSpecificOutput": specific, "systemMessage": "for people" }))
    };
    for event in HookEvent::ALL.iter().copied().filter(|event| event.is_supported()) {
        let mut hook = context(event);
        hook["timeout"] = 60.into();
        let joint = stage.run(event, &[hook]).await;
        assert_eq!(joint.messages, ["for people"], "{event:?}");
        match event {
            // Feedback at the end sends the model back.
            HookEvent::Stop | HookEvent::SubagentStop => {
                assert_eq!(joint.verdict, Block("know this".to_owned()));
            }
            _ => assert_eq!((joint.verdict, joint.context), (Pass, vec!["know this".to_owned()])),
        }
    }
    let updated = says(&pre(&json!({ "updatedInput": { "command": "ls" } })));
    let joint = stage.run(HookEvent::PreToolUse, &[updated]).await;
    assert_eq!(joint.updated_input, Some(json!({ "command": "ls" })));
    let specific = json!({ "hookEventName": "PostToolUse", "updatedToolOutput": "cleaned" });
    let joint = stage
        .run(HookEvent::PostToolUse, &[says(&json!({ "hookSpecificOutput": specific }))])
        .await;
    assert_eq!(joint.updated_output, Some(json!("cleaned")));
}

#[tokio::test]
async fn a_hook_answers_a_permission_question() {
    let stage = HookTestBed::new();
    let decide = |decision: Value| {
        let specific = json!({ "hookEventName": "PermissionRequest", "decision": decision });
        says(&json!({ "hookSpecificOutput": specific }))
    };
    let rules = json!([
        { "type": "addRules", "behavior": "allow", "destination": "session",
          "rules": [{ "toolName": "Bash", "ruleContent": "ls:*" }, { "toolName": "Read" }] },
        { "type": "setMode", "mode": "bypassPermissions" },
    ]);
    let yes = decide(
        json!({ "behavior": "allow", "updatedInput": { "a": 1 }, "updatedPermissions": rules }),
    );
    let no = decide(json!({ "behavior": "deny", "message": "not now", "interrupt": true }));
    let joint = stage.run(HookEvent::PermissionRequest, std::slice::from_ref(&yes)).await;
    let remember = vec!["Bash(ls:*)".to_owned(), "Read".to_owned()];
    let updated_input = Some(json!({ "a": 1 }));
    assert_eq!(
        joint.permission_answer,
        Some(PermissionRequestAnswer::Allow { updated_input, remember })
    );
    let denied = PermissionRequestAnswer::Deny { message: "not now".to_owned(), interrupt: true };
    for hooks in [[yes.clone(), no.clone()], [no, yes]] {
        let joint = stage.run(HookEvent::PermissionRequest, &hooks).await;
        assert_eq!(joint.permission_answer, Some(denied.clone()));
    }
    let broken = decide(json!({ "behavior": "perhaps" }));
    let joint = stage.run(HookEvent::PermissionRequest, &[broken]).await;
    assert_eq!((joint.permission_answer, joint.warnings.len()), (None, 1));
}

#[tokio::test]
async fn long_words_are_cut_and_kept_in_a_file() {
    let stage = HookTestBed::new();
    let line = "cat >/dev/null; head -c 40000 /dev/zero | tr '\\0' x";
    let joint = stage.run(HookEvent::SessionStart, &[command_hook(line)]).await;
    let text = &joint.context[0];
    assert!(text.chars().count() < 10_000 && text.contains("40000 characters"), "{text}");
    let file = text.rsplit_once(" in ").unwrap().1.trim_end_matches(']');
    assert_eq!(std::fs::read_to_string(file).unwrap(), "x".repeat(40_000));
    let line = "cat >/dev/null; head -c 10000 /dev/zero | tr '\\0' x";
    let joint = stage.run(HookEvent::SessionStart, &[command_hook(line)]).await;
    assert_eq!(joint.context[0], "x".repeat(10_000));
}
