//! Rows 23 to 26: a stream in an odd form, which is read all the same, or not at all.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::recorder::Recorder;
use crate::fixture::{FixtureOptions, WIRES, added, assert_completed, retractions, shown, waits};
use serde_json::{Value, json};
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{ContentBlock, FailureKind, WireFormat};

/// Reasoning, text and a call, in as many events as there are characters.
fn rich() -> Says {
    Says::text("Grüße, 🦀!").thinking("Hm…").tool("Act", json!({"at": "b"})).chunk(1)
}

/// Plays this stream instead of the rich answer and demands that nothing is lost.
async fn reads_as_rich(wire: WireFormat, name: &str, stream: Vec<u8>) {
    let (recorder, registry) = Recorder::new();
    let says = [Says::raw(stream), Says::text("Done.").when_result("did Act")];
    let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
    let (ending, received) = fixture.run("hi").await;
    assert_completed(&ending);
    assert_eq!(shown(&received), "Grüße, 🦀!Done.", "{wire:?}, {name}");
    assert_eq!((recorder.ran(), waits(&received)), (vec!["Act {\"at\":\"b\"}".to_owned()], vec![]));
}

/// Changes every event, as text.
fn each(events: &[Vec<u8>], change: impl Fn(&str) -> String) -> Vec<u8> {
    let changed = events.iter().map(|event| change(std::str::from_utf8(event).unwrap()));
    changed.collect::<String>().into_bytes()
}

#[tokio::test]
async fn m23_odd_but_lawful_framing_is_tolerated() {
    for wire in WIRES {
        let events = rich().encode_events(wire, 1);
        let mut number = 0;
        let mut mixed = Vec::new();
        for event in &events {
            number += 1;
            let end = ["\n", "\r\n", "\r"][number % 3];
            mixed.extend(String::from_utf8_lossy(event).replace('\n', end).into_bytes());
        }
        let without_name = |event: &str| -> String {
            event.split_inclusive('\n').filter(|line| !line.starts_with("event:")).collect()
        };
        let mut unended = each(&events, str::to_owned);
        unended.truncate(unended.len() - 1);
        for (name, stream) in [
            ("byte order mark", [b"\xEF\xBB\xBF".to_vec(), events.concat()].concat()),
            ("CRLF", each(&events, |event| event.replace('\n', "\r\n"))),
            ("CR", each(&events, |event| event.replace('\n', "\r"))),
            ("CR, LF and CRLF", mixed),
            ("comments", each(&events, |event| format!(": note\n\n:\n{event}: note\n\n"))),
            ("no event names", each(&events, without_name)),
            (
                "wrong event names",
                each(&events, |event| format!("event: odd\n{}", without_name(event))),
            ),
            ("no space", each(&events, |event| event.replace("data: ", "data:"))),
            ("ids and retries", each(&events, |event| format!("id: 7\nretry: 10\n{event}"))),
            ("blank storm", each(&events, |event| format!("{}{event}", "\n".repeat(500)))),
            (
                "data in several lines",
                each(&events, |event| event.replacen("data: {", "data: {\ndata:  ", 1)),
            ),
            ("no last blank line", unended),
        ] {
            reads_as_rich(wire, name, stream).await;
        }
    }
}

#[tokio::test]
async fn m23_broken_json_voids_the_answer() {
    for wire in WIRES {
        let count = rich().encode_events(wire, 1).len();
        // Up to the call on every wire, so that no tool has started.
        for event in [1, 2, count / 2] {
            let (recorder, registry) = Recorder::new();
            let says = [
                rich().fault(ScriptedFault::MalformedAtEvent { event }),
                Says::text("Done.").when_result("did Act"),
                rich(),
            ];
            let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            let waits = waits(&received);
            assert!(
                matches!(waits[..], [(FailureKind::ServerFault, _)]),
                "{wire:?} {event}: {waits:?}"
            );
            assert_eq!((shown(&received), recorder.ran().len()), ("Grüße, 🦀!Done.".to_owned(), 1));
        }
    }
}

#[tokio::test]
async fn m24_characters_cut_between_chunks_are_joined() {
    let play = |wire| async move {
        let fault = ScriptedFault::Slow { per_byte: Duration::ZERO };
        let mut fixture =
            FixtureOptions::on(wire).play([Says::text("Grüße, 🦀!").fault(fault)]).await;
        fixture.run("hi").await
    };
    for played in WIRES.map(|wire| tokio::spawn(play(wire))) {
        let (ending, received) = played.await.unwrap();
        assert_completed(&ending);
        assert_eq!((shown(&received), waits(&received)), ("Grüße, 🦀!".to_owned(), vec![]));
    }
}

