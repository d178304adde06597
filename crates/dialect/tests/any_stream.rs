//! What holds for every wire and every stream: the chunking never matters, exactly one terminal
//! item comes, a cut never yields half a call, nothing panics.
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

use fixture::{
    Answer, AnswerPart, all_dialects, assert_ends_once, decode, decode_whole, encode_answer,
    sample_answer,
};
use proptest::prelude::*;
use windlass_dialect::{DecodedEvent, FailedResponse, ResponseLimits, dialect};
use windlass_vocabulary::{AttemptId, ContentBlock, FailureKind, ModelStopReason, WireFormat};

#[test]
fn a_cut_at_every_byte_yields_whole_pieces_only() {
    for (wire, dialect) in all_dialects() {
        let body = encode_answer(wire, &sample_answer());
        let whole = decode_whole(dialect, &body);
        assert!(matches!(
            whole.last(),
            Some(DecodedEvent::Ended { stop: ModelStopReason::EndTurn, .. })
        ));
        let counted: Vec<&DecodedEvent> = whole.iter().filter(|item| counts(item)).collect();
        for end in 0..body.len() {
            let items = decode(dialect, [&body[..end]]);
            assert_ends_once(&items);
            let kept: Vec<&DecodedEvent> = items.iter().filter(|item| counts(item)).collect();
            assert!(counted.starts_with(&kept), "{wire:?} cut at {end}: {kept:?}");
            match items.last() {
                Some(DecodedEvent::Failed(failure)) => {
                    assert_eq!(failure.kind, FailureKind::Transport, "{wire:?} cut at {end}");
                }
                Some(DecodedEvent::Ended { .. }) => {
                    assert_eq!(kept, counted, "{wire:?}: complete only with all blocks, at {end}");
                }
                other => panic!("{wire:?} cut at {end}: {other:?}"),
            }
        }
    }
}

#[test]
fn nothing_comes_after_the_end() {
    for (wire, dialect) in all_dialects() {
        let body = encode_answer(wire, &sample_answer());
        let mut decoder = dialect.new_decoder();
        let mut out = Vec::new();
        decoder.push(&body, &mut out);
        decoder.push(&body, &mut out);
        decoder.finish(&mut out);
        decoder.finish(&mut out);
        decoder.push(&body, &mut out);
        assert_eq!(out, decode_whole(dialect, &body), "{wire:?}");
        assert_ends_once(&out);
    }
}

#[test]
fn raw_events_come_only_when_asked_for_and_change_nothing() {
    for (wire, dialect) in all_dialects() {
        let body = encode_answer(wire, &sample_answer());
        let mut decoder = dialect.new_decoder();
        decoder.emit_raw_events();
        let mut out = Vec::new();
        decoder.push(&body, &mut out);
        decoder.finish(&mut out);
        assert!(out.iter().any(|item| matches!(item, DecodedEvent::Raw(_))), "{wire:?}");
        out.retain(|item| !matches!(item, DecodedEvent::Raw(_)));
        assert_eq!(out, decode_whole(dialect, &body), "{wire:?}");
    }
}

#[test]
fn ids_of_calls_without_an_id_differ_between_attempts() {
    let bodies: [(WireFormat, &str); 4] = [
        (
            WireFormat::AnthropicMessages,
            r#"data: {"type":"message_start","message":{}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"R"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_stop"}

"#,
        ),
        (
            WireFormat::OpenaiChat,
            r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"R"}}]}}]}

data: [DONE]

"#,
        ),
        (
            WireFormat::OpenaiResponses,
            r#"data: {"type":"response.created","response":{}}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call"}}

data: {"type":"response.completed","response":{}}

"#,
        ),
        (
            WireFormat::Gemini,
            r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"R"}}]}}]}

"#,
        ),
    ];
    for (wire, body) in bodies {
        let id = |attempt: u64| {
            let mut decoder = dialect(wire).expect("spoken").new_decoder();
            decoder.set_attempt(AttemptId(attempt));
            let mut out = Vec::new();
            decoder.push(body.as_bytes(), &mut out);
            let call = out.iter().find_map(|item| match item {
                DecodedEvent::Call { call, .. } => Some(call.id.to_string()),
                _ => None,
            });
            call.unwrap_or_else(|| panic!("{wire:?}: {out:?}"))
        };
        assert_eq!((id(7), id(8)), ("call_a7_0".into(), "call_a8_0".into()), "{wire:?}");
    }
}

