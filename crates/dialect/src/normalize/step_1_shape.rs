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
    Block, Media, Message, MetaKind, ModelName, ModelRequest, Origin, ProviderBlock, ResultPart,
    Role, Thinking, ToolCall, ToolResult,
};

use super::Notes;
use crate::loose::check_arguments;
use crate::projection::{MediaPart, UserPart};
use crate::write;

/// Sides that alternate, with calls and results still apart.
pub(crate) type Shaped<'a> = Vec<Side<'a>>;

/// Neighbours of one role.
pub(crate) enum Side<'a> {
    User { results: Vec<ShapedResult<'a>>, parts: Vec<UserPart<'a>> },
    Answer(Vec<LoosePart<'a>>),
}

/// One part of an answer whose calls have no results yet.
pub(crate) enum LoosePart<'a> {
    Text(&'a str),
    Thinking(&'a Thinking, Option<&'a ModelName>),
    Provider(&'a ProviderBlock, Option<&'a ModelName>),
    Call { call: &'a ToolCall, input: Cow<'a, str>, model: Option<&'a ModelName> },
}

/// A result on its way to its call.
pub(crate) struct ShapedResult<'a> {
    pub(crate) result: &'a ToolResult,
    pub(crate) parts: Vec<UserPart<'a>>,
}

/// Runs the step.
pub(crate) fn shape<'a>(request: &'a ModelRequest, notes: &mut Notes) -> Shaped<'a> {
    let mut shaped = Shaped::new();
    let without_media = request.repair.without_media;
    for message in ordered(request) {
        let side = match message.role {
            Role::User => user_side(message, without_media, notes),
            Role::Assistant => answer_side(message, notes),
        };
        match (shaped.last_mut(), side) {
            (_, None) => {}
            (
                Some(Side::User { results, parts }),
                Some(Side::User { results: more_results, parts: more_parts }),
            ) => {
                results.extend(more_results);
                parts.extend(more_parts);
            }
            (Some(Side::Answer(parts)), Some(Side::Answer(more))) => parts.extend(more),
            (_, Some(side)) => shaped.push(side),
        }
    }
    shaped
}

/// The messages that are sent, attachments moved up.
fn ordered(request: &ModelRequest) -> Vec<&Message> {
    let mut ordered: Vec<&Message> = Vec::with_capacity(request.messages.len());
    for message in request.messages.iter().filter(|message| message.origin != Origin::Display) {
        let is_attachment =
            message.role == Role::User && matches!(message.origin, Origin::Attachment(_));
        let place = if is_attachment {
            ordered.iter().rposition(|before| stops_attachments(before)).map_or(0, |at| at + 1)
        } else {
            ordered.len()
        };
        ordered.insert(place, message);
    }
    ordered
}

/// Attachments keep their own order, and never pass what a whole conversation stands on.
fn stops_attachments(message: &Message) -> bool {
    message.role == Role::Assistant
        || message.results().next().is_some()
        || matches!(
            message.origin,
            Origin::Attachment(_) | Origin::Summary | Origin::Meta(MetaKind::Context)
        )
}

fn user_side<'a>(message: &'a Message, without_media: bool, notes: &mut Notes) -> Option<Side<'a>> {
    let (mut results, mut parts) = (Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            Block::Text(text) if is_blank(text) => {}
            Block::Text(text) => parts.push(UserPart::Text(Cow::Borrowed(text))),
            Block::Media(media) => parts.push(media_part(media, without_media)),
            Block::ToolResult(result) => {
                results.push(ShapedResult { result, parts: result_parts(result, without_media) });
            }
            Block::ToolUse(_) | Block::Thinking(_) | Block::Provider(_) => {
                notes.add("a piece of an answer on the user's side was left out");
            }
        }
    }
    (!results.is_empty() || !parts.is_empty()).then_some(Side::User { results, parts })
}

fn result_parts(result: &ToolResult, without_media: bool) -> Vec<UserPart<'_>> {
    let parts = result.content.iter().filter_map(|part| match part {
        ResultPart::Text(text) if is_blank(text) => None,
        ResultPart::Text(text) => Some(UserPart::Text(Cow::Borrowed(text))),
        ResultPart::Media(media) => Some(media_part(media, without_media)),
    });
    parts.collect()
}

fn media_part(media: &Media, without_media: bool) -> UserPart<'_> {
    if without_media {
        return UserPart::left_out(&media.name, "the provider refused it");
    }
    UserPart::Media(MediaPart {
        media_type: &media.media_type,
        data: &media.data,
        name: &media.name,
    })
}

fn answer_side<'a>(message: &'a Message, notes: &mut Notes) -> Option<Side<'a>> {
    let model = message.model.as_ref();
    let mut parts = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(text) if is_blank(text) => {}
            Block::Text(text) => parts.push(LoosePart::Text(text)),
            Block::Thinking(thinking) => parts.push(LoosePart::Thinking(thinking, model)),
            Block::Provider(block) => parts.push(LoosePart::Provider(block, model)),
            Block::ToolUse(call) => {
                parts.push(LoosePart::Call { call, input: arguments(call), model });
            }
            Block::ToolResult(_) | Block::Media(_) => {
                notes.add("a piece of the user's side inside an answer was left out");
            }
        }
    }
    (!parts.is_empty()).then_some(Side::Answer(parts))
}

/// The wire wants an object. What the model wrote instead is shown to it inside one.
fn arguments(call: &ToolCall) -> Cow<'_, str> {
    let input = call.input.as_str();
    if check_arguments(input).is_ok() {
        return Cow::Borrowed(input.trim());
    }
    let mut wrapped = Vec::from(*b"{");
    write::field(&mut wrapped, "unreadable_arguments", input);
    wrapped.push(b'}');
    Cow::Owned(String::from_utf8(wrapped).unwrap_or_else(|_| String::from("{}")))
}

/// Providers refuse text without a visible character.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
