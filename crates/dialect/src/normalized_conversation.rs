//! What is sent, after normalisation and before any wire's bytes: an opening from the user's side,
//! then exchanges. A call holds its own result, so a call without one cannot be written down; sides
//! alternate because an exchange *is* an answer and the reply to it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelName, ProviderBlock, ThinkingBlock};

use crate::provider_rules::ProviderRules;
use crate::request_origins::BlockLocation;

pub use crate::normalize::step_2_pair_tool_results::{AnsweredCall, CallResult};

/// The legal form of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NormalizedConversation<'a> {
    /// Does it go on where another one ended? Then it has no opening.
    pub(crate) is_continuation: bool,
    pub(crate) opening: Vec<UserPart<'a>>,
    pub(crate) opening_locations: Vec<Option<BlockLocation>>,
    pub(crate) exchanges: Vec<ConversationExchange<'a>>,
    /// Could another one go on here without a change to what is before?
    pub(crate) is_resumable: bool,
}

/// One answer and the messages in reply to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationExchange<'a> {
    /// The message of the request it begins with.
    pub(crate) start: usize,
    pub(crate) answer: Vec<AnswerPart<'a>>,
    /// Where each part comes from; `None` for what was made up.
    pub(crate) answer_locations: Vec<Option<BlockLocation>>,
    pub(crate) reply: Vec<UserPart<'a>>,
    pub(crate) reply_locations: Vec<Option<BlockLocation>>,
}

/// A block of an answer in the form in which it may be sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerPart<'a> {
    /// Visible text, in contrast to reasoning.
    Text(&'a str),
    /// Reasoning, with the model that wrote it.
    Thinking(&'a ThinkingBlock, Option<&'a ModelName>),
    /// A provider's own block, with the model that wrote it.
    Provider(&'a ProviderBlock, Option<&'a ModelName>),
    /// A call and its result.
    Call(AnsweredCall<'a>),
}

/// One part of what the user's side says, or of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserPart<'a> {
    /// Text, or the note in place of omitted media.
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
pub enum WireTurn<'p, 'a> {
    /// From the user's side: results of the answer before it, then the rest.
    User {
        /// The calls whose results come first.
        calls: Vec<&'p AnsweredCall<'a>>,
        /// Text and media.
        parts: &'p [UserPart<'a>],
    },
    /// From the model's side.
    Answer(&'p ConversationExchange<'a>),
}

impl<'a> NormalizedConversation<'a> {
    /// The messages, alternating, the user's side first.
    pub fn turns(&self) -> impl Iterator<Item = WireTurn<'_, 'a>> {
        self.turns_with_locations().map(|(turn, _)| turn)
    }

    /// The same, with the places its parts come from.
    pub(crate) fn turns_with_locations(
        &self,
    ) -> impl Iterator<Item = (WireTurn<'_, 'a>, &[Option<BlockLocation>])> {
        let exchanges = self.exchanges.iter().flat_map(ConversationExchange::turns_with_locations);
        self.opening_with_locations().into_iter().chain(exchanges)
    }

    /// What comes before the first answer.
    pub(crate) fn opening_with_locations(
        &self,
    ) -> Option<(WireTurn<'_, 'a>, &[Option<BlockLocation>])> {
        let opening = WireTurn::User { calls: Vec::new(), parts: &self.opening };
        (!self.is_continuation).then_some((opening, &self.opening_locations))
    }

    /// Is the user's side the last to speak?
    #[must_use]
    pub fn ends_with_user(&self) -> bool {
        self.exchanges.last().is_none_or(ConversationExchange::has_reply)
    }

