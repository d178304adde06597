//! The recorder itself: transparent, bounded, and honest about what it did not record.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use windlass_rehearsal::cassette::{ExchangeEnd as Ended, RecordError, UnrecordedReason};
use windlass_rehearsal::{
    Cassette, RecordOptions, Recorder, Replay, ReplayOptions, Script, ScriptedAnswer, ScriptedFault,
};

use super::upstream::{Do, Upstream, chunked};
use super::{all_recorded, all_text, ask, asks, recorder, replay};
use crate::client::{Client, End, play, prompt};

#[test]
fn what_the_upstream_says_is_passed_on_while_it_speaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut todo = chunked(&[b"data: first\n\n"], false);
    todo.push(Do::Wait);
    todo.push(Do::Send(b"e\r\ndata: second\n\n\r\n0\r\n\r\n".to_vec()));
    let upstream = Upstream::new(vec![todo]);
    let recorder = recorder(&upstream.url, folder.path());
    let mut client = Client::connect(recorder.address());
    client.put(&prompt("hello"));
    assert!(client.wait_for(b"first"), "the first event comes before the second is sent");
    upstream.go_on();
    assert!(client.wait_for(b"second"));
    assert!(client.wait_for(b"0\r\n\r\n"));
    all_recorded(&recorder.finish_blocking(), 1);
}

#[test]
fn the_upstream_is_asked_what_the_client_asks() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\n", b"{}");
    let recorder = recorder(&format!("{}/base/", upstream.url), folder.path());
    let headers = [
        ("X-Api-Key", "the-key-itself"),
        ("Anthropic-Beta", "a,b"),
        ("Accept-Encoding", "gzip"),
        ("Connection", "keep-alive"),
    ];
    Client::connect(recorder.address()).post("/v1/x?y=%20z", &headers, "some body");
    let _ = recorder.finish_blocking();
    let request = upstream.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").expect("a request");
    assert!(head.starts_with("POST /base/v1/x?y=%20z HTTP/1.1\r\n"), "{head}");
    for line in ["x-api-key: the-key-itself", "anthropic-beta: a,b", "accept-encoding: identity"] {
        assert!(head.lines().any(|known| known == line), "{line} in {head}");
    }
    assert!(!head.contains("gzip") && !head.contains("here"), "{head}");
    assert_eq!(body, "some body");
}

#[test]
fn an_upstream_that_cannot_be_reached_is_a_clear_error_and_no_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    // The first port is nobody's.
    let recorder = recorder("http://127.0.0.1:1", folder.path());
    for asked in asks(true) {
        let seen = ask(recorder.address(), &asked);
        assert_eq!((seen.status, seen.end), (Some(502), End::Complete));
        let message = seen.json()["error"]["message"].as_str().expect("words").to_owned();
        assert!(message.starts_with("recorder: 127.0.0.1:1 "), "{message}");
        assert!(message.contains("cannot be reached"), "{message}");
    }
    let summary = recorder.finish_blocking();
    assert_eq!((summary.exchanges, summary.unrecorded), (0, 4));
    assert!(matches!(summary.reasons[0].reason, UnrecordedReason::NotForwarded(_)), "{summary:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn an_upstream_that_speaks_no_tls_is_a_clear_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let recorder = recorder(&format!("https://{}", rehearsal.address()), folder.path());
    let seen = ask(recorder.address(), &asks(true)[0]);
    assert_eq!((seen.status, seen.end), (Some(502), End::Complete));
    assert!(seen.text().contains("cannot be reached"), "{}", seen.text());
    let summary = recorder.finish_blocking();
    assert_eq!((summary.exchanges, rehearsal.request_count()), (0, 0));
}

#[test]
fn a_redirect_is_passed_on_and_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = play(Script::new().answer(ScriptedAnswer::text("caught")));
    let head = format!("HTTP/1.1 307 Elsewhere\r\nlocation: {}/v1/messages\r\n", elsewhere.url());
    let upstream = Upstream::answering(&head, b"");
    let recorder = recorder(&upstream.url, folder.path());
    let seen = ask(recorder.address(), &asks(true)[0]);
    assert_eq!(seen.status, Some(307));
    assert_eq!(elsewhere.request_count(), 0, "a credential stays with its origin");
    // An address that would lead elsewhere is not even tried.
    for path in ["http://elsewhere.example/x", "*", "x"] {
        let seen = Client::connect(recorder.address()).post(path, &[], "");
        assert_eq!(seen.status, Some(400), "{path}");
    }
}

