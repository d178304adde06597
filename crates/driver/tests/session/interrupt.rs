//! Interrupts in every phase, and closing: what was under way is gone, and the session goes on.

use std::time::{Duration, Instant};

use crate::fixture::{FixtureOptions, PATIENCE, SessionFixture, assert_ended};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use windlass_driver::Interrupt;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{Notice, RequestSource, Terminal};

/// Far less than the servers and tools here would take, and enough for a busy machine.
const SOON: Duration = Duration::from_secs(120);

#[tokio::test]
async fn in_mid_stream() {
    let answers = [
        Says::text("I will go on and on and on").fault(ScriptedFault::stall_after_event(4)),
        Says::text("fresh start"),
    ];
    let mut fixture = FixtureOptions::default().play(answers).await;
    fixture.session.submit("hi").unwrap();
    fixture.until(crate::fixture::is_streamed_text).await;
    let took = interrupted(&mut fixture, Terminal::AbortedStreaming).await;
    assert!(took < SOON, "{took:?}");
    assert_ended(&fixture.run("again").await.0, Terminal::Completed);
}

#[tokio::test]
async fn before_the_server_answers() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    let options = FixtureOptions::default();
    let (session, notices) = options.builder(&url).start().unwrap();
    let rehearsal = crate::fixture::rehearse([]).await;
    let mut fixture = SessionFixture {
        rehearsal,
        session,
        notices,
        directory: options.directory,
        wire: options.wire,
    };
    fixture.session.submit("hi").unwrap();
    fixture.until(|notice| matches!(notice, Notice::RequestStarted { .. })).await;
    let took = interrupted(&mut fixture, Terminal::AbortedStreaming).await;
    assert!(took < SOON, "{took:?}");
}

#[tokio::test]
async fn in_mid_tool_takes_the_whole_tree_down() {
    let (mut fixture, pids) = stage_with_long_tool().await;
    let took = interrupted(&mut fixture, Terminal::AbortedTools).await;
    assert!(took < SOON, "{took:?}");
    assert_ended(&fixture.run("again").await.0, Terminal::Completed);
    fixture.session.close().await;
    assert_gone(&pids);
}

#[tokio::test]
async fn closing_in_mid_tool_takes_the_whole_tree_down() {
    let (mut fixture, pids) = stage_with_long_tool().await;
    let began = Instant::now();
    fixture.session.close().await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_gone(&pids);
    assert_ended(&fixture.ending().await.0, Terminal::AbortedTools);
    assert_eq!(fixture.session.submit("anyone?"), Err(windlass_driver::SendError::Closed));
}

#[tokio::test]
async fn dropping_the_handle_closes_the_session() {
    let (mut fixture, pids) = stage_with_long_tool().await;
    drop(fixture.session);
    let drained = async { while fixture.notices.next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, drained).await.unwrap();
    assert_gone(&pids);
}

#[tokio::test]
async fn while_waiting_to_try_again() {
    let answers = [Says::from_fault(ScriptedFault::refuse_for(529, 60)), Says::text("fresh start")];
    let mut fixture = FixtureOptions::default().play(answers).await;
    fixture.session.submit("hi").unwrap();
    fixture.until(|notice| matches!(notice, Notice::RetryScheduled { .. })).await;
    let took = interrupted(&mut fixture, Terminal::AbortedStreaming).await;
    assert!(took < SOON, "{took:?}");
    assert_ended(&fixture.run("again").await.0, Terminal::Completed);
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
    let mut fixture = FixtureOptions::default().play(answers).await;
    assert_ended(&fixture.run("count").await.0, Terminal::Completed);
    fixture.session.submit("tell me").unwrap();
    assert!(fixture.rehearsal.wait_for_requests(4, PATIENCE).await);
    let took = interrupted(&mut fixture, Terminal::AbortedStreaming).await;
    assert!(took < SOON, "{took:?}");
    assert_ended(&fixture.run("again").await.0, Terminal::Completed);
}

#[tokio::test]
async fn in_a_flood_of_text() {
    let flood = "word ".repeat(60_000);
    let mut fixture = FixtureOptions::default().play([Says::text(flood).chunk(8)]).await;
    fixture.session.submit("talk").unwrap();
    fixture.until(crate::fixture::is_streamed_text).await;
    let took = interrupted(&mut fixture, Terminal::AbortedStreaming).await;
    assert!(took < SOON, "{took:?}");
}

/// Interrupts and gives the time to the end of the run.
async fn interrupted(fixture: &mut SessionFixture, terminal: Terminal) -> Duration {
    let began = Instant::now();
    fixture.session.interrupt(Interrupt::User).unwrap();
    assert_ended(&fixture.ending().await.0, terminal);
    began.elapsed()
}

/// A session whose tool has children that do not end by themselves, one of them deaf to TERM, and
/// the processes as the tool names them once all are there.
async fn stage_with_long_tool() -> (SessionFixture, Vec<u32>) {
    let command = "(trap '' TERM; sleep 600) & deaf=$! sh -c \
                   'echo $deaf $PPID $$ > pids; while :; do sleep 600; done'";
    let answers = [Says::call("Bash", json!({ "command": command })), Says::text("fresh start")];
    let options = FixtureOptions::default();
    let pids = options.directory.path().join("pids");
    assert!(std::process::Command::new("mkfifo").arg(&pids).status().unwrap().success());
    // Open for writing too, so that reading waits for the tool instead of finding nobody there.
    let mut pids = pipe::OpenOptions::new().read_write(true).open_receiver(&pids).unwrap();
    let fixture = options.play(answers).await;
    fixture.session.submit("wait for me").unwrap();
    let mut text = String::new();
    let mut lines = BufReader::new(&mut pids);
    tokio::time::timeout(PATIENCE, lines.read_line(&mut text)).await.unwrap().unwrap();
    let pids: Vec<u32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 3, "{text}");
    (fixture, pids)
}

/// No such process, or only the entry that its new parent has not collected yet.
fn assert_gone(pids: &[u32]) {
    for pid in pids {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        assert!(matches!(state, None | Some("Z" | "X")), "process {pid} is still there: {stat}");
    }
}
