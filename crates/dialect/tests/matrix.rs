//! One row per behaviour, one column per wire: whatever the wire, the loop sees the same.
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

use fixture::transcript::{
    answer, call, media, png, provider, request, result, results, text, user,
};
use fixture::{Answer, all_dialects, decode_whole, encode_answer, sample_answer};
use serde_json::{Value, json};
use windlass_dialect::{DecodedEvent, Dialect, FailedResponse, dialect};
use windlass_vocabulary::{
    ContentBlock, FailureKind, Message, Millis, ModelFailure, ModelName, ModelStopReason,
    RecoveryAction, Tokens, ToolCall, ToolCallId, ToolResult, ToolResultPart, WireFormat,
};

const WIRES: [WireFormat; 4] = [
    WireFormat::AnthropicMessages,
    WireFormat::OpenaiChat,
    WireFormat::OpenaiResponses,
    WireFormat::Gemini,
];

fn speak(wire: WireFormat) -> &'static dyn Dialect {
    dialect(wire).expect("spoken")
}

/// The wire format after this one, in the order of `WireFormat`. A format that is added there does
/// not compile here until it has a place, and then the test below asks for its dialect.
fn next_format(wire: WireFormat) -> Option<WireFormat> {
    match wire {
        WireFormat::AnthropicMessages => Some(WireFormat::OpenaiResponses),
        WireFormat::OpenaiResponses => Some(WireFormat::OpenaiChat),
        WireFormat::OpenaiChat => Some(WireFormat::Gemini),
        WireFormat::Gemini => None,
    }
}

#[test]
fn every_wire_format_has_its_dialect_and_its_column() {
    let formats: Vec<WireFormat> =
        std::iter::successors(Some(WireFormat::AnthropicMessages), |wire| next_format(*wire))
            .collect();
    for wire in &formats {
        assert_eq!(dialect(*wire).map(Dialect::wire), Some(*wire), "{wire:?}: another's dialect");
        assert!(WIRES.contains(wire), "{wire:?} has no column here");
        let is_in_fixture = all_dialects().iter().any(|(other, _)| other == wire);
        assert!(is_in_fixture, "{wire:?} is left out of the tests for all dialects");
    }
    assert_eq!(formats.len(), WIRES.len(), "a column twice");
    assert_eq!(formats.len(), all_dialects().len(), "a dialect twice in the fixture");
}

#[test]
fn stop_reasons_are_the_same_on_every_wire() {
    let table: [(ModelStopReason, &[WireFormat]); 5] = [
        (ModelStopReason::EndTurn, &WIRES),
        (ModelStopReason::OutputLimit, &WIRES),
        (ModelStopReason::Refusal, &WIRES),
        (ModelStopReason::WindowFull, &[WireFormat::AnthropicMessages, WireFormat::OpenaiChat]),
        (ModelStopReason::Pause, &[WireFormat::AnthropicMessages, WireFormat::Gemini]),
    ];
    for (stop, wires) in table {
        for wire in wires {
            let body = encode_answer(*wire, &Answer { parts: sample_answer().parts, stop });
            let items = decode_whole(speak(*wire), &body);
            let Some(DecodedEvent::Ended { stop: read, .. }) = items.last() else {
                panic!("{wire:?}: {items:?}")
            };
            assert_eq!(*read, stop, "{wire:?}");
        }
    }
}

