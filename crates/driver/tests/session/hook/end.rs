//! Hooks when a run or a session ends.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{HookNotice, Notice, Outcome, Terminal, Transition};

use super::{at, bash, last, log, logged, play, says};
use crate::fixture::{FixtureOptions, assert_completed, assert_ended, transitions};

#[tokio::test]
async fn a_stop_hook_sends_the_model_back_until_it_is_content() {
    let hook = logged("[ -e done ] || { echo 'the tests fail' >&2; exit 2; }");
    let answers = vec![Says::text("done"), bash("touch done"), Says::text("now it is")];
    let mut fixture = play(FixtureOptions::default(), at("Stop", &hook), answers).await;
    let (ending, received) = fixture.run("fix it").await;
    assert_completed(&ending);
    assert_eq!(transitions(&received), [Transition::StopHookBlocking, Transition::NextTurn]);
    assert!(last(&fixture).contains("the tests fail"));
    let log = log(fixture.directory.path());
    let active: Vec<bool> =
        log.iter().map(|hook_input| hook_input["stop_hook_active"].as_bool().unwrap()).collect();
    assert_eq!(active, [false, true]);
    assert_eq!(log[1]["last_assistant_message"], "now it is");
}

#[tokio::test]
async fn h4_a_stop_hook_that_never_ends_is_overridden_and_told() {
    // Another reason each time, so that the cap in all is what ends it.
    let hook = logged("wc -l < log >&2; exit 2");
    let answers = vec![Says::text("done").repeat(20)];
    let mut fixture = play(FixtureOptions::default(), at("Stop", &hook), answers).await;
    let (ending, received) = fixture.run("fix it").await;
    assert_ended(&ending, Terminal::StopHookPrevented);
    assert!(ending.why.contains("overridden"), "{ending:?}");
    assert_eq!(transitions(&received).len(), 8);
    fixture.session.close().await;
    let log = log(fixture.directory.path());
    assert_eq!(log.len(), 10);
    let received: Vec<bool> =
        log.iter().map(|hook_input| hook_input["stop_hook_overridden"] == true).collect();
    assert_eq!(
        received.iter().position(|received| *received),
        Some(9),
        "the last time it is told so"
    );
    assert_eq!(log[8]["stop_hook_blocks"], 8);
    assert_eq!(log[8]["stop_hook_blocks_max"], 8);
    // The same reason three times is enough.
    let answers = vec![Says::text("done").repeat(20)];
    let hooks = at("Stop", &logged("echo 'not yet' >&2; exit 2"));
    let mut fixture = play(FixtureOptions::default(), hooks, answers).await;
    let (ending, received) = fixture.run("fix it").await;
    assert_ended(&ending, Terminal::StopHookPrevented);
    assert_eq!(transitions(&received).len(), 3);
    fixture.session.close().await;
    let log = super::log(fixture.directory.path());
    assert_eq!(log.last().unwrap()["stop_hook_overridden"], true);
}

#[tokio::test]
async fn a_stop_hook_can_end_it_at_once() {
    let hook = says(&json!({ "continue": false, "stopReason": "closing time" }));
    let mut fixture =
        play(FixtureOptions::default(), at("Stop", &hook), vec![Says::text("done")]).await;
    let (ending, _) = fixture.run("fix it").await;
    assert_ended(&ending, Terminal::StopHookPrevented);
    assert!(ending.why.contains("closing time"));
}

#[tokio::test]
async fn a_failed_run_is_told_and_not_stopped() {
    let hooks = super::all([at("Stop", &logged("true")), at("StopFailure", &logged("exit 2"))]);
    let options = FixtureOptions::default().without_retries();
    let answers = vec![Says::from_fault(ScriptedFault::refuse(401))];
    let mut fixture = play(options, hooks, answers).await;
    let (ending, _) = fixture.run("hi").await;
    assert_ended(&ending, Terminal::ModelError);
    fixture.session.close().await;
    let log = log(fixture.directory.path());
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!(log[0]["hook_event_name"], "StopFailure");
    assert_eq!(log[0]["error"], "authentication_failed");
    assert!(log[0]["error_details"].is_string());
}

#[tokio::test]
async fn hooks_before_a_compaction_may_prevent_it() {
    for (code, outcome) in [(2, Outcome::NotCompacted), (0, Outcome::Compacted)] {
        let hooks = super::all([
            at("PreCompact", &logged(&format!("echo 'keep all' >&2; exit {code}"))),
            at("PostCompact", &logged("true")),
            at("SessionStart", &logged("echo 'since then'")),
        ]);
        let answers = vec![
            Says::text("one"),
            Says::text("two"),
            Says::text("a summary"),
            Says::text("three"),
        ];
        let mut fixture = play(FixtureOptions::default(), hooks, answers).await;
        assert_completed(&fixture.run("a long story ".repeat(2_000).as_str()).await.0);
        assert_completed(&fixture.run("a longer story ".repeat(2_000).as_str()).await.0);
        fixture.session.compact(Some("the masts".to_owned())).unwrap();
        let (ending, _) = fixture.ending().await;
        assert_eq!(ending.outcome, Some(outcome), "{ending:?}");
        if code == 0 {
            let is_last = |notice: &Notice| matches!(notice, Notice::Hook(HookNotice::Ended { name, .. }) if name == "SessionStart:compact");
            fixture.until(is_last).await;
        }
        fixture.session.close().await;
        let log = log(fixture.directory.path());
        let pre =
            log.iter().find(|hook_input| hook_input["hook_event_name"] == "PreCompact").unwrap();
        assert_eq!(
            (&pre["trigger"], &pre["custom_instructions"]),
            (&json!("manual"), &json!("the masts"))
        );
        let sources: Vec<_> =
            log.iter().filter_map(|hook_input| hook_input["source"].as_str()).collect();
        let expected: &[&str] = if code == 0 { &["startup", "compact"] } else { &["startup"] };
        assert_eq!(sources, expected);
    }
}

#[tokio::test]
async fn hooks_at_the_end_of_a_session_share_a_short_time() {
    let hooks = json!({ "SessionEnd": [{ "hooks": [
        { "type": "command", "command": logged("true") },
        { "type": "command", "command": "echo $$ > slow; exec sleep 1000" },
    ] }] });
    let mut fixture = play(FixtureOptions::default(), hooks, vec![Says::text("bye")]).await;
    assert_completed(&fixture.run("hi").await.0);
    let began = Instant::now();
    fixture.session.close().await;
    assert!(fixture.session.is_closed());
    assert!(began.elapsed() < Duration::from_secs(240), "{:?}", began.elapsed());
    let log = log(fixture.directory.path());
    assert_eq!(
        (&log[0]["hook_event_name"], &log[0]["reason"]),
        (&json!("SessionEnd"), &json!("other"))
    );
    let slow = std::fs::read_to_string(fixture.directory.path().join("slow")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", slow.trim()));
    assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")), "it was ended");
}
