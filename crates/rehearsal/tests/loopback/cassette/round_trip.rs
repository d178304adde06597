//! What a client sees through a recorder, it sees again from the cassette.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_rehearsal::cassette::{ExchangeEnd as Ended, ReplayPace};
use windlass_rehearsal::{Cassette, ReplayOptions, Script, ScriptedAnswer, ScriptedFault};

use super::upstream::{Do, Upstream, chunked};
use super::{Ask, all_recorded, ask, asks, recorder, replay, replay_with};
use crate::client::{Client, End, Seen, play, prompt};

fn answer() -> ScriptedAnswer {
    ScriptedAnswer::text("A few words, some of them — like these — not in ASCII.")
        .thinking("Let me see …")
        .tool("Bash", json!({"command": "ls \"here\"\n"}))
        .chunk(7)
}

/// What shows in both.
fn shown(seen: &Seen) -> (Option<u16>, Option<&str>, Vec<u8>, End) {
    (seen.status, seen.header("content-type"), seen.body.clone(), seen.end)
}

/// Records what this script says, then replays it with the script's server gone.
fn twice(script: Script, asked: &Ask) -> (Seen, Seen, Ended) {
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play(script);
    let recorder = recorder(&rehearsal.url(), folder.path());
    let live = ask(recorder.address(), asked);
    all_recorded(&recorder.finish_blocking(), 1);
    rehearsal.stop_blocking();
    let end = Cassette::load(folder.path()).expect("a cassette").exchanges()[0].end;
    let replay = replay(folder.path());
    let again = ask(replay.address(), asked);
    let summary = replay.finish_blocking();
    assert!(summary.is_exact(), "{summary:?}");
    (live, again, end)
}

#[test]
fn every_wire_comes_back_to_the_byte() {
    for streaming in [true, false] {
        for asked in asks(streaming) {
            let direct = ask(play(Script::new().answer(answer())).address(), &asked);
            let (live, again, _) = twice(Script::new().answer(answer()), &asked);
            assert_eq!(shown(&live), shown(&direct), "{}", asked.path);
            assert_eq!(shown(&again), shown(&direct), "{}", asked.path);
            assert!(!direct.body.is_empty());
        }
    }
}

#[test]
fn faults_come_back_as_faults() {
    let sse = &asks(true)[0];
    for (fault, end) in [
        (ScriptedFault::cut_after_event(0), Ended::Cut),
        (ScriptedFault::cut_after_event(5), Ended::Cut),
        (ScriptedFault::cut_after_byte(300), Ended::Cut),
        (ScriptedFault::cut_after_event(usize::MAX), Ended::Cut),
        (ScriptedFault::DropConnection { reset: false }, Ended::Cut),
        (ScriptedFault::DropConnection { reset: true }, Ended::Reset),
        (ScriptedFault::error_event("overloaded_error", 4), Ended::Complete),
        (ScriptedFault::MalformedAtEvent { event: 3 }, Ended::Complete),
        (ScriptedFault::Html { status: 502 }, Ended::Complete),
        (ScriptedFault::refuse(529), Ended::Complete),
    ] {
        let script = Script::new().answer(answer().fault(fault.clone()));
        let direct = ask(play(script.clone()).address(), sse);
        let (live, again, recorded) = twice(script, sse);
        assert_eq!(shown(&live), shown(&direct), "{fault:?}");
        assert_eq!(shown(&again), shown(&direct), "{fault:?}");
        assert_eq!(recorded, end, "{fault:?}");
    }
}

#[test]
fn a_reset_in_the_middle_comes_back_as_a_reset() {
    let fault = ScriptedFault::CutAfterEvent { events: 4, reset: true };
    let (live, again, end) = twice(Script::new().answer(answer().fault(fault)), &asks(true)[0]);
    // How much of the answer a reset destroys differs from time to time; that it is one does not.
    assert_eq!((live.end, again.end, end), (End::Reset, End::Reset, Ended::Reset));
}

#[test]
fn a_refusal_keeps_the_headers_a_client_acts_on() {
    let headers = [
        ("retry-after", "7"),
        ("x-should-retry", "true"),
        ("anthropic-ratelimit-tokens-remaining", "12"),
    ];
    let fault = ScriptedFault::Refuse {
        status: 529,
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        body: None,
    };
    let (_, again, _) =
        twice(Script::new().answer(ScriptedAnswer::from_fault(fault)), &asks(true)[0]);
    assert_eq!(
        (again.status, again.json()["error"]["type"].as_str()),
        (Some(529), Some("overloaded_error"))
    );
    for (name, value) in headers {
        assert_eq!(again.header(name), Some(value), "{name}");
    }
}