#[test]
fn usage_is_counted_without_overlap() {
    let table = [
        (WireFormat::AnthropicMessages, [25, 15, 7, 11]),
        (WireFormat::OpenaiChat, [40, 15, 0, 60]),
        (WireFormat::OpenaiResponses, [30, 15, 10, 60]),
        (WireFormat::Gemini, [42, 15, 0, 60]),
    ];
    for (wire, [input, output, cache_write, cache_read]) in table {
        let items = decode_whole(speak(wire), &encode_answer(wire, &sample_answer()));
        let Some(DecodedEvent::Ended { usage, .. }) = items.last() else { panic!("{wire:?}") };
        assert_eq!(usage.input, Tokens(input), "{wire:?}");
        assert_eq!(usage.output, Tokens(output), "{wire:?}");
        assert_eq!(usage.cache_write, Tokens(cache_write), "{wire:?}");
        assert_eq!(usage.cache_read, Tokens(cache_read), "{wire:?}");
        assert!(items.contains(&DecodedEvent::Usage(*usage)), "{wire:?}: told on the way, too");
    }
}

#[test]
fn the_deltas_add_up_to_the_final_blocks() {
    for wire in WIRES {
        let items = decode_whole(speak(wire), &encode_answer(wire, &sample_answer()));
        let mut shown = String::new();
        let mut counted = String::new();
        let mut calls = Vec::new();
        let mut inputs = vec![];
        for item in &items {
            match item {
                DecodedEvent::Text(text) => shown.push_str(text),
                DecodedEvent::Block(ContentBlock::Text(text)) => counted.push_str(text),
                DecodedEvent::CallStarted { id, name } => {
                    calls.push((id.clone(), name.clone()));
                    inputs.push(String::new());
                }
                DecodedEvent::CallInput(piece) => {
                    inputs.last_mut().expect("a call").push_str(piece);
                }
                DecodedEvent::Call { call, problem } => {
                    assert_eq!(*problem, None, "{wire:?}");
                    assert_eq!((&call.id, &call.name), (&calls[0].0, &calls[0].1), "{wire:?}");
                    assert_eq!(call.input.as_str(), inputs[0], "{wire:?}");
                    calls.remove(0);
                    inputs.remove(0);
                }
                _ => {}
            }
        }
        assert_eq!(shown, "Hällo 🦀 \"quoted\"\n", "{wire:?}");
        assert_eq!(counted, shown, "{wire:?}");
        assert!(calls.is_empty(), "{wire:?}: every call that began was completed");
        assert!(matches!(
            items.first(),
            Some(DecodedEvent::Started { message_id: Some(_), model: Some(_) })
        ));
        assert!(items.iter().any(|item| matches!(item, DecodedEvent::Thinking(_))), "{wire:?}");
    }
}

/// How each wire complains: status, body.
fn complaint(
    wire: WireFormat,
    status: u16,
    kind: &str,
    code: &str,
    message: &str,
) -> (u16, String) {
    let body = match wire {
        WireFormat::AnthropicMessages => {
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses => {
            json!({"error": {"type": kind, "code": code, "message": message, "param": null}})
        }
        WireFormat::Gemini => {
            json!([{"error": {"code": status, "status": kind, "message": message}}])
        }
    };
    (status, body.to_string())
}

fn classify(wire: WireFormat, status: u16, headers: &[(&str, &str)], body: &str) -> ModelFailure {
    let lookup = |name: &str| {
        headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_string())
    };
    speak(wire).classify_failure(&FailedResponse {
        status,
        headers: &lookup,
        body: body.as_bytes(),
        now_unix_seconds: 1_700_000_000,
    })
}

