//! What holds for every wire and every transcript: what is sent obeys the provider's rules, and the
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

use fixture::all_dialects;
use fixture::checker::{breaches, messages};
use fixture::transcript::{
    answer, call, failed_result, media, message, png, provider, request, result, results, text,
    thinking, user,
};
use proptest::prelude::*;
use serde_json::Value;
use windlass_dialect::Dialect;
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, Message, MessageOrigin, MetaKind, ModelName, ModelRequest, Role,
    ToolResultPart, WireFormat,
};

/// The messages without cache marks.
fn sent(dialect: &dyn Dialect, request: &ModelRequest) -> Vec<Value> {
    let encoded = dialect.encode(request, dialect.rules());
    let mut body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
    unmark(&mut body);
    messages(dialect.wire(), &body)
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

fn block() -> impl Strategy<Value = ContentBlock> {
    let id = || prop_oneof![Just("t1"), Just("t2"), Just("t3"), Just(""), Just("odd id")];
    prop_oneof![
        4 => "[a-z \n]{0,6}".prop_map(|words| text(&words)),
        2 => (any::<bool>()).prop_map(|sealed| thinking("hm", sealed.then_some("seal"))),
        4 => (id(), prop_oneof![Just("{}"), Just("{\"a\":"), Just("7")])
            .prop_map(|(id, input)| call(id, "Read", input)),
        4 => (id(), "[a-z ]{0,4}").prop_map(|(id, words)| result(id, &words)),
        1 => id().prop_map(|id| failed_result(id, vec![
            ToolResultPart::Media(media("m", "image/png", &png(5, 5, 0))),
        ])),
        1 => id().prop_map(|id| failed_result(id, vec![])),
        2 => Just(ContentBlock::Media(media("m", "image/png", &png(5, 5, 0)))),
        1 => Just(ContentBlock::Media(media("", "image/bmp", "Qk0=")) ),
        1 => Just(provider(WireFormat::AnthropicMessages, "redacted_thinking",
            "{\"type\":\"redacted_thinking\",\"data\":\"x\"}")),
        1 => Just(provider(WireFormat::AnthropicMessages, "server_tool_use",
            "{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"x\",\"input\":{}}")),
        1 => Just(provider(WireFormat::Gemini, "part", "{}")),
        1 => Just(provider(WireFormat::Gemini, "sealed_part",
            "{\"text\":\"\",\"thoughtSignature\":\"x\"}")),
        1 => Just(provider(WireFormat::OpenaiResponses, "reasoning",
            "{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"x\"}")),
        1 => Just(provider(WireFormat::OpenaiResponses, "reasoning",
            "{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":null}")),
    ]
}

fn origin() -> impl Strategy<Value = MessageOrigin> {
    prop_oneof![
        3 => Just(MessageOrigin::User),
        3 => Just(MessageOrigin::Model),
        2 => Just(MessageOrigin::ToolResults),
        1 => Just(MessageOrigin::Attachment(AttachmentKind::Memory)),
        1 => Just(MessageOrigin::Summary),
        1 => Just(MessageOrigin::Hook),
        1 => Just(MessageOrigin::Display),
    ]
}

fn damaged() -> impl Strategy<Value = Vec<Message>> {
    let author = prop_oneof![
        3 => Just(Some("model-a")), 1 => Just(Some("model-b")), 1 => Just(None),
    ];
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
    let any_message = (role, origin(), proptest::collection::vec(block(), 0..5), author).prop_map(
        |(role, origin, content, model)| Message {
            model: model.map(ModelName::from),
            ..message(role, origin, content)
        },
    );
    proptest::collection::vec(any_message, 0..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn any_transcript_becomes_a_legal_request(
        messages in damaged(),
        without_reasoning in any::<bool>(),
        crowd in prop_oneof![9 => Just(0_usize), 1 => 90_usize..160],
    ) {
        let mut request = request(messages);
        let crowd = (0..crowd).map(|_| ContentBlock::Media(media("m", "image/png", &png(5, 5, 0))));
        request.messages.push(std::sync::Arc::new(user(crowd.collect())));
        request.without_reasoning = without_reasoning;
        for (wire, dialect) in all_dialects() {
            let encoded = dialect.encode(&request, dialect.rules());
            let body = String::from_utf8_lossy(&encoded.body).into_owned();
            prop_assert_eq!(breaches(wire, &encoded.body), Vec::<String>::new(), "{:?} {}", wire, body);
            prop_assert_eq!(&encoded.refusal, &None);
            let sent: Value = serde_json::from_slice(&encoded.body).expect("JSON");
            let counted = ["messages", "input", "contents"].iter().find_map(|name| sent[name].as_array());
            prop_assert_eq!(encoded.origins.message_count(), counted.expect("messages").len(), "{:?}", wire);
            prop_assert_eq!(dialect.encode(&request, dialect.rules()), encoded, "always the same");
        }
    }

    #[test]
    fn a_longer_conversation_begins_with_the_shorter_one(turns in proptest::collection::vec(turn(), 1..12)) {
        for (wire, dialect) in all_dialects() {
            let mut transcript = vec![
                message(Role::User, MessageOrigin::Meta(MetaKind::Context), vec![text("context")]),
                user(vec![text("prompt")]),
            ];
            let mut before: Vec<Value> = Vec::new();
            for turn in &turns {
                let now = sent(dialect, &request(transcript.clone()));
                prop_assert!(now.starts_with(&before), "{wire:?} {before:?}\n{now:?}");
                prop_assert!(now.len() > before.len());
                before = now;
                transcript.extend(turn.clone());
            }
        }
    }
}

/// What one turn of the loop adds: an answer, and what is said in reply to it.
fn turn() -> impl Strategy<Value = Vec<Message>> {
    let words = "[a-z]{1,5}";
    let attachment = any::<bool>();
    (words, 0_usize..4, attachment, any::<bool>()).prop_map(
        |(words, calls, has_attachment, thinks)| {
            let mut content = Vec::new();
            if thinks {
                content.push(thinking("hm", Some("seal")));
            }
            content.push(text(&words));
            content.extend((0..calls).map(|n| call(&format!("{words}{n}"), "Read", "{}")));
            let mut turn = vec![answer(content)];
            if calls > 0 {
                let blocks = (0..calls).rev().map(|n| result(&format!("{words}{n}"), "x"));
                turn.push(results(blocks.collect()));
            } else {
                turn.push(user(vec![text("next")]));
            }
            if has_attachment {
                let origin = MessageOrigin::Attachment(AttachmentKind::Memory);
                turn.push(message(Role::User, origin, vec![text("memory")]));
            }
            turn
        },
    )
}
