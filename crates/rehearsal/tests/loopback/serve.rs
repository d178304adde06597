//! The server itself: connections, bodies, the record, starting and stopping.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer, ScriptedFault};

use crate::client::{Client, End, play, prompt};

fn forever() -> Script {
    Script::new().answer(ScriptedAnswer::text("hi").repeat(0))
}

#[test]
fn one_connection_carries_many_requests() {
    let rehearsal = play(
        Script::new()
            .answer(ScriptedAnswer::text("one"))
            .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(529)))
            .answer(ScriptedAnswer::text("three")),
    );
    let mut client = Client::connect(rehearsal.address());
    assert_eq!(client.ask(&prompt("a")).said(), "one");
    assert_eq!(client.ask(&prompt("b")).status, Some(529));
    assert_eq!(client.post("/nowhere", &[], "x").status, Some(404));
    let third = client.ask(&prompt("c"));
    assert_eq!(third.said(), "three");
    assert_eq!(third.header("request-id"), Some("req_4"));
    assert_eq!(third.payloads()[0]["message"]["id"], "msg_3");
}

#[test]
fn requests_sent_together_are_answered_in_turn() {
    let rehearsal =
        play(Script::new().answer(ScriptedAnswer::text("one")).answer(ScriptedAnswer::text("two")));
    let body = prompt("a").to_string();
    let request = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut client = Client::connect(rehearsal.address());
    client.send(format!("{request}{request}").as_bytes());
    assert_eq!(client.read().said(), "one");
    assert_eq!(client.read().said(), "two");
}

#[test]
fn a_client_that_asks_for_it_is_let_go() {
    let rehearsal = play(forever());
    let mut client = Client::connect(rehearsal.address());
    let body = prompt("a").to_string();
    let seen = client.post("/v1/messages", &[("connection", "close")], &body);
    assert_eq!((seen.said().as_str(), seen.end), ("hi", End::Complete));
    assert_eq!(client.read().end, End::Closed);
}

#[test]
fn bodies_may_come_in_chunks_and_after_an_invitation() {
    let rehearsal = play(forever());
    let mut client = Client::connect(rehearsal.address());
    let body = prompt("in pieces").to_string();
    let (first, second) = body.split_at(10);
    client.send(b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    for part in [first, second] {
        client.send(format!("{:x};note=1\r\n", part.len()).as_bytes());
        client.send(part.as_bytes());
        client.send(b"\r\n");
    }
    client.send(b"0\r\ntrailer: x\r\n\r\n");
    assert_eq!(client.read().said(), "hi");
    client.send(
        format!(
            "POST /v1/messages HTTP/1.1\r\nExpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .as_bytes(),
    );
    assert_eq!(client.read().status, Some(100));
    client.send(body.as_bytes());
    assert_eq!(client.read().said(), "hi");
    for request in rehearsal.requests() {
        assert_eq!(&*request.body, body);
    }
}

#[test]
fn what_is_no_request_is_refused_with_a_reason() {
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(70 * 1024));
    for (bytes, status, reason) in [
        ("\u{1}\u{2}\r\n\r\n", 400, "not an HTTP/1.1 request"),
        ("GET / HTTP/1.0\r\n\r\n", 505, "only HTTP/1.1"),
        ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400, "content-length"),
        ("POST / HTTP/1.1\r\ncontent-length: 67108865\r\n\r\n", 413, "64 MiB"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400, "chunk size"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n4000001\r\n", 413, "64 MiB"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc", 400, "longer"),
        (long.as_str(), 431, "64 KiB"),
    ] {
        let rehearsal = play(forever());
        let mut client = Client::connect(rehearsal.address());
        client.send(bytes.as_bytes());
        let seen = client.read();
        assert_eq!(seen.status, Some(status), "{reason}");
        assert!(seen.text().contains(reason), "{} in {}", reason, seen.text());
        assert_eq!(client.read().end, End::Closed);
    }
}

#[test]
fn unknown_paths_are_told_what_is_served() {
    let rehearsal = play(forever());
    let mut client = Client::connect(rehearsal.address());
    let seen = client.post("/v1/unknown?x=1", &[], "{}");
    assert_eq!(seen.status, Some(404));
    let message = seen.json()["error"]["message"].as_str().map(str::to_owned).expect("words");
    assert!(message.contains("POST /v1/unknown is not served"), "{message}");
    assert!(message.contains("POST /v1/messages,"), "{message}");
    client.send(b"GET /v1/messages HTTP/1.1\r\n\r\n");
    assert_eq!(client.read().status, Some(405));
    assert_eq!(rehearsal.answers_left().len(), 1);
}

#[test]
fn tokens_are_counted_without_using_an_answer_up() {
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let mut client = Client::connect(rehearsal.address());
    let body = prompt("hello").to_string();
    let seen = client.post("/v1/messages/count_tokens", &[], &body);
    assert_eq!(seen.json(), json!({"input_tokens": body.len().div_ceil(4)}));
    let seen = client.post("/v1beta/models/g:countTokens", &[], "12345678");
    assert_eq!(seen.json(), json!({"totalTokens": 2}));
    assert_eq!(rehearsal.answers_left().len(), 1);
}

