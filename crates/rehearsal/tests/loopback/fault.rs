//! Each fault, as the client sees it.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::client::{Client, End, Seen, ask_once, play, prompt};

fn answer() -> ScriptedAnswer {
    ScriptedAnswer::text("A few words, some of them — like these — not in ASCII.")
        .tool("Bash", json!({"command": "ls"}))
        .chunk(7)
}

/// The whole stream, as the server sends it when it is the first answer.
fn stream() -> Vec<Vec<u8>> {
    let seen = ask_once(Script::new().answer(answer()));
    assert_eq!((seen.status, seen.end), (Some(200), End::Complete));
    let text = seen.text();
    text.split_inclusive("\n\n").map(|event| event.as_bytes().to_vec()).collect()
}

fn with(fault: ScriptedFault) -> Seen {
    ask_once(Script::new().answer(answer().fault(fault)))
}

#[test]
fn a_refusal_has_its_status_headers_and_body() {
    let headers = vec![("retry-after".to_owned(), "1".to_owned())];
    let body = Some("busy".to_owned());
    let seen = with(ScriptedFault::Refuse { status: 529, headers, body });
    assert_eq!((seen.status, seen.end), (Some(529), End::Complete));
    assert_eq!(seen.header("retry-after"), Some("1"));
    assert_eq!(seen.text(), "busy");
}

#[test]
fn a_refusal_without_a_body_has_the_providers_error_for_its_status() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let seen = with(ScriptedFault::refuse(status));
        assert_eq!(seen.status, Some(status));
        assert_eq!(seen.json()["error"]["type"], kind, "status {status}");
    }
}

#[test]
fn a_cut_comes_after_exactly_the_events_it_names() {
    let events = stream();
    for count in 0..=events.len() + 1 {
        let seen = with(ScriptedFault::cut_after_event(count));
        let sent: Vec<u8> = events.iter().take(count).flatten().copied().collect();
        assert_eq!((seen.status, seen.end), (Some(200), End::Closed), "cut after {count}");
        assert_eq!(seen.text(), String::from_utf8_lossy(&sent), "cut after {count}");
        assert_eq!(seen.in_chunk, count < events.len(), "cut after {count}");
    }
}

#[test]
fn a_cut_comes_after_exactly_the_bytes_it_names() {
    let stream = stream().concat();
    // One server for all, because ids have the number of the answer in them and nine is enough to
    // see: every answer before the tenth has the same length.
    let mut at = 0;
    while at <= stream.len() {
        let batch: Vec<usize> = (at..=stream.len()).take(9).collect();
        let script =
            batch.iter().map(|at| answer().fault(ScriptedFault::cut_after_byte(*at))).collect();
        let rehearsal = play(script);
        for (number, bytes) in (1..).zip(&batch) {
            let seen = Client::connect(rehearsal.address()).ask(&prompt("hello"));
            let whole = String::from_utf8_lossy(&stream)
                .replace("msg_1", &format!("msg_{number}"))
                .replace("toolu_1_0", &format!("toolu_{number}_0"));
            assert_eq!(seen.end, End::Closed, "cut after byte {bytes}");
            assert_eq!(seen.body, whole.as_bytes()[..*bytes], "cut after byte {bytes}");
        }
        at += batch.len();
    }
}

#[test]
fn a_cut_with_a_reset_is_a_reset() {
    let rehearsal = play(
        Script::new()
            .answer(answer().fault(ScriptedFault::CutAfterEvent { events: 2, reset: true })),
    );
    let seen = Client::connect(rehearsal.address()).ask(&prompt("hello"));
    assert_eq!(seen.end, End::Reset);
}

#[test]
fn a_stall_leaves_the_connection_open_and_silent() {
    let events = stream();
    let rehearsal = play(Script::new().answer(answer().fault(ScriptedFault::stall_after_event(3))));
    let mut client = Client::connect(rehearsal.address());
    client.put(&prompt("hello"));
    for event in &events[..3] {
        assert!(client.wait_for(event), "an event before the silence");
    }
    assert!(client.wait_for(b"\r\n"), "the end of a chunk");
    assert_eq!(client.listen(), Err(End::Silent));
    // The end of the server is the end of the silence.
    let begun = Instant::now();
    rehearsal.stop_blocking();
    assert!(begun.elapsed() < Duration::from_secs(120));
    assert_eq!(client.read().end, End::Closed);
}

#[test]
fn a_stall_may_give_signs_of_life() {
    let ping = Some(Duration::from_millis(1));
    let fault = ScriptedFault::StallAfterEvent { events: 1, ping };
    let rehearsal = play(Script::new().answer(answer().fault(fault)));
    let mut client = Client::connect(rehearsal.address());
    client.put(&prompt("hello"));
    for _ in 0..3 {
        assert!(client.wait_for(b"event: ping\ndata: {\"type\":\"ping\"}\n\n\r\n"));
    }
}

