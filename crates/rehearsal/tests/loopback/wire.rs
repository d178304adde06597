//! One answer, four wires: what a client puts together from each stream is what the script says.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault, StopReason};
use windlass_vocabulary::{Tokens, Usage};

use crate::client::{Client, Seen, play};

/// An answer put together again.
#[derive(Debug, Default, PartialEq)]
struct DecodedAnswer {
    thinking: String,
    text: String,
    calls: Vec<(String, String, Value)>,
    stop: String,
    /// Input with all that was cached, output.
    usage: (u64, u64),
}

struct Wire {
    name: &'static str,
    path: &'static str,
    /// A request in which the user says "start" and a tool then answers "a list".
    body: fn(streaming: bool) -> Value,
    decode_stream: fn(&[Value]) -> DecodedAnswer,
    decode_whole: fn(&Value) -> DecodedAnswer,
    call_prefix: &'static str,
    /// The names of the reasons to stop, in the order of `StopReason::ALL`.
    stops: [&'static str; 7],
}

const WIRES: &[Wire] = &[
    Wire {
        name: "messages",
        path: "/v1/messages",
        body: |stream| {
            json!({"model": "m", "max_tokens": 9, "stream": stream, "messages": [
                {"role": "user", "content": "start"},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": "a list"},
                ]},
            ]})
        },
        decode_stream: messages,
        decode_whole: messages_whole,
        call_prefix: "toolu",
        stops: [
            "end_turn",
            "tool_use",
            "max_tokens",
            "stop_sequence",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
        ],
    },
    Wire {
        name: "responses",
        path: "/v1/responses",
        body: |stream| {
            json!({"model": "m", "stream": stream, "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "start"}]},
                {"type": "function_call", "call_id": "t", "name": "Bash", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "t", "output": "a list"},
            ]})
        },
        decode_stream: |payloads| {
            let numbers = payloads.iter().map(|payload| payload["sequence_number"].as_u64());
            assert!(numbers.eq((0..).map(Some).take(payloads.len())), "events are numbered");
            let mut decoded = responses_whole(&payloads.last().expect("a last event")["response"]);
            let deltas = |name: &str| -> String {
                let named = payloads.iter().filter(|payload| payload["type"] == name);
                named.filter_map(|payload| payload["delta"].as_str()).collect()
            };
            let text = deltas("response.output_text.delta") + &deltas("response.refusal.delta");
            assert_eq!(text, decoded.text, "the pieces are the whole");
            assert_eq!(deltas("response.reasoning_summary_text.delta"), decoded.thinking);
            let arguments = deltas("response.function_call_arguments.delta");
            let whole: String = decoded.calls.iter().map(|call| call.2.to_string()).collect();
            assert_eq!(arguments, whole);
            let done =
                payloads.iter().filter(|payload| payload["type"] == "response.output_item.done");
            assert_eq!(done.count(), 2 + decoded.calls.len() + 1);
            decoded.stop.clear();
            decoded
                .stop
                .push_str(payloads.last().and_then(|last| last["type"].as_str()).expect("a type"));
            decoded
        },
        decode_whole: |whole| {
            let mut decoded = responses_whole(whole);
            decoded.stop = format!("response.{}", decoded.stop);
            decoded
        },
        call_prefix: "call",
        stops: [
            "response.completed",
            "response.completed",
            "response.incomplete",
            "response.completed",
            "response.completed",
            "response.completed",
            "response.failed",
        ],
    },
    Wire {
        name: "chat",
        path: "/v1/chat/completions",
        body: |stream| {
            json!({"model": "m", "stream": stream, "messages": [
                {"role": "system", "content": "a list"},
                {"role": "user", "content": "start"},
                {"role": "assistant", "tool_calls": [
                    {"id": "t", "type": "function", "function": {"name": "Bash", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "t", "content": "a list"},
            ]})
        },
        decode_stream: chat,
        decode_whole: |whole| {
            let message = &whole["choices"][0]["message"];
            let mut decoded = DecodedAnswer {
                thinking: text(&message["reasoning_content"]),
                text: text(&message["content"]),
                stop: text(&whole["choices"][0]["finish_reason"]),
                usage: tokens(&whole["usage"], "prompt_tokens", "completion_tokens"),
                ..DecodedAnswer::default()
            };
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let input = parsed(&call["function"]["arguments"]);
                decoded.calls.push((text(&call["id"]), text(&call["function"]["name"]), input));
            }
            decoded
        },
        call_prefix: "call",
        stops: ["stop", "tool_calls", "length", "stop", "stop", "content_filter", "length"],
    },
    Wire {
        name: "gemini",
        path: "",
        body: |_| {
            json!({"contents": [
                {"role": "user", "parts": [{"text": "start"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "Bash", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "Bash", "response": {"output": "a list"}}},
                ]},
            ]})
        },
        decode_stream: |payloads| {
            let mut decoded = DecodedAnswer::default();
            for payload in payloads {
                gemini(&mut decoded, payload);
            }
            decoded
        },
        decode_whole: |whole| {
            let mut decoded = DecodedAnswer::default();
            gemini(&mut decoded, whole);
            decoded
        },
        call_prefix: "call",
        stops: ["STOP", "STOP", "MAX_TOKENS", "STOP", "STOP", "SAFETY", "MAX_TOKENS"],
    },
];

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn parsed(arguments: &Value) -> Value {
    serde_json::from_str(arguments.as_str().expect("text")).expect("arguments in JSON")
}

