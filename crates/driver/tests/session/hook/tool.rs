//! Hooks before, after and around tools, and in place of the user.

use serde_json::json;
use windlass_permission::Rule;
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{
    HookNotice, HookOutcome, Notice, PermissionAnswer, PermissionMode, Terminal,
};

use super::{all, at, bash, last, log, logged, play, says};
use crate::fixture::{FixtureOptions, assert_completed, assert_ended, warnings};

#[tokio::test]
async fn a_no_before_a_tool_keeps_it_from_running_and_is_told() {
    let hook = logged("echo 'not in this house' >&2; exit 2");
    let answers = vec![bash("touch ran"), Says::text("sorry")];
    let mut fixture = play(FixtureOptions::default(), at("PreToolUse", &hook), answers).await;
    let (ending, received) = fixture.run("do it").await;
    assert_completed(&ending);
    assert!(!fixture.directory.path().join("ran").exists());
    assert!(last(&fixture).contains("not in this house"));
    let hook_input = &log(fixture.directory.path())[0];
    let directory = fixture.directory.path().to_str().unwrap();
    for (name, expected) in [
        ("session_id", json!("the-session")),
        ("hook_event_name", json!("PreToolUse")),
        ("permission_mode", json!("bypassPermissions")),
        ("tool_name", json!("Bash")),
        ("tool_input", json!({ "command": "touch ran" })),
        ("cwd", json!(directory)),
    ] {
        assert_eq!(hook_input[name], expected, "{hook_input}");
    }
    assert!(
        hook_input["tool_use_id"].is_string()
            && hook_input["prompt_id"].as_str().unwrap().len() == 36
    );
    assert!(hook_input.get("agent_id").is_none());
    let hooks: Vec<&HookNotice> = received
        .iter()
        .filter_map(|notice| match notice {
            Notice::Hook(hook) => Some(hook),
            _ => None,
        })
        .collect();
    let [
        HookNotice::Started { number: begun, name, .. },
        HookNotice::Ended { number, exit_code, outcome, stderr, .. },
    ] = hooks[..]
    else {
        panic!("{hooks:?}");
    };
    assert_eq!((begun, name.as_str()), (number, "PreToolUse:Bash"));
    assert_eq!((*exit_code, *outcome), (Some(2), HookOutcome::Success));
    assert_eq!(stderr, "not in this house\n");
}

#[tokio::test]
async fn a_changed_input_runs_and_deny_rules_still_hold() {
    let rewrite = |command: &str| {
        says(&json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "allow",
            "updatedInput": { "command": command },
        } }))
    };
    for (command, runs) in [("touch allowed", true), ("touch ./forbidden", false)] {
        let mut options = FixtureOptions::default();
        options.settings.policy.mode = PermissionMode::Default;
        options.settings.policy.rules.deny = vec![Rule::parse("Bash(touch ./forbidden)").unwrap()];
        let answers = vec![bash("touch original"), Says::text("done")];
        let mut fixture = play(options, at("PreToolUse", &rewrite(command)), answers).await;
        assert_completed(&fixture.run("do it").await.0);
        let path = fixture.directory.path();
        assert!(!path.join("original").exists());
        assert_eq!(path.join("allowed").exists(), runs, "a hook's yes needs no question");
        assert!(!path.join("forbidden").exists());
        assert_eq!(last(&fixture).contains("Bash(touch ./forbidden)"), !runs);
    }
    // An input the tool cannot take never runs.
    let broken = says(&json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": { "x": 1 },
    } }));
    let answers = vec![bash("touch original"), Says::text("done")];
    let mut fixture = play(FixtureOptions::default(), at("PreToolUse", &broken), answers).await;
    assert_completed(&fixture.run("do it").await.0);
    assert!(last(&fixture).contains("command"), "{}", last(&fixture));
}

