//! Streams of `POST /v1/messages`, one row per thing that can happen in them.
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

use fixture::anthropic_messages::{
    block_start, block_stop, delta, events, message_delta, message_stop, start,
};
use fixture::decode_whole;
use serde_json::{Value, json};
use windlass_dialect::{DecodedEvent, Dialect, dialect};
use windlass_vocabulary::{ContentBlock, FailureKind, ModelStopReason, Tokens, Usage, WireFormat};

fn wire() -> &'static dyn Dialect {
    dialect(WireFormat::AnthropicMessages).expect("spoken")
}

fn read(list: &[Value]) -> Vec<DecodedEvent> {
    decode_whole(wire(), &events(list))
}

fn failure_of(items: &[DecodedEvent]) -> (FailureKind, String) {
    match items.last() {
        Some(DecodedEvent::Failed(failure)) => (failure.kind, failure.message.clone()),
        other => panic!("not a failure: {other:?}"),
    }
}

fn stop_of(items: &[DecodedEvent]) -> ModelStopReason {
    match items.last() {
        Some(DecodedEvent::Ended { stop, .. }) => *stop,
        other => panic!("not an end: {other:?}"),
    }
}

fn calls(items: &[DecodedEvent]) -> Vec<(String, String, bool)> {
    let calls = items.iter().filter_map(|item| match item {
        DecodedEvent::Call { call, problem } => {
            Some((call.id.to_string(), call.input.to_string(), problem.is_some()))
        }
        _ => None,
    });
    calls.collect()
}

fn provider_json(items: &[DecodedEvent]) -> Vec<(String, String)> {
    let blocks = items.iter().filter_map(|item| match item {
        DecodedEvent::Block(ContentBlock::Provider(block)) => {
            Some((block.kind.to_string(), block.json.to_string()))
        }
        _ => None,
    });
    blocks.collect()
}

fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
}

fn json_delta(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": text}))
}

#[test]
fn a_complete_answer_is_decoded_to_deltas() {
    let items = decode_whole(
        wire(),
        &fixture::encode_answer(WireFormat::AnthropicMessages, &fixture::sample_answer()),
    );
    let usage = |output| Usage {
        input: Tokens(25),
        output: Tokens(output),
        cache_write: Tokens(7),
        cache_read: Tokens(11),
    };
    let shown: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    let expected = [
        "Started { message_id: Some(\"msg_1\"), model: Some(ModelName(\"claude-test\")) }",
        &format!("Usage({:?})", usage(1)),
        "Ping",
        "Thinking(\"let me \")",
        "Thinking(\"see…\")",
        "Block(Thinking(ThinkingBlock { text: \"let me see…\", signature: Some(\"c2VhbA==\") }))",
        "Text(\"Häl\")",
        "Text(\"lo 🦀\")",
        "Text(\" \\\"quoted\\\"\\n\")",
        "Block(Text(\"Hällo 🦀 \\\"quoted\\\"\\n\"))",
        "CallStarted { id: ToolCallId(\"toolu_1\"), name: ToolName(\"Read\") }",
        "CallInput(\"{\\\"path\\\": \\\"/a\\\\\")",
        "CallInput(\"u00e4\\\\n\\\"\")",
        "CallInput(\",\\\"limit\\\":\")",
        "CallInput(\"3}\")",
        "Call { call: ToolCall { id: ToolCallId(\"toolu_1\"), name: ToolName(\"Read\"), input: Json(\"{\\\"path\\\": \\\"/a\\\\u00e4\\\\n\\\",\\\"limit\\\":3}\"), signature: None }, problem: None }",
        "CallStarted { id: ToolCallId(\"toolu_2\"), name: ToolName(\"Bash\") }",
        "CallInput(\"{\\\"command\\\":\\\"ls\\\"}\")",
        "Call { call: ToolCall { id: ToolCallId(\"toolu_2\"), name: ToolName(\"Bash\"), input: Json(\"{\\\"command\\\":\\\"ls\\\"}\"), signature: None }, problem: None }",
        &format!("Usage({:?})", usage(15)),
        &format!("Ended {{ stop: EndTurn, usage: {:?}, detail: None }}", usage(15)),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn every_stop_reason_is_mapped() {
    let table = [
        ("end_turn", ModelStopReason::EndTurn, false),
        ("tool_use", ModelStopReason::EndTurn, false),
        ("stop_sequence", ModelStopReason::EndTurn, false),
        ("max_tokens", ModelStopReason::OutputLimit, false),
        ("model_context_window_exceeded", ModelStopReason::WindowFull, false),
        ("pause_turn", ModelStopReason::Pause, false),
        ("compaction", ModelStopReason::Pause, true),
        ("refusal", ModelStopReason::Refusal, false),
        ("brand_new_reason", ModelStopReason::EndTurn, true),
    ];
    for (reason, stop, has_detail) in table {
        let items = read(&[start(), message_delta(reason), message_stop()]);
        assert_eq!(stop_of(&items), stop, "{reason}");
        let Some(DecodedEvent::Ended { detail, .. }) = items.last() else { unreachable!() };
        assert_eq!(detail.is_some(), has_detail, "{reason}");
    }
    let refusal = json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
        "stop_details": {"category": "cyber", "explanation": "Not this."}}});
    let items = read(&[start(), refusal, message_stop()]);
    assert!(matches!(items.last(),
        Some(DecodedEvent::Ended { detail: Some(detail), .. }) if detail == "Not this."));
}

