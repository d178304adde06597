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

mod stage;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use stage::transcript::{answer, call, media, message, png, request, result, text, user};
use windlass_dialect::{Offender, Place, dialect, offender};
use windlass_vocabulary::{
    AttachmentKind, Block, Demand, FailureKind, Message, MessageId, ModelRequest, Origin,
    ResultPart, Role, ToolCallId, ToolResult, Wire,
};

#[derive(Deserialize)]
struct Row {
    wire: Wire,
    status: u16,
    kind: FailureKind,
    demand: Demand,
    /// The message, and the block of it, as the wire counts them.
    at: Option<(usize, Option<usize>)>,
    body: Value,
}

fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("known_refusals.json")).expect("rows")
}

#[test]
fn every_known_refusal_is_sorted_and_located() {
    let mut wrong = Vec::new();
    for row in rows() {
        let body = row.body.to_string();
        let wire = dialect(row.wire).expect("spoken");
        let failure = wire.classify(row.status, &|_| None, body.as_bytes(), 0);
        assert_eq!(row.kind.demand(), row.demand, "{body}");
        let at = offender(row.wire, &failure.message);
        let expected = row.at.map(|(message, block)| Offender { message, block });
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
fn the_collection_is_rich_in_every_wire() {
    let mut kinds: BTreeMap<Wire, Vec<FailureKind>> = BTreeMap::new();
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
    let shot = ResultPart::Media(media("shot", "image/png", &png(4, 4, 0)));
    let seen = ToolResult {
        call: ToolCallId::from("t1"),
        content: vec![ResultPart::Text("seen".into()), shot],
        is_error: false,
    };
    let messages = vec![
        user(vec![text("one"), text(" "), text("two")]),
        message(Role::User, Origin::Display, vec![text("for people")]),
        answer(vec![text("a"), call("t1", "Read", "{}"), call("t2", "Read", "{}")]),
        message(Role::User, Origin::ToolResults, vec![Block::ToolResult(seen)]),
        user(vec![text("three")]),
        message(Role::User, Origin::Attachment(AttachmentKind::Memory), vec![text("memory")]),
        answer(vec![call("t3", "Read", "{}")]),
        message(Role::User, Origin::ToolResults, vec![result("t3", "x"), result("t9", "orphan")]),
    ];
    let numbered = (0..).zip(messages);
    let numbered = numbered.map(|(id, message)| Message { id: MessageId(id), ..message });
    request(numbered.collect())
}

#[test]
fn every_message_of_a_request_is_traced_to_the_transcript() {
    use Wire::{AnthropicMessages as A, Gemini as G, OpenaiChat as C, OpenaiResponses as R};
    // The places of each message of the wire, block by block, as (message, block).
    let table: [(Wire, &[&[(u64, usize)]]); 4] = [
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
        let encoded = dialect.encode(&conversation(), dialect.law());
        let body: Value = serde_json::from_slice(&encoded.body).expect("JSON");
        let list = ["messages", "input", "contents"].iter().find_map(|name| body[name].as_array());
        assert_eq!(list.expect("messages").len(), messages.len(), "{wire:?}: {body}");
        assert_eq!(encoded.origins.messages(), messages.len(), "{wire:?}");
        let place =
            |(message, block): &(u64, usize)| Place { message: MessageId(*message), block: *block };
        for (position, places) in messages.iter().enumerate() {
            let all: Vec<Place> = places.iter().map(place).collect();
            let whole = Offender { message: position, block: None };
            assert_eq!(encoded.origins.find(&whole), all, "{wire:?} {position}");
            let beyond = Offender { message: position, block: Some(99) };
            assert_eq!(encoded.origins.find(&beyond), all, "{wire:?} {position}");
        }
        let beyond = Offender { message: messages.len(), block: None };
        assert_eq!(encoded.origins.find(&beyond), [], "{wire:?}");
    }
}

#[test]
fn one_block_is_found_by_the_words_of_its_refusal() {
    let table = [
        (Wire::AnthropicMessages, "messages.2.content.3: no", (4, 0)),
        (Wire::AnthropicMessages, "messages.2.content.0.tool_result.content.1.image: no", (3, 0)),
        (Wire::OpenaiChat, "Invalid 'messages[5].content[1].text'", (5, 0)),
        (Wire::OpenaiResponses, "Invalid 'input[6].content[0]'", (5, 0)),
        (Wire::Gemini, "GenerateContentRequest.contents[3].parts[2]: no", (4, 0)),
    ];
    for (wire, words, (message, block)) in table {
        let dialect = dialect(wire).expect("spoken");
        let encoded = dialect.encode(&conversation(), dialect.law());
        let found = encoded.origins.find(&offender(wire, words).expect("a place"));
        assert_eq!(found, [Place { message: MessageId(message), block }], "{wire:?}: {words}");
    }
    for words in ["messages", "messages. 3 of", "messages.9999999: x", "my_messages.3: x", "", "é"]
    {
        for wire in [Wire::AnthropicMessages, Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini]
        {
            assert_eq!(offender(wire, words), None, "{wire:?}: {words}");
        }
    }
}

/// A web server that takes no such requests is told of at once, and not asked again and again.
#[test]
fn a_server_that_is_none_is_not_asked_again() {
    for wire in [Wire::AnthropicMessages, Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini] {
        for status in [405, 501] {
            let page = b"<!DOCTYPE HTML>\n<title>Error response</title>";
            let speak = dialect(wire).expect("spoken");
            let failure = speak.classify(status, &|_: &str| None, page, 0);
            assert_eq!(failure.kind, FailureKind::Misconfigured, "{wire:?} {status}");
        }
    }
}
