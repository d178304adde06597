//! Streams of `…:streamGenerateContent`, one row per thing that can happen in them.
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
use fixture::gemini::{chunks, finish, parts, usage};
use fixture::transcript::{answer, call, request, result, results, text, user};
use serde_json::{Value, json};
use windlass_dialect::{DecodedEvent, Dialect, dialect};
use windlass_vocabulary::{
    ContentBlock, FailureKind, ModelName, ModelStopReason, Tokens, WireFormat,
};

fn wire() -> &'static dyn Dialect {
    dialect(WireFormat::Gemini).expect("spoken")
}

fn read(list: &[Value]) -> Vec<DecodedEvent> {
    decode_whole(wire(), &chunks(list))
}

fn blocks(items: &[DecodedEvent]) -> Vec<String> {
    let blocks = items.iter().filter_map(|item| match item {
        DecodedEvent::Block(ContentBlock::Text(text)) => Some(format!("text {text}")),
        DecodedEvent::Block(ContentBlock::Thinking(thinking)) => {
            Some(format!("thinking {}", thinking.text))
        }
        DecodedEvent::Block(ContentBlock::Provider(block)) => {
            Some(format!("{} {}", block.kind, block.json))
        }
        DecodedEvent::Call { call, problem } => Some(format!(
            "call {} {} {}{}{}",
            call.id,
            call.name,
            call.input,
            call.signature.as_deref().map(|seal| format!(" sealed {seal}")).unwrap_or_default(),
            if problem.is_some() { " problem" } else { "" }
        )),
        _ => None,
    });
    blocks.collect()
}

#[test]
fn parts_become_blocks_in_their_order() {
    let items = read(&[
        parts(json!([{"text": "first ", "thought": true}])),
        parts(json!([{"text": "thought", "thought": true}, {"text": "say"}])),
        parts(json!([{"text": "ing"}])),
        parts(json!([
            {"functionCall": {"id": "f1", "name": "Read", "args": {"a": [1]}},
                "thoughtSignature": "S1"},
            {"functionCall": {"name": "Bash"}},
        ])),
        parts(json!([{"text": "done", "thoughtSignature": "S2"}])),
        parts(json!([{"executableCode": {"code": "1"}}])),
        parts(json!([{"text": "", "thoughtSignature": "S3"}])),
        finish("STOP"),
    ]);
    assert_eq!(
        blocks(&items),
        [
            "thinking first thought",
            "text saying",
            "call f1 Read {\"a\":[1]} sealed S1",
            "call call_r1_1 Bash {}",
            "text done",
            "sealed_part {\"text\":\"\",\"thoughtSignature\":\"S2\"}",
            "part {\"executableCode\":{\"code\":\"1\"}}",
            "sealed_part {\"text\":\"\",\"thoughtSignature\":\"S3\"}",
        ]
    );
}

#[test]
fn every_finish_reason_is_mapped() {
    let table = [
        ("STOP", ModelStopReason::EndTurn),
        ("MAX_TOKENS", ModelStopReason::OutputLimit),
        ("CONTINUATION", ModelStopReason::Pause),
        ("SAFETY", ModelStopReason::Refusal),
        ("RECITATION", ModelStopReason::Refusal),
        ("BLOCKLIST", ModelStopReason::Refusal),
        ("PROHIBITED_CONTENT", ModelStopReason::Refusal),
        ("SPII", ModelStopReason::Refusal),
        ("LANGUAGE", ModelStopReason::Refusal),
        ("OTHER", ModelStopReason::EndTurn),
        ("BRAND_NEW", ModelStopReason::EndTurn),
    ];
    for (reason, expected) in table {
        let items = read(&[parts(json!([{"text": "x"}])), finish(reason)]);
        let Some(DecodedEvent::Ended { stop, detail, .. }) = items.last() else {
            panic!("{reason}")
        };
        assert_eq!(*stop, expected, "{reason}");
        let is_plain = matches!(reason, "STOP" | "MAX_TOKENS" | "CONTINUATION");
        assert_eq!(detail.is_none(), is_plain, "{reason}");
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"] {
        let items = read(&[parts(json!([{"text": "x"}])), finish(reason)]);
        assert!(
            matches!(items.last(), Some(DecodedEvent::Failed(failure))
                if failure.kind == FailureKind::ServerFault && failure.message.contains(reason)),
            "{reason}"
        );
        assert!(blocks(&items).is_empty(), "{reason}: nothing counts");
    }
}