#[test]
fn a_stream_cut_before_the_stop_reason_fails() {
    let text = [
        start(),
        block_start(0, json!({"type": "text", "text": ""})),
        delta(0, json!({"type": "text_delta", "text": "hi"})),
        block_stop(0),
        message_delta("end_turn"),
        message_stop(),
    ];
    for length in 0..text.len() {
        let items = read(&text[..length]);
        if length < 5 {
            assert_eq!(failure_of(&items).0, FailureKind::Transport, "after {length} events");
        } else {
            assert_eq!(stop_of(&items), ModelStopReason::EndTurn, "the stop reason was there");
        }
    }
}

#[test]
fn a_protocol_error_voids_the_answer() {
    let text = || json!({"type": "text", "text": ""});
    let piece = |index| delta(index, json!({"type": "text_delta", "text": "x"}));
    let table: Vec<(&str, Vec<Value>)> = vec![
        ("second start", vec![start(), start()]),
        ("block before start", vec![block_start(0, text())]),
        ("stop before start", vec![message_stop()]),
        ("stop reason before start", vec![message_delta("end_turn")]),
        ("delta without block", vec![start(), piece(0)]),
        ("delta for another block", vec![start(), block_start(0, text()), piece(1)]),
        (
            "same index twice",
            vec![start(), block_start(0, text()), block_stop(0), block_start(0, text())],
        ),
        (
            "index going back",
            vec![start(), block_start(3, text()), block_stop(3), block_start(2, text())],
        ),
        ("two blocks open", vec![start(), block_start(0, text()), block_start(1, text())]),
        ("stop of another block", vec![start(), block_start(0, text()), block_stop(1)]),
        ("stop twice", vec![start(), block_start(0, text()), block_stop(0), block_stop(0)]),
        ("end inside a block", vec![start(), block_start(0, text()), message_delta("end_turn")]),
        ("end of all inside a block", vec![start(), block_start(0, text()), message_stop()]),
        ("block after the end", vec![start(), message_delta("end_turn"), block_start(0, text())]),
        ("block without a body", vec![start(), json!({"type": "content_block_start", "index": 0})]),
        (
            "negative index",
            vec![
                start(),
                json!({"type": "content_block_start", "index": -1, "content_block": text()}),
            ],
        ),
    ];
    for (name, list) in table {
        let items = read(&list);
        assert_eq!(failure_of(&items).0, FailureKind::ServerFault, "{name}");
    }
}

