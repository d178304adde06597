//! Step 1, shape: who speaks when.
//!
//! Display-only messages drop out; attachments move up until they meet a tool result or an answer;
//! media the provider refused is replaced by words; arguments of calls take the form the wire
//! needs; empty pieces, and pieces on the wrong side, go; neighbours of one role become one. It
//! does not care whether calls have results.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{
    ContentBlock, MediaContent, Message, MessageOrigin, MetaKind, ModelName, ModelRequest,
    ProviderBlock, Role, ThinkingBlock, ToolCall, ToolResult, ToolResultPart,
};

use super::{NormalizationNotes, NormalizationStep};
use crate::json_writer;
use crate::lenient_json::check_arguments;
use crate::normalized_conversation::{MediaPart, UserPart};
use crate::request_origins::BlockLocation;

/// Sides that alternate, with calls and results still apart.
pub(crate) type ShapedSides<'a> = Vec<MessageSide<'a>>;

/// Neighbours of one role.
pub(crate) enum MessageSide<'a> {
    User {
        results: Vec<UnpairedResult<'a>>,
        parts: Vec<UserPart<'a>>,
        /// Where each part comes from.
        locations: Vec<Option<BlockLocation>>,
    },
    Answer {
        /// The message of the request it begins with.
        start: usize,
        parts: Vec<UnpairedPart<'a>>,
        locations: Vec<Option<BlockLocation>>,
    },
}

/// One part of an answer whose calls have no results yet.
pub(crate) enum UnpairedPart<'a> {
    Text(&'a str),
    Thinking(&'a ThinkingBlock, Option<&'a ModelName>),
    Provider(&'a ProviderBlock, Option<&'a ModelName>),
    Call { call: &'a ToolCall, input: Cow<'a, str>, model: Option<&'a ModelName> },
}

/// A result on its way to its call.
pub(crate) struct UnpairedResult<'a> {
    pub(crate) result: &'a ToolResult,
    pub(crate) parts: Vec<UserPart<'a>>,
    pub(crate) location: BlockLocation,
}

/// Runs the step for the messages from `from` on.
pub(crate) fn shape_messages<'a>(
    request: &'a ModelRequest,
    from: usize,
    notes: &mut NormalizationNotes,
) -> ShapedSides<'a> {
    let mut shaped = ShapedSides::new();
    for (at, message) in order_messages(request, from) {
        let side = match message.role {
            Role::User => build_user_side(at, message, notes),
            Role::Assistant => build_answer_side(at, message, notes),
        };
        match (shaped.last_mut(), side) {
            (_, None) => {}
            (
                Some(MessageSide::User { results, parts, locations }),
                Some(MessageSide::User {
                    results: more_results,
                    parts: more_parts,
                    locations: more_locations,
                }),
            ) => {
                results.extend(more_results);
                parts.extend(more_parts);
                locations.extend(more_locations);
            }
            (
                Some(MessageSide::Answer { parts, locations, .. }),
                Some(MessageSide::Answer { parts: more_parts, locations: more_locations, .. }),
            ) => {
                parts.extend(more_parts);
                locations.extend(more_locations);
            }
            (_, Some(side)) => shaped.push(side),
        }
    }
    shaped
}

/// The messages that are sent, attachments moved up, with their places in the request.
fn order_messages(request: &ModelRequest, from: usize) -> Vec<(usize, &Message)> {
    let messages = request.messages.iter_from(from).map(AsRef::as_ref);
    let messages = (from..).zip(messages);
    let mut ordered: Vec<(usize, &Message)> = Vec::new();
    for (at, message) in messages.filter(|(_, message)| message.origin != MessageOrigin::Display) {
        let is_attachment =
            message.role == Role::User && matches!(message.origin, MessageOrigin::Attachment(_));
        let place = if is_attachment {
            let stop = ordered.iter().rposition(|(_, before)| stops_attachments(before));
            stop.map_or(0, |at| at + 1)
        } else {
            ordered.len()
        };
        ordered.insert(place, (at, message));
    }
    ordered
}

