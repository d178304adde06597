//! What is sent, after normalisation and before any wire's bytes: an opening from the user's side,
//! then exchanges. A call holds its own result, so a call without one cannot be written down; sides
//! alternate because an exchange *is* an answer and the reply to it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelName, ProviderBlock, Thinking};

use crate::law::Law;

pub use crate::normalize::step_2_pair_tool_results::{AnsweredCall, CallResult};

/// The legal form of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection<'a> {
    pub(crate) opening: Vec<UserPart<'a>>,
    pub(crate) exchanges: Vec<Exchange<'a>>,
}

/// One answer and what was said in reply to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange<'a> {
    pub(crate) answer: Vec<AnswerPart<'a>>,
    pub(crate) reply: Vec<UserPart<'a>>,
}

/// One part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerPart<'a> {
    /// Text.
    Text(&'a str),
    /// Reasoning, with the model that wrote it.
    Thinking(&'a Thinking, Option<&'a ModelName>),
    /// A provider's own block, with the model that wrote it.
    Provider(&'a ProviderBlock, Option<&'a ModelName>),
    /// A call and its result.
    Call(AnsweredCall<'a>),
}

/// One part of what the user's side says, or of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserPart<'a> {
    /// Text, or the words that stand for media left out.
    Text(Cow<'a, str>),
    /// An image or a document.
    Media(MediaPart<'a>),
}

/// An image or a document that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPart<'a> {
    /// What it really is, which need not be what it was called.
    pub media_type: &'a str,
    /// Base64.
    pub data: &'a str,
    /// What to call it when it is left out.
    pub name: &'a str,
}

/// One message on the wire.
#[derive(Clone, Debug)]
pub enum Turn<'p, 'a> {
    /// From the user's side: results of the answer before it, then the rest.
    User {
        /// The calls whose results come first.
        calls: Vec<&'p AnsweredCall<'a>>,
        /// Text and media.
        parts: &'p [UserPart<'a>],
    },
    /// From the model's side.
    Answer(&'p Exchange<'a>),
}

impl<'a> Projection<'a> {
    /// The messages, alternating, the user's side first.
    pub fn turns(&self) -> impl Iterator<Item = Turn<'_, 'a>> {
        let opening = Turn::User { calls: Vec::new(), parts: &self.opening };
        let exchanges = self.exchanges.iter().flat_map(|exchange| {
            let reply = Turn::User { calls: exchange.calls().collect(), parts: &exchange.reply };
            // Only the last exchange may lack a reply; see `settle`.
            core::iter::once(Turn::Answer(exchange))
                .chain(Some(reply).filter(|reply| !reply.is_empty()))
        });
        core::iter::once(opening).chain(exchanges)
    }

    /// Is the user's side the last to speak?
    #[must_use]
    pub fn ends_with_user(&self) -> bool {
        self.exchanges.last().is_none_or(Exchange::has_reply)
    }

    /// Did the last answer pause in the middle of the provider's own tools?
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.exchanges.last().is_some_and(|last| {
            !last.has_reply() && matches!(last.answer.last(), Some(AnswerPart::Provider(..)))
        })
    }

    /// Makes the sides alternate again after parts were taken out, and says something where the
    /// wire demands that something be said.
    pub(crate) fn settle(&mut self, law: &Law) {
        let mut settled: Vec<Exchange<'a>> = Vec::with_capacity(self.exchanges.len());
        for exchange in self.exchanges.drain(..) {
            match settled.last_mut() {
                None if exchange.answer.is_empty() => self.opening.extend(exchange.reply),
                Some(before) if exchange.answer.is_empty() => before.reply.extend(exchange.reply),
                Some(before) if !before.has_reply() => {
                    before.answer.extend(exchange.answer);
                    before.reply = exchange.reply;
                }
                _ => settled.push(exchange),
            }
        }
        self.exchanges = settled;
        if self.opening.is_empty() {
            let text = if self.exchanges.is_empty() { GO_ON } else { BEGINNING_MISSING };
            self.opening.push(UserPart::Text(Cow::Borrowed(text)));
        }
        if !law.ends_well(self)
            && let Some(last) = self.exchanges.last_mut()
        {
            last.reply.push(UserPart::Text(Cow::Borrowed(GO_ON)));
        }
    }

    /// Every part that may be media, oldest first.
    pub(crate) fn parts_mut(&mut self) -> impl Iterator<Item = &mut UserPart<'a>> {
        let exchanges = self.exchanges.iter_mut().flat_map(|exchange| {
            let results = exchange.answer.iter_mut().filter_map(|part| match part {
                AnswerPart::Call(call) => Some(call.result_mut().parts_mut().iter_mut()),
                _ => None,
            });
            results.flatten().chain(exchange.reply.iter_mut())
        });
        self.opening.iter_mut().chain(exchanges)
    }
}

impl<'a> Exchange<'a> {
    /// The parts of the answer, in order.
    #[must_use]
    pub fn answer(&self) -> &[AnswerPart<'a>] {
        &self.answer
    }

    /// The calls of the answer, in order.
    pub fn calls(&self) -> impl Iterator<Item = &AnsweredCall<'a>> {
        self.answer.iter().filter_map(|part| match part {
            AnswerPart::Call(call) => Some(call),
            _ => None,
        })
    }

    fn has_reply(&self) -> bool {
        !self.reply.is_empty() || self.calls().next().is_some()
    }
}

impl Turn<'_, '_> {
    /// Does it say nothing?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::User { calls, parts } => calls.is_empty() && parts.is_empty(),
            Self::Answer(exchange) => exchange.answer.is_empty(),
        }
    }
}

impl<'a> CallResult<'a> {
    /// The result as one text, with the media apart, for wires whose results hold only text. The
    /// words say where the media went.
    pub(crate) fn text_and_media(&self) -> (String, Vec<&MediaPart<'a>>) {
        let (mut text, mut media) = (String::new(), Vec::new());
        for part in self.parts() {
            if !text.is_empty() {
                text.push('\n');
            }
            match part {
                UserPart::Text(words) => text.push_str(words),
                UserPart::Media(item) => {
                    text.push('[');
                    text.push_str(item.name);
                    text.push_str(" follows in the next message]");
                    media.push(item);
                }
            }
        }
        (text, media)
    }
}

impl<'a> UserPart<'a> {
    /// The words that stand for media left out.
    pub(crate) fn left_out(name: &str, why: &str) -> Self {
        let mut text = String::from("[");
        text.push_str(if name.trim().is_empty() { "an attachment" } else { name.trim() });
        text.push_str(" was left out: ");
        text.push_str(why);
        text.push(']');
        Self::Text(Cow::Owned(text))
    }
}

const GO_ON: &str = "Go on.";

const BEGINNING_MISSING: &str = "[The beginning of this conversation is not included.]";