#[test]
fn invalid_bytes_fail_the_answer() {
    let table: &[(&str, &[u8])] = &[
        ("not JSON", b"data: {\"type\":\"message_start\"\n\n"),
        ("not an object", b"data: [1,2]\n\n"),
        ("type is no text", b"data: {\"type\":7}\n\n"),
        ("not UTF-8", b"data: {\"type\":\"ping\",\"x\":\"\xFF\xFE\"}\n\n"),
    ];
    for (name, bytes) in table {
        let mut body = events(&[start()]);
        body.extend_from_slice(bytes);
        body.extend(events(&[message_delta("end_turn"), message_stop()]));
        assert_eq!(failure_of(&decode_whole(wire(), &body)).0, FailureKind::ServerFault, "{name}");
    }
}

#[test]
fn an_error_event_gets_its_failure_kind_and_ends_the_answer() {
    let table = [
        ("overloaded_error", "Overloaded", FailureKind::Overloaded),
        ("rate_limit_error", "slow down", FailureKind::RateLimited),
        ("api_error", "Internal", FailureKind::ServerFault),
        ("timeout_error", "too slow", FailureKind::ServerFault),
        ("authentication_error", "key", FailureKind::Unauthorised),
        ("invalid_request_error", "prompt is too long: 9 > 8", FailureKind::PromptTooLong),
        ("invalid_request_error", "hm", FailureKind::InvalidRequest),
        ("billing_error", "pay", FailureKind::Quota),
        ("not_found_error", "model: x", FailureKind::ModelGone),
        ("brand_new_error", "?", FailureKind::ServerFault),
    ];
    for (kind, message, expected) in table {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}});
        let mut decoder = wire().new_decoder();
        let mut out = Vec::new();
        decoder.push(&events(&[start(), error]), &mut out);
        assert_eq!(failure_of(&out), (expected, message.to_string()), "{kind}, before the end");
    }
    let bare = read(&[start(), json!({"type": "error", "error": "went wrong"})]);
    assert_eq!(failure_of(&bare), (FailureKind::ServerFault, "went wrong".into()));
    let empty = read(&[start(), json!({"type": "error"})]);
    assert_eq!(failure_of(&empty).0, FailureKind::ServerFault);
}

#[test]
fn arguments_are_checked_when_the_call_is_complete() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let quoted = format!("{{\"a\":\"\\\"{}\"}}", "[".repeat(200));
    let table: Vec<(&str, Vec<&str>, &str, bool)> = vec![
        ("brackets inside a text", vec![&quoted], &quoted, false),
        ("in pieces", vec!["{\"a\":", "1}"], "{\"a\":1}", false),
        ("empty pieces", vec!["", "{}", ""], "{}", false),
        ("none at all", vec![], "{}", false),
        ("blank", vec![" ", "\n"], "{}", false),
        ("cut", vec!["{\"a\":"], "{\"a\":", true),
        ("an array", vec!["[1]"], "[1]", true),
        ("a text", vec!["\"x\""], "\"x\"", true),
        ("two documents", vec!["{}{}"], "{}{}", true),
        ("too deep", vec![&deep], &deep, true),
    ];
    for (name, pieces, input, has_problem) in table {
        let mut list = vec![start(), block_start(0, tool_use("t1"))];
        list.extend(pieces.iter().map(|piece| json_delta(0, piece)));
        list.extend([block_stop(0), message_delta("tool_use"), message_stop()]);
        assert_eq!(calls(&read(&list)), [("t1".into(), input.into(), has_problem)], "{name}");
    }
    let whole = json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}});
    let list = [start(), block_start(0, whole), block_stop(0), message_delta("tool_use")];
    assert_eq!(calls(&read(&list)), [("t1".into(), "{\"a\":1}".into(), false)], "sent whole");
}