#[test]
fn a_refused_prompt_is_a_refusal() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": usage()});
    let items = read(&[blocked]);
    assert!(
        matches!(items.last(), Some(DecodedEvent::Ended { stop: ModelStopReason::Refusal, detail, .. })
        if detail.as_deref() == Some("SAFETY"))
    );
    let silent = json!({"promptFeedback": {"blockReason": "OTHER"}});
    assert!(matches!(
        read(&[silent]).last(),
        Some(DecodedEvent::Ended { stop: ModelStopReason::Refusal, .. })
    ));
}

#[test]
fn the_end_is_known_without_a_marker() {
    let mut decoder = wire().new_decoder();
    let mut out = Vec::new();
    decoder.push(&chunks(&[parts(json!([{"text": "x"}])), finish("STOP")]), &mut out);
    assert!(matches!(out.last(), Some(DecodedEvent::Ended { .. })), "before the body ends");

    let reason = json!({"candidates": [{"finishReason": "STOP"}]});
    let late = json!({"usageMetadata": usage()});
    let items = read(&[parts(json!([{"text": "x"}])), reason.clone(), late]);
    let Some(DecodedEvent::Ended { usage, .. }) = items.last() else { panic!("{items:?}") };
    assert_eq!(usage.cache_read, Tokens(60), "a count that comes after the reason");
    let items = read(&[parts(json!([{"text": "x"}])), reason]);
    assert!(matches!(items.last(), Some(DecodedEvent::Ended { .. })), "or never comes");
}

#[test]
fn unexpected_fragments_do_not_fail_the_answer() {
    let items = read(&[
        json!({}),
        json!({"candidates": []}),
        json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "another"}]}}]}),
        json!({"candidates": [{"content": {}}], "usageMetadata": {"promptTokenCount": "x"}}),
        json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "safetyRatings": []}]}),
        json!({"candidates": [{"content": {"parts": [
            {"functionCall": {"id": "", "name": "Read", "args": [1]}}]}}]}),
        finish("STOP"),
    ]);
    assert_eq!(blocks(&items), ["text x", "call call_unnamed_0 Read [1] problem"]);
}

/// The body of a request whose only call was made by `author`, for `reader`.
fn seals(author: &str, seal: Option<&str>, reader: &str) -> Vec<Option<String>> {
    let calls = ["a", "b"].map(|id| match call(id, "Read", "{}") {
        ContentBlock::ToolUse(mut call) => {
            call.signature = seal.filter(|_| id == "a").map(Into::into);
            ContentBlock::ToolUse(call)
        }
        other => other,
    });
    let mut written = answer(calls.to_vec());
    written.model = Some(ModelName::from(author));
    let mut request = request(vec![
        user(vec![text("q")]),
        written,
        results(vec![result("a", "x"), result("b", "y")]),
    ]);
    request.model = ModelName::from(reader);
    let encoded = wire().encode(&request, wire().rules());
    let body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
    let parts = body["contents"][1]["parts"].as_array().expect("parts");
    parts.iter().map(|part| part["thoughtSignature"].as_str().map(String::from)).collect()
}

#[test]
fn calls_keep_their_signatures_and_those_of_other_models_get_a_placeholder() {
    let stand_in = wire().rules().tools.foreign_call_seal.map(String::from);
    assert!(stand_in.is_some());
    let own = || Some(String::from("S"));
    let table = [
        ("gemini-3-pro", Some("S"), "gemini-3-pro", [own(), None]),
        ("gemini-3-pro", None, "gemini-3-pro", [None, None]),
        ("other", Some("S"), "gemini-3-pro", [stand_in.clone(), None]),
        ("other", None, "gemini-3-pro", [stand_in, None]),
        ("other", Some("S"), "gemini-2.5-flash", [None, None]),
        ("gemini-2.5-flash", Some("S"), "gemini-2.5-flash", [own(), None]),
    ];
    for (author, seal, reader, expected) in table {
        assert_eq!(seals(author, seal, reader), expected, "{author} {seal:?} {reader}");
    }
}
