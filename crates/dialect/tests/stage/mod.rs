//! What the tests of this crate share: a way to write an answer down as a server would, on every
//! wire, and small builders for requests.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::needless_pass_by_value,
    reason = "each test file uses its own part, and reads better with values"
)]

pub mod anthropic_messages;
pub mod checker;
pub mod gemini;
pub mod openai_chat;
pub mod openai_responses;
pub mod recorded;
pub mod transcript;

use windlass_dialect::{DecodedEvent, Dialect, dialect};
use windlass_vocabulary::{ModelStopReason, WireFormat};

/// Every wire spoken so far.
pub fn spoken() -> Vec<(WireFormat, &'static dyn Dialect)> {
    ALL.iter().filter_map(|wire| dialect(*wire).map(|dialect| (*wire, dialect))).collect()
}

const ALL: [WireFormat; 4] = [
    WireFormat::AnthropicMessages,
    WireFormat::OpenaiResponses,
    WireFormat::OpenaiChat,
    WireFormat::Gemini,
];

/// What a server says, whatever the wire.
#[derive(Clone, Debug)]
pub enum Say {
    Text(Vec<String>),
    Thinking { pieces: Vec<String>, seal: String },
    Call { id: String, name: String, arguments: Vec<String> },
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub says: Vec<Say>,
    pub stop: ModelStopReason,
}

/// The bytes of an answer.
pub fn tell(wire: WireFormat, answer: &Answer) -> Vec<u8> {
    match wire {
        WireFormat::AnthropicMessages => anthropic_messages::tell(answer),
        WireFormat::OpenaiChat => openai_chat::tell(answer),
        WireFormat::OpenaiResponses => openai_responses::tell(answer),
        WireFormat::Gemini => gemini::tell(answer),
    }
}

pub fn text(piece: &str) -> Say {
    Say::Text(vec![piece.into()])
}

pub fn call(id: &str, name: &str, arguments: &[&str]) -> Say {
    Say::Call {
        id: id.into(),
        name: name.into(),
        arguments: arguments.iter().map(|piece| (*piece).into()).collect(),
    }
}

/// A rich answer: reasoning, text in pieces, calls with arguments cut inside escapes.
pub fn rich() -> Answer {
    Answer {
        says: vec![
            Say::Thinking {
                pieces: vec!["let me ".into(), "see…".into()],
                seal: "c2VhbA==".into(),
            },
            Say::Text(vec!["Häl".into(), "lo 🦀".into(), " \"quoted\"\n".into()]),
            call("toolu_1", "Read", &["{\"path\": \"/a\\", "u00e4\\n\"", ",\"limit\":", "3}"]),
            call("toolu_2", "Bash", &["{\"command\":\"ls\"}"]),
        ],
        stop: ModelStopReason::EndTurn,
    }
}

/// Decodes the chunks, then ends the body.
pub fn decode<'a>(
    dialect: &dyn Dialect,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<DecodedEvent> {
    let mut decoder = dialect.new_decoder();
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.push(chunk, &mut out);
    }
    decoder.finish(&mut out);
    out
}

/// Decodes a body given in one piece.
pub fn decode_whole(dialect: &dyn Dialect, body: &[u8]) -> Vec<DecodedEvent> {
    decode(dialect, [body])
}

pub fn is_terminal(item: &DecodedEvent) -> bool {
    matches!(item, DecodedEvent::Ended { .. } | DecodedEvent::Failed(_))
}

/// Exactly one terminal item, and it is the last.
pub fn assert_ends_once(items: &[DecodedEvent]) {
    let ends = items.iter().filter(|item| is_terminal(item)).count();
    assert_eq!(ends, 1, "one terminal item in {items:?}");
    assert!(items.last().is_some_and(is_terminal), "the terminal item is last in {items:?}");
}