#[test]
fn a_call_cut_before_its_first_argument_never_looks_complete() {
    let open = [start(), block_start(0, tool_use("t1")), block_stop(0)];
    assert_eq!(calls(&read(&open)), [], "the stream was cut");
    let limit = [&open[..], &[message_delta("max_tokens"), message_stop()]].concat();
    assert_eq!(calls(&read(&limit)), [("t1".into(), "{}".into(), true)], "the limit cut it");
    let next = [&open[..], &[block_start(1, tool_use("t2"))]].concat();
    assert_eq!(calls(&read(&next)), [("t1".into(), "{}".into(), false)], "the model went on");
    let stop = [&open[..], &[message_stop()]].concat();
    assert_eq!(calls(&read(&stop)), [("t1".into(), "{}".into(), false)], "no reason was given");
}

#[test]
fn a_second_call_with_the_same_id_gets_another_id() {
    let mut list = vec![start()];
    for index in 0..3 {
        list.extend([
            block_start(index, tool_use("t")),
            json_delta(index, "{}"),
            block_stop(index),
        ]);
    }
    list.extend([message_delta("tool_use"), message_stop()]);
    let expected: [(String, String, bool); 3] = [
        ("t".into(), "{}".into(), false),
        ("t_2".into(), "{}".into(), true),
        ("t_3".into(), "{}".into(), true),
    ];
    assert_eq!(calls(&read(&list)), expected);
    let nameless = json!({"type": "tool_use", "name": "Read", "input": {}});
    let list = [start(), block_start(4, nameless), block_stop(4), message_delta("tool_use")];
    assert_eq!(calls(&read(&list)), [("call_msg_1_4".into(), "{}".into(), false)]);
}

#[test]
fn unknown_blocks_are_kept_and_unknown_events_are_skipped() {
    let redacted = json!({"type": "redacted_thinking", "data": "x\u{e4}=="});
    let search = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}});
    let compaction = json!({"type": "compaction", "content": null});
    let items = read(&[
        start(),
        json!({"type": "brand_new_event", "index": "odd", "delta": 3}),
        block_start(0, redacted.clone()),
        block_stop(0),
        block_start(1, search),
        json_delta(1, "{\"query\":"),
        json_delta(1, "\"x\"}"),
        block_stop(1),
        block_start(2, compaction),
        delta(2, json!({"type": "compaction_delta", "content": "all "})),
        delta(2, json!({"type": "compaction_delta", "content": "of it"})),
        block_stop(2),
        block_start(3, json!({"type": "text", "text": "a"})),
        delta(3, json!({"type": "citations_delta", "citation": {"x": 1}})),
        delta(3, json!({"type": "brand_new_delta", "text": "skipped"})),
        delta(3, json!({"type": "text_delta", "text": "b"})),
        block_stop(3),
        block_start(4, json!({"type": "fallback", "from": {"model": "m"}})),
        block_stop(4),
        message_delta("end_turn"),
        message_stop(),
    ]);
    let kept = provider_json(&items);
    assert_eq!(kept[0], ("redacted_thinking".into(), redacted.to_string()));
    let parsed: Vec<Value> =
        kept.iter().map(|(_, json)| serde_json::from_str(json).expect("valid")).collect();
    assert_eq!(parsed[1]["input"], json!({"query": "x"}));
    assert_eq!(parsed[1]["id"], "s1");
    assert_eq!(parsed[2]["content"], "all of it");
    assert_eq!(parsed[3], json!({"type": "fallback", "from": {"model": "m"}}));
    assert!(items.contains(&DecodedEvent::Block(ContentBlock::Text("ab".into()))));
    assert_eq!(stop_of(&items), ModelStopReason::EndTurn);
}

#[test]
fn empty_text_is_no_block_and_an_empty_seal_no_seal() {
    let items = read(&[
        start(),
        block_start(0, json!({"type": "text", "text": ""})),
        block_stop(0),
        block_start(1, json!({"type": "thinking", "thinking": ""})),
        block_stop(1),
        block_start(2, json!({"type": "thinking", "thinking": ""})),
        delta(2, json!({"type": "signature_delta", "signature": "seal"})),
        block_stop(2),
        message_delta("end_turn"),
        message_stop(),
    ]);
    let blocks: Vec<&DecodedEvent> =
        items.iter().filter(|item| matches!(item, DecodedEvent::Block(_))).collect();
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    assert!(matches!(blocks[0], DecodedEvent::Block(ContentBlock::Thinking(thinking))
        if thinking.text.is_empty() && thinking.signature.as_deref() == Some("seal")));
}

