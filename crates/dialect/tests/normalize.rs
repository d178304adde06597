//! Normalisation: whatever a transcript looks like, what is sent obeys the provider's rules, and the
//! beginning of what is sent does not change when the transcript grows.
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

use fixture::checker::breaches;
use fixture::transcript::{
    answer, base64, call, media, message, png, provider, request, result, results, text, thinking,
    tool, user,
};
use serde_json::{Value, json};
use windlass_dialect::{Dialect, EncodedRequest, ProviderRules, dialect};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, FailureKind, Json, MessageOrigin, MetaKind, ModelName,
    ModelRequest, Role, ToolCallId, ToolResult, ToolResultPart, WireFormat,
};

fn wire() -> &'static dyn Dialect {
    dialect(WireFormat::AnthropicMessages).expect("spoken")
}

fn encode(request: &ModelRequest) -> EncodedRequest {
    wire().encode(request, wire().rules())
}

/// The messages without cache marks.
fn sent(request: &ModelRequest) -> Vec<Value> {
    let mut body: Value = serde_json::from_slice(&encode(request).body).expect("JSON");
    unmark(&mut body);
    body["messages"].as_array().expect("messages").clone()
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn assert_legal(request: &ModelRequest) {
    let encoded = encode(request);
    let broken = breaches(WireFormat::AnthropicMessages, &encoded.body);
    let body = String::from_utf8_lossy(&encoded.body[..encoded.body.len().min(4000)]).into_owned();
    assert_eq!(broken, Vec::<String>::new(), "{body}");
    assert_eq!(encoded.refusal, None);
}

/// The texts of one message, in order, with other blocks by their kind.
fn outline(message: &Value) -> Vec<String> {
    let blocks = message["content"].as_array().expect("content").iter();
    blocks
        .map(|block| match block["type"].as_str().expect("type") {
            "text" => block["text"].as_str().expect("text").to_string(),
            "tool_result" => format!("result of {}", block["tool_use_id"].as_str().expect("id")),
            kind => kind.to_string(),
        })
        .collect()
}

#[test]
fn roles_alternate_and_results_come_first() {
    let request = request(vec![
        user(vec![text("one")]),
        user(vec![text("two")]),
        message(Role::User, MessageOrigin::Display, vec![text("for people")]),
        answer(vec![text("a"), call("t1", "Read", "{}")]),
        answer(vec![call("t2", "Read", "{\"path\":\"x\"}")]),
        user(vec![text("by the way")]),
        results(vec![result("t2", "second"), result("t1", "first")]),
    ]);
    let sent = sent(&request);
    let outlines: Vec<Vec<String>> = sent.iter().map(outline).collect();
    assert_eq!(
        outlines,
        [
            vec!["one", "two"],
            vec!["a", "tool_use", "tool_use"],
            vec!["result of t1", "result of t2", "by the way"],
        ]
    );
    assert_legal(&request);
}

#[test]
fn attachments_move_up_to_the_nearest_result_or_answer() {
    let attachment = |words: &str| {
        message(Role::User, MessageOrigin::Attachment(AttachmentKind::Memory), vec![text(words)])
    };
    let request = request(vec![
        message(Role::User, MessageOrigin::Meta(MetaKind::Context), vec![text("context")]),
        user(vec![text("prompt")]),
        attachment("memory 1"),
        attachment("memory 2"),
        answer(vec![call("t1", "Read", "{}")]),
        results(vec![result("t1", "x")]),
        user(vec![text("typed")]),
        attachment("memory 3"),
        answer(vec![text("done")]),
        attachment("memory 4"),
        user(vec![text("next")]),
    ]);
    let outlines: Vec<Vec<String>> = sent(&request).iter().map(outline).collect();
    assert_eq!(
        outlines,
        [
            vec!["context", "memory 1", "memory 2", "prompt"],
            vec!["tool_use"],
            vec!["result of t1", "memory 3", "typed"],
            vec!["done"],
            vec!["memory 4", "next"],
        ]
    );
}

#[test]
fn missing_results_are_added_and_extra_ones_removed() {
    let request = request(vec![
        answer(vec![text("orphaned start")]),
        results(vec![result("ghost", "nobody asked")]),
        answer(vec![call("t1", "Read", "{}"), call("t2", "Read", "{}")]),
        results(vec![result("t1", "first"), result("t1", "again")]),
        answer(vec![text("end")]),
    ]);
    let encoded = encode(&request);
    assert_eq!(encoded.notes.len(), 3, "{:?}", encoded.notes);
    let sent = sent(&request);
    let outlines: Vec<Vec<String>> = sent.iter().map(outline).collect();
    assert_eq!(
        outlines,
        [
            vec!["[The beginning of this conversation is not included.]"],
            vec!["orphaned start", "tool_use", "tool_use"],
            vec!["result of t1", "result of t2"],
            vec!["end"],
            vec!["Go on."],
        ]
    );
    assert_eq!(sent[2]["content"][0]["content"][0]["text"], "first");
    assert_eq!(sent[2]["content"][1]["is_error"], true);
    assert_eq!(encode(&request), encoded, "made-up words are always the same");
    assert_legal(&request);
}

#[test]
fn messages_around_an_empty_answer_are_merged() {
    let foreign = || answer(vec![thinking("unsealed", None)]);
    let request = request(vec![
        user(vec![text("a")]),
        foreign(),
        user(vec![text("b")]),
        answer(vec![text("said")]),
        user(vec![text("c")]),
        foreign(),
        user(vec![text("d")]),
    ]);
    let outlines: Vec<Vec<String>> = sent(&request).iter().map(outline).collect();
    assert_eq!(outlines, [vec!["a", "b"], vec!["said"], vec!["c", "d"]]);
    assert_legal(&request);
}

#[test]
fn of_two_results_for_one_call_the_first_counts() {
    let request = request(vec![
        user(vec![text("q")]),
        answer(vec![call("t0", "Read", "{}"), call("t1", "Read", "{}")]),
        results(vec![result("t0", "zero"), result("t1", "first"), result("t1", "again")]),
    ]);
    assert_eq!(sent(&request)[2]["content"][1]["content"][0]["text"], "first");
    assert_eq!(encode(&request).notes.len(), 1);
}

#[test]
fn reasoning_is_sent_only_to_the_model_that_wrote_it() {
    let redacted = || {
        provider(
            WireFormat::AnthropicMessages,
            "redacted_thinking",
            "{\"type\":\"redacted_thinking\",\"data\":\"x\"}",
        )
    };
    let blocks = || {
        vec![
            thinking("sealed", Some("seal")),
            redacted(),
            thinking("unsealed", None),
            text("answer"),
            thinking("leads to nothing", Some("seal")),
        ]
    };
    let go = |change: fn(&mut ModelRequest)| {
        let mut request =
            request(vec![user(vec![text("q")]), answer(blocks()), user(vec![text("go on")])]);
        change(&mut request);
        assert_legal(&request);
        outline(&sent(&request)[1])
    };
    assert_eq!(go(|_| {}), ["thinking", "redacted_thinking", "answer"]);
    assert_eq!(go(|request| request.model = ModelName::from("model-b")), ["answer"]);
    assert_eq!(go(|request| request.without_reasoning = true), ["answer"]);
}

#[test]
fn reasoning_is_sent_back_verbatim() {
    let request = request(vec![
        user(vec![text("q")]),
        answer(vec![thinking("", Some("c2VhbA==")), text("a")]),
        user(vec![text("go on")]),
    ]);
    let expected = json!({"type": "thinking", "thinking": "", "signature": "c2VhbA=="});
    assert_eq!(sent(&request)[1]["content"][0], expected);
}

#[test]
fn provider_blocks_go_back_verbatim_and_only_in_pairs() {
    let own = WireFormat::AnthropicMessages;
    let used = "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{}}";
    let found = "{ \"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":[] }";
    let open = "{\"type\":\"server_tool_use\",\"id\":\"s9\",\"name\":\"web_search\",\"input\":{}}";
    let orphan = "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s7\",\"content\":[]}";
    let messages = || {
        vec![
            user(vec![text("q")]),
            answer(vec![
                provider(own, "server_tool_use", used),
                provider(own, "web_search_tool_result", found),
                provider(own, "server_tool_use", open),
                provider(own, "web_search_tool_result", orphan),
                provider(WireFormat::Gemini, "odd", "{\"type\":\"odd\"}"),
                provider(own, "compaction", "{\"type\":\"compaction\",\"content\":\"x\"}"),
                provider(own, "broken", "[]"),
                text("a"),
            ]),
            user(vec![text("go on")]),
            answer(vec![text("b"), provider(own, "server_tool_use", open)]),
        ]
    };
    let request = request(messages());
    let body = String::from_utf8(encode(&request).body).expect("text");
    assert!(body.contains(found), "verbatim: {body}");
    let sent_now = sent(&request);
    let kept = ["server_tool_use", "web_search_tool_result", "a"];
    assert_eq!(outline(&sent_now[1]), kept);
    assert_eq!(outline(&sent_now[3]), ["b", "server_tool_use"], "a paused answer is left alone");
    assert_eq!(sent_now.len(), 4);
    assert_legal(&request);
}