#[test]
fn chunks_stay_the_chunks_they_were() {
    // The second chunk ends inside a character, the fourth is no text at all.
    let pieces: [&[u8]; 5] =
        [b"data: one\n\n", b"data: wei\xc3", b"\x9f\n\n", b"\xff\xfe\x00", b"x"];
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = Upstream::new(vec![chunked(&pieces, true)]);
    let recorder = recorder(&upstream.url, folder.path());
    let live = ask(recorder.address(), &asks(true)[0]);
    all_recorded(&recorder.finish_blocking(), 1);
    let cassette = Cassette::load(folder.path()).expect("a cassette");
    let recorded: Vec<_> =
        cassette.exchanges()[0].chunks.iter().map(|one| &one.bytes[..]).collect();
    assert_eq!(recorded, pieces);
    let again = ask(replay(folder.path()).address(), &asks(true)[0]);
    let sizes: Vec<_> = pieces.iter().map(|piece| piece.len()).collect();
    assert_eq!((live.chunks, again.chunks), (sizes.clone(), sizes));
    assert_eq!((live.body, again.body), (pieces.concat(), pieces.concat()));
}

#[test]
fn a_body_with_a_length_keeps_it_and_a_short_one_stays_short() {
    let asked = &asks(false)[0];
    for (head, body, end, status) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", "12345", End::Complete, 200),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", "12345", End::Closed, 200),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", "", End::Closed, 200),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "", End::Complete, 200),
        ("HTTP/1.1 204 No Content\r\n\r\n", "", End::Complete, 204),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let upstream = Upstream::new(vec![vec![Do::Send(format!("{head}{body}").into())]]);
        let recorder = recorder(&upstream.url, folder.path());
        let live = ask(recorder.address(), asked);
        all_recorded(&recorder.finish_blocking(), 1);
        let again = ask(replay(folder.path()).address(), asked);
        for seen in [live, again] {
            assert_eq!((seen.status, seen.text().as_str(), seen.end), (Some(status), body, end));
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            assert_eq!(seen.header("content-length"), length, "{head}");
            assert_eq!(seen.header("transfer-encoding"), None);
        }
    }
}

#[test]
fn the_pace_is_kept_if_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play(Script::new().answer(answer().pace(Duration::from_millis(20))));
    let recorder = recorder(&rehearsal.url(), folder.path());
    let live = ask(recorder.address(), &asks(true)[0]);
    all_recorded(&recorder.finish_blocking(), 1);
    let cassette = Cassette::load(folder.path()).expect("a cassette");
    let took = Duration::from_millis(cassette.exchanges()[0].end_millis);
    assert!(took >= Duration::from_millis(200), "{took:?}");
    for pace in [ReplayPace::AsRecorded, ReplayPace::AtOnce] {
        let replay = replay_with(folder.path(), ReplayOptions { pace, ..ReplayOptions::default() });
        let begun = Instant::now();
        assert_eq!(ask(replay.address(), &asks(true)[0]).body, live.body);
        // No upper bound: a busy machine may take its time. At once is at once in the plan.
        assert!(pace == ReplayPace::AtOnce || begun.elapsed() >= took, "{:?}", begun.elapsed());
    }
}

#[test]
fn an_answer_the_client_gave_up_on_is_silent_when_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play(Script::new().answer(answer().fault(ScriptedFault::stall_after_event(3))));
    let recorder = recorder(&rehearsal.url(), folder.path());
    let mut client = Client::connect(recorder.address());
    client.put(&prompt("hello"));
    assert!(client.wait_for(b"content_block_delta"));
    drop(client);
    all_recorded(&recorder.finish_blocking(), 1);
    let replay = replay(folder.path());
    let mut client = Client::connect(replay.address());
    client.put(&prompt("hello"));
    assert!(client.wait_for(b"content_block_delta"));
    while let Ok(_rest) = client.listen() {}
    assert_eq!(client.listen(), Err(End::Silent));
}

#[test]
fn a_conversation_on_one_connection_is_recorded_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Script::new()
        .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse_for(529, 1)))
        .answer(ScriptedAnswer::text("one"))
        .answer(ScriptedAnswer::text("two"));
    let rehearsal = play(script);
    let recorder = recorder(&rehearsal.url(), folder.path());
    let mut client = Client::connect(recorder.address());
    for body in ["a", "a", "b"] {
        client.ask(&prompt(body));
    }
    all_recorded(&recorder.finish_blocking(), 3);
    let replay = replay(folder.path());
    let mut client = Client::connect(replay.address());
    let first = client.ask(&prompt("a"));
    assert_eq!((first.status, first.header("retry-after")), (Some(529), Some("1")));
    assert_eq!(replay.exchanges_left().len(), 2);
    // The third may be asked before the second, which is the same as the first was.
    assert_eq!(client.ask(&prompt("b")).said(), "two");
    assert_eq!(client.ask(&prompt("a")).said(), "one");
    assert!(replay.finish_blocking().is_exact());
}