#[test]
fn halves_of_a_surrogate_pair_are_joined() {
    let raw = |text: &str| {
        format!(
            "data: {{\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        )
    };
    let table: &[(&[&str], &str)] = &[
        (&["a\\ud83d", "\\ude00b"], "a😀b"),
        (&["a\\ud83d", "", "\\ude00"], "a😀"),
        (&["\\ud83d\\ude00"], "😀"),
        (&["\\ud83d", "x"], "\u{fffd}x"),
        (&["\\ude00"], "\u{fffd}"),
        (&["\\ud83d"], "\u{fffd}"),
        (&["\\ud83d\\ud83d", "\\ude00"], "\u{fffd}😀"),
    ];
    for (pieces, expected) in table {
        let mut body = events(&[start(), block_start(0, json!({"type": "text", "text": ""}))]);
        pieces.iter().for_each(|piece| body.extend(raw(piece).into_bytes()));
        body.extend(events(&[block_stop(0), message_delta("end_turn"), message_stop()]));
        let items = decode_whole(wire(), &body);
        assert!(
            items.contains(&DecodedEvent::Block(ContentBlock::Text((*expected).into()))),
            "{pieces:?}"
        );
    }
}

#[test]
fn implausible_usage_is_ignored() {
    let usage = |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let table = [
        (json!({"output_tokens": 40}), 40),
        (json!({"output_tokens": 3}), 3),
        (json!({"output_tokens": 0}), 1),
        (json!({"output_tokens": -5}), 1),
        (json!({"output_tokens": 1e30}), 1),
        (json!({"output_tokens": 99_999_999_999_u64}), 1),
        (json!({"output_tokens": "many"}), 1),
        (json!({"output_tokens": null}), 1),
        (json!({"output_tokens": [1]}), 1),
        (json!({"output_tokens": {"a": 1}}), 1),
        (json!("none"), 1),
        (Value::Null, 1),
    ];
    for (reported, output) in table {
        let items = read(&[start(), usage(reported.clone()), message_stop()]);
        let Some(DecodedEvent::Ended { usage, .. }) = items.last() else { panic!("{items:?}") };
        assert_eq!(usage.output, Tokens(output), "{reported}");
        assert_eq!(usage.input, Tokens(25), "{reported}");
    }
}

#[test]
fn an_event_without_its_closing_blank_line_counts_if_it_is_whole() {
    let mut body = events(&[start()]);
    body.extend(b"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n");
    assert_eq!(stop_of(&decode_whole(wire(), &body)), ModelStopReason::EndTurn);
    let mut body = events(&[start()]);
    body.extend(b"data: {\"type\":\"message_delta\",\n");
    assert_eq!(failure_of(&decode_whole(wire(), &body)).0, FailureKind::Transport);
}

#[test]
fn input_removed_by_the_provider_is_reported_with_its_tokens() {
    let mut end = message_delta("end_turn");
    end["context_management"] = json!({"applied_edits": [
        {"type": "clear_thinking_20251015", "cleared_thinking_turns": 2, "cleared_input_tokens": 7},
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000},
    ]});
    let items = read(&[start(), end.clone(), message_stop()]);
    let cleared = DecodedEvent::ToolResultsCleared { results: 8, tokens: Tokens(50_000) };
    assert_eq!(items.iter().filter(|item| **item == cleared).count(), 1, "{items:#?}");
    assert_eq!(stop_of(&items), ModelStopReason::EndTurn);
    // Whatever else stands there is not ours to judge.
    for odd in [json!(null), json!([]), json!({}), json!({"applied_edits": "none"})] {
        end["context_management"] = odd;
        let items = read(&[start(), end.clone(), message_stop()]);
        assert_eq!(stop_of(&items), ModelStopReason::EndTurn);
        assert!(!items.iter().any(|item| matches!(item, DecodedEvent::ToolResultsCleared { .. })));
    }
}