#[test]
fn failure_kinds_are_the_same_on_every_wire() {
    use FailureKind as K;
    use WireFormat::{AnthropicMessages as A, Gemini as G, OpenaiChat as C, OpenaiResponses as R};
    let bad = "invalid_request_error";
    let table: &[(K, RecoveryAction, &[(WireFormat, u16, &str, &str, &str)])] = &[
        (
            K::PromptTooLong,
            RecoveryAction::Shrink,
            &[
                (A, 400, bad, "", "prompt is too long: 9 tokens > 8 maximum"),
                (C, 400, bad, "context_length_exceeded", "too big"),
                (C, 400, bad, "", "This model's maximum context length is 8192 tokens."),
                (
                    C,
                    400,
                    bad,
                    "",
                    "the request exceeds the available context size, try increasing it",
                ),
                (R, 400, bad, "context_length_exceeded", "Your input exceeds the context window."),
                (
                    G,
                    400,
                    "INVALID_ARGUMENT",
                    "",
                    "The input token count (9) exceeds the maximum number of tokens allowed (8).",
                ),
            ],
        ),
        (
            K::Unauthorised,
            RecoveryAction::Stop,
            &[
                (A, 401, "authentication_error", "", "invalid x-api-key"),
                (C, 401, bad, "invalid_api_key", "Incorrect API key provided"),
                (R, 401, bad, "invalid_api_key", "Incorrect API key provided"),
                (G, 400, "INVALID_ARGUMENT", "", "API key not valid. Please pass a valid API key."),
                (G, 403, "PERMISSION_DENIED", "", "denied"),
            ],
        ),
        (
            K::ModelGone,
            RecoveryAction::Switch,
            &[
                (A, 404, "not_found_error", "", "model: x"),
                (C, 404, bad, "model_not_found", "The model `x` does not exist"),
                (C, 400, bad, "", "model x not found, try pulling it first"),
                (R, 404, bad, "model_not_found", "The model `x` does not exist"),
                (G, 404, "NOT_FOUND", "", "models/x is not found for API version v1beta"),
            ],
        ),
        (
            K::RateLimited,
            RecoveryAction::Wait,
            &[
                (A, 429, "rate_limit_error", "", "slow"),
                (C, 429, "tokens", "rate_limit_exceeded", "Rate limit reached"),
                (R, 429, "requests", "rate_limit_exceeded", "Rate limit reached"),
                (G, 429, "RESOURCE_EXHAUSTED", "", "Resource has been exhausted"),
            ],
        ),
        (
            K::Quota,
            RecoveryAction::Stop,
            &[
                (A, 402, "billing_error", "", "pay"),
                (A, 429, "rate_limit_error", "", "monthly spend limit"),
                (
                    C,
                    429,
                    "insufficient_quota",
                    "insufficient_quota",
                    "You exceeded your current quota",
                ),
                (C, 402, "", "", "Insufficient Balance"),
                (
                    R,
                    429,
                    "insufficient_quota",
                    "insufficient_quota",
                    "You exceeded your current quota",
                ),
                (G, 429, "RESOURCE_EXHAUSTED", "", "check your plan and billing details"),
            ],
        ),
        (
            K::Overloaded,
            RecoveryAction::Wait,
            &[
                (A, 529, "overloaded_error", "", "Overloaded"),
                (C, 503, "server_error", "", "overloaded"),
                (R, 503, "server_error", "", "overloaded"),
                (G, 503, "UNAVAILABLE", "", "The model is overloaded."),
            ],
        ),
        (
            K::ServerFault,
            RecoveryAction::Wait,
            &[
                (A, 500, "api_error", "", "x"),
                (C, 500, "server_error", "", "x"),
                (C, 409, bad, "", "x"),
                (R, 502, "", "", "x"),
                (G, 500, "INTERNAL", "", "x"),
                (G, 504, "DEADLINE_EXCEEDED", "", "x"),
            ],
        ),
        (
            K::BadImage,
            RecoveryAction::Repair,
            &[
                (A, 400, bad, "", "Could not process image"),
                (C, 400, bad, "invalid_image_format", "x"),
                (C, 400, bad, "", "image input is not supported by this model"),
                (R, 400, bad, "invalid_base64_image", "x"),
                (G, 400, "INVALID_ARGUMENT", "", "Unable to process input image. Please retry"),
            ],
        ),
        (
            K::MediaTooLarge,
            RecoveryAction::Shrink,
            &[
                (A, 400, bad, "", "image exceeds 5 MB maximum"),
                (C, 400, bad, "image_too_large", "x"),
                (R, 400, bad, "image_too_large", "x"),
            ],
        ),
        (
            K::ForeignSignature,
            RecoveryAction::Repair,
            &[
                (A, 400, bad, "", "Invalid `signature` in `thinking` block"),
                (A, 400, bad, "", "adaptive thinking is not supported on this model"),
                (R, 400, bad, "invalid_encrypted_content", "x"),
                (R, 400, bad, "", "Encrypted content is not supported with this model."),
                (
                    R,
                    400,
                    bad,
                    "unsupported_parameter",
                    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                ),
                (G, 400, "INVALID_ARGUMENT", "", "Corrupted thought signature."),
                (G, 400, "INVALID_ARGUMENT", "", "Function call is missing a thought_signature"),
            ],
        ),
        (
            K::InvalidRequest,
            RecoveryAction::Repair,
            &[
                (A, 400, bad, "", "`tool_use` ids were found without `tool_result` blocks"),
                (
                    C,
                    400,
                    bad,
                    "",
                    "An assistant message with 'tool_calls' must be followed by tool messages",
                ),
                (R, 400, bad, "", "No tool output found for function call call_1."),
                (
                    G,
                    400,
                    "INVALID_ARGUMENT",
                    "",
                    "Please ensure that the number of function response parts is equal to the number of function call parts",
                ),
            ],
        ),
        (
            K::Refused,
            RecoveryAction::Stop,
            &[
                (A, 400, bad, "", "Output blocked by content filtering policy"),
                (C, 400, bad, "content_policy_violation", "x"),
                (R, 400, bad, "cyber_policy_violation", "x"),
                (
                    G,
                    400,
                    "FAILED_PRECONDITION",
                    "",
                    "User location is not supported for the API use.",
                ),
            ],
        ),
        (
            K::Misconfigured,
            RecoveryAction::Stop,
            &[
                (A, 307, "", "", "x"),
                (C, 301, "", "", "x"),
                (R, 302, "", "", "x"),
                (G, 407, "", "", "x"),
            ],
        ),
    ];
    for (kind, demand, cells) in table {
        for (wire, status, name, code, message) in *cells {
            let (status, body) = complaint(*wire, *status, name, code, message);
            let failure = classify(*wire, status, &[], &body);
            assert_eq!(failure.kind, *kind, "{wire:?} {status} {message}");
            assert_eq!(failure.kind.recovery_action(), *demand);
            assert_eq!(failure.message, *message, "{wire:?}");
        }
    }
}