#[test]
fn a_malformed_event_is_the_only_one_at_fault() {
    let events = stream();
    for number in 1..=events.len() {
        let seen = with(ScriptedFault::MalformedAtEvent { event: number });
        assert_eq!(seen.end, End::Complete);
        let text = seen.text();
        let got: Vec<&str> = text.split_inclusive("\n\n").collect();
        assert_eq!(got.len(), events.len());
        for (index, (got, sound)) in got.iter().zip(&events).enumerate() {
            let payload = got.lines().find_map(|line| line.strip_prefix("data:")).expect("data");
            let parses = serde_json::from_str::<serde_json::Value>(payload).is_ok();
            assert_eq!(parses, index + 1 != number, "event {} of {number}: {got}", index + 1);
            assert_eq!(parses, got.as_bytes() == sound);
        }
    }
}

#[test]
fn an_error_event_ends_the_answer() {
    let events = stream();
    let seen = with(ScriptedFault::error_event("overloaded_error", 4));
    assert_eq!((seen.status, seen.end), (Some(200), End::Complete));
    assert!(seen.body.starts_with(&events[..4].concat()));
    let last = seen.payloads().pop().expect("an event");
    assert_eq!(seen.payloads().len(), 5);
    assert_eq!(last["type"], "error");
    assert_eq!(last["error"]["type"], "overloaded_error");
    assert!(seen.text().contains("event: error\n"));
}

#[test]
fn an_error_event_may_leave_the_connection_open() {
    let fault = ScriptedFault::ErrorEvent {
        kind: "api_error".to_owned(),
        message: "lost".to_owned(),
        after_event: 0,
        hold_open: true,
    };
    let rehearsal = play(Script::new().answer(answer().fault(fault)));
    let mut client = Client::connect(rehearsal.address());
    client.put(&prompt("hello"));
    assert!(client.wait_for(b"\"message\":\"lost\""));
    assert!(client.wait_for(b"\n\n\r\n"));
    assert_eq!(client.listen(), Err(End::Silent));
}

#[test]
fn a_dropped_connection_says_nothing() {
    for (reset, end) in [(false, End::Closed), (true, End::Reset)] {
        let seen = with(ScriptedFault::DropConnection { reset });
        assert_eq!((seen.status, seen.end), (None, end));
        assert!(seen.body.is_empty());
    }
}

#[test]
fn a_slow_answer_takes_its_time_and_is_whole() {
    let raw = "data: 0123456789\n\n";
    let per_byte = Duration::from_millis(2);
    let begun = Instant::now();
    let seen = ask_once(
        Script::new().answer(ScriptedAnswer::raw(raw).fault(ScriptedFault::Slow { per_byte })),
    );
    assert_eq!((seen.end, seen.text().as_str()), (End::Complete, raw));
    assert!(begun.elapsed() >= per_byte * 18);
}

#[test]
fn a_slow_answer_keeps_the_client_waiting_inside_an_event() {
    let per_byte = Duration::from_secs(60);
    let rehearsal = play(Script::new().answer(answer().fault(ScriptedFault::Slow { per_byte })));
    let mut client = Client::connect(rehearsal.address());
    client.put(&prompt("hello"));
    let size = format!("\r\n\r\n{:x}\r\n", stream()[0].len());
    assert!(client.wait_for(size.as_bytes()), "an event is announced");
    assert_eq!(client.listen(), Err(End::Silent));
}

#[test]
fn a_web_page_is_no_answer() {
    for status in [200, 502] {
        let seen = with(ScriptedFault::Html { status });
        assert_eq!((seen.status, seen.end), (Some(status), End::Complete));
        assert_eq!(seen.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(seen.text().starts_with("<!DOCTYPE html>"));
    }
}

#[test]
fn broken_compression_looks_sound_from_outside() {
    let seen = with(ScriptedFault::BrokenGzip);
    assert_eq!((seen.status, seen.end), (Some(200), End::Complete));
    assert_eq!(seen.header("content-encoding"), Some("gzip"));
    assert!(seen.body.starts_with(&[0x1f, 0x8b, 0x08]));
}

#[test]
fn raw_bytes_arrive_as_they_are_and_faults_count_their_events() {
    let raw = b"\xEF\xBB\xBF: hi\r\n\r\nevent: x\ndata: \xFF\n\ndata: tail".to_vec();
    let seen = ask_once(Script::new().answer(ScriptedAnswer::raw(raw.clone())));
    assert_eq!((seen.end, &seen.body), (End::Complete, &raw));
    let cut = ScriptedAnswer::raw(raw.clone()).fault(ScriptedFault::cut_after_event(1));
    let seen = ask_once(Script::new().answer(cut));
    assert_eq!((seen.end, seen.body.as_slice()), (End::Closed, &raw[..11]));
}