fn tokens(usage: &Value, input: &str, output: &str) -> (u64, u64) {
    (usage[input].as_u64().expect("input"), usage[output].as_u64().expect("output"))
}

fn messages_usage(usage: &Value) -> (u64, u64) {
    let (input, output) = tokens(usage, "input_tokens", "output_tokens");
    let cached = tokens(usage, "cache_read_input_tokens", "cache_creation_input_tokens");
    (input + cached.0 + cached.1, output)
}

fn messages(payloads: &[Value]) -> DecodedAnswer {
    let mut decoded = DecodedAnswer::default();
    let mut blocks = 0;
    let mut input = String::new();
    assert_eq!(payloads[0]["type"], "message_start");
    assert_eq!(payloads.last().expect("a last event")["type"], "message_stop");
    for payload in payloads {
        let delta = &payload["delta"];
        match payload["type"].as_str().expect("a type") {
            "content_block_start" => {
                assert_eq!(payload["index"], blocks);
                let block = &payload["content_block"];
                if block["type"] == "tool_use" {
                    decoded.calls.push((text(&block["id"]), text(&block["name"]), json!(null)));
                }
            }
            "content_block_delta" => {
                decoded.thinking.push_str(&text(&delta["thinking"]));
                decoded.text.push_str(&text(&delta["text"]));
                input.push_str(&text(&delta["partial_json"]));
                if delta["type"] == "signature_delta" {
                    assert_eq!(delta["signature"], "signature_1");
                }
            }
            "content_block_stop" => {
                blocks += 1;
                if !input.is_empty() {
                    let call = decoded.calls.last_mut().expect("a call");
                    call.2 = serde_json::from_str(&input).expect("arguments in JSON");
                    input.clear();
                }
            }
            "message_delta" => {
                decoded.stop = text(&delta["stop_reason"]);
                decoded.usage = messages_usage(&payload["usage"]);
            }
            _ => {}
        }
    }
    decoded
}

fn messages_whole(whole: &Value) -> DecodedAnswer {
    let mut decoded =
        DecodedAnswer { stop: text(&whole["stop_reason"]), ..DecodedAnswer::default() };
    decoded.usage = messages_usage(&whole["usage"]);
    for block in whole["content"].as_array().expect("content") {
        decoded.thinking.push_str(&text(&block["thinking"]));
        decoded.text.push_str(&text(&block["text"]));
        if block["type"] == "tool_use" {
            decoded.calls.push((text(&block["id"]), text(&block["name"]), block["input"].clone()));
        }
    }
    decoded
}

