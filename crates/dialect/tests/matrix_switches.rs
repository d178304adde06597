//! One row per setting, one column per wire: what is asked of the model, and what it is counted as.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

mod fixture;

use fixture::decode_whole;
use fixture::transcript::{request, text, user};
use serde_json::{Value, json};
use windlass_dialect::{DecodedEvent, Dialect, dialect};
use windlass_vocabulary::{
    Effort, ModelName, ModelRequest, ThinkingMode, Tokens, ToolResultClearing, WireFormat,
};

fn speak(wire: WireFormat) -> &'static dyn Dialect {
    dialect(wire).expect("spoken")
}

/// Cached tokens are part of the input on three of the wires, and told under several names.
#[test]
fn cached_tokens_are_found_wherever_a_server_puts_them() {
    let chat = |usage: Value| {
        let list = [
            fixture::openai_chat::chunk(json!({"content": "x"})),
            fixture::openai_chat::finish("stop"),
            json!({"choices": [], "usage": usage}),
        ];
        fixture::openai_chat::chunks(&list)
    };
    let gemini = |usage: Value| {
        let mut end = fixture::gemini::finish("STOP");
        end["usageMetadata"] = usage;
        fixture::gemini::chunks(&[fixture::gemini::parts(json!([{"text": "x"}])), end])
    };
    let table: Vec<(WireFormat, Vec<u8>, [u64; 4])> = vec![
        (
            WireFormat::OpenaiChat,
            chat(json!({"prompt_tokens": 100, "completion_tokens": 5})),
            [100, 5, 0, 0],
        ),
        (
            WireFormat::OpenaiChat,
            chat(json!({"prompt_tokens": 100, "completion_tokens": 5,
                "prompt_tokens_details": null, "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 36})),
            [36, 5, 0, 64],
        ),
        (
            WireFormat::OpenaiChat,
            chat(json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details":
                {"cached_tokens": 60, "cache_write_tokens": 30}})),
            [10, 5, 30, 60],
        ),
        (
            WireFormat::OpenaiChat,
            chat(json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}})),
            [0, 0, 0, 60],
        ),
        (WireFormat::Gemini, gemini(json!({"promptTokenCount": 100})), [100, 0, 0, 0]),
        (
            WireFormat::Gemini,
            gemini(json!({"promptTokenCount": 100, "cachedContentTokenCount": 90})),
            [10, 0, 0, 90],
        ),
    ];
    for (wire, body, [input, output, cache_write, cache_read]) in table {
        let items = decode_whole(speak(wire), &body);
        let Some(DecodedEvent::Ended { usage, .. }) = items.last() else { panic!("{wire:?}") };
        let counted = [usage.input.0, usage.output.0, usage.cache_write.0, usage.cache_read.0];
        assert_eq!(counted, [input, output, cache_write, cache_read], "{wire:?}");
    }
}