#[tokio::test]
async fn a_guard_that_breaks_is_a_question_and_unattended_a_no() {
    for (can_ask, answer, runs) in [
        (false, None, false),
        (true, Some(PermissionAnswer::Allow { updated_input: None, remember: Vec::new() }), true),
    ] {
        let options = FixtureOptions::default().with(|settings| {
            settings.policy.mode = PermissionMode::BypassPermissions;
            settings.policy.can_ask = can_ask;
        });
        let answers = vec![bash("touch ran"), Says::text("done")];
        let mut fixture = play(options, at("PreToolUse", "exit 3"), answers).await;
        fixture.session.submit("do it").unwrap();
        if let Some(answer) = answer {
            let received =
                fixture.until(|notice| matches!(notice, Notice::PermissionAsked { .. })).await;
            let Some(Notice::PermissionAsked { ticket, question }) = received.last() else {
                panic!()
            };
            assert!(question.why.contains("exit code 3"), "{question:?}");
            assert!(warnings(&received).iter().any(|words| words.contains("exit code 3")));
            fixture.session.answer(*ticket, answer).unwrap();
        }
        assert_completed(&fixture.ending().await.0);
        assert_eq!(fixture.directory.path().join("ran").exists(), runs);
    }
}

#[tokio::test]
async fn words_after_a_tool_go_to_the_model() {
    let feedback = logged("echo 'tidy up' >&2; exit 2");
    let replaced = says(&json!({ "hookSpecificOutput": {
        "hookEventName": "PostToolUse", "updatedToolOutput": "[hidden]", "additionalContext": "mind the gap",
    } }));
    let batch = logged(
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolBatch\",\"additionalContext\":\"both are in\"}}'",
    );
    let hooks = all([
        json!({ "PostToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": feedback }] },
            { "matcher": "Read", "hooks": [{ "type": "command", "command": replaced }] },
        ] }),
        at("PostToolUseFailure", &logged("echo 'look twice' >&2; exit 2")),
        at("PostToolBatch", &batch),
    ]);
    let options = FixtureOptions::default();
    let file = options.directory.path().join("secret");
    std::fs::write(&file, "the secret\n").unwrap();
    let answers = vec![
        bash("echo out").tool("Read", json!({ "file_path": file })),
        Says::call("Read", json!({ "file_path": "/nowhere" })),
        Says::text("done"),
    ];
    let mut fixture = play(options, hooks, answers).await;
    assert_completed(&fixture.run("do it").await.0);
    let request = last(&fixture);
    for words in ["tidy up", "[hidden]", "mind the gap", "both are in", "look twice"] {
        assert!(request.contains(words), "{words}: {request}");
    }
    assert!(!request.contains("the secret"), "{request}");
    let log = log(fixture.directory.path());
    let by = |event: &str| {
        log.iter().filter(|hook_input| hook_input["hook_event_name"] == event).collect::<Vec<_>>()
    };
    let post = by("PostToolUse")[0];
    assert!(post["tool_response"]["stdout"].as_str().unwrap().contains("out"), "{post}");
    assert!(post["duration_ms"].is_u64() && post["tool_use_id"].is_string());
    let failure = by("PostToolUseFailure")[0];
    assert!(failure["error"].is_string() && failure["is_interrupt"] == false, "{failure}");
    let batch = by("PostToolBatch");
    assert_eq!(batch.len(), 2);
    assert_eq!(batch[0]["tool_calls"].as_array().unwrap().len(), 2);
    assert_eq!(batch[0]["tool_calls"][1]["tool_response"], "[hidden]", "what the model sees");
}

#[tokio::test]
async fn a_hook_can_end_the_run_after_a_batch_or_at_any_tool() {
    let halt = says(&json!({ "continue": false, "stopReason": "office hours are over" }));
    for event in ["PreToolUse", "PostToolUse", "PostToolBatch"] {
        let answers = vec![bash("touch ran"), Says::text("never asked")];
        let mut fixture = play(FixtureOptions::default(), at(event, &halt), answers).await;
        let (ending, _) = fixture.run("do it").await;
        assert_ended(&ending, Terminal::HookStopped);
        assert!(ending.why.contains("office hours are over"), "{ending:?}");
        assert_eq!(fixture.rehearsal.requests().len(), 1);
        assert_eq!(fixture.directory.path().join("ran").exists(), event != "PreToolUse");
    }
}