fn failure_of(items: &[DecodedEvent]) -> FailureKind {
    match items.last() {
        Some(DecodedEvent::Failed(failure)) => failure.kind,
        other => panic!("not a failure: {other:?}"),
    }
}

/// Decodes with a small allowance.
fn decode_within(wire: WireFormat, allowance: ResponseLimits, body: &[u8]) -> Vec<DecodedEvent> {
    let mut decoder = dialect(wire).expect("spoken").new_decoder();
    decoder.set_limits(allowance);
    let mut out = Vec::new();
    decoder.push(body, &mut out);
    decoder.finish(&mut out);
    out
}

#[test]
fn the_default_limits_on_an_answer() {
    assert_eq!(
        ResponseLimits::default(),
        ResponseLimits { bytes: 32 * 1024 * 1024, blocks: 10_000 }
    );
}

#[test]
fn the_number_of_calls_is_limited() {
    let call = |number: usize| fixture::call(&format!("c{number}"), "Read", &["{}"]);
    let allowance = ResponseLimits { blocks: 100, ..ResponseLimits::default() };
    for (wire, _) in all_dialects() {
        let flood = |count| {
            let answer =
                Answer { parts: (0..count).map(call).collect(), stop: ModelStopReason::EndTurn };
            decode_within(wire, allowance, &encode_answer(wire, &answer))
        };
        assert!(matches!(flood(100).last(), Some(DecodedEvent::Ended { .. })), "{wire:?}");
        let flooded = flood(101);
        assert_eq!(failure_of(&flooded), FailureKind::ServerFault, "{wire:?}");
        assert_ends_once(&flooded);
    }
}

/// Pieces of text, alike or not: they may not pile up for ever.
#[test]
fn the_size_of_text_is_limited() {
    let allowance = ResponseLimits { bytes: 64 * 1024, ..ResponseLimits::default() };
    for (wire, _) in all_dialects() {
        for step in [0, 1] {
            let flood = |pieces: usize| {
                let pieces = (0..pieces).map(|number| "x".repeat(1024 + number * step)).collect();
                let answer = Answer {
                    parts: vec![AnswerPart::Text(pieces)],
                    stop: ModelStopReason::EndTurn,
                };
                decode_within(wire, allowance, &encode_answer(wire, &answer))
            };
            assert!(matches!(flood(20).last(), Some(DecodedEvent::Ended { .. })), "{wire:?}");
            let flooded = flood(80);
            assert_eq!(failure_of(&flooded), FailureKind::ServerFault, "{wire:?}");
            assert_ends_once(&flooded);
            let shown: usize = flooded.iter().map(text_bytes).sum();
            assert!(shown <= 64 * 1024, "{wire:?}: {shown} bytes were shown");
        }
    }
}

fn text_bytes(item: &DecodedEvent) -> usize {
    match item {
        DecodedEvent::Text(text) => text.len(),
        _ => 0,
    }
}

#[test]
fn nesting_without_end_does_not_exhaust_the_stack() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let keys = ["x", "message", "content_block", "delta", "choices", "candidates", "item"];
    for (_, dialect) in all_dialects() {
        for key in keys {
            let body = format!(
                "data: {{\"type\":\"content_block_start\",\"index\":0,\"{key}\":{deep}}}\n\n"
            );
            assert_ends_once(&decode_whole(dialect, body.as_bytes()));
        }
        let failure = dialect.classify_failure(&FailedResponse {
            status: 400,
            headers: &|_| None,
            body: deep.as_bytes(),
            now_unix_seconds: 0,
        });
        assert_eq!(failure.kind, FailureKind::InvalidRequest);
    }
}

/// What goes into the transcript or runs.
fn counts(item: &DecodedEvent) -> bool {
    matches!(item, DecodedEvent::Block(_) | DecodedEvent::Call { .. })
}

fn cut_into<'a>(bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, tail) = rest.split_at((*size).min(rest.len()));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