fn responses_whole(whole: &Value) -> DecodedAnswer {
    let mut decoded = DecodedAnswer { stop: text(&whole["status"]), ..DecodedAnswer::default() };
    decoded.usage = tokens(&whole["usage"], "input_tokens", "output_tokens");
    for item in whole["output"].as_array().expect("output") {
        decoded.thinking.push_str(&text(&item["summary"][0]["text"]));
        decoded.text.push_str(&text(&item["content"][0]["text"]));
        decoded.text.push_str(&text(&item["content"][0]["refusal"]));
        if item["type"] == "function_call" {
            let input = parsed(&item["arguments"]);
            decoded.calls.push((text(&item["call_id"]), text(&item["name"]), input));
        }
    }
    decoded
}

fn chat(payloads: &[Value]) -> DecodedAnswer {
    let mut decoded = DecodedAnswer::default();
    let mut inputs: Vec<String> = Vec::new();
    for payload in payloads {
        let delta = &payload["choices"][0]["delta"];
        decoded.thinking.push_str(&text(&delta["reasoning_content"]));
        decoded.text.push_str(&text(&delta["content"]));
        decoded.text.push_str(&text(&delta["refusal"]));
        decoded.stop.push_str(&text(&payload["choices"][0]["finish_reason"]));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            if call.get("id").is_some() {
                decoded.calls.push((
                    text(&call["id"]),
                    text(&call["function"]["name"]),
                    json!(null),
                ));
                inputs.push(String::new());
            }
            let index = usize::try_from(call["index"].as_u64().expect("an index")).expect("small");
            inputs[index].push_str(&text(&call["function"]["arguments"]));
        }
        if payload["usage"].is_object() {
            decoded.usage = tokens(&payload["usage"], "prompt_tokens", "completion_tokens");
        }
    }
    for (call, input) in decoded.calls.iter_mut().zip(inputs) {
        call.2 = serde_json::from_str(&input).expect("arguments in JSON");
    }
    decoded
}

fn gemini(decoded: &mut DecodedAnswer, payload: &Value) {
    let candidate = &payload["candidates"][0];
    for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
        let words = text(&part["text"]);
        if part["thought"] == true {
            decoded.thinking.push_str(&words);
        } else {
            decoded.text.push_str(&words);
        }
        if let Some(call) = part.get("functionCall") {
            assert!(part["thoughtSignature"].is_string(), "calls are sealed");
            decoded.calls.push((text(&call["id"]), text(&call["name"]), call["args"].clone()));
        }
    }
    decoded.stop.push_str(&text(&candidate["finishReason"]));
    decoded.usage = tokens(&payload["usageMetadata"], "promptTokenCount", "candidatesTokenCount");
}

fn ask(wire: &Wire, script: Script, streaming: bool) -> Seen {
    let rehearsal = play(script);
    let path = match (wire.path, streaming) {
        ("", true) => "/v1beta/models/m:streamGenerateContent?alt=sse",
        ("", false) => "/v1beta/models/m:generateContent",
        (path, _) => path,
    };
    let body = (wire.body)(streaming).to_string();
    Client::connect(rehearsal.address()).post(path, &[], &body)
}

fn answer() -> ScriptedAnswer {
    ScriptedAnswer::text("Größe: ≤ 3 — ")
        .thinking("Let me see 🙂 then.")
        .tool("Bash", json!({"command": "echo \"ü\"\n"}))
        .tool("Read", json!({"file_path": "/a"}))
        .text_after("done.")
        .usage(Usage {
            input: Tokens(10),
            output: Tokens(5),
            cache_write: Tokens(200),
            cache_read: Tokens(1000),
        })
}

#[test]
fn every_wire_says_the_same_in_any_pieces() {
    for wire in WIRES {
        for (chunk, streaming) in [(1, true), (3, true), (1000, true), (24, false)] {
            let script = Script::new()
                .answer(ScriptedAnswer::text("not this").when("start"))
                .answer(answer().chunk(chunk).when_result("a list").when_model("m"));
            let seen = ask(wire, script, streaming);
            assert_eq!(seen.status, Some(200), "{}: {}", wire.name, seen.text());
            let kind = if streaming { "text/event-stream" } else { "application/json" };
            assert_eq!(seen.header("content-type"), Some(kind));
            let decoded = if streaming {
                (wire.decode_stream)(&seen.payloads())
            } else {
                (wire.decode_whole)(&seen.json())
            };
            let id = |index| format!("{}_1_{index}", wire.call_prefix);
            let wanted = DecodedAnswer {
                thinking: "Let me see 🙂 then.".to_owned(),
                text: "Größe: ≤ 3 — done.".to_owned(),
                calls: vec![
                    (id(0), "Bash".to_owned(), json!({"command": "echo \"ü\"\n"})),
                    (id(1), "Read".to_owned(), json!({"file_path": "/a"})),
                ],
                stop: wire.stops[1].to_owned(),
                usage: (1210, 5),
            };
            assert_eq!(decoded, wanted, "{} in pieces of {chunk}", wire.name);
        }
    }
}

