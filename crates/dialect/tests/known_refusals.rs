//! Refusals that providers and the servers that imitate them are known to give, word for word: what
//! each demands, and which message of the request it is about. The collection is
//! `known_refusals.json`; a new one is a new line there.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

mod fixture;

use std::collections::BTreeMap;

use fixture::transcript::{answer, call, media, message, png, request, result, text, user};
use serde::Deserialize;
use serde_json::Value;
use windlass_dialect::{BlockLocation, FailedResponse, RefusedItem, dialect, find_refused_item};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, FailureKind, Message, MessageId, MessageOrigin, ModelRequest,
    RecoveryAction, Role, ToolCallId, ToolResult, ToolResultPart, WireFormat,
};

#[derive(Deserialize)]
struct Row {
    wire: WireFormat,
    status: u16,
    kind: FailureKind,
    demand: RecoveryAction,
    /// The message, and the block of it, as the wire counts them.
    at: Option<(usize, Option<usize>)>,
    body: Value,
}

fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("known_refusals.json")).expect("rows")
}

#[test]
fn every_known_error_gets_its_failure_kind_and_its_item() {
    let mut wrong = Vec::new();
    for row in rows() {
        let body = row.body.to_string();
        let wire = dialect(row.wire).expect("spoken");
        let failure = wire.classify_failure(&FailedResponse {
            status: row.status,
            headers: &|_| None,
            body: body.as_bytes(),
            now_unix_seconds: 0,
        });
        assert_eq!(row.kind.recovery_action(), row.demand, "{body}");
        let at = find_refused_item(row.wire, &failure.message);
        let expected = row.at.map(|(message, block)| RefusedItem { message, block });
        if (failure.kind, at) != (row.kind, expected) {
            wrong.push(format!(
                "{:?} {at:?}, not {:?} {expected:?}: {body}",
                failure.kind, row.kind
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_many_known_errors_of_every_wire() {
    let mut kinds: BTreeMap<WireFormat, Vec<FailureKind>> = BTreeMap::new();
    for row in rows() {
        kinds.entry(row.wire).or_default().push(row.kind);
    }
    assert_eq!(kinds.len(), 4);
    for (wire, kinds) in kinds {
        assert!(kinds.len() >= 20, "{wire:?}: {}", kinds.len());
        for kind in [
            FailureKind::InvalidRequest,
            FailureKind::ForeignSignature,
            FailureKind::BadImage,
            FailureKind::PromptTooLong,
        ] {
            assert!(kinds.contains(&kind), "{wire:?}: {kind:?}");
        }
    }
}

/// A conversation in which what is sent differs from what was said: messages merge, an attachment
/// moves up, a result is missing, a picture leaves its result.
fn conversation() -> ModelRequest {
    let shot = ToolResultPart::Media(media("shot", "image/png", &png(4, 4, 0)));
    let seen = ToolResult {
        call: ToolCallId::from("t1"),
        content: vec![ToolResultPart::Text("seen".into()), shot],
        is_error: false,
    };
    let messages = vec![
        user(vec![text("one"), text(" "), text("two")]),
        message(Role::User, MessageOrigin::Display, vec![text("for people")]),
        answer(vec![text("a"), call("t1", "Read", "{}"), call("t2", "Read", "{}")]),
        message(Role::User, MessageOrigin::ToolResults, vec![ContentBlock::ToolResult(seen)]),
        user(vec![text("three")]),
        message(
            Role::User,
            MessageOrigin::Attachment(AttachmentKind::Memory),
            vec![text("memory")],
        ),
        answer(vec![call("t3", "Read", "{}")]),
        message(
            Role::User,
            MessageOrigin::ToolResults,
            vec![result("t3", "x"), result("t9", "orphan")],
        ),
    ];
    let numbered = (0..).zip(messages);
    let numbered = numbered.map(|(id, message)| Message { id: MessageId(id), ..message });
    request(numbered.collect())
}

#[test]
fn every_message_of_a_request_is_traced_to_the_transcript() {
    use WireFormat::{AnthropicMessages as A, Gemini as G, OpenaiChat as C, OpenaiResponses as R};
    // The places of each message of the wire, block by block, as (message, block).
    let table: [(WireFormat, &[&[(u64, usize)]]); 4] = [
        (
            A,
            &[
                &[(0, 0), (0, 2)],
                &[(2, 0), (2, 1), (2, 2)],
                &[(3, 0), (5, 0), (4, 0)],
                &[(6, 0)],
                &[(7, 0)],
            ],
        ),
        (
            C,
            &[
                &[],
                &[(0, 0), (0, 2)],
                &[(2, 0), (2, 1), (2, 2)],
                &[(3, 0)],
                &[],
                &[(3, 0), (5, 0), (4, 0)],
                &[(6, 0)],
                &[(7, 0)],
            ],
        ),
        (
            R,
            &[
                &[(0, 0), (0, 2)],
                &[(2, 0)],
                &[(2, 1)],
                &[(2, 2)],
                &[(3, 0)],
                &[],
                &[(5, 0), (4, 0)],
                &[(6, 0)],
                &[(7, 0)],
            ],
        ),
        (
            G,
            &[
                &[(0, 0), (0, 2)],
                &[(2, 0), (2, 1), (2, 2)],
                &[(3, 0)],
                &[(3, 0), (5, 0), (4, 0)],
                &[(6, 0)],
                &[(7, 0)],
            ],
        ),
    ];
    for (wire, messages) in table {
        let dialect = dialect(wire).expect("spoken");
        let encoded = dialect.encode(&conversation(), dialect.rules());
        let body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
        let list = ["messages", "input", "contents"].iter().find_map(|name| body[name].as_array());
        assert_eq!(list.expect("messages").len(), messages.len(), "{wire:?}: {body}");
        assert_eq!(encoded.origins.message_count(), messages.len(), "{wire:?}");
        let place = |(message, block): &(u64, usize)| BlockLocation {
            message: MessageId(*message),
            block: *block,
        };
        for (position, places) in messages.iter().enumerate() {
            let all: Vec<BlockLocation> = places.iter().map(place).collect();
            let whole = RefusedItem { message: position, block: None };
            assert_eq!(encoded.origins.find(&whole), all, "{wire:?} {position}");
            let beyond = RefusedItem { message: position, block: Some(99) };
            assert_eq!(encoded.origins.find(&beyond), all, "{wire:?} {position}");
        }
        let beyond = RefusedItem { message: messages.len(), block: None };
        assert_eq!(encoded.origins.find(&beyond), [], "{wire:?}");
    }
}

#[test]
fn one_block_is_found_by_the_words_of_its_refusal() {
    let table = [
        (WireFormat::AnthropicMessages, "messages.2.content.3: no", (4, 0)),
        (
            WireFormat::AnthropicMessages,
            "messages.2.content.0.tool_result.content.1.image: no",
            (3, 0),
        ),
        (WireFormat::OpenaiChat, "Invalid 'messages[5].content[1].text'", (5, 0)),
        (WireFormat::OpenaiResponses, "Invalid 'input[6].content[0]'", (5, 0)),
        (WireFormat::Gemini, "GenerateContentRequest.contents[3].parts[2]: no", (4, 0)),
    ];
    for (wire, words, (message, block)) in table {
        let dialect = dialect(wire).expect("spoken");
        let encoded = dialect.encode(&conversation(), dialect.rules());
        let found = encoded.origins.find(&find_refused_item(wire, words).expect("a place"));
        assert_eq!(
            found,
            [BlockLocation { message: MessageId(message), block }],
            "{wire:?}: {words}"
        );
    }
    for words in ["messages", "messages. 3 of", "messages.9999999: x", "my_messages.3: x", "", "é"]
    {
        for wire in [
            WireFormat::AnthropicMessages,
            WireFormat::OpenaiChat,
            WireFormat::OpenaiResponses,
            WireFormat::Gemini,
        ] {
            assert_eq!(find_refused_item(wire, words), None, "{wire:?}: {words}");
        }
    }
}

/// A web server that takes no such requests is told of at once, and not asked again and again.
#[test]
fn an_address_without_a_model_server_is_not_retried() {
    for wire in [
        WireFormat::AnthropicMessages,
        WireFormat::OpenaiChat,
        WireFormat::OpenaiResponses,
        WireFormat::Gemini,
    ] {
        for status in [405, 501] {
            let page = b"<!DOCTYPE HTML>\n<title>Error response</title>";
            let speak = dialect(wire).expect("spoken");
            let failure = speak.classify_failure(&FailedResponse {
                status,
                headers: &|_| None,
                body: page,
                now_unix_seconds: 0,
            });
            assert_eq!(failure.kind, FailureKind::Misconfigured, "{wire:?} {status}");
        }
    }
}