#[tokio::test]
async fn m24_invalid_characters_void_the_answer() {
    for wire in WIRES {
        let stream = rich().chunk(99).encode_events(wire, 1).concat();
        let crab = stream.windows(4).position(|four| four == "🦀".as_bytes()).unwrap();
        for broken in [&b"\xFF"[..], b"\xF0\x9F\xA6", b"\xC0\x80"] {
            let stream = [&stream[..crab], broken, &stream[crab + 4..]].concat();
            let (recorder, registry) = Recorder::new();
            let says = [Says::raw(stream), Says::text("Done.")];
            let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert!(matches!(waits(&received)[..], [(FailureKind::ServerFault, _)]), "{wire:?}");
            assert_eq!((shown(&received), recorder.ran().len()), ("Done.".to_owned(), 0));
            assert!(!fixture.rehearsal.requests()[1].body.contains("Gr"), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn m25_arguments_are_read_once_they_are_whole() {
    let arguments =
        r#"{"at":"crab \ud83e\udd80, quote \", slash \\, \u00e4 ä","deep":[{"n":-1.5e3}]}"#;
    for wire in WIRES {
        for chunk in [1, 2, 3, 5] {
            let (recorder, registry) = Recorder::new();
            let says = [
                Says::empty().tool_text("Act", arguments).chunk(chunk),
                Says::text("Done.").when_result("did Act"),
            ];
            let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
            let (ending, _) = fixture.run("hi").await;
            assert_completed(&ending);
            let ran = recorder.ran();
            let input: Value = serde_json::from_str(ran[0].strip_prefix("Act ").unwrap()).unwrap();
            let expected: Value = serde_json::from_str(arguments).unwrap();
            assert_eq!((input, ran.len()), (expected, 1), "{wire:?} {chunk}");
        }
    }
}

/// Plays this stream, which says plain words and something else; then asks once more. Gives what
/// was kept, and the body of the second request.
async fn plain_words(wire: WireFormat, stream: Vec<u8>) -> (Vec<ContentBlock>, Arc<str>) {
    let says = [Says::raw(stream), Says::text("And more.")];
    let mut fixture = FixtureOptions::on(wire).play(says).await;
    let (ending, received) = fixture.run("hi").await;
    assert_completed(&ending);
    assert_eq!(
        (shown(&received), retractions(&received)),
        ("Plain words.".to_owned(), 0),
        "{wire:?}"
    );
    assert_completed(&fixture.run("more").await.0);
    let next = fixture.rehearsal.requests().pop().unwrap().body;
    (added(&received).pop().unwrap().content.clone(), next)
}

/// The events of a plain answer with others between them.
fn between(wire: WireFormat, place: usize, others: &[Value]) -> Vec<u8> {
    let mut events = Says::text("Plain words.").chunk(99).encode_events(wire, 1);
    for (number, payload) in others.iter().enumerate() {
        events.insert(place + number, format!("data: {payload}\n\n").into_bytes());
    }
    events.concat()
}

#[tokio::test]
async fn m26_unknown_events_and_deltas_are_ignored() {
    let delta = json!({"type": "mood_delta", "mood": "sunny"});
    let choice = json!({"index": 0, "delta": {"mood": "sunny"}});
    for (wire, place, unknown) in [
        (WireFormat::AnthropicMessages, 1, json!({"type": "message_mood", "mood": "sunny"})),
        (
            WireFormat::AnthropicMessages,
            2,
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        ),
        (WireFormat::OpenaiResponses, 2, json!({"type": "response.mood.delta", "delta": "sunny"})),
        (WireFormat::OpenaiChat, 1, json!({"id": "x", "choices": [choice], "mood": 1})),
        (WireFormat::OpenaiChat, 1, json!({"object": "chat.completion.mood", "mood": "sunny"})),
        (WireFormat::Gemini, 0, json!({"moodMetadata": {"mood": "sunny"}})),
    ] {
        let (kept, next) = plain_words(wire, between(wire, place, &[unknown])).await;
        assert!(
            matches!(&kept[..], [ContentBlock::Text(text)] if text == "Plain words."),
            "{kept:?}"
        );
        assert!(!next.contains("sunny"), "{wire:?}: {next}");
    }
}

#[tokio::test]
async fn m26_unknown_blocks_are_kept_and_sent_back_as_they_came() {
    let secret = json!({"b": 1, "a": [true, null, "ü"]});
    let mood = json!({"type": "mood", "id": "mood_1", "secret": secret});
    // The chat wire has no blocks. On the messages wire the words come first, so that the unknown
    // block is number 1.
    for (wire, place, unknown) in [
        (
            WireFormat::AnthropicMessages,
            4,
            vec![
                json!({"type": "content_block_start", "index": 1, "content_block": mood}),
                json!({"type": "content_block_stop", "index": 1}),
            ],
        ),
        (
            WireFormat::OpenaiResponses,
            2,
            vec![json!({"type": "response.output_item.done", "output_index": 7, "item": mood})],
        ),
        (
            WireFormat::Gemini,
            0,
            vec![json!({"candidates": [{"content": {"parts": [mood], "role": "model"}}]})],
        ),
    ] {
        let (kept, next) = plain_words(wire, between(wire, place, &unknown)).await;
        assert!(kept.iter().any(|block| matches!(block, ContentBlock::Provider(_))), "{kept:?}");
        assert!(next.contains(&mood.to_string()), "{wire:?}: {next}");
        assert!(next.contains("Plain words."), "{wire:?}: {next}");
    }
}
