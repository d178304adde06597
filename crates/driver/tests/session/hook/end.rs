//! Hooks when a run or a session ends.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{HookNotice, Notice, Outcome, Terminal, Transition};

use super::{at, bash, last, log, logged, play, says};
use crate::stage::{Setting, assert_completed, assert_ended, transitions};

#[tokio::test]
async fn a_stop_hook_sends_the_model_back_until_it_is_content() {
    let hook = logged("[ -e done ] || { echo 'the tests fail' >&2; exit 2; }");
    let answers = vec![Says::text("done"), bash("touch done"), Says::text("now it is")];
    let mut stage = play(Setting::default(), at("Stop", &hook), answers).await;
    let (ending, told) = stage.run("fix it").await;
    assert_completed(&ending);
    assert_eq!(transitions(&told), [Transition::StopHookBlocking, Transition::NextTurn]);
    assert!(last(&stage).contains("the tests fail"));
    let log = log(stage.directory.path());
    let active: Vec<bool> =
        log.iter().map(|said| said["stop_hook_active"].as_bool().unwrap()).collect();
    assert_eq!(active, [false, true]);
    assert_eq!(log[1]["last_assistant_message"], "now it is");
}

#[tokio::test]
async fn h4_a_stop_hook_that_never_ends_is_overridden_and_told() {
    // Another reason each time, so that the cap in all is what ends it.
    let hook = logged("wc -l < log >&2; exit 2");
    let answers = vec![Says::text("done").repeat(20)];
    let mut stage = play(Setting::default(), at("Stop", &hook), answers).await;
    let (ending, told) = stage.run("fix it").await;
    assert_ended(&ending, Terminal::StopHookPrevented);
    assert!(ending.why.contains("overridden"), "{ending:?}");
    assert_eq!(transitions(&told).len(), 8);
    stage.session.close().await;
    let log = log(stage.directory.path());
    assert_eq!(log.len(), 10);
    let told: Vec<bool> = log.iter().map(|said| said["stop_hook_overridden"] == true).collect();
    assert_eq!(told.iter().position(|told| *told), Some(9), "the last time it is told so");
    assert_eq!(log[8]["stop_hook_blocks"], 8);
    assert_eq!(log[8]["stop_hook_blocks_max"], 8);
    // The same reason three times is enough.
    let answers = vec![Says::text("done").repeat(20)];
    let hooks = at("Stop", &logged("echo 'not yet' >&2; exit 2"));
    let mut stage = play(Setting::default(), hooks, answers).await;
    let (ending, told) = stage.run("fix it").await;
    assert_ended(&ending, Terminal::StopHookPrevented);
    assert_eq!(transitions(&told).len(), 3);
    stage.session.close().await;
    let log = super::log(stage.directory.path());
    assert_eq!(log.last().unwrap()["stop_hook_overridden"], true);
}

#[tokio::test]
async fn a_stop_hook_can_end_it_at_once() {
    let hook = says(&json!({ "continue": false, "stopReason": "closing time" }));
    let mut stage = play(Setting::default(), at("Stop", &hook), vec![Says::text("done")]).await;
    let (ending, _) = stage.run("fix it").await;
    assert_ended(&ending, Terminal::StopHookPrevented);
    assert!(ending.why.contains("closing time"));
}

#[tokio::test]
async fn a_failed_run_is_told_and_not_stopped() {
    let hooks = super::all([at("Stop", &logged("true")), at("StopFailure", &logged("exit 2"))]);
    let setting = Setting::default().without_retries();
    let answers = vec![Says::from_fault(ScriptedFault::refuse(401))];
    let mut stage = play(setting, hooks, answers).await;
    let (ending, _) = stage.run("hi").await;
    assert_ended(&ending, Terminal::ModelError);
    stage.session.close().await;
    let log = log(stage.directory.path());
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
        let mut stage = play(Setting::default(), hooks, answers).await;
        assert_completed(&stage.run("a long story ".repeat(2_000).as_str()).await.0);
        assert_completed(&stage.run("a longer story ".repeat(2_000).as_str()).await.0);
        stage.session.compact(Some("the masts".to_owned())).unwrap();
        let (ending, _) = stage.ending().await;
        assert_eq!(ending.outcome, Some(outcome), "{ending:?}");
        if code == 0 {
            let is_last = |notice: &Notice| matches!(notice, Notice::Hook(HookNotice::Ended { name, .. }) if name == "SessionStart:compact");
            stage.until(is_last).await;
        }
        stage.session.close().await;
        let log = log(stage.directory.path());
        let pre = log.iter().find(|said| said["hook_event_name"] == "PreCompact").unwrap();
        assert_eq!(
            (&pre["trigger"], &pre["custom_instructions"]),
            (&json!("manual"), &json!("the masts"))
        );
        let sources: Vec<_> = log.iter().filter_map(|said| said["source"].as_str()).collect();
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
    let mut stage = play(Setting::default(), hooks, vec![Says::text("bye")]).await;
    assert_completed(&stage.run("hi").await.0);
    let began = Instant::now();
    stage.session.close().await;
    assert!(stage.session.is_closed());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let log = log(stage.directory.path());
    assert_eq!(
        (&log[0]["hook_event_name"], &log[0]["reason"]),
        (&json!("SessionEnd"), &json!("other"))
    );
    let slow = std::fs::read_to_string(stage.directory.path().join("slow")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", slow.trim()));
    assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")), "it was ended");
}