#[test]
fn every_reason_to_stop_has_its_word_on_every_wire() {
    for wire in WIRES {
        for (stop, word) in StopReason::ALL.iter().zip(wire.stops) {
            let decoded = (wire.decode_stream)(
                &ask(wire, Script::new().answer(answer().stop(*stop)), true).payloads(),
            );
            assert_eq!(decoded.stop, word, "{} {stop:?}", wire.name);
        }
    }
}

#[test]
fn the_end_of_a_chat_is_marked() {
    let seen = ask(&WIRES[2], Script::new().answer(answer()), true);
    assert!(seen.text().ends_with("data: [DONE]\n\n"));
}

#[test]
fn errors_have_the_form_of_their_wire() {
    // Where the kind of the error stands, in a refusal with status 429 and in a stream.
    let places = [
        ("/error/type", "rate_limit_error", "/error/type"),
        ("/error/code", "rate_limit_exceeded", "/response/error/code"),
        ("/error/code", "rate_limit_exceeded", "/error/code"),
        ("/error/status", "RESOURCE_EXHAUSTED", "/error/status"),
    ];
    for (wire, (refused, kind, in_stream)) in WIRES.iter().zip(places) {
        let seen = ask(
            wire,
            Script::new().answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(429))),
            true,
        );
        assert_eq!(seen.status, Some(429));
        assert_eq!(seen.json().pointer(refused), Some(&json!(kind)), "{}", wire.name);
        let failing = || Script::new().answer(answer().fault(ScriptedFault::error_event("bad", 1)));
        let last = ask(wire, failing(), true).payloads().pop().expect("an event");
        assert_eq!(last.pointer(in_stream), Some(&json!("bad")), "{}", wire.name);
        let seen = ask(wire, failing(), false);
        assert_eq!(seen.status, Some(500));
        assert_eq!(seen.json().pointer(refused), Some(&json!("bad")), "{}", wire.name);
    }
}

#[test]
fn an_empty_answer_is_empty_and_nonsense_stays_nonsense() {
    let seen = ask(&WIRES[0], Script::new().answer(ScriptedAnswer::empty()), true);
    let kinds: Vec<_> = seen.payloads().iter().map(|payload| text(&payload["type"])).collect();
    assert_eq!(kinds, ["message_start", "message_delta", "message_stop"]);
    let nonsense =
        ScriptedAnswer::empty().tool_text("Bash", "{\"comm").tool_with_id("same", "X", json!({}));
    let payloads = ask(&WIRES[0], Script::new().answer(nonsense), true).payloads();
    let pieces = payloads.iter().filter_map(|payload| payload.pointer("/delta/partial_json"));
    assert_eq!(pieces.collect::<Vec<_>>(), ["{\"comm", "{}"]);
    assert_eq!(payloads[4]["content_block"]["id"], "same");
}

#[test]
fn the_script_may_name_the_model() {
    for (script, name) in [
        (Script::new().answer(answer()), "m"),
        (Script::new().answer(answer()).model("stand-in"), "stand-in"),
    ] {
        let payloads = ask(&WIRES[0], script, true).payloads();
        assert_eq!(payloads[0]["message"]["model"], name);
    }
}

#[test]
fn usage_not_given_grows_with_the_request() {
    let script = || Script::new().answer(ScriptedAnswer::text("12345678"));
    let decoded = (WIRES[0].decode_stream)(&ask(&WIRES[0], script(), true).payloads());
    let bytes = (WIRES[0].body)(true).to_string().len();
    assert_eq!(decoded.usage, (u64::try_from(bytes.div_ceil(4)).expect("small"), 2));
}