#[test]
fn arguments_are_objects_on_the_wire() {
    let deep = format!("{}1{}", "{\"a\":".repeat(150), "}".repeat(150));
    let table: &[(&str, Value)] = &[
        ("{\"a\": 1}", json!({"a": 1})),
        (" {} ", json!({})),
        ("{\"a\":", json!({"unreadable_arguments": "{\"a\":"})),
        ("[1]", json!({"unreadable_arguments": "[1]"})),
        ("", json!({"unreadable_arguments": ""})),
        (&deep, json!({"unreadable_arguments": deep})),
    ];
    for (input, expected) in table {
        let request = request(vec![
            user(vec![text("q")]),
            answer(vec![call("t1", "Read", input)]),
            results(vec![result("t1", "x")]),
        ]);
        assert_eq!(sent(&request)[1]["content"][0]["input"], *expected, "{input}");
    }
}

#[test]
fn ids_and_names_are_made_legal_the_same_way_every_time() {
    let turn =
        |id: &str, name: &str| [answer(vec![call(id, name, "{}")]), results(vec![result(id, "x")])];
    let long = "x".repeat(100);
    let mut messages = vec![user(vec![text("q")])];
    for (id, name) in [
        ("a", "Read"),
        ("a", "Read"),
        ("a_2", "no such tool!"),
        ("", ""),
        ("ü|1", "R"),
        (&long, "R"),
    ] {
        messages.extend(turn(id, name));
    }
    let request = request(messages);
    assert_legal(&request);
    let ids: Vec<String> = sent(&request)
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| {
            let block = &message["content"][0];
            format!("{} {}", block["id"].as_str().unwrap(), block["name"].as_str().unwrap())
        })
        .collect();
    let short = "x".repeat(64);
    assert_eq!(
        ids,
        [
            "a Read",
            "a_2 Read",
            "a_2_2 no_such_tool_",
            "unnamed unnamed",
            "__1 R",
            &format!("{short} R")
        ]
    );
}

