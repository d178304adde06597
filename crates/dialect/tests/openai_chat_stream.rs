//! Streams of `POST /v1/chat/completions` and of its many imitations.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

mod fixture;

use fixture::decode_whole;
use fixture::openai_chat::{call_piece, chunk, chunks, finish, open_chunks, usage};
use serde_json::{Value, json};
use windlass_dialect::{DecodedEvent, Dialect, dialect};
use windlass_vocabulary::{ContentBlock, FailureKind, ModelStopReason, Tokens, WireFormat};

fn wire() -> &'static dyn Dialect {
    dialect(WireFormat::OpenaiChat).expect("spoken")
}

fn read(list: &[Value]) -> Vec<DecodedEvent> {
    decode_whole(wire(), &chunks(list))
}

fn calls(items: &[DecodedEvent]) -> Vec<(String, String, String, bool)> {
    let calls = items.iter().filter_map(|item| match item {
        DecodedEvent::Call { call, problem } => Some((
            call.id.to_string(),
            call.name.to_string(),
            call.input.to_string(),
            problem.is_some(),
        )),
        _ => None,
    });
    calls.collect()
}

fn texts(items: &[DecodedEvent]) -> Vec<&str> {
    let texts = items.iter().filter_map(|item| match item {
        DecodedEvent::Block(ContentBlock::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn stop_of(items: &[DecodedEvent]) -> ModelStopReason {
    match items.last() {
        Some(DecodedEvent::Ended { stop, .. }) => *stop,
        other => panic!("not an end: {other:?}"),
    }
}

fn function(name: &str, arguments: &str) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Every way a server was seen to send the same two calls.
#[test]
fn calls_are_assembled_from_every_known_form_of_chunks() {
    let bare = |call: Value| chunk(json!({"tool_calls": [call]}));
    let table: Vec<(&str, Vec<Value>)> = vec![
        (
            "by index",
            vec![
                call_piece(
                    0,
                    json!({"id": "a", "type": "function", "function": function("Read", "")}),
                ),
                call_piece(0, json!({"function": {"arguments": "{\"x\""}})),
                call_piece(0, json!({"function": {"arguments": ":1}"}})),
                call_piece(1, json!({"id": "b", "function": function("Bash", "{}")})),
            ],
        ),
        (
            "interleaved",
            vec![
                call_piece(0, json!({"id": "a", "function": function("Read", "{\"x\"")})),
                call_piece(1, json!({"id": "b", "function": function("Bash", "{")})),
                call_piece(0, json!({"function": {"arguments": ":1}"}})),
                call_piece(1, json!({"function": {"arguments": "}"}})),
            ],
        ),
        (
            "two in one chunk",
            vec![chunk(json!({"tool_calls": [
                {"index": 0, "id": "a", "function": function("Read", "{\"x\":1}")},
                {"index": 1, "id": "b", "function": function("Bash", "{}")},
            ]}))],
        ),
        (
            "without index",
            vec![
                bare(json!({"id": "a", "function": function("Read", "{\"x\"")})),
                bare(json!({"function": {"arguments": ":1}"}})),
                bare(json!({"id": "b", "function": function("Bash", "{}")})),
            ],
        ),
        (
            "every index zero",
            vec![
                call_piece(0, json!({"id": "a", "function": function("Read", "{\"x\":1}")})),
                call_piece(0, json!({"id": "b", "function": function("Bash", "{}")})),
            ],
        ),
        (
            "id and name in every piece",
            vec![
                call_piece(0, json!({"id": "a", "function": function("Read", "{\"x\"")})),
                call_piece(0, json!({"id": "a", "function": function("Read", ":1}")})),
                call_piece(1, json!({"id": "b", "function": function("Bash", "{")})),
                call_piece(1, json!({"id": "b", "function": function("Bash", "}")})),
            ],
        ),
        (
            "empty ids after the first",
            vec![
                call_piece(0, json!({"id": "a", "function": function("Read", "{\"x\"")})),
                call_piece(0, json!({"id": "", "function": {"name": null, "arguments": ":1}"}})),
                call_piece(1, json!({"id": "b", "function": function("Bash", "")})),
            ],
        ),
        (
            "arguments as an object",
            vec![
                call_piece(
                    0,
                    json!({"id": "a", "function": {"name": "Read", "arguments": {"x": 1}}}),
                ),
                call_piece(1, json!({"id": "b", "function": {"name": "Bash", "arguments": null}})),
            ],
        ),
    ];
    for (name, mut list) in table {
        list.push(finish("tool_calls"));
        let expected: [(String, String, String, bool); 2] = [
            ("a".into(), "Read".into(), "{\"x\":1}".into(), false),
            ("b".into(), "Bash".into(), "{}".into(), false),
        ];
        assert_eq!(calls(&read(&list)), expected, "{name}");
    }
}

#[test]
fn arguments_are_shown_only_for_the_call_that_began_last() {
    let items = read(&[
        call_piece(0, json!({"id": "a", "function": function("Read", "{\"x\"")})),
        call_piece(1, json!({"id": "b", "function": function("Bash", "{")})),
        call_piece(0, json!({"function": {"arguments": ":1}"}})),
        call_piece(1, json!({"function": {"arguments": "}"}})),
        finish("tool_calls"),
    ]);
    let shown: Vec<&str> = items
        .iter()
        .filter_map(|item| match item {
            DecodedEvent::CallInput(piece) => Some(piece.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["{\"x\"", "{", "}"]);
}

#[test]
fn calls_without_ids_get_ids_of_their_own() {
    let list = [
        chunk(json!({"tool_calls": [{"function": function("Read", "{}")}]})),
        chunk(json!({"tool_calls": [{"id": "", "function": function("Read", "{}")}]})),
        finish("stop"),
    ];
    let ids: Vec<String> = calls(&read(&list)).into_iter().map(|call| call.0).collect();
    assert_eq!(ids, ["call_chatcmpl-1_0", "call_chatcmpl-1_1"]);
}

#[test]
fn a_call_counts_only_when_the_answer_is_complete() {
    let whole = call_piece(0, json!({"id": "a", "function": function("Read", "{}")}));
    let cut = decode_whole(wire(), &open_chunks(std::slice::from_ref(&whole)));
    assert_eq!(calls(&cut), []);
    assert!(matches!(cut.last(), Some(DecodedEvent::Failed(failure))
        if failure.kind == FailureKind::Transport));
    let ended = decode_whole(wire(), &open_chunks(&[whole.clone(), finish("stop")]));
    assert_eq!(calls(&ended).len(), 1, "a reason is enough, whatever it is");
    assert_eq!(calls(&read(&[whole])).len(), 1, "the end marker is enough");
    let empty = call_piece(0, json!({"id": "a", "function": function("Read", "")}));
    let limited = read(&[empty.clone(), finish("length")]);
    assert!(calls(&limited)[0].3, "cut before its arguments came");
    let half = call_piece(0, json!({"id": "a", "function": function("Read", "{\"x\":")}));
    assert!(calls(&read(&[half, finish("length")]))[0].3, "cut inside its arguments");
    assert!(!calls(&read(&[empty, finish("tool_calls")]))[0].3, "no arguments at all");
}

#[test]
fn known_and_unknown_finish_reasons_are_mapped() {
    let table = [
        ("stop", ModelStopReason::EndTurn, false),
        ("tool_calls", ModelStopReason::EndTurn, false),
        ("function_call", ModelStopReason::EndTurn, false),
        ("length", ModelStopReason::OutputLimit, false),
        ("model_length", ModelStopReason::WindowFull, false),
        ("content_filter", ModelStopReason::Refusal, false),
        ("eos", ModelStopReason::EndTurn, true),
    ];
    for (reason, stop, has_detail) in table {
        let items = read(&[chunk(json!({"content": "x"})), finish(reason)]);
        let Some(DecodedEvent::Ended { stop: read, detail, .. }) = items.last() else {
            panic!("{reason}")
        };
        assert_eq!((*read, detail.is_some()), (stop, has_detail), "{reason}");
    }
    let gave_up = read(&[chunk(json!({"content": "x"})), finish("error")]);
    assert!(matches!(gave_up.last(), Some(DecodedEvent::Failed(_))));
    let empty = read(&[chunk(json!({"content": "x"})), finish(""), finish("stop")]);
    assert_eq!(stop_of(&empty), ModelStopReason::EndTurn);
    let refused = read(&[chunk(json!({"refusal": "No."})), finish("stop")]);
    assert_eq!(stop_of(&refused), ModelStopReason::Refusal);
    assert_eq!(texts(&refused), ["No."]);
}

#[test]
fn deviations_of_compatible_servers_are_accepted() {
    let items = read(&[
        json!({"id": "", "choices": [{"delta": {"content": [{"type": "text", "text": "a"},
            {"type": "odd"}]}}]}),
        json!({"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
        json!({"object": "ping"}),
        json!({"choices": [{"delta": {"content": null, "reasoning": "hm"}}], "usage": "none"}),
        json!({"choices": [{"delta": {"reasoning_details": [], "reasoning": {"odd": 1}}}]}),
        json!({"choices": [{"delta": null}], "error": null}),
        json!({"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]}),
        json!({"choices": [{"delta": {"content": "too late"}}]}),
        json!({"choices": null, "usage": {"prompt_tokens": 5, "completion_tokens": 2,
            "prompt_tokens_details": null}}),
    ]);
    assert_eq!(texts(&items), ["ab"]);
    assert!(items.contains(&DecodedEvent::Thinking("hm".into())));
    assert!(matches!(items.first(), Some(DecodedEvent::Started { message_id: None, model: None })));
    let Some(DecodedEvent::Ended { usage, .. }) = items.last() else { panic!("{items:?}") };
    assert_eq!((usage.input, usage.output), (Tokens(5), Tokens(2)));
}

#[test]
fn usage_that_follows_the_finish_reason_is_read() {
    let body = open_chunks(&[chunk(json!({"content": "x"})), finish("stop"), usage()]);
    let items = decode_whole(wire(), &body);
    let Some(DecodedEvent::Ended { usage, .. }) = items.last() else { panic!("{items:?}") };
    assert_eq!((usage.input, usage.cache_read), (Tokens(40), Tokens(60)));
    let nothing = decode_whole(wire(), b"data: [DONE]\n\n");
    assert!(matches!(nothing.as_slice(), [DecodedEvent::Failed(_)]), "an end without a beginning");
}