#[test]
fn retry_delays_are_read_on_every_wire() {
    let gemini = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]}});
    let words = json!({"error": {"code": "rate_limit_exceeded",
        "message": "Rate limit reached. Please try again in 1.3s. Visit …"}});
    let table: &[(WireFormat, &[(&str, &str)], Value, Option<u64>)] = &[
        (WireFormat::AnthropicMessages, &[("retry-after", "5")], json!({}), Some(5_000)),
        (WireFormat::OpenaiChat, &[("retry-after-ms", "70")], json!({}), Some(70)),
        (WireFormat::OpenaiChat, &[], words.clone(), Some(1_300)),
        (WireFormat::OpenaiResponses, &[], words, Some(1_300)),
        (WireFormat::Gemini, &[], gemini.clone(), Some(37_000)),
        (WireFormat::Gemini, &[("retry-after", "2")], gemini, Some(2_000)),
        (WireFormat::Gemini, &[], json!({}), None),
    ];
    for (wire, headers, body, wait) in table {
        let failure = classify(*wire, 429, headers, &body.to_string());
        assert_eq!(failure.kind, FailureKind::RateLimited, "{wire:?}");
        assert_eq!(failure.retry_after, wait.map(Millis), "{wire:?} {body}");
    }
    let daily = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x",
        "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}]}});
    assert_eq!(classify(WireFormat::Gemini, 429, &[], &daily.to_string()).kind, FailureKind::Quota);
}