#[test]
fn what_is_too_large_or_compressed_passes_and_is_noted() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Script::new()
        .answer(ScriptedAnswer::text("x".repeat(5_000)).when("long answer"))
        .answer(ScriptedAnswer::from_fault(ScriptedFault::BrokenGzip).when("gzip"))
        .answer(ScriptedAnswer::text("short").repeat(0));
    let rehearsal = play(script);
    let mut options = RecordOptions::new(rehearsal.url(), folder.path());
    options.exchange_bytes_max = 4_000;
    let recorder = Recorder::start_blocking(options).expect("record");
    let mut client = Client::connect(recorder.address());
    assert_eq!(client.ask(&prompt("long answer")).said().len(), 5_000);
    assert_eq!(client.ask(&prompt(&"y".repeat(5_000))).said(), "short");
    assert_eq!(client.ask(&prompt("gzip")).header("content-encoding"), Some("gzip"));
    let packed = [("content-encoding", "zstd")];
    client.post("/v1/messages", &packed, &prompt("packed").to_string());
    assert_eq!(client.ask(&prompt("hello")).said(), "short");
    let summary = recorder.finish_blocking();
    let mut why: Vec<_> = summary.reasons.into_iter().map(|one| (one.number, one.reason)).collect();
    why.sort_by_key(|(number, _)| *number);
    let (large, packed) = (UnrecordedReason::TooLarge, UnrecordedReason::Compressed);
    assert_eq!(why, [(1, large.clone()), (2, large), (3, packed.clone()), (4, packed)]);
    assert_eq!(summary.exchanges, 1);
    assert!(folder.path().join("0005.jsonl").exists());
}

#[test]
fn many_clients_are_recorded_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let answers =
        (0..20).map(|n| ScriptedAnswer::text(format!("answer {n}")).when(format!("question {n}.")));
    let rehearsal = play(answers.collect());
    let recorder = Arc::new(recorder(&rehearsal.url(), folder.path()));
    let all_ask = |address| {
        let clients: Vec<_> = (0..20)
            .map(|n| {
                std::thread::spawn(move || {
                    let seen = Client::connect(address).ask(&prompt(&format!("question {n}.")));
                    assert_eq!(seen.said(), format!("answer {n}"));
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().expect("an answer"));
    };
    all_ask(recorder.address());
    all_recorded(&Arc::into_inner(recorder).expect("the last").finish_blocking(), 20);
    let replay = replay(folder.path());
    all_ask(replay.address());
    assert!(replay.finish_blocking().is_exact());
}

#[test]
fn a_slow_client_gets_everything_and_so_does_the_cassette() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "0123456789abcde ".repeat(256 * 1024);
    let long = ScriptedAnswer::text(text.clone()).chunk(64 * 1024).when("hello");
    let rehearsal = play(Script::new().answer(long).answer(ScriptedAnswer::text("quick")));
    let recorder = recorder(&rehearsal.url(), folder.path());
    let mut client = Client::connect(recorder.address());
    client.put(&prompt("hello"));
    // Reads nothing until another client has had its answer.
    assert!(rehearsal.wait_for_requests_blocking(1, Duration::from_secs(240)));
    assert_eq!(Client::connect(recorder.address()).ask(&prompt("and me?")).said(), "quick");
    assert_eq!(client.read().said(), text);
    all_recorded(&recorder.finish_blocking(), 2);
    let again = Client::connect(replay(folder.path()).address()).ask(&prompt("hello"));
    assert_eq!(again.said(), text);
}

#[test]
fn stopping_records_what_was_heard_so_far() {
    let folder = tempfile::tempdir().expect("a folder");
    let stalled = ScriptedAnswer::text("half an answer").fault(ScriptedFault::stall_after_event(4));
    let rehearsal = play(Script::new().answer(stalled));
    let recorder = recorder(&rehearsal.url(), folder.path());
    let mut client = Client::connect(recorder.address());
    client.put(&prompt("hello"));
    assert!(client.wait_for(b"half an answer"));
    all_recorded(&recorder.finish_blocking(), 1);
    assert!(all_text(folder.path()).contains("half an answer"));
    assert_eq!(client.read().end, End::Closed);
}

#[test]
fn a_client_that_reads_nothing_does_not_cost_the_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let (full, is_full) = channel();
    let mut todo = chunked(&[b"data: first\n\n"], false);
    todo.push(Do::Flood(full));
    let upstream = Upstream::new(vec![todo]);
    let recorder = recorder(&upstream.url, folder.path());
    let mut client = Client::connect(recorder.address());
    client.put(&prompt("hello"));
    is_full.recv_timeout(Duration::from_secs(120)).expect("every buffer is full");
    all_recorded(&recorder.finish_blocking(), 1);
    upstream.go_on();
    let cassette = Cassette::load(folder.path()).expect("a cassette");
    assert_eq!(cassette.exchanges()[0].end, Ended::Unfinished);
}

