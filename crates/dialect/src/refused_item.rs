//! Finds the item that a provider refused. Refusals are written for people, but many name the message
//! and the block. What they mean by it is known to [`RequestOrigins`](crate::RequestOrigins).

use windlass_vocabulary::WireFormat;

/// One message of the request as the wire counts them, and one block of it if it was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedItem {
    /// Position of the message, from zero.
    pub message: usize,
    /// Position of the block in it, from zero.
    pub block: Option<usize>,
}

/// Finds the index of an item in an error message, as in
/// [`ModelFailure::message`](windlass_vocabulary::ModelFailure::message). Every wire has its own
/// notation, so that a message which a gateway passes on from another wire is not misread.
#[must_use]
pub fn find_refused_item(wire: WireFormat, message: &str) -> Option<RefusedItem> {
    match wire {
        WireFormat::AnthropicMessages => {
            parse_item_path(message, "messages", "content", parse_dotted)
        }
        WireFormat::OpenaiChat => parse_item_path(message, "messages", "content", parse_bracketed)
            .or_else(|| parse_item_path(message, "'messages'", "'content'", parse_comma_separated)),
        WireFormat::OpenaiResponses => {
            parse_item_path(message, "input", "content", parse_bracketed)
        }
        WireFormat::Gemini => parse_item_path(message, "contents", "parts", parse_bracketed)
            .or_else(|| parse_counted_from_one(message)),
    }
}

/// A position in some notation, and what follows it.
type IndexNotation = fn(&str) -> Option<(usize, &str)>;

/// The first place where the list of messages is followed by a position, and the block behind it if
/// the list of blocks is too.
fn parse_item_path(
    message: &str,
    messages: &str,
    blocks: &str,
    position: IndexNotation,
) -> Option<RefusedItem> {
    message.match_indices(messages).find_map(|(at, _)| {
        let (before, from) = message.split_at_checked(at)?;
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let (message, rest) = position(from.strip_prefix(messages)?)?;
        let rest = rest.trim_start_matches(['.', ',', ' ']);
        let block = rest.strip_prefix(blocks).and_then(position).map(|(block, _)| block);
        Some(RefusedItem { message, block })
    })
}

/// `messages.3.content.1`
fn parse_dotted(text: &str) -> Option<(usize, &str)> {
    parse_index(text.strip_prefix('.')?)
}

/// `messages[3].content[1]` or `messages.[3].content.[1]`
fn parse_bracketed(text: &str) -> Option<(usize, &str)> {
    let inside = text.strip_prefix('.').unwrap_or(text).strip_prefix('[')?;
    let (position, rest) = parse_index(inside)?;
    Some((position, rest.strip_prefix(']')?))
}

/// `'messages', 3, 'content', 1`
fn parse_comma_separated(text: &str) -> Option<(usize, &str)> {
    parse_index(text.strip_prefix(", ")?)
}

/// `function call … , position 2` and `in the 5. content block`, which count from one.
fn parse_counted_from_one(message: &str) -> Option<RefusedItem> {
    let behind = |mark: &str| message.split_once(mark).and_then(|(_, rest)| parse_index(rest));
    let position = match behind(", position ") {
        Some((position, _)) => position,
        None => {
            let (position, rest) = behind("in the ")?;
            rest.strip_prefix(". content block")?;
            position
        }
    };
    Some(RefusedItem { message: position.checked_sub(1)?, block: None })
}

fn parse_index(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    (end <= DIGITS_MAX).then_some((digits.parse().ok()?, rest))
}

/// No request has more messages than fit in this.
const DIGITS_MAX: usize = 6;