/// Attachments keep their order, and never move before a message on which the whole conversation
/// depends.
fn stops_attachments(message: &Message) -> bool {
    message.role == Role::Assistant
        || message.tool_results().next().is_some()
        || matches!(
            message.origin,
            MessageOrigin::Attachment(_)
                | MessageOrigin::Summary
                | MessageOrigin::Meta(MetaKind::Context)
        )
}

fn build_user_side<'a>(
    at: usize,
    message: &'a Message,
    notes: &mut NormalizationNotes,
) -> Option<MessageSide<'a>> {
    let mut results = Vec::new();
    let mut parts = Vec::new();
    let mut locations = Vec::new();
    for (block, content) in message.content.iter().enumerate() {
        let place = BlockLocation { message: message.id, block };
        let part = match content {
            ContentBlock::Text(text) if is_blank(text) => continue,
            ContentBlock::Text(text) => UserPart::Text(Cow::Borrowed(text)),
            ContentBlock::Media(media) => build_media_part(media),
            ContentBlock::ToolResult(result) => {
                let parts = build_result_parts(result);
                results.push(UnpairedResult { result, parts, location: place });
                continue;
            }
            ContentBlock::ToolUse(_) | ContentBlock::Thinking(_) | ContentBlock::Provider(_) => {
                let line = "a part of an answer inside a user message was left out";
                notes.add(NormalizationStep::Shape, at, line);
                continue;
            }
        };
        parts.push(part);
        locations.push(Some(place));
    }
    let says_something = !results.is_empty() || !parts.is_empty();
    says_something.then_some(MessageSide::User { results, parts, locations })
}

fn build_result_parts(result: &ToolResult) -> Vec<UserPart<'_>> {
    let parts = result.content.iter().filter_map(|part| match part {
        ToolResultPart::Text(text) if is_blank(text) => None,
        ToolResultPart::Text(text) => Some(UserPart::Text(Cow::Borrowed(text))),
        ToolResultPart::Media(media) => Some(build_media_part(media)),
    });
    parts.collect()
}

fn build_media_part(media: &MediaContent) -> UserPart<'_> {
    UserPart::Media(MediaPart {
        media_type: &media.media_type,
        data: &media.data,
        name: &media.name,
    })
}

fn build_answer_side<'a>(
    at: usize,
    message: &'a Message,
    notes: &mut NormalizationNotes,
) -> Option<MessageSide<'a>> {
    let model = message.model.as_ref();
    let mut parts = Vec::new();
    let mut locations = Vec::new();
    for (block, content) in message.content.iter().enumerate() {
        let part = match content {
            ContentBlock::Text(text) if is_blank(text) => continue,
            ContentBlock::Text(text) => UnpairedPart::Text(text),
            ContentBlock::Thinking(thinking) => UnpairedPart::Thinking(thinking, model),
            ContentBlock::Provider(block) => UnpairedPart::Provider(block, model),
            ContentBlock::ToolUse(call) => {
                UnpairedPart::Call { call, input: wrap_invalid_arguments(call), model }
            }
            ContentBlock::ToolResult(_) | ContentBlock::Media(_) => {
                let line = "a part of a user message inside an answer was left out";
                notes.add(NormalizationStep::Shape, at, line);
                continue;
            }
        };
        parts.push(part);
        locations.push(Some(BlockLocation { message: message.id, block }));
    }
    (!parts.is_empty()).then_some(MessageSide::Answer { start: at, parts, locations })
}

/// The wire wants an object. What the model wrote instead is shown to it inside one.
fn wrap_invalid_arguments(call: &ToolCall) -> Cow<'_, str> {
    let input = call.input.as_str();
    if check_arguments(input).is_ok() {
        return Cow::Borrowed(input.trim());
    }
    let mut wrapped = Vec::from(*b"{");
    json_writer::append_field(&mut wrapped, "unreadable_arguments", input);
    wrapped.push(b'}');
    Cow::Owned(String::from_utf8(wrapped).unwrap_or_else(|_| String::from("{}")))
}

/// Providers refuse text without a visible character.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
