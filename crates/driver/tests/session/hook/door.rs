//! Hooks at the start of a session and before a prompt goes in.

use serde_json::json;
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{Notice, Terminal};

use super::{all, at, bash, last, log, logged, play, says};
use crate::fixture::{FixtureOptions, assert_completed, assert_ended, warnings};

#[tokio::test]
async fn words_at_the_start_go_with_the_first_prompt_and_variables_to_commands() {
    let start =
        logged("echo 'it is Monday'; echo 'export MAST=\"three masts\"' >> \"$CLAUDE_ENV_FILE\"");
    let answers = vec![bash("echo \"[$MAST]\" > masts"), Says::text("done"), Says::text("again")];
    let mut fixture = play(FixtureOptions::default(), at("SessionStart", &start), answers).await;
    assert_completed(&fixture.run("what day is it?").await.0);
    let first = fixture.rehearsal.requests()[0].body.clone();
    assert!(first.contains("what day is it?") && first.contains("it is Monday"));
    let masts = std::fs::read_to_string(fixture.directory.path().join("masts")).unwrap();
    assert_eq!(masts, "[three masts]\n");
    assert_completed(&fixture.run("and now?").await.0);
    assert_eq!(last(&fixture).matches("it is Monday").count(), 1);
    let log = log(fixture.directory.path());
    assert_eq!(log.len(), 1);
    assert_eq!(
        (&log[0]["source"], &log[0]["model"]),
        (&json!("startup"), &json!("rehearsed-model"))
    );
}

#[tokio::test]
async fn h6_a_start_that_fails_or_is_slow_does_not_keep_the_session_from_starting() {
    let fails = at("SessionStart", "echo 'no luck' >&2; exit 1");
    let mut fixture = play(FixtureOptions::default(), fails, vec![Says::text("hello")]).await;
    let (ending, received) = fixture.run("hi").await;
    assert_completed(&ending);
    assert!(warnings(&received).iter().any(|words| words.contains("no luck")), "{received:?}");
    // Its time is up before it ends; the prompt goes in, and the reason is shown.
    let slow = json!({ "SessionStart": [{ "hooks": [
        { "type": "command", "command": "sleep 1000", "timeout": 0.2 },
    ] }] });
    let mut fixture = play(FixtureOptions::default(), slow, vec![Says::text("hello")]).await;
    let (ending, received) = fixture.run("hi").await;
    assert_completed(&ending);
    assert!(
        warnings(&received).iter().any(|words| words.contains("longer than 0.2 s")),
        "{received:?}"
    );
}

#[tokio::test]
async fn the_session_listens_while_its_start_hangs() {
    let hooks = at("SessionStart", "echo up > up; sleep 1000");
    let mut fixture = play(FixtureOptions::default(), hooks, vec![Says::text("hello")]).await;
    fixture.session.submit("hi").unwrap();
    fixture.session.interrupt(windlass_driver::Interrupt::User).unwrap();
    let (ending, _) = fixture.ending().await;
    assert_ended(&ending, Terminal::AbortedStreaming);
    assert!(fixture.rehearsal.requests().is_empty());
    fixture.session.close().await;
    assert!(fixture.session.is_closed());
}

#[tokio::test]
async fn a_prompt_is_looked_at_and_gets_words_beside_it() {
    let hook = logged("echo 'the tide is out'");
    let answers = vec![Says::text("one"), Says::text("two")];
    let mut fixture = play(FixtureOptions::default(), at("UserPromptSubmit", &hook), answers).await;
    assert_completed(&fixture.run("how deep is it?").await.0);
    let request = last(&fixture);
    assert!(request.contains("how deep is it?") && request.contains("the tide is out"));
    assert_completed(&fixture.run("and now?").await.0);
    assert_eq!(last(&fixture).matches("the tide is out").count(), 2);
    let log = log(fixture.directory.path());
    assert_eq!(log[0]["prompt"], "how deep is it?");
    assert_ne!(log[0]["prompt_id"], log[1]["prompt_id"]);
}

