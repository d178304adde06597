//! What is read of a configuration, which hooks are meant, and what is said of mistakes.

use serde_json::{Value, json};
use windlass_hook::{
    HookCallback, HookCallbackFuture, HookEvent, HookInvocation, HookSet, HookSource,
};
use windlass_vocabulary::HookVerdict::{Ask, Block, Pass};

use crate::test_bed::{HookTestBed, command_hook};

fn names(set: &HookSet, event: HookEvent, target: &str) -> usize {
    let chosen = set.select(event, Some(target), |rule| rule == "Bash(git *)");
    if chosen.is_empty() { 0 } else { format!("{chosen:?}").matches("matcher_text:").count() }
}

#[test]
fn layers_add_up_and_the_same_hook_runs_once() {
    let one = json!({ "PreToolUse": [
        { "matcher": "Bash|Edit", "hooks": [command_hook("a"), command_hook("b")] },
        { "matcher": "Read", "hooks": [command_hook("c")] },
    ] });
    let two = json!({ "PreToolUse": [{ "hooks": [command_hook("a"), command_hook("d")] }] });
    let (one, _) = HookSet::parse(&one, &HookSource::new("user"));
    let (two, _) = HookSet::parse(&two, &HookSource::new("project"));
    let set = one.join(two);
    assert_eq!(set.list().len(), 5);
    assert_eq!(names(&set, HookEvent::PreToolUse, "Bash"), 3);
    assert_eq!(names(&set, HookEvent::PreToolUse, "Read"), 3);
    assert_eq!(names(&set, HookEvent::PreToolUse, "Glob"), 2);
    assert_eq!(names(&set, HookEvent::PostToolUse, "Bash"), 0);
    assert!(set.has_event(HookEvent::PreToolUse) && !set.has_event(HookEvent::Stop));
}

#[test]
fn a_rule_must_speak_of_the_call() {
    let hook = |rule: &str| json!({ "type": "command", "command": rule, "if": rule });
    let hooks = json!([{ "hooks": [hook("Bash(git *)"), hook("Bash(rm *)")] }]);
    let value = json!({ "PreToolUse": hooks, "PostToolUse": hooks, "Stop": hooks });
    let (set, problems) = HookSet::parse(&value, &HookSource::new("x"));
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(names(&set, HookEvent::PreToolUse, "Bash"), 1);
    assert_eq!(names(&set, HookEvent::PostToolUse, "Bash"), 1);
    assert_eq!(names(&set, HookEvent::Stop, ""), 0, "no call, no rule: it never runs");
}

#[test]
fn a_mistake_costs_one_line_and_nothing_else() {
    let good = json!({ "type": "command", "command": "good" });
    let mistakes: &[(Value, &str)] = &[
        (json!({ "type": "command" }), "`command` is missing"),
        (json!({ "type": "command", "command": 3 }), "`command` must be text"),
        (json!({ "type": "command", "command": "x", "timeout": "1" }), "`timeout`"),
        (json!({ "type": "command", "command": "x", "timeout": -1 }), "`timeout`"),
        (json!({ "type": "command", "command": "x", "args": [1] }), "`args`"),
        (json!({ "type": "command", "command": "x", "shell": "fish" }), "`shell`"),
        (json!({ "type": "command", "command": "x", "onFailure": "ask" }), "`onFailure`"),
        (json!({ "type": "http" }), "`url` is missing"),
        (json!({ "type": "http", "url": "u", "headers": { "a": 1 } }), "`headers`"),
        (json!({ "type": "mcp_tool", "server": "s" }), "`tool` is missing"),
        (json!({ "type": "prompt" }), "`prompt` is missing"),
        (json!({ "type": "magic" }), "no hook of type `magic`"),
        (json!({ "command": "x" }), "`type` is missing"),
        (json!("x"), "must be an object"),
    ];
    for (mistake, words) in mistakes {
        let value = json!({ "PreToolUse": [{ "hooks": [mistake, good] }] });
        let (set, problems) = HookSet::parse(&value, &HookSource::new("settings.json"));
        let place = "settings.json: hooks.PreToolUse[0].hooks[0]: ";
        assert!(problems.len() == 1 && problems[0].starts_with(place), "{problems:?}");
        assert!(problems[0].contains(words), "{problems:?}");
        assert_eq!(names(&set, HookEvent::PreToolUse, "Bash"), 1, "{mistake}");
    }
    let group = json!([{ "hooks": [good] }]);
    for (name, value) in [("NoSuchEvent", group.clone()), ("Stop", json!({})), ("Stop", json!([3]))]
    {
        let value = json!({ (name): value, "PreToolUse": group });
        let (set, problems) = HookSet::parse(&value, &HookSource::new("x"));
        assert_eq!((problems.len(), set.list().len()), (1, 1), "{value}");
    }
    for value in [json!([]), json!("x"), json!(1)] {
        assert_eq!(HookSet::parse(&value, &HookSource::new("x")).1.len(), 1);
    }
    assert!(HookSet::parse(&Value::Null, &HookSource::new("x")).1.is_empty());
}