#[test]
fn requests_are_recorded_as_they_came() {
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let mut client = Client::connect(rehearsal.address());
    let body = prompt("hello").to_string();
    client.post("/v1/messages?beta=true", &[("X-Api-Key", "k-1"), ("A", "b")], &body);
    client.post("/v1/messages", &[], &body);
    assert_eq!(rehearsal.request_count(), 2);
    let requests = rehearsal.requests();
    let first = &requests[0];
    assert_eq!((first.number, first.method.as_str()), (1, "POST"));
    assert_eq!(first.path, "/v1/messages?beta=true");
    assert_eq!((first.header("x-api-key"), first.header("a")), (Some("k-1"), Some("b")));
    assert_eq!((&*first.body, first.body_bytes), (body.as_str(), body.len()));
    assert_eq!(first.json(), Some(prompt("hello")));
    assert_eq!((first.answer, requests[1].answer), (Some(1), None));
    assert!(!format!("{requests:?}").contains("k-1"), "keys stay out of test output");
}

#[test]
fn the_record_keeps_the_last_thousand_and_the_beginning_of_large_bodies() {
    let rehearsal = play(forever());
    let mut client = Client::connect(rehearsal.address());
    let large = "x".repeat(5 * 1024 * 1024);
    client.post("/large", &[], &large);
    let first = rehearsal.requests().remove(0);
    assert_eq!((first.body.len(), first.body_bytes), (4 * 1024 * 1024, large.len()));
    for _ in 0..1_000 {
        client.post("/small", &[], "");
    }
    let requests = rehearsal.requests();
    assert_eq!((requests.len(), rehearsal.request_count()), (1_000, 1_001));
    assert_eq!((requests[0].number, requests[999].number), (2, 1_001));
}

#[test]
fn waiting_for_requests_ends_when_they_come_or_time_is_up() {
    let rehearsal = play(forever());
    assert!(!rehearsal.wait_for_requests_blocking(1, Duration::from_millis(10)));
    let address = rehearsal.address();
    let asking = std::thread::spawn(move || Client::connect(address).ask(&prompt("a")).said());
    assert!(rehearsal.wait_for_requests_blocking(1, Duration::from_secs(240)));
    assert_eq!(rehearsal.requests().len(), 1);
    assert_eq!(asking.join().expect("an answer"), "hi");
}

#[test]
fn it_lives_in_a_runtime_of_one_thread_and_stops_when_told() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let rehearsal =
            Rehearsal::start(forever(), RehearsalOptions::default()).await.expect("start");
        let address = rehearsal.address();
        let asking = tokio::task::spawn_blocking(move || {
            let mut client = Client::connect(address);
            let said = client.ask(&prompt("a")).said();
            (said, client)
        });
        assert!(rehearsal.wait_for_requests(1, Duration::from_secs(240)).await);
        assert!(!rehearsal.wait_for_requests(2, Duration::from_millis(10)).await);
        let (said, mut client) = asking.await.expect("an answer");
        assert_eq!(said, "hi");
        rehearsal.stop().await;
        assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
        assert_eq!(client.read().end, End::Closed);
    });
}

#[test]
fn dropping_the_handle_stops_the_server() {
    let rehearsal = play(forever());
    let mut client = Client::connect(rehearsal.address());
    assert_eq!(client.ask(&prompt("a")).said(), "hi");
    drop(rehearsal);
    assert_eq!(client.read().end, End::Closed);
}

#[test]
fn it_listens_on_loopback_only_and_says_when_the_port_is_taken() {
    let rehearsal = play(forever());
    let address = rehearsal.address();
    assert!(address.ip().is_loopback());
    assert_eq!(rehearsal.url(), format!("http://127.0.0.1:{}", address.port()));
    let taken = Rehearsal::start_blocking(forever(), RehearsalOptions { port: address.port() });
    let message = taken.expect_err("the port is taken").to_string();
    let wanted = format!("cannot listen on 127.0.0.1:{}: ", address.port());
    assert!(message.starts_with(&wanted), "{message}");
    assert!(message.ends_with("; choose another port, or 0 for any"), "{message}");
}

#[test]
fn many_clients_are_served_at_once() {
    let stalled = ScriptedAnswer::text("wait")
        .when("stall")
        .fault(ScriptedFault::stall_after_event(1))
        .repeat(0);
    let rehearsal =
        play(Script::new().answer(stalled).answer(ScriptedAnswer::text("hi").repeat(0)));
    let mut waiting: Vec<_> = (0..20).map(|_| Client::connect(rehearsal.address())).collect();
    for client in &mut waiting {
        client.put(&prompt("stall"));
        assert!(client.wait_for(b"message_start"));
    }
    assert_eq!(Client::connect(rehearsal.address()).ask(&prompt("talk")).said(), "hi");
    rehearsal.stop_blocking();
}