#[tokio::test]
async fn a_refused_prompt_leaves_no_trace_but_an_end_and_a_reason() {
    let hook = "grep -q password && { echo 'no secrets' >&2; exit 2; } || true";
    let answers = vec![Says::text("fine")];
    let mut fixture = play(FixtureOptions::default(), at("UserPromptSubmit", hook), answers).await;
    let (ending, received) = fixture.run("my password is swordfish").await;
    assert_ended(&ending, Terminal::HookStopped);
    assert!(ending.why.contains("no secrets"), "{ending:?}");
    assert!(matches!(
        received.iter().find(|n| !matches!(n, Notice::Hook(_))),
        Some(Notice::Warning(_))
    ));
    assert!(fixture.rehearsal.requests().is_empty());
    assert_completed(&fixture.run("hello").await.0);
    assert!(!last(&fixture).contains("swordfish"));
}

#[tokio::test]
async fn prompts_keep_their_order_at_the_door() {
    // The first is looked at until the others have come.
    let hook =
        "cat > in.$$; grep -q first in.$$ && while [ ! -e go ]; do sleep 0.01; done; rm in.$$";
    let hooks = at("UserPromptSubmit", hook);
    let answers = vec![Says::text("a"), Says::text("b"), Says::text("c")];
    let mut fixture = play(FixtureOptions::default(), hooks, answers).await;
    for prompt in ["first prompt", "second prompt", "third prompt"] {
        fixture.session.submit(prompt).unwrap();
    }
    std::fs::write(fixture.directory.path().join("go"), "").unwrap();
    let mut users = Vec::new();
    while users.len() < 3 {
        let received = fixture.until(|notice| matches!(notice, Notice::MessageAdded(_))).await;
        if let Some(Notice::MessageAdded(message)) = received.last()
            && message.role == windlass_vocabulary::Role::User
        {
            users.push(message.text());
        }
    }
    assert_eq!(users, ["first prompt", "second prompt", "third prompt"]);
}

#[tokio::test]
async fn the_same_hooks_run_inside_sub_agents() {
    let hooks = all([
        at("PreToolUse", &logged("true")),
        at("UserPromptSubmit", &logged("true")),
        at("SessionStart", &logged("true")),
        at(
            "SubagentStart",
            &says(&json!({ "hookSpecificOutput": {
            "hookEventName": "SubagentStart", "additionalContext": "you are below deck",
        } })),
        ),
        at("SubagentStop", &logged("true")),
        at("Stop", &logged("true")),
    ]);
    let answers = vec![
        Says::call("Agent", json!({ "description": "count", "prompt": "count the masts" })),
        bash("echo 3").when("count the masts"),
        Says::text("three masts").when_result("3"),
        Says::text("all is well").when_result("three masts"),
    ];
    let mut fixture = play(FixtureOptions::default(), hooks, answers).await;
    assert_completed(&fixture.run("secret of the parent").await.0);
    let requests = fixture.rehearsal.requests();
    let nested: Vec<_> =
        requests.iter().filter(|request| request.body.contains("you are below deck")).collect();
    assert_eq!(nested.len(), 2, "the agent's requests, and no others");
    assert!(nested.iter().all(|request| !request.body.contains("secret of the parent")));
    let log = log(fixture.directory.path());
    let names: Vec<&str> =
        log.iter().map(|hook_input| hook_input["hook_event_name"].as_str().unwrap()).collect();
    let expected =
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PreToolUse", "SubagentStop", "Stop"];
    assert_eq!(names, expected);
    assert_eq!(log[2]["tool_name"], "Agent");
    assert!(log[2].get("agent_id").is_none());
    for hook_input in [&log[3], &log[4]] {
        assert_eq!(hook_input["agent_type"], "general-purpose", "{hook_input}");
        assert!(hook_input["agent_id"].is_string() && hook_input["session_id"] == "the-session");
    }
    assert_eq!(log[4]["last_assistant_message"], "three masts");
    assert!(log[4]["agent_transcript_path"].is_string());
}