#[test]
fn thinking_and_effort_are_asked_for_in_every_wires_own_words() {
    use Effort::{High, Low, Max, Medium, Xhigh};
    use ThinkingMode::{Adaptive, Disabled, Unset};
    use WireFormat::{AnthropicMessages as A, Gemini as G, OpenaiChat as C, OpenaiResponses as R};
    // What the request says of it, all told; nothing where the provider's default holds.
    let table: &[(WireFormat, &str, ThinkingMode, Option<Effort>, Value)] = &[
        (A, "m", Unset, None, json!({})),
        (A, "m", Adaptive, None, json!({"thinking": {"type": "adaptive"}})),
        (A, "m", Disabled, None, json!({"thinking": {"type": "disabled"}})),
        (A, "m", Disabled, Some(Max), json!({"thinking": {"type": "disabled"}})),
        (A, "m", Unset, Some(Low), json!({"output_config": {"effort": "low"}})),
        (A, "m", Unset, Some(Medium), json!({"output_config": {"effort": "medium"}})),
        (A, "m", Unset, Some(Xhigh), json!({"output_config": {"effort": "xhigh"}})),
        (A, "m", Unset, Some(Max), json!({"output_config": {"effort": "max"}})),
        (C, "m", Unset, None, json!({})),
        (C, "m", Adaptive, None, json!({})),
        (C, "m", Unset, Some(Low), json!({"reasoning_effort": "low"})),
        (C, "m", Unset, Some(Xhigh), json!({"reasoning_effort": "xhigh"})),
        (C, "m", Unset, Some(Max), json!({"reasoning_effort": "max"})),
        (C, "m", Disabled, Some(Max), json!({"reasoning_effort": "none"})),
        (R, "m", Unset, None, json!({})),
        (R, "m", Adaptive, None, json!({"include": ["reasoning.encrypted_content"]})),
        (R, "m", Unset, Some(Medium), json!({"reasoning": {"effort": "medium"}})),
        (R, "m", Disabled, None, json!({"reasoning": {"effort": "none"}})),
        (G, "gemini-3", Unset, None, json!({})),
        (G, "gemini-3", Adaptive, None, json!({"includeThoughts": true})),
        (
            G,
            "gemini-3",
            Adaptive,
            Some(Low),
            json!({"includeThoughts": true, "thinkingLevel": "low"}),
        ),
        (G, "gemini-3", Unset, Some(Max), json!({"thinkingLevel": "high"})),
        (G, "gemini-3", Disabled, None, json!({"thinkingLevel": "low"})),
        (G, "gemini-2.5-flash", Unset, Some(Low), json!({})),
        (G, "gemini-2.5-flash", Disabled, Some(Low), json!({"thinkingBudget": 0})),
        (A, "m", Unset, Some(High), json!({"output_config": {"effort": "high"}})),
        (C, "m", Unset, Some(High), json!({"reasoning_effort": "high"})),
        (R, "m", Unset, Some(High), json!({"reasoning": {"effort": "high"}})),
        (G, "gemini-3", Unset, Some(High), json!({"thinkingLevel": "high"})),
    ];
    let said = |wire: WireFormat, request: &ModelRequest| {
        let encoded = speak(wire).encode(request, speak(wire).rules());
        let body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
        let config = body["generationConfig"]["thinkingConfig"].as_object().cloned();
        let mut said = config.unwrap_or_default();
        for name in ["thinking", "output_config", "reasoning_effort", "reasoning", "include"] {
            said.extend(body.get(name).map(|value| (name.to_string(), value.clone())));
        }
        Value::Object(said)
    };
    for (wire, model, thinking, effort, expected) in table {
        let mut request = request(vec![user(vec![text("q")])]);
        request.model = ModelName::from(*model);
        request.thinking = *thinking;
        request.effort = *effort;
        assert_eq!(said(*wire, &request), *expected, "{wire:?} {model} {thinking:?} {effort:?}");
        request.without_reasoning = true;
        assert_eq!(said(*wire, &request), json!({}), "{wire:?}: not after it was refused");
    }
}

/// Only one wire has a word for it; on the others the wish is not mentioned.
#[test]
fn old_results_are_cleared_by_the_provider_where_it_can() {
    let mut request = request(vec![user(vec![text("q")])]);
    let plain = speak(WireFormat::AnthropicMessages)
        .encode(&request, speak(WireFormat::AnthropicMessages).rules());
    request.clear_results = Some(ToolResultClearing {
        trigger_tokens: Tokens(120_000),
        keep_latest: 10,
        clear_at_least: Tokens(4_000),
    });
    for wire in [
        WireFormat::AnthropicMessages,
        WireFormat::OpenaiChat,
        WireFormat::OpenaiResponses,
        WireFormat::Gemini,
    ] {
        let encoded = speak(wire).encode(&request, speak(wire).rules());
        let body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
        let (said, headers) = (&body["context_management"], speak(wire).extra_headers(&request));
        if wire != WireFormat::AnthropicMessages {
            assert_eq!((said, headers), (&Value::Null, [].as_slice()), "{wire:?}");
            continue;
        }
        assert_ne!(encoded.body, plain.body);
        assert_eq!(headers, [("anthropic-beta", "context-management-2025-06-27")]);
        let edit = json!({"type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": 120_000},
            "keep": {"type": "tool_uses", "value": 10},
            "clear_at_least": {"type": "input_tokens", "value": 4_000}});
        assert_eq!(said, &json!({"edits": [edit]}));
    }
}