#[tokio::test]
async fn a_rule_and_a_matcher_choose_the_calls() {
    let hook = |rule: &str| json!({ "type": "command", "command": logged("true"), "if": rule, "timeout": 60 });
    let hooks = json!({ "PreToolUse": [
        { "matcher": "Bash", "hooks": [hook("Bash(git *)")] },
        { "matcher": "^(?!Bash).*", "hooks": [{ "type": "command", "command": "echo x >> others" }] },
    ] });
    let answers = vec![
        bash("echo no git here"),
        bash("cd . && git --version"),
        bash("echo $(git --version)"),
        bash("echo \"unfinished"),
        Says::call("Glob", json!({ "pattern": "*" })),
        Says::text("done"),
    ];
    let mut fixture = play(FixtureOptions::default(), hooks, answers).await;
    assert_completed(&fixture.run("do it").await.0);
    let log = log(fixture.directory.path());
    let commands: Vec<&str> = log
        .iter()
        .map(|hook_input| hook_input["tool_input"]["command"].as_str().unwrap())
        .collect();
    let expected = ["cd . && git --version", "echo $(git --version)", "echo \"unfinished"];
    assert_eq!(commands, expected, "parts count, and what cannot be read counts");
    assert_eq!(std::fs::read_to_string(fixture.directory.path().join("others")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_hook_answers_in_the_place_of_a_person() {
    let decide = |decision: serde_json::Value| {
        let output = json!({ "hookSpecificOutput": {
            "hookEventName": "PermissionRequest", "decision": decision,
        } });
        logged(&format!("printf '%s' '{output}'"))
    };
    let table = [
        (json!({ "behavior": "allow" }), true, Terminal::Completed),
        (json!({ "behavior": "deny", "message": "not today" }), false, Terminal::Completed),
        (json!({ "behavior": "deny", "interrupt": true }), false, Terminal::AbortedTools),
    ];
    for (decision, runs, terminal) in table {
        let options = FixtureOptions::default().with(|settings| {
            settings.policy.mode = PermissionMode::Default;
            settings.policy.can_ask = true;
        });
        let answers = vec![bash("touch ran"), Says::text("done")];
        let hooks = all([
            at("PermissionRequest", &decide(decision.clone())),
            at("Notification", &logged("true")),
        ]);
        let mut fixture = play(options, hooks, answers).await;
        let (ending, received) = fixture.run("do it").await;
        assert_ended(&ending, terminal);
        assert!(!received.iter().any(|notice| matches!(notice, Notice::PermissionAsked { .. })));
        assert_eq!(fixture.directory.path().join("ran").exists(), runs, "{decision}");
        let log = log(fixture.directory.path());
        assert_eq!(log.len(), 1, "nobody was asked, so nobody was called: {log:?}");
        assert_eq!(log[0]["tool_input"]["command"], "touch ran");
        assert!(log[0].get("tool_use_id").is_none() && log[0]["permission_suggestions"].is_array());
    }
}

#[tokio::test]
async fn where_no_hook_answers_a_person_is_asked_and_called() {
    let options = FixtureOptions::default().with(|settings| {
        settings.policy.mode = PermissionMode::Default;
        settings.policy.can_ask = true;
    });
    let hooks =
        all([at("PermissionRequest", "exit 1"), at("Notification", &logged("mv log called"))]);
    let answers = vec![bash("touch ran"), Says::text("done")];
    let mut fixture = play(options, hooks, answers).await;
    fixture.session.submit("do it").unwrap();
    let received = fixture.until(|notice| matches!(notice, Notice::PermissionAsked { .. })).await;
    let Some(Notice::PermissionAsked { ticket, .. }) = received.last() else { panic!() };
    fixture
        .until(|notice| {
            matches!(notice, Notice::Hook(HookNotice::Ended { event: "Notification", .. }))
        })
        .await;
    let called = std::fs::read_to_string(fixture.directory.path().join("called")).unwrap();
    assert!(called.contains("\"notification_type\":\"permission_prompt\""), "{called}");
    let yes = PermissionAnswer::Allow { updated_input: None, remember: Vec::new() };
    fixture.session.answer(*ticket, yes).unwrap();
    assert_completed(&fixture.ending().await.0);
    assert!(fixture.directory.path().join("ran").exists());
}
