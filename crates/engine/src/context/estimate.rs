//! How many tokens a message is, without a tokenizer.
//!
//! A raw count by class of character. It need not be right, only proportional: the ledger
//! calibrates it against every figure a provider reports.

use windlass_vocabulary::{ContentBlock, Message, ToolResultPart, ToolSpec};

/// Tokens an image or a document page costs at most providers.
const MEDIA: u64 = 1_600;
/// Framing of one message or block.
const FRAME: u64 = 4;

/// Raw estimate of a message.
#[must_use]
pub fn message(message: &Message) -> u64 {
    FRAME + message.content.iter().map(block).sum::<u64>()
}

/// Raw estimate of what is around the content of a message.
#[must_use]
pub fn frame() -> u64 {
    FRAME
}

/// Raw estimate of the tools on offer.
#[must_use]
pub fn tools(specs: &[ToolSpec]) -> u64 {
    specs
        .iter()
        .map(|spec| {
            FRAME
                + text(spec.name.as_str())
                + text(&spec.description)
                + text(spec.input_schema.as_str())
        })
        .sum()
}

/// Raw estimate of a block.
#[must_use]
pub fn block(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Text(words) => text(words),
        ContentBlock::Thinking(thinking) => text(&thinking.text),
        ContentBlock::ToolUse(call) => FRAME + text(call.name.as_str()) + text(call.input.as_str()),
        ContentBlock::ToolResult(result) => FRAME + result.content.iter().map(part).sum::<u64>(),
        ContentBlock::Media(_) => MEDIA,
        ContentBlock::Provider(block) => text(block.json.as_str()),
    }
}

fn part(part: &ToolResultPart) -> u64 {
    match part {
        ToolResultPart::Text(words) => text(words),
        ToolResultPart::Media(_) => MEDIA,
    }
}

/// Raw estimate of a text.
#[must_use]
pub fn text(text: &str) -> u64 {
    tokens(weight(text))
}

/// Raw estimate of texts with this weight together.
#[must_use]
pub fn tokens(weight: u64) -> u64 {
    weight.div_ceil(TWENTIETHS)
}

/// The weight of a text in twentieths of a token, in one pass over its bytes. Letters and spaces
/// come about four to a token, digits and marks two, bytes of other scripts two and a half. Weights
/// add up, however a text is cut into pieces.
#[must_use]
pub fn weight(text: &str) -> u64 {
    let mut twentieths = 0u64;
    for byte in text.bytes() {
        twentieths += match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b' ' | b'\n' | b'\t' => 5,
            0x80..=0xff => 8,
            _ => 10,
        };
    }
    twentieths
}

const TWENTIETHS: u64 = 20;

/// An upper bound on what a provider may count for a raw estimate: reservations rest on it.
#[must_use]
pub fn worst_case(estimate: u64) -> u64 {
    estimate.saturating_mul(2)
}