#[test]
fn bodies_that_are_no_provider_error_are_reported_by_their_first_line() {
    for wire in WIRES {
        for (status, kind) in [
            (200, FailureKind::ServerFault),
            (404, FailureKind::Misconfigured),
            (502, FailureKind::ServerFault),
            (413, FailureKind::PromptTooLong),
        ] {
            let failure = classify(wire, status, &[], "<html>\nmore");
            assert_eq!(failure.kind, kind, "{wire:?} {status}");
            assert_eq!(failure.message, format!("status {status}: <html>"));
        }
        assert!(!speak(wire).accepts_content_type("text/html"), "{wire:?}");
        assert!(speak(wire).accepts_content_type("text/event-stream; charset=utf-8"), "{wire:?}");
    }
}

#[test]
fn an_error_in_the_stream_is_the_same_everywhere() {
    use FailureKind as K;
    let anthropic = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    let chat = |code: &str, message: &str| json!({"error": {"code": code, "message": message}});
    let failed = |code: &str, message: &str| {
        json!({"type": "response.failed", "response": {"id": "r", "status": "failed",
            "error": {"code": code, "message": message}}})
    };
    let bare = |code: &str, message: &str| json!({"type": "error", "code": code, "message": message, "param": null});
    let nested = |code: &str, message: &str| json!({"type": "error", "error": {"type": code, "code": code, "message": message}});
    let gemini = |status: &str, message: &str| json!({"error": {"code": 1, "status": status, "message": message}});
    let table: Vec<(WireFormat, Value, K)> = vec![
        (WireFormat::AnthropicMessages, anthropic("overloaded_error", "m"), K::Overloaded),
        (WireFormat::OpenaiChat, chat("slow_down", "m"), K::Overloaded),
        (WireFormat::OpenaiChat, chat("", "m"), K::ServerFault),
        (WireFormat::OpenaiChat, json!({"error": "m"}), K::ServerFault),
        (WireFormat::OpenaiChat, chat("context_length_exceeded", "m"), K::PromptTooLong),
        (WireFormat::OpenaiResponses, failed("server_is_overloaded", "m"), K::Overloaded),
        (WireFormat::OpenaiResponses, failed("rate_limit_exceeded", "m"), K::RateLimited),
        (WireFormat::OpenaiResponses, failed("context_length_exceeded", "m"), K::PromptTooLong),
        (WireFormat::OpenaiResponses, failed("insufficient_quota", "m"), K::Quota),
        (WireFormat::OpenaiResponses, failed("cyber_policy_violation", "m"), K::Refused),
        (WireFormat::OpenaiResponses, failed("server_error", "m"), K::ServerFault),
        (WireFormat::OpenaiResponses, bare("server_error", "m"), K::ServerFault),
        (WireFormat::OpenaiResponses, bare("rate_limit_exceeded", "m"), K::RateLimited),
        (WireFormat::OpenaiResponses, nested("insufficient_quota", "m"), K::Quota),
        (WireFormat::Gemini, gemini("UNAVAILABLE", "m"), K::Overloaded),
        (WireFormat::Gemini, gemini("RESOURCE_EXHAUSTED", "m"), K::RateLimited),
        (WireFormat::Gemini, gemini("INTERNAL", "m"), K::ServerFault),
    ];
    for (wire, event, kind) in table {
        let mut decoder = speak(wire).new_decoder();
        let mut out = Vec::new();
        decoder.push(format!("data: {event}\n\n").as_bytes(), &mut out);
        let Some(DecodedEvent::Failed(failure)) = out.last() else { panic!("{wire:?} {event}") };
        assert_eq!(failure.kind, kind, "{wire:?} {event}");
        assert_eq!(failure.message, "m", "{wire:?} {event}");
        assert_eq!(out.len(), 1, "{wire:?}: at once, and nothing else");
    }
}

