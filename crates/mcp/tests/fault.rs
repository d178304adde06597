//! Servers that misbehave, each a real process: what a session sees of it, and what it costs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod place;

use std::sync::Arc;
use std::time::{Duration, Instant};

use place::{LONG, Place, text, text_within};
use serde_json::Map;
use tokio_util::sync::CancellationToken;
use windlass_mcp::server::Server;
use windlass_mcp::{CallTerms, Common, Failure, Host, Patience, ServerOrder, Status, Way};
use windlass_tool::Surroundings;

struct Nobody;

impl Host for Nobody {}

/// A server under its actor.
fn served(place: &Place, mode: &str, patience: Patience) -> Server {
    let surroundings = Surroundings::new(place.folder(), place.folder().join("spill"));
    let common = Common::new(surroundings, patience, Arc::new(Nobody));
    Server::start(ServerOrder::new("fault", Way::Process(place.order(mode))), &common)
}

fn quick() -> Patience {
    Patience { restart: Duration::from_millis(1), connect: LONG, ..Patience::default() }
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
    let place = Place::new();
    let patience = Patience { connect: Duration::from_millis(300), ..quick() };
    let server = served(&place, "hang", patience);
    assert_eq!(server.snapshot().status, Status::Pending);
    let failure = server.connection().await.unwrap_err();
    assert!(matches!(failure, Failure::TimedOut { .. }), "{failure}");
    assert_eq!(server.snapshot().status, Status::Failed);
    // Asked for again, it is tried again.
    assert!(server.connection().await.is_err());
}

#[tokio::test]
async fn s2_a_crash_ends_the_call_at_once_and_the_server_is_started_again() {
    let place = Place::new();
    let server = served(&place, "good", quick());
    let connection = server.connection().await.unwrap();
    let failure = text(&connection, "crash", "").await.unwrap_err();
    let words = failure.to_string();
    assert!(words.contains("exited with code 3") && words.contains("out of memory"), "{words}");
    let again = server.connection().await.unwrap();
    assert_eq!(text(&again, "echo", "here again").await.unwrap(), "here again");
}

#[tokio::test]
async fn s2_one_that_crashes_again_and_again_is_given_up() {
    let place = Place::new();
    let server = served(&place, "good", quick());
    for _ in 0..4 {
        let connection = server.connection().await.unwrap();
        text(&connection, "crash", "").await.unwrap_err();
    }
    until("giving up", || server.snapshot().status == Status::Failed).await;
    let error = server.snapshot().error.unwrap();
    assert!(error.contains("lost 4 times"), "{error}");
    // Somebody who insists gets it all the same.
    server.reconnect().await.unwrap();
    assert_eq!(server.snapshot().status, Status::Connected);
}

#[tokio::test]
async fn s3_banners_and_stray_answers_are_skipped_but_not_twenty() {
    let place = Place::new();
    let connection = place.connect(&place.order("banner")).await.unwrap();
    assert_eq!(text(&connection, "stray", "").await.unwrap(), "first");
    assert_eq!(text(&connection, "garbage", "9").await.unwrap(), "after the garbage");
    let log = connection.log().join("\n");
    for noted in ["Welcome to the server!", "987654", "debug: step 8"] {
        assert!(log.contains(noted), "{noted}: {log}");
    }
    let failure = text(&connection, "garbage", "30").await.unwrap_err();
    assert!(failure.to_string().contains("20 messages made no sense"), "{failure}");
}

#[tokio::test]
async fn s4_a_hundred_megabytes_are_not_kept() {
    let place = Place::new();
    let connection = place.connect(&place.order("good")).await.unwrap();
    let failure = text(&connection, "huge", "").await.unwrap_err();
    assert!(failure.to_string().contains("over 16 MiB and was dropped"), "{failure}");
    assert_eq!(text(&connection, "echo", "still here").await.unwrap(), "still here");
}