#[test]
fn a_disk_that_refuses_disturbs_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let recorder = recorder(&rehearsal.url(), &out);
    std::fs::remove_dir(&out).expect("remove the folder");
    assert_eq!(Client::connect(recorder.address()).ask(&prompt("hello")).said(), "hi");
    let summary = recorder.finish_blocking();
    assert!(matches!(summary.reasons[0].reason, UnrecordedReason::Disk(_)), "{summary:?}");
}

/// A page in a browser could otherwise use it, or a name that was made to lead to this machine.
#[test]
fn only_this_machine_by_its_own_name_is_served() {
    use std::io::{Read as _, Write as _};
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play([ScriptedAnswer::text("hello").repeat(0)].into_iter().collect());
    let recorder = recorder(&rehearsal.url(), folder.path());
    for (headers, expected) in [
        ("host: 127.0.0.1\r\n", "200"),
        ("host: localhost:1\r\norigin: http://localhost:3000\r\n", "200"),
        ("host: evil.example\r\n", "403"),
        ("host: 127.0.0.1.evil.example\r\n", "403"),
        ("host: 127.0.0.1\r\norigin: https://evil.example\r\n", "403"),
        ("host: 127.0.0.1\r\norigin: null\r\n", "403"),
        ("", "403"),
    ] {
        let mut stream = std::net::TcpStream::connect(recorder.address()).expect("a connection");
        let body = prompt("hello").to_string();
        let length = body.len();
        let text = format!(
            "POST /v1/messages HTTP/1.1\r\n{headers}connection: close\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{headers:?}: {answer}");
    }
    assert_eq!(rehearsal.requests().len(), 2);
}

#[test]
fn a_recording_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("0001.jsonl"), "mine").expect("write");
    let error = Recorder::start_blocking(RecordOptions::new("http://127.0.0.1:1", folder.path()));
    let error = error.expect_err("the folder is taken");
    assert!(matches!(error, RecordError::Occupied { .. }), "{error}");
    assert!(error.to_string().contains("choose another folder"), "{error}");
    // Not even one that appeared later.
    let later = tempfile::tempdir().expect("a folder");
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let recorder = recorder(&rehearsal.url(), later.path());
    std::fs::write(later.path().join("0001.jsonl"), "mine").expect("write");
    Client::connect(recorder.address()).ask(&prompt("hello"));
    assert_eq!(recorder.finish_blocking().exchanges, 0);
    let files: Vec<_> = std::fs::read_dir(later.path()).expect("a folder").collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(std::fs::read_to_string(later.path().join("0001.jsonl")).expect("text"), "mine");
}

#[test]
fn an_address_that_is_none_is_refused_without_repeating_its_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    for (url, wanted) in [
        ("nonsense", "it is not an address"),
        ("ftp://example.org", "only http and https"),
        ("http://example.org/?a=b", "it must end with its path"),
        ("http://user:hidden@example.org", "into a header of the request"),
    ] {
        let error = Recorder::start_blocking(RecordOptions::new(url, folder.path()));
        let words = error.expect_err("no address").to_string();
        assert!(words.contains(wanted) && !words.contains("hidden"), "{words}");
    }
}

#[test]
fn recorder_and_replay_live_in_a_runtime_of_one_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let url = rehearsal.url();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let say = |address| {
            tokio::task::spawn_blocking(move || Client::connect(address).ask(&prompt("a")).said())
        };
        let recorder = Recorder::start(RecordOptions::new(url, folder.path())).await;
        let recorder = recorder.expect("record");
        assert!(recorder.address().ip().is_loopback());
        assert_eq!(recorder.url(), format!("http://{}", recorder.address()));
        assert_eq!(say(recorder.address()).await.expect("an answer"), "hi");
        all_recorded(&recorder.finish().await, 1);
        let cassette = Cassette::load(folder.path()).expect("a cassette");
        let replay = Replay::start(cassette, ReplayOptions::default()).await.expect("replay");
        assert!(replay.address().ip().is_loopback());
        assert_eq!(say(replay.address()).await.expect("an answer"), "hi");
        assert!(replay.finish().await.is_exact());
    });
}

#[test]
fn a_dropped_recorder_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let recorder = recorder(&rehearsal.url(), folder.path());
    let mut client = Client::connect(recorder.address());
    assert_eq!(client.ask(&prompt("hello")).said(), "hi");
    drop(recorder);
    assert_eq!(client.read().end, End::Closed);
}