#[test]
fn invalid_bytes_fail_the_answer_on_every_wire() {
    for wire in WIRES {
        for broken in [&b"data: {\"a\":\n\n"[..], b"data: \"\xFF\"\n\n", b"data: [1]\n\n"] {
            let mut body = broken.to_vec();
            body.extend(encode_answer(wire, &sample_answer()));
            let items = decode_whole(speak(wire), &body);
            assert!(
                matches!(items.as_slice(), [DecodedEvent::Failed(failure)]
                    if failure.kind == FailureKind::ServerFault),
                "{wire:?}: {items:?}"
            );
        }
    }
}

fn body(wire: WireFormat, messages: Vec<Message>, model: &str) -> String {
    let mut request = request(messages);
    request.model = ModelName::from(model);
    let encoded = speak(wire).encode(&request, speak(wire).rules());
    assert_eq!(encoded.refusal, None);
    String::from_utf8(encoded.body).expect("text")
}

#[test]
fn signatures_are_sent_only_to_the_model_that_wrote_them() {
    let sealed_call = || {
        ContentBlock::ToolUse(ToolCall {
            signature: Some("SEAL".into()),
            ..match call("t1", "Read", "{}") {
                ContentBlock::ToolUse(call) => call,
                _ => unreachable!(),
            }
        })
    };
    let table: Vec<(WireFormat, Vec<ContentBlock>, bool)> = vec![
        (
            WireFormat::AnthropicMessages,
            vec![fixture::transcript::thinking("x", Some("SEAL")), call("t1", "Read", "{}")],
            true,
        ),
        (
            WireFormat::OpenaiResponses,
            vec![
                provider(
                    WireFormat::OpenaiResponses,
                    "reasoning",
                    "{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"SEAL\"}",
                ),
                call("t1", "Read", "{}"),
            ],
            true,
        ),
        (WireFormat::Gemini, vec![sealed_call()], true),
        (
            WireFormat::Gemini,
            vec![
                provider(
                    WireFormat::Gemini,
                    "sealed_part",
                    "{\"text\":\"\",\"thoughtSignature\":\"SEAL\"}",
                ),
                call("t1", "Read", "{}"),
            ],
            true,
        ),
        (
            WireFormat::OpenaiChat,
            vec![fixture::transcript::thinking("x", Some("SEAL")), sealed_call()],
            false,
        ),
    ];
    for (wire, blocks, goes_back) in table {
        let messages = || {
            vec![user(vec![text("q")]), answer(blocks.clone()), results(vec![result("t1", "x")])]
        };
        assert_eq!(body(wire, messages(), "model-a").contains("SEAL"), goes_back, "{wire:?}");
        assert!(!body(wire, messages(), "model-b").contains("SEAL"), "{wire:?}: another model");
        let mut repaired = request(messages());
        repaired.without_reasoning = true;
        let encoded = speak(wire).encode(&repaired, speak(wire).rules());
        let repaired = String::from_utf8(encoded.body).expect("text");
        assert!(!repaired.contains("SEAL"), "{wire:?}: refused before");
        assert!(!repaired.contains("\"adaptive\"") && !repaired.contains("includeThoughts"));
        assert!(!repaired.contains("encrypted_content"), "{wire:?}: not asked for again");
    }
}

#[test]
fn pictures_from_tools_reach_the_model_on_every_wire() {
    let picture = png(4, 4, 0);
    let shot = ToolResultPart::Media(media("shot", "image/png", &picture));
    let messages = || {
        vec![
            user(vec![text("look")]),
            answer(vec![call("t1", "Read", "{}")]),
            results(vec![ContentBlock::ToolResult(ToolResult {
                call: ToolCallId::from("t1"),
                content: vec![ToolResultPart::Text("here".into()), shot.clone()],
                is_error: false,
            })]),
        ]
    };
    for wire in WIRES {
        let body = body(wire, messages(), "model-a");
        assert_eq!(body.matches(&picture).count(), 1, "{wire:?}: {body}");
    }
}