#[test]
fn media_that_cannot_be_sent_is_replaced_by_a_note() {
    let good = png(10, 10, 0);
    let jpeg = base64(b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x11\x08\x27\x10\0\x10");
    let table: &[(&str, &str, Option<&str>)] = &[
        ("image/png", &good, Some("image/png")),
        ("image/jpeg", &good, Some("image/png")),
        ("image/tiff", &good, Some("image/png")),
        ("image/jpeg", &jpeg, None),
        ("image/png", "not base64!", None),
        ("image/png", "", None),
        ("image/png", "AAAA", None),
        ("image/svg+xml", &base64(b"<svg/>"), None),
        ("application/pdf", &base64(b"%PDF-1.7 ..."), Some("application/pdf")),
        ("application/pdf", &base64(b"no pdf"), None),
        ("image/png", &png(9000, 10, 0), None),
        ("image/gif", &base64(b"GIF89a\x0A\0\x0A\0"), Some("image/gif")),
        ("image/gif", &base64(b"GIF89a\x28\x23\x0A\0"), None),
        ("image/gif", &base64(b"GIF89a\x0A\0\x28\x23"), None),
        ("image/webp", &webp(b"VP8 ", 26, &[0x0A, 0, 0x0A, 0]), Some("image/webp")),
        ("image/webp", &webp(b"VP8 ", 26, &[0x0A, 0, 0x28, 0x23]), None),
        ("image/webp", &webp(b"VP8X", 24, &[0x27, 0x23, 0, 0x09, 0, 0]), None),
        ("image/webp", &webp(b"VP8X", 24, &[0x09, 0, 0, 0x09, 0, 0]), Some("image/webp")),
        // Width and height less one, fourteen bits each: 9000 and 1, then 1 and 9000.
        ("image/webp", &webp(b"VP8L", 21, &0x2327_u32.to_le_bytes()), None),
        ("image/webp", &webp(b"VP8L", 21, &(0x2327_u32 << 14).to_le_bytes()), None),
        ("image/webp", &webp(b"VP8L", 21, &9_u32.to_le_bytes()), Some("image/webp")),
    ];
    for (media_type, data, expected) in table {
        let item = ContentBlock::Media(media("shot.png", media_type, data));
        let request = request(vec![user(vec![text("look"), item])]);
        assert_legal(&request);
        let block = &sent(&request)[0]["content"][1];
        match expected {
            Some(expected) => assert_eq!(block["source"]["media_type"], *expected, "{media_type}"),
            None => {
                let words = block["text"].as_str().unwrap_or_default();
                assert!(words.starts_with("[shot.png was left out: "), "{media_type}: {block}");
            }
        }
    }
}

/// A WebP's header with the given bytes at the given place.
fn webp(kind: &[u8; 4], place: usize, size: &[u8]) -> String {
    let mut bytes = b"RIFF\0\0\0\0WEBP".to_vec();
    bytes.extend_from_slice(kind);
    bytes.resize(place, 0);
    bytes.extend_from_slice(size);
    base64(&bytes)
}

fn pictures(count: usize, edge: u32) -> ModelRequest {
    let mut messages = vec![user(vec![text("go")])];
    for number in 0..count {
        let id = format!("t{number}");
        let content = vec![ToolResultPart::Media(media(&id, "image/png", &png(edge, 10, number)))];
        messages.push(answer(vec![call(&id, "Read", "{}")]));
        messages.push(results(vec![ContentBlock::ToolResult(ToolResult {
            call: ToolCallId::from(id.as_str()),
            content,
            is_error: false,
        })]));
    }
    request(messages)
}

fn pictures_sent(request: &ModelRequest) -> Vec<bool> {
    let sent = sent(request);
    let results = sent.iter().skip(2).step_by(2);
    results.map(|message| message["content"][0]["content"][0]["type"] == "image").collect()
}

#[test]
fn the_oldest_media_goes_first_and_in_batches() {
    let mut breaks = 0;
    let mut before: Vec<bool> = Vec::new();
    for count in (0..=150).step_by(3) {
        let request = pictures(count, 10);
        assert_legal(&request);
        let now = pictures_sent(&request);
        let kept = now.iter().filter(|sent| **sent).count();
        assert!(kept >= count.min(80) && kept <= 100, "{kept} of {count}");
        assert!(now.is_sorted(), "oldest out first");
        breaks += usize::from(!now.starts_with(&before));
        before = now;
    }
    assert_eq!(breaks, 3, "one break for every twenty pictures over a hundred");
}

#[test]
fn many_images_have_a_smaller_size_limit() {
    assert!(pictures_sent(&pictures(20, 3000)).iter().all(|sent| *sent));
    assert!(pictures_sent(&pictures(21, 3000)).iter().all(|sent| !*sent));
    assert!(pictures_sent(&pictures(21, 1999)).iter().all(|sent| *sent));
}

#[test]
fn media_bytes_are_bounded_together() {
    let item = |name: &str| ContentBlock::Media(media(name, "image/png", &png(10, 10, 5_000)));
    let request = request(vec![user((0..8).map(|n| item(&n.to_string())).collect())]);
    let mut rules = wire().rules().clone();
    rules.media.total_bytes_max = 24_000;
    let encoded = wire().encode(&request, &rules);
    let body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
    let kept = outline(&body["messages"][0]).iter().filter(|kind| *kind == "image").count();
    assert!((1..=3).contains(&kept), "{kept}");
    assert_eq!(encoded.refusal, None);
}

#[test]
fn a_body_over_the_limit_is_refused_before_the_network() {
    let request = request(vec![user(vec![text(&"x".repeat(33_000))])]);
    let rules = ProviderRules { body_bytes_max: 32_000, ..wire().rules().clone() };
    let refusal = wire().encode(&request, &rules).refusal.expect("too large");
    assert_eq!(refusal.kind, FailureKind::PromptTooLong);
    assert_eq!(encode(&request).refusal, None, "the real limit is higher");
}

#[test]
fn tools_over_the_limit_are_left_out() {
    let mut request = request(vec![user(vec![text("q")])]);
    request.tools = ["A", "B", "C"].map(tool).to_vec().into();
    let mut rules = wire().rules().clone();
    rules.tools.count_max = 2;
    let encoded = wire().encode(&request, &rules);
    let body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(2));
    assert_eq!(encoded.notes.len(), 1);
}

#[test]
fn an_invalid_tool_does_not_remove_the_others() {
    let schema = |name: &str, json: &str| {
        let mut tool = tool(name);
        tool.input_schema = Json::from_checked(json);
        tool
    };
    let mut request = request(vec![user(vec![text("q")])]);
    request.tools = vec![
        tool("Read"),
        tool("Read"),
        tool("bad name"),
        tool(""),
        schema("List", "[]"),
        schema("Text", "{\"type\":\"string\"}"),
        schema("Bare", "{}"),
        schema("Either", "{\"anyOf\":[{}],\"properties\":{\"a\":{}}}"),
    ]
    .into();
    assert_legal(&request);
    let body: Value = serde_json::from_slice(&encode(&request).body).expect("JSON");
    let tools = body["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["Read", "Bare", "Either"]);
    assert_eq!(tools[2]["input_schema"], json!({"type": "object", "properties": {"a": {}}}));
    assert_eq!(encode(&request).notes.len(), 5);
}