#[test]
fn a_guard_whose_matcher_cannot_be_read_guards_everything() {
    let value = json!({
        "PreToolUse": [{ "matcher": "Ba(sh", "hooks": [command_hook("a")] }],
        "PostToolUse": [{ "matcher": "Ba(sh", "hooks": [command_hook("b")] }],
    });
    let (set, problems) = HookSet::parse(&value, &HookSource::new("x"));
    assert_eq!(problems.len(), 2);
    assert_eq!(names(&set, HookEvent::PreToolUse, "Read"), 1);
    assert_eq!(names(&set, HookEvent::PostToolUse, "Read"), 0);
}

#[tokio::test]
async fn a_hook_that_runs_once_runs_once() {
    let stage = HookTestBed::new();
    let hook = json!({ "type": "command", "command": "echo x >> runs", "once": true });
    let set = crate::test_bed::build_hook_set(HookEvent::PreToolUse, &[hook]);
    for _ in 0..3 {
        let chosen = set.clone().select(HookEvent::PreToolUse, Some("Bash"), |_| true);
        chosen.run(HookInvocation::default(), &stage.environment).await;
    }
    assert_eq!(std::fs::read_to_string(stage.path().join("runs")).unwrap(), "x\n");
}

/// A client that is called back.
#[derive(Debug)]
struct Client;

impl HookCallback for Client {
    fn call<'a>(
        &'a self,
        id: &'a str,
        input: &'a Value,
        call: Option<&'a str>,
    ) -> HookCallbackFuture<'a> {
        Box::pin(async move {
            match id {
                "deny" => Ok(json!({
                    "decision": "block",
                    "reason": format!("{} {}", input["tool_name"], call.unwrap_or_default()),
                })),
                "hang" => std::future::pending().await,
                "panic" => panic!("a callback broke"),
                "fail" => Err("the client is gone".to_owned()),
                _ => Ok(json!({})),
            }
        })
    }
}

#[tokio::test]
async fn callbacks_are_asked_like_programs() {
    let stage = HookTestBed::new();
    let ask = async |event: HookEvent, id: &str, more: Value| {
        let mut group = json!({ "matcher": null, "hookCallbackIds": [id], "timeout": 0.2 });
        group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let value = json!({ (event.name()): [group] });
        let (set, problems) = HookSet::parse_callbacks(&value, std::sync::Arc::new(Client));
        assert_eq!(problems, Vec::<String>::new());
        let occasion = HookInvocation {
            input: json!({ "tool_name": "Bash" }),
            tool_use_id: Some("call-1".to_owned()),
            ..HookInvocation::default()
        };
        set.select(event, Some("Bash"), |_| true).run(occasion, &stage.environment).await
    };
    let pre = HookEvent::PreToolUse;
    assert_eq!(ask(pre, "none", json!({})).await.verdict, Pass);
    let joint = ask(pre, "deny", json!({ "timeout": 60 })).await;
    assert_eq!(joint.verdict, Block("\"Bash\" call-1".to_owned()));
    assert!(
        matches!(ask(pre, "hang", json!({})).await.verdict, Block(_)),
        "a late callback blocks"
    );
    let joint = ask(HookEvent::UserPromptSubmit, "hang", json!({})).await;
    assert!(matches!(joint.verdict, Block(_)), "here too");
    assert_eq!(ask(HookEvent::Stop, "hang", json!({})).await.verdict, Pass);
    let joint = ask(pre, "hang", json!({ "onFailure": "continue" })).await;
    assert_eq!(joint.verdict, Pass);
    for id in ["fail", "panic"] {
        let joint = ask(pre, id, json!({ "timeout": 60 })).await;
        assert!(matches!(joint.verdict, Ask(_)), "{id}: {joint:?}");
        let joint = ask(pre, id, json!({ "onFailure": "block", "timeout": 60 })).await;
        assert!(matches!(joint.verdict, Block(_)), "{id}");
    }
}
