//! The replay itself: what it takes for the same request, and what it says about another.

use serde_json::{Value, json};
use windlass_rehearsal::cassette::{
    ExchangeEnd as Ended, RecordedChunk, RecordedExchange, RecordedRequest, RecordedResponseHead,
    ScrubOptions,
};
use windlass_rehearsal::{Cassette, Replay, ReplayOptions};

use super::asks;
use crate::client::{Client, prompt};

/// An exchange that was asked this and answered that.
fn exchange(path: &str, asked: &str, answered: &str) -> RecordedExchange {
    RecordedExchange {
        request: RecordedRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: asked.into(),
        },
        head: Some(RecordedResponseHead { status: 200, ..RecordedResponseHead::default() }),
        chunks: vec![RecordedChunk { millis: 0, bytes: answered.into() }],
        end: Ended::Complete,
        end_millis: 0,
    }
}

fn playing(exchanges: Vec<RecordedExchange>) -> Replay {
    let cassette = Cassette::new(exchanges);
    Replay::start_blocking(cassette, ReplayOptions::default()).expect("replay")
}

fn post(replay: &Replay, path: &str, body: &str) -> (Option<u16>, String) {
    let seen = Client::connect(replay.address()).post(path, &[], body);
    (seen.status, seen.text())
}

#[test]
fn another_request_is_refused_with_its_first_difference() {
    let recorded = json!({
        "model": "m", "max_tokens": 10, "stream": true,
        "messages": [{"role": "user", "content": "please fix the date test"}],
    });
    for (change, wanted) in [
        (json!({"max_tokens": 11}), "/max_tokens: expected 10, got 11"),
        (json!({"tools": []}), "/tools: expected nothing, got []"),
        (json!({"stream": null}), "/stream: expected true, got null"),
        (
            json!({"messages": [{"role": "user", "content": "please fix the time test"}]}),
            "/messages/0/content: expected \"please fix the date test\", \
             got \"please fix the time test\"",
        ),
    ] {
        let replay = playing(vec![exchange("/v1/messages", &recorded.to_string(), "ok")]);
        let mut body = recorded.clone();
        for (key, value) in change.as_object().expect("fields") {
            body[key] = value.clone();
        }
        let seen = Client::connect(replay.address()).ask(&body);
        assert_eq!((seen.status, seen.header("x-should-retry")), (Some(400), Some("false")));
        let error = seen.json()["error"].clone();
        assert_eq!(error["type"], "invalid_request_error");
        let words = error["message"].as_str().expect("words").to_owned();
        assert!(words.ends_with(&format!("is at {wanted}")), "{words}");
        let summary = replay.finish_blocking();
        assert_eq!((summary.requests, summary.used, summary.unused.len()), (1, 0, 1));
        assert!(!summary.is_exact() && words.ends_with(&summary.refusals[0]), "{summary:?}");
    }
}

#[test]
fn every_wire_refuses_in_its_own_words() {
    for asked in asks(true) {
        let replay = playing(vec![exchange(asked.path, "{}", "ok")]);
        let (status, text) = post(&replay, asked.path, &asked.body.to_string());
        assert_eq!(status, Some(400));
        let error = serde_json::from_str::<Value>(&text).expect("JSON")["error"].clone();
        let message = error["message"].as_str().expect("words");
        assert!(message.starts_with("replay: no recorded request matches this one"), "{message}");
    }
}

#[test]
fn method_path_and_query_count_too() {
    let replay = playing(vec![exchange("/v1/x?alt=sse", "{}", "ok")]);
    let (_, words) = post(&replay, "/v1/x", "{}");
    assert!(words.contains("the path"), "{words}");
    let mut client = Client::connect(replay.address());
    client.send(b"PUT /v1/x?alt=sse HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}");
    let words = client.read().text();
    assert!(words.contains("the method: expected POST, got PUT"), "{words}");
    assert_eq!(post(&replay, "/v1/x?alt=sse", "{}"), (Some(200), "ok".to_owned()));
}