#[tokio::test]
async fn s4_a_list_without_end_is_cut() {
    let place = Place::new();
    let connection = place.connect(&place.order("endless")).await.unwrap();
    assert_eq!(connection.tools(LONG).await.unwrap().len(), 2_000);
}

#[tokio::test]
async fn s4_notifications_without_end_drown_nobody() {
    let place = Place::new();
    let connection = place.connect(&place.order("flood")).await.unwrap();
    for _ in 0..5 {
        assert_eq!(text(&connection, "echo", "heard").await.unwrap(), "heard");
    }
    until("dropping", || connection.dropped() > 1_000).await;
    let reason = connection.until_gone().await;
    assert!(reason.contains("without end"), "{reason}");
}

#[tokio::test]
async fn s5_a_changed_list_is_fetched_again() {
    let place = Place::new();
    let server = served(&place, "good", quick());
    let connection = server.connection().await.unwrap();
    let has = |name: &str| server.snapshot().tools.iter().any(|tool| tool.name == name);
    assert!(has("echo") && !has("newcomer"));
    text(&connection, "change", "").await.unwrap();
    until("the new list", || has("newcomer")).await;
}

#[tokio::test]
async fn s6_one_that_ignores_a_cancel_is_ended() {
    let place = Place::new();
    let patience = Patience { sign: Duration::from_millis(200), ..quick() };
    let server = served(&place, "good", patience);
    let connection = server.connection().await.unwrap();
    let terms = CallTerms { cancel: CancellationToken::new(), ..CallTerms::within(LONG) };
    terms.cancel.cancel();
    let failure = connection.call("deaf", Map::new(), &terms).await.unwrap_err();
    assert_eq!(failure, Failure::Cancelled);
    server.suspect(&connection);
    let reason = connection.until_gone().await;
    assert!(reason.contains("no sign of life"), "{reason}");
    let again = server.connection().await.unwrap();
    assert_eq!(text(&again, "echo", "anew").await.unwrap(), "anew");
}

#[tokio::test]
async fn s6_one_that_hears_a_cancel_is_left_alone() {
    let place = Place::new();
    let server = served(&place, "good", quick());
    let connection = server.connection().await.unwrap();
    let terms = CallTerms { cancel: CancellationToken::new(), ..CallTerms::within(LONG) };
    terms.cancel.cancel();
    let failure = connection.call("echo", Map::new(), &terms).await.unwrap_err();
    assert_eq!(failure, Failure::Cancelled);
    server.suspect(&connection);
    assert!(connection.is_responsive(LONG).await);
    assert_eq!(text(&connection, "echo", "same").await.unwrap(), "same");
    assert_eq!(connection.gone(), None);
}

#[tokio::test]
async fn s6_an_answer_that_comes_after_a_cancel_is_ignored() {
    let place = Place::new();
    let server = served(&place, "good", quick());
    let connection = server.connection().await.unwrap();
    let limit = Duration::from_millis(50);
    let failure = text_within(&connection, "late", "", limit).await.unwrap_err();
    assert!(matches!(failure, Failure::TimedOut { .. }), "{failure}");
    server.suspect(&connection);
    assert_eq!(text(&connection, "echo", "mine").await.unwrap(), "mine");
    assert_eq!(connection.log(), Vec::<String>::new(), "it is neither used nor held against it");
    assert_eq!(connection.gone(), None);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let place = Place::new();
    let connection = place.connect(&place.order("good")).await.unwrap();
    let limit = Duration::from_millis(100);
    let failure = text_within(&connection, "deaf", "", limit).await.unwrap_err();
    assert!(failure.to_string().contains("no answer to the call of `deaf` within 0.1 s"));
}

#[tokio::test]
async fn s8_what_a_server_started_goes_with_it() {
    let place = Place::new();
    for is_crash in [false, true] {
        let connection = place.connect(&place.order("good")).await.unwrap();
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