    /// Did the last answer pause in the middle of the provider's own tools?
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.exchanges.last().is_some_and(|last| {
            !last.has_reply() && matches!(last.answer.last(), Some(AnswerPart::Provider(..)))
        })
    }

    /// Is nothing left of the first answer?
    pub(crate) fn has_empty_first_answer(&self) -> bool {
        self.exchanges.first().is_none_or(|first| first.answer.is_empty())
    }

    /// Makes the sides alternate again after parts were taken out, and says something where the
    /// wire demands that something be said. `false` if that was at the end.
    pub(crate) fn restore_alternation(&mut self, rules: &ProviderRules) -> bool {
        let mut settled: Vec<ConversationExchange<'a>> = Vec::with_capacity(self.exchanges.len());
        for exchange in self.exchanges.drain(..) {
            match settled.last_mut() {
                None if exchange.answer.is_empty() => {
                    self.opening.extend(exchange.reply);
                    self.opening_locations.extend(exchange.reply_locations);
                }
                Some(before) if exchange.answer.is_empty() => {
                    before.reply.extend(exchange.reply);
                    before.reply_locations.extend(exchange.reply_locations);
                }
                Some(before) if !before.has_reply() => {
                    before.answer.extend(exchange.answer);
                    before.answer_locations.extend(exchange.answer_locations);
                    before.reply = exchange.reply;
                    before.reply_locations = exchange.reply_locations;
                }
                Some(_) | None => settled.push(exchange),
            }
        }
        self.exchanges = settled;
        let mut is_whole = true;
        if self.opening.is_empty() && !self.is_continuation {
            is_whole = !self.exchanges.is_empty();
            let text = if is_whole { BEGINNING_MISSING } else { CONTINUE_PROMPT };
            self.opening.push(UserPart::Text(Cow::Borrowed(text)));
            self.opening_locations.push(None);
        }
        if !rules.has_allowed_ending(self)
            && let Some(last) = self.exchanges.last_mut()
        {
            is_whole = false;
            last.reply.push(UserPart::Text(Cow::Borrowed(CONTINUE_PROMPT)));
            last.reply_locations.push(None);
        }
        is_whole && self.ends_with_user()
    }

    /// Every part that may be media, oldest first, and where in the request it belongs.
    pub(crate) fn parts_mut(&mut self) -> impl Iterator<Item = (usize, &mut UserPart<'a>)> {
        let exchanges = self.exchanges.iter_mut().flat_map(|exchange| {
            let start = exchange.start;
            let results = exchange.answer.iter_mut().filter_map(|part| match part {
                AnswerPart::Call(call) => Some(call.result_mut().parts_mut().iter_mut()),
                AnswerPart::Text(_) | AnswerPart::Thinking(..) | AnswerPart::Provider(..) => None,
            });
            results.flatten().chain(exchange.reply.iter_mut()).map(move |part| (start, part))
        });
        self.opening.iter_mut().map(|part| (0, part)).chain(exchanges)
    }
}

impl<'a> ConversationExchange<'a> {
    /// The parts of the answer, in order.
    #[must_use]
    pub fn answer(&self) -> &[AnswerPart<'a>] {
        &self.answer
    }

    /// The calls of the answer, in order.
    pub fn calls(&self) -> impl Iterator<Item = &AnsweredCall<'a>> {
        self.answer.iter().filter_map(|part| match part {
            AnswerPart::Call(call) => Some(call),
            AnswerPart::Text(_) | AnswerPart::Thinking(..) | AnswerPart::Provider(..) => None,
        })
    }

    /// The answer and the reply to it, with the places their parts come from.
    pub(crate) fn turns_with_locations(
        &self,
    ) -> impl Iterator<Item = (WireTurn<'_, 'a>, &[Option<BlockLocation>])> {
        let reply = WireTurn::User { calls: self.calls().collect(), parts: &self.reply };
        // Only the last exchange may lack a reply; see `settle`.
        let reply =
            Some((reply, self.reply_locations.as_slice())).filter(|(one, _)| !one.is_empty());
        core::iter::once((WireTurn::Answer(self), self.answer_locations.as_slice())).chain(reply)
    }

    /// Keeps the parts of the answer that may stay.
    pub(crate) fn retain_answer(&mut self, mut may_stay: impl FnMut(&AnswerPart<'a>) -> bool) {
        let stays: Vec<bool> = self.answer.iter().map(&mut may_stay).collect();
        if stays.iter().all(|stays| *stays) {
            return;
        }
        let mut fates = stays.iter().copied();
        self.answer.retain(|_| fates.next().unwrap_or_default());
        let mut fates = stays.iter().copied();
        self.answer_locations.retain(|_| fates.next().unwrap_or_default());
    }

    fn has_reply(&self) -> bool {
        !self.reply.is_empty() || self.calls().next().is_some()
    }
}

impl WireTurn<'_, '_> {
    /// Where the results come from.
    pub(crate) fn result_locations(&self) -> impl Iterator<Item = Option<BlockLocation>> {
        self.calls().iter().map(|call| call.result_location())
    }

    /// The same for every piece of media in them.
    pub(crate) fn media_locations(&self) -> impl Iterator<Item = Option<BlockLocation>> {
        self.calls().iter().flat_map(|call| {
            let media = call.result().parts().iter();
            let media = media.filter(|part| matches!(part, UserPart::Media(_)));
            media.map(|_| call.result_location())
        })
    }

    fn calls(&self) -> &[&AnsweredCall<'_>] {
        match self {
            Self::User { calls, .. } => calls,
            Self::Answer(_) => &[],
        }
    }

    /// Whether the turn has no part at all.
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
    pub(crate) fn split_text_and_media(&self) -> (String, Vec<&MediaPart<'a>>) {
        let mut text = String::new();
        let mut media = Vec::new();
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
    /// The note in place of omitted media.
    pub(crate) fn omitted_media(name: &str, why: &str) -> Self {
        let mut text = String::from("[");
        text.push_str(if name.trim().is_empty() { "an attachment" } else { name.trim() });
        text.push_str(" was left out: ");
        text.push_str(why);
        text.push(']');
        Self::Text(Cow::Owned(text))
    }
}

const CONTINUE_PROMPT: &str = "Go on.";

const BEGINNING_MISSING: &str = "[The beginning of this conversation is not included.]";
