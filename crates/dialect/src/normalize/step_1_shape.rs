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

use super::{Notes, Step};
use crate::loose::check_arguments;
use crate::origins::Place;
use crate::projection::{MediaPart, UserPart};
use crate::write;

/// Sides that alternate, with calls and results still apart.
pub(crate) type Shaped<'a> = Vec<Side<'a>>;

/// Neighbours of one role.
pub(crate) enum Side<'a> {
    User {
        results: Vec<ShapedResult<'a>>,
        parts: Vec<UserPart<'a>>,
        /// Where each part comes from.
        places: Vec<Option<Place>>,
    },
    Answer {
        /// The message of the request it begins with.
        start: usize,
        parts: Vec<LoosePart<'a>>,
        places: Vec<Option<Place>>,
    },
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
    pub(crate) place: Place,
}

/// Runs the step for the messages from `from` on.
pub(crate) fn shape<'a>(request: &'a ModelRequest, from: usize, notes: &mut Notes) -> Shaped<'a> {
    let mut shaped = Shaped::new();
    for (at, message) in ordered(request, from) {
        let side = match message.role {
            Role::User => user_side(at, message, notes),
            Role::Assistant => answer_side(at, message, notes),
        };
        match (shaped.last_mut(), side) {
            (_, None) => {}
            (
                Some(Side::User { results, parts, places }),
                Some(Side::User { results: more_results, parts: more_parts, places: more_places }),
            ) => {
                results.extend(more_results);
                parts.extend(more_parts);
                places.extend(more_places);
            }
            (
                Some(Side::Answer { parts, places, .. }),
                Some(Side::Answer { parts: more_parts, places: more_places, .. }),
            ) => {
                parts.extend(more_parts);
                places.extend(more_places);
            }
            (_, Some(side)) => shaped.push(side),
        }
    }
    shaped
}

/// The messages that are sent, attachments moved up, with their places in the request.
fn ordered(request: &ModelRequest, from: usize) -> Vec<(usize, &Message)> {
    let messages = request.messages.iter_from(from).map(AsRef::as_ref);
    let messages = (from..).zip(messages);
    let mut ordered: Vec<(usize, &Message)> = Vec::new();
    for (at, message) in messages.filter(|(_, message)| message.origin != Origin::Display) {
        let is_attachment =
            message.role == Role::User && matches!(message.origin, Origin::Attachment(_));
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

/// Attachments keep their own order, and never pass what a whole conversation stands on.
fn stops_attachments(message: &Message) -> bool {
    message.role == Role::Assistant
        || message.results().next().is_some()
        || matches!(
            message.origin,
            Origin::Attachment(_) | Origin::Summary | Origin::Meta(MetaKind::Context)
        )
}

fn user_side<'a>(at: usize, message: &'a Message, notes: &mut Notes) -> Option<Side<'a>> {
    let (mut results, mut parts, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (block, content) in message.content.iter().enumerate() {
        let place = Place { message: message.id, block };
        let part = match content {
            Block::Text(text) if is_blank(text) => continue,
            Block::Text(text) => UserPart::Text(Cow::Borrowed(text)),
            Block::Media(media) => media_part(media),
            Block::ToolResult(result) => {
                let parts = result_parts(result);
                results.push(ShapedResult { result, parts, place });
                continue;
            }
            Block::ToolUse(_) | Block::Thinking(_) | Block::Provider(_) => {
                let line = "a piece of an answer on the user's side was left out";
                notes.add(Step::Shape, at, line);
                continue;
            }
        };
        parts.push(part);
        places.push(Some(place));
    }
    let says_something = !results.is_empty() || !parts.is_empty();
    says_something.then_some(Side::User { results, parts, places })
}

fn result_parts(result: &ToolResult) -> Vec<UserPart<'_>> {
    let parts = result.content.iter().filter_map(|part| match part {
        ResultPart::Text(text) if is_blank(text) => None,
        ResultPart::Text(text) => Some(UserPart::Text(Cow::Borrowed(text))),
        ResultPart::Media(media) => Some(media_part(media)),
    });
    parts.collect()
}

fn media_part(media: &Media) -> UserPart<'_> {
    UserPart::Media(MediaPart {
        media_type: &media.media_type,
        data: &media.data,
        name: &media.name,
    })
}

fn answer_side<'a>(at: usize, message: &'a Message, notes: &mut Notes) -> Option<Side<'a>> {
    let model = message.model.as_ref();
    let (mut parts, mut places) = (Vec::new(), Vec::new());
    for (block, content) in message.content.iter().enumerate() {
        let part = match content {
            Block::Text(text) if is_blank(text) => continue,
            Block::Text(text) => LoosePart::Text(text),
            Block::Thinking(thinking) => LoosePart::Thinking(thinking, model),
            Block::Provider(block) => LoosePart::Provider(block, model),
            Block::ToolUse(call) => LoosePart::Call { call, input: arguments(call), model },
            Block::ToolResult(_) | Block::Media(_) => {
                let line = "a piece of the user's side inside an answer was left out";
                notes.add(Step::Shape, at, line);
                continue;
            }
        };
        parts.push(part);
        places.push(Some(Place { message: message.id, block }));
    }
    (!parts.is_empty()).then_some(Side::Answer { start: at, parts, places })
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
