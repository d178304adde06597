//! Servers that misbehave, each a real process: what a session sees of it, and what it costs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod server_fixture;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Map;
use server_fixture::{LONG, ServerFixture, text, text_within};
use tokio_util::sync::CancellationToken;
use windlass_mcp::server::McpServer;
use windlass_mcp::{
    McpCallOptions, McpFailure, McpHost, McpServerConfig, McpServerContext, McpServerStatus,
    McpServerTransport, McpTimeouts,
};
use windlass_tool::ToolSessionContext;

struct NoUser;

impl McpHost for NoUser {}

/// A server under its actor.
fn served(fixture: &ServerFixture, mode: &str, patience: McpTimeouts) -> McpServer {
    let tool_context = ToolSessionContext::new(fixture.folder(), fixture.folder().join("spill"));
    let common = McpServerContext::new(tool_context, patience, Arc::new(NoUser));
    McpServer::start(
        McpServerConfig::new("fault", McpServerTransport::Process(fixture.order(mode))),
        &common,
    )
}

fn quick() -> McpTimeouts {
    McpTimeouts { restart_pause: Duration::from_millis(1), connect: LONG, ..McpTimeouts::default() }
}

fn lives(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Waits for something that has to happen.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn s1_one_that_never_answers_initialize_fails_in_time() {
    let fixture = ServerFixture::new();
    let patience = McpTimeouts { connect: Duration::from_millis(300), ..quick() };
    let server = served(&fixture, "hang", patience);
    assert_eq!(server.snapshot().status, McpServerStatus::Pending);
    let failure = server.connect().await.unwrap_err();
    assert!(matches!(failure, McpFailure::TimedOut { .. }), "{failure}");
    assert_eq!(server.snapshot().status, McpServerStatus::Failed);
    // Asked for again, it is tried again.
    assert!(server.connect().await.is_err());
}

#[tokio::test]
async fn s1_one_that_is_installed_first_gets_the_time_for_it_and_says_so() {
    let fixture = ServerFixture::new();
    let patience = McpTimeouts { connect: Duration::from_millis(300), install: LONG, ..quick() };
    for (name, is_runner) in [("npx", true), ("start", false)] {
        let program = fixture.folder().join(name);
        // Waits for the file, as for a package that comes slowly.
        let wait = "while [ ! -e installed ]; do sleep 0.05; done\nexec \"$@\"\n";
        std::fs::write(&program, format!("#!/bin/sh\n{wait}")).unwrap();
        let good = fixture.order("good");
        let mut order = good.clone();
        order.command = "sh".to_owned();
        order.directory = fixture.folder().to_path_buf();
        order.arguments = vec![program.display().to_string(), good.command];
        order.arguments.extend(good.arguments);
        let tool_context =
            ToolSessionContext::new(fixture.folder(), fixture.folder().join("spill"));
        let common = McpServerContext::new(tool_context, patience, Arc::new(NoUser));
        let config = McpServerConfig::new("slow", McpServerTransport::Process(order));
        let server = McpServer::start(config, &common);
        if is_runner {
            until("a word", || server.snapshot().error.is_some()).await;
            let now = server.snapshot();
            assert_eq!(now.status, McpServerStatus::Pending);
            assert!(now.error.unwrap().contains("perhaps it is being installed"));
            tokio::time::sleep(patience.connect * 2).await;
            assert_eq!(server.snapshot().status, McpServerStatus::Pending, "it is not ended");
            std::fs::write(fixture.folder().join("installed"), "").unwrap();
            server.connect().await.unwrap();
            assert_eq!(server.snapshot().error, None);
            std::fs::remove_file(fixture.folder().join("installed")).unwrap();
        } else {
            let failure = server.connect().await.unwrap_err();
            assert!(matches!(failure, McpFailure::TimedOut { .. }), "{failure}");
        }
    }
}

#[tokio::test]
async fn s2_a_crash_ends_the_call_at_once_and_the_server_is_started_again() {
    let fixture = ServerFixture::new();
    let server = served(&fixture, "good", quick());
    let connection = server.connect().await.unwrap();
    let failure = text(&connection, "crash", "").await.unwrap_err();
    let words = failure.to_string();
    assert!(words.contains("exited with code 3") && words.contains("out of memory"), "{words}");
    let again = server.connect().await.unwrap();
    assert_eq!(text(&again, "echo", "here again").await.unwrap(), "here again");
}

#[tokio::test]
async fn s2_one_that_crashes_again_and_again_is_given_up() {
    let fixture = ServerFixture::new();
    let server = served(&fixture, "good", quick());
    for _ in 0..4 {
        let connection = server.connect().await.unwrap();
        text(&connection, "crash", "").await.unwrap_err();
    }
    until("giving up", || server.snapshot().status == McpServerStatus::Failed).await;
    let error = server.snapshot().error.unwrap();
    assert!(error.contains("lost 4 times"), "{error}");
    // A caller that insists gets it all the same.
    server.reconnect().await.unwrap();
    assert_eq!(server.snapshot().status, McpServerStatus::Connected);
}

#[tokio::test]
async fn s3_banners_and_stray_answers_are_skipped_but_not_twenty() {
    let fixture = ServerFixture::new();
    let connection = fixture.connect(&fixture.order("banner")).await.unwrap();
    assert_eq!(text(&connection, "stray", "").await.unwrap(), "first");
    assert_eq!(text(&connection, "garbage", "9").await.unwrap(), "after the garbage");
    let log = connection.log_lines().join("\n");
    for noted in ["Welcome to the server!", "987654", "debug: step 8"] {
        assert!(log.contains(noted), "{noted}: {log}");
    }
    let failure = text(&connection, "garbage", "30").await.unwrap_err();
    assert!(failure.to_string().contains("20 messages made no sense"), "{failure}");
}

#[tokio::test]
async fn s4_a_hundred_megabytes_are_not_kept() {
    let fixture = ServerFixture::new();
    let connection = fixture.connect(&fixture.order("good")).await.unwrap();
    let failure = text(&connection, "huge", "").await.unwrap_err();
    assert!(failure.to_string().contains("over 16 MiB and was dropped"), "{failure}");
    assert_eq!(text(&connection, "echo", "still here").await.unwrap(), "still here");
}

#[tokio::test]
async fn s4_a_list_without_end_is_cut() {
    let fixture = ServerFixture::new();
    let connection = fixture.connect(&fixture.order("endless")).await.unwrap();
    assert_eq!(connection.list_tools(LONG).await.unwrap().len(), 2_000);
}

#[tokio::test]
async fn s4_notifications_without_end_drown_nobody() {
    let fixture = ServerFixture::new();
    let connection = fixture.connect(&fixture.order("flood")).await.unwrap();
    for _ in 0..5 {
        assert_eq!(text(&connection, "echo", "heard").await.unwrap(), "heard");
    }
    until("dropping", || connection.dropped_count() > 1_000).await;
    let reason = connection.wait_until_gone().await;
    assert!(reason.contains("without end"), "{reason}");
}

#[tokio::test]
async fn s5_a_changed_list_is_fetched_again() {
    let fixture = ServerFixture::new();
    let server = served(&fixture, "good", quick());
    let connection = server.connect().await.unwrap();
    let has = |name: &str| server.snapshot().tools.iter().any(|tool| tool.name == name);
    assert!(has("echo") && !has("newcomer"));
    text(&connection, "change", "").await.unwrap();
    until("the new list", || has("newcomer")).await;
}

#[tokio::test]
async fn s6_one_that_ignores_a_cancel_is_ended() {
    let fixture = ServerFixture::new();
    let patience = McpTimeouts { ping: Duration::from_millis(200), ..quick() };
    let server = served(&fixture, "good", patience);
    let connection = server.connect().await.unwrap();
    let terms =
        McpCallOptions { cancel: CancellationToken::new(), ..McpCallOptions::with_limit(LONG) };
    terms.cancel.cancel();
    let failure = connection.call_tool("deaf", Map::new(), &terms).await.unwrap_err();
    assert_eq!(failure, McpFailure::Cancelled);
    server.probe_after_cancel(&connection);
    let reason = connection.wait_until_gone().await;
    assert!(reason.contains("no sign of life"), "{reason}");
    let again = server.connect().await.unwrap();
    assert_eq!(text(&again, "echo", "anew").await.unwrap(), "anew");
}

#[tokio::test]
async fn s6_one_that_hears_a_cancel_is_left_alone() {
    let fixture = ServerFixture::new();
    let server = served(&fixture, "good", quick());
    let connection = server.connect().await.unwrap();
    let terms =
        McpCallOptions { cancel: CancellationToken::new(), ..McpCallOptions::with_limit(LONG) };
    terms.cancel.cancel();
    let failure = connection.call_tool("echo", Map::new(), &terms).await.unwrap_err();
    assert_eq!(failure, McpFailure::Cancelled);
    server.probe_after_cancel(&connection);
    assert!(connection.is_responsive(LONG).await);
    assert_eq!(text(&connection, "echo", "same").await.unwrap(), "same");
    assert_eq!(connection.gone_reason(), None);
}

#[tokio::test]
async fn s6_an_answer_that_comes_after_a_cancel_is_ignored() {
    let fixture = ServerFixture::new();
    let server = served(&fixture, "good", quick());
    let connection = server.connect().await.unwrap();
    let limit = Duration::from_millis(50);
    let failure = text_within(&connection, "late", "", limit).await.unwrap_err();
    assert!(matches!(failure, McpFailure::TimedOut { .. }), "{failure}");
    server.probe_after_cancel(&connection);
    assert_eq!(text(&connection, "echo", "mine").await.unwrap(), "mine");
    assert_eq!(
        connection.log_lines(),
        Vec::<String>::new(),
        "it is neither used nor held against it"
    );
    assert_eq!(connection.gone_reason(), None);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let fixture = ServerFixture::new();
    let connection = fixture.connect(&fixture.order("good")).await.unwrap();
    let limit = Duration::from_millis(100);
    let failure = text_within(&connection, "deaf", "", limit).await.unwrap_err();
    assert!(failure.to_string().contains("no answer to the call of `deaf` within 0.1 s"));
}

#[tokio::test]
async fn s8_what_a_server_started_goes_with_it() {
    let fixture = ServerFixture::new();
    for is_crash in [false, true] {
        let connection = fixture.connect(&fixture.order("good")).await.unwrap();
        let family = text(&connection, "family", "").await.unwrap();
        let children: Vec<&str> = family.split(' ').collect();
        assert_eq!(children.len(), 2);
        assert!(children.iter().all(|child| lives(child)));
        if is_crash {
            text(&connection, "crash", "").await.unwrap_err();
        }
        connection.close().await;
        until("the end of its children", || !children.iter().any(|child| lives(child))).await;
    }
}
