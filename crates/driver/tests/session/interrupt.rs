//! Interrupts in every phase, and closing: what was under way is gone, and the session goes on.

use std::time::{Duration, Instant};

use crate::stage::{PATIENCE, Setting, Stage, assert_ended};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use windlass_driver::Interrupt;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{Notice, RequestSource, Terminal};

#[tokio::test]
async fn in_mid_stream() {
    let answers = [
        Says::text("I will go on and on and on").fault(ScriptedFault::stall_after_event(4)),
        Says::text("fresh start"),
    ];
    let mut stage = Setting::default().play(answers).await;
    stage.session.submit("hi").unwrap();
    stage.until(crate::stage::is_streamed_text).await;
    let took = interrupted(&mut stage, Terminal::AbortedStreaming).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_ended(&stage.run("again").await.0, Terminal::Completed);
}

#[tokio::test]
async fn before_the_server_answers() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    let setting = Setting::default();
    let (session, notices) = setting.builder(&url).start().unwrap();
    let rehearsal = crate::stage::rehearse([]).await;
    let mut stage =
        Stage { rehearsal, session, notices, directory: setting.directory, wire: setting.wire };
    stage.session.submit("hi").unwrap();
    stage.until(|notice| matches!(notice, Notice::RequestStarted { .. })).await;
    let took = interrupted(&mut stage, Terminal::AbortedStreaming).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn in_mid_tool_takes_the_whole_tree_down() {
    let (mut stage, pids) = stage_with_long_tool().await;
    let took = interrupted(&mut stage, Terminal::AbortedTools).await;
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_ended(&stage.run("again").await.0, Terminal::Completed);
    stage.session.close().await;
    assert_gone(&pids);
}

#[tokio::test]
async fn closing_in_mid_tool_takes_the_whole_tree_down() {
    let (mut stage, pids) = stage_with_long_tool().await;
    let began = Instant::now();
    stage.session.close().await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_gone(&pids);
    assert_ended(&stage.ending().await.0, Terminal::AbortedTools);
    assert_eq!(stage.session.submit("anyone?"), Err(windlass_driver::SendError::Closed));
}

#[tokio::test]
async fn dropping_the_handle_closes_the_session() {
    let (mut stage, pids) = stage_with_long_tool().await;
    drop(stage.session);
    let drained = async { while stage.notices.next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, drained).await.unwrap();
    assert_gone(&pids);
}

#[tokio::test]
async fn while_waiting_to_try_again() {
    let answers = [Says::from_fault(ScriptedFault::refuse_for(529, 60)), Says::text("fresh start")];
    let mut stage = Setting::default().play(answers).await;
    stage.session.submit("hi").unwrap();
    stage.until(|notice| matches!(notice, Notice::RetryScheduled { .. })).await;
    let took = interrupted(&mut stage, Terminal::AbortedStreaming).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_ended(&stage.run("again").await.0, Terminal::Completed);
}

#[tokio::test]
async fn while_history_is_summarised() {
    let too_long = r#"{"type":"error","error":{"type":"invalid_request_error",
        "message":"prompt is too long: 300000 tokens > 200000 maximum"}}"#;
    let answers = [
        Says::call("Bash", json!({ "command": "seq 4000" })),
        Says::text("noted"),
        Says::from_fault(ScriptedFault::refuse_with(400, too_long))
            .when_source(RequestSource::Main),
        Says::text("never told")
            .when_source(RequestSource::Compaction)
            .fault(ScriptedFault::stall_after_event(2)),
        Says::text("fresh start").when_source(RequestSource::Main),
    ];
    let mut stage = Setting::default().play(answers).await;
    assert_ended(&stage.run("count").await.0, Terminal::Completed);
    stage.session.submit("tell me").unwrap();
    assert!(stage.rehearsal.wait_for_requests(4, PATIENCE).await);
    let took = interrupted(&mut stage, Terminal::AbortedStreaming).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_ended(&stage.run("again").await.0, Terminal::Completed);
}

#[tokio::test]
async fn in_a_flood_of_text() {
    let flood = "word ".repeat(60_000);
    let mut stage = Setting::default().play([Says::text(flood).chunk(8)]).await;
    stage.session.submit("talk").unwrap();
    stage.until(crate::stage::is_streamed_text).await;
    let took = interrupted(&mut stage, Terminal::AbortedStreaming).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

/// Interrupts and gives the time to the end of the run.
async fn interrupted(stage: &mut Stage, terminal: Terminal) -> Duration {
    let began = Instant::now();
    stage.session.interrupt(Interrupt::User).unwrap();
    assert_ended(&stage.ending().await.0, terminal);
    began.elapsed()
}

/// A session whose tool has children that do not end by themselves, one of them deaf to TERM, and
/// the processes as the tool names them once all are there.
async fn stage_with_long_tool() -> (Stage, Vec<u32>) {
    let command = "(trap '' TERM; sleep 600) & deaf=$! sh -c \
                   'echo $deaf $PPID $$ > pids; while :; do sleep 600; done'";
    let answers = [Says::call("Bash", json!({ "command": command })), Says::text("fresh start")];
    let setting = Setting::default();
    let pids = setting.directory.path().join("pids");
    assert!(std::process::Command::new("mkfifo").arg(&pids).status().unwrap().success());
    // Open for writing too, so that reading waits for the tool instead of finding nobody there.
    let mut pids = pipe::OpenOptions::new().read_write(true).open_receiver(&pids).unwrap();
    let stage = setting.play(answers).await;
    stage.session.submit("wait for me").unwrap();
    let mut text = String::new();
    let mut lines = BufReader::new(&mut pids);
    tokio::time::timeout(PATIENCE, lines.read_line(&mut text)).await.unwrap().unwrap();
    let pids: Vec<u32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 3, "{text}");
    (stage, pids)
}

/// No such process, or only the entry that its new parent has not collected yet.
fn assert_gone(pids: &[u32]) {
    for pid in pids {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        assert!(matches!(state, None | Some("Z" | "X")), "process {pid} is still there: {stat}");
    }
}