#[test]
fn json_is_compared_by_value_and_anything_else_by_the_byte() {
    let replay = playing(vec![
        exchange("/a", r#"{"a": 1, "b": "\u00e4"}"#, "json"),
        exchange("/a", "plain text", "text"),
    ]);
    let (_, words) = post(&replay, "/a", "plain tent");
    assert!(words.contains("/a") || words.contains("the body"), "{words}");
    assert_eq!(post(&replay, "/a", "{\"b\":\"ä\",\n\"a\":1}").1, "json");
    let (_, words) = post(&replay, "/a", "plain tent");
    assert!(words.contains(r#"expected \"plain text\", got \"plain tent\""#), "{words}");
    assert_eq!(post(&replay, "/a", "plain text").1, "text");
}

#[test]
fn the_same_request_gets_its_answers_in_order_and_then_none() {
    let replay = playing(["one", "two"].map(|text| exchange("/a", "{}", text)).to_vec());
    assert_eq!(
        replay.exchanges_left(),
        ["exchange 1: POST /a -> 200", "exchange 2: POST /a -> 200"]
    );
    assert_eq!(post(&replay, "/a", "{}").1, "one");
    assert_eq!(post(&replay, "/a", "{}").1, "two");
    let (status, words) = post(&replay, "/a", "{}");
    assert_eq!(status, Some(400));
    assert!(words.contains("recorded 2 times, and each answer has been used"), "{words}");
    let (_, words) = post(&replay, "/b", "{}");
    assert!(words.contains("every recorded answer has been used"), "{words}");
}

#[test]
fn secrets_of_either_side_are_neither_compared_nor_told() {
    let recorded = json!({"say": "my key is <secret-3>.", "metadata": {"user_id": "<identity-1>"}});
    let replay = playing(vec![exchange("/a?key=<secret-1>", &recorded.to_string(), "ok")]);
    let key = "another-key-1234567890";
    let header = [("authorization", &*format!("Bearer {key}"))];
    let ask = |text: &str| {
        let body = json!({"say": text, "metadata": {"user_id": "somebody else entirely"}});
        let path = format!("/a?key={key}");
        Client::connect(replay.address()).post(&path, &header, &body.to_string())
    };
    let refused = ask(&format!("your key is {key}."));
    assert_eq!(refused.status, Some(400));
    assert!(refused.text().contains("<secret>") && !refused.text().contains(key));
    assert_eq!(ask(&format!("my key is {key}.")).text(), "ok");
    let refusals = replay.finish_blocking().refusals.concat();
    assert!(!refusals.contains(key), "{refusals}");
}

#[test]
fn stand_ins_have_their_local_values() {
    let asked = json!({"cwd": "<home>/project", "date": "<date>"}).to_string();
    let answered = "data: {\"path\":\"<home>/project/a.rs\"}\n\ndata: <date>\n\n";
    let scrub = ScrubOptions::default()
        .with_home(r"C:\Users\me")
        .with_stand_in("date", "2031-02-03")
        .with_stand_in("empty", "");
    let cassette = Cassette::new(vec![exchange("/a", &asked, answered)]);
    let options = ReplayOptions { scrub, ..ReplayOptions::default() };
    let replay = Replay::start_blocking(cassette, options).expect("replay");
    let local = json!({"cwd": r"C:\Users\me/project", "date": "2031-02-03"}).to_string();
    let (status, text) = post(&replay, "/a", &local);
    let wanted = "data: {\"path\":\"C:\\\\Users\\\\me/project/a.rs\"}\n\ndata: 2031-02-03\n\n";
    assert_eq!((status, text.as_str()), (Some(200), wanted));
    // A value that only begins like it is another value.
    let other = json!({"cwd": r"C:\Users\merlin/project", "date": "2031-02-03"}).to_string();
    let (status, words) = post(&playing(vec![exchange("/a", &asked, "ok")]), "/a", &other);
    assert_eq!(status, Some(400));
    assert!(words.contains("/cwd"), "{words}");
}

#[test]
fn a_replay_serves_the_messages_client() {
    let replay =
        playing(vec![exchange("/v1/messages", &prompt("hello").to_string(), "data: {}\n\n")]);
    let seen = Client::connect(replay.address()).ask(&prompt("hello"));
    assert_eq!((seen.status, seen.text().as_str()), (Some(200), "data: {}\n\n"));
}