fn says() -> impl Strategy<Value = Vec<AnswerPart>> {
    let pieces = || proptest::collection::vec("\\PC{0,8}", 0..4);
    let say = prop_oneof![
        pieces().prop_map(AnswerPart::Text),
        (pieces(), "[A-Za-z0-9+/]{4,8}")
            .prop_map(|(pieces, seal)| AnswerPart::Thinking { pieces, seal }),
        ("[a-z]{1,8}", "[A-Za-z]{1,8}", arguments())
            .prop_map(|(id, name, arguments)| AnswerPart::Call { id, name, arguments }),
    ];
    proptest::collection::vec(say, 0..6)
}

/// Valid arguments, cut anywhere a character ends.
fn arguments() -> impl Strategy<Value = Vec<String>> {
    ("\\PC{0,12}", 1_usize..5).prop_map(|(text, size)| {
        let json = serde_json::json!({ "text": text, "n": [1, 2, {"deep": true}] }).to_string();
        let chars: Vec<char> = json.chars().collect();
        chars.chunks(size * 3).map(|chunk| chunk.iter().collect()).collect()
    })
}

/// A valid stream, spoiled: bytes changed, dropped, doubled.
fn spoiled(mut body: Vec<u8>, edits: &[(usize, u8, u8)]) -> Vec<u8> {
    for (place, kind, byte) in edits {
        if body.is_empty() {
            break;
        }
        let at = place % body.len();
        match kind % 4 {
            0 => body[at] = *byte,
            1 => {
                body.remove(at);
            }
            2 => body.insert(at, *byte),
            _ => {
                let end = (at + usize::from(*byte)).min(body.len());
                let copy = body[at..end].to_vec();
                body.splice(at..at, copy);
            }
        }
    }
    body
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn chunking_never_matters(
        says in says(),
        edits in proptest::collection::vec((any::<usize>(), any::<u8>(), any::<u8>()), 0..5),
        sizes in proptest::collection::vec(1_usize..40, 1..30),
    ) {
        for (wire, dialect) in all_dialects() {
            let answer = Answer { parts: says.clone(), stop: ModelStopReason::EndTurn };
            let body = spoiled(encode_answer(wire, &answer), &edits);
            let whole = decode_whole(dialect, &body);
            assert_ends_once(&whole);
            prop_assert_eq!(decode(dialect, cut_into(&body, &sizes)), whole);
        }
    }

    #[test]
    fn encoded_answers_decode_to_the_same_text_and_calls(says in says()) {
        for (wire, dialect) in all_dialects() {
            let answer = Answer { parts: says.clone(), stop: ModelStopReason::EndTurn };
            let items = decode_whole(dialect, &encode_answer(wire, &answer));
            let (mut text, mut calls) = (String::new(), Vec::new());
            for item in &items {
                match item {
                    DecodedEvent::Block(ContentBlock::Text(block)) => text.push_str(block),
                    DecodedEvent::Call { call, .. } => {
                        calls.push((call.name.to_string(), call.input.to_string()));
                    }
                    _ => {}
                }
            }
            let (mut said_text, mut said_calls) = (String::new(), Vec::new());
            for say in &says {
                match say {
                    AnswerPart::Text(pieces) => said_text.push_str(&pieces.concat()),
                    AnswerPart::Thinking { .. } => {}
                    AnswerPart::Call { name, arguments, .. } => {
                        said_calls.push((name.clone(), arguments.concat()));
                    }
                }
            }
            prop_assert_eq!(text, said_text, "{:?}", wire);
            prop_assert_eq!(calls, said_calls, "{:?}", wire);
            let ended = matches!(items.last(), Some(DecodedEvent::Ended { .. }));
            prop_assert!(ended, "{:?}", wire);
        }
    }

    #[test]
    fn any_bytes_end_once(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for (_, dialect) in all_dialects() {
            let whole = decode_whole(dialect, &bytes);
            assert_ends_once(&whole);
            prop_assert_eq!(decode(dialect, bytes.chunks(1)), whole);
        }
    }

    #[test]
    fn any_json_events_end_once(
        events in proptest::collection::vec("\\{\"(type|index|delta|choices|candidates)\":(\"[a-z_.]{0,20}\"|[0-9]|\\{\\}|\\[\\]|null)\\}", 0..8),
    ) {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        for (_, dialect) in all_dialects() {
            assert_ends_once(&decode_whole(dialect, body.as_bytes()));
        }
    }
}
