//! Step 2, pair tool results: every call holds its result from here on.
//!
//! A call without a result in the reply to it gets an error result in fixed words; a result without
//! a call goes; of two results for one call the first counts. Ids are made unique and legal, the
//! same way in every request. This is the only place that can make an [`AnsweredCall`].

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelName, ToolCall};

use super::step_1_shape::{MessageSide, ShapedSides, UnpairedPart, UnpairedResult};
use super::{NormalizationNotes, NormalizationStep, NormalizedHistory};
use crate::normalized_conversation::{
    AnswerPart, ConversationExchange, NormalizedConversation, UserPart,
};
use crate::provider_rules::ProviderRules;
use crate::request_origins::BlockLocation;

/// A call with its result. Neither may be sent without the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredCall<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    input: Cow<'a, str>,
    signature: Option<&'a str>,
    model: Option<&'a ModelName>,
    result: CallResult<'a>,
    /// Where the result comes from, if it was not made up.
    result_location: Option<BlockLocation>,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult<'a> {
    parts: Vec<UserPart<'a>>,
    is_error: bool,
}

pub(crate) fn pair_tool_results<'a>(
    shaped: ShapedSides<'a>,
    rules: &ProviderRules,
    history: &mut NormalizedHistory,
) -> NormalizedConversation<'a> {
    let mut projection = NormalizedConversation::default();
    let mut sides = shaped.into_iter().peekable();
    while let Some(side) = sides.next() {
        match side {
            MessageSide::User { results, parts, locations } => {
                note_orphans(&results, 0, &mut history.notes);
                projection.opening.extend(parts);
                projection.opening_locations.extend(locations);
            }
            MessageSide::Answer { start, parts, locations } => {
                let mut results = Vec::new();
                let mut reply = Vec::new();
                let mut reply_locations = Vec::new();
                if let Some(MessageSide::User { results: given, parts, locations }) =
                    sides.next_if(|side| matches!(side, MessageSide::User { .. }))
                {
                    results = given;
                    reply = parts;
                    reply_locations = locations;
                }
                let paired = |part| pair_part(part, start, &mut results, rules, history);
                let answer = parts.into_iter().map(paired).collect();
                note_orphans(&results, start, &mut history.notes);
                projection.exchanges.push(ConversationExchange {
                    start,
                    answer,
                    answer_locations: locations,
                    reply,
                    reply_locations,
                });
            }
        }
    }
    projection
}

fn pair_part<'a>(
    part: UnpairedPart<'a>,
    at: usize,
    results: &mut Vec<UnpairedResult<'a>>,
    rules: &ProviderRules,
    history: &mut NormalizedHistory,
) -> AnswerPart<'a> {
    let (call, input, model) = match part {
        UnpairedPart::Text(text) => return AnswerPart::Text(text),
        UnpairedPart::Thinking(thinking, model) => return AnswerPart::Thinking(thinking, model),
        UnpairedPart::Provider(block, model) => return AnswerPart::Provider(block, model),
        UnpairedPart::Call { call, input, model } => (call, input, model),
    };
    let (result, result_place) = match results.iter().position(|one| one.result.call == call.id) {
        Some(position) => {
            let result = results.remove(position);
            let place = result.location;
            (CallResult::from_unpaired(result), Some(place))
        }
        None => {
            let line = format!("the call {} had no result; the model was told", call.id);
            history.notes.add(NormalizationStep::Pair, at, line);
            (CallResult::missing_result(), None)
        }
    };
    AnswerPart::Call(AnsweredCall {
        id: history.ids.assign(&call.id.0, at, rules),
        name: to_legal_name(&call.name.0, rules.tools.name_chars_max),
        input,
        signature: call_signature(call),
        model,
        result,
        result_location: result_place,
    })
}

fn call_signature(call: &ToolCall) -> Option<&str> {
    call.signature.as_deref()
}

fn note_orphans(results: &[UnpairedResult<'_>], at: usize, notes: &mut NormalizationNotes) {
    for orphan in results {
        let call = &orphan.result.call;
        let line = format!("a result for {call}, which was never called, was left out");
        notes.add(NormalizationStep::Pair, at, line);
    }
}

impl<'a> AnsweredCall<'a> {
    /// Its id on the wire.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the tool, made legal.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its arguments: one JSON object.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.input
    }

    /// The provider's seal on the call, bound to the model that made it.
    #[must_use]
    pub fn signature(&self) -> Option<&'a str> {
        self.signature
    }

    /// The model that made the call.
    #[must_use]
    pub fn model(&self) -> Option<&'a ModelName> {
        self.model
    }

    /// The result, or a generated one if the transcript has none.
    #[must_use]
    pub fn result(&self) -> &CallResult<'a> {
        &self.result
    }

    /// Where the result comes from, if it was not made up.
    pub(crate) fn result_location(&self) -> Option<BlockLocation> {
        self.result_location
    }

    pub(crate) fn result_mut(&mut self) -> &mut CallResult<'a> {
        &mut self.result
    }
}

impl<'a> CallResult<'a> {
    /// Text and media; never empty.
    #[must_use]
    pub fn parts(&self) -> &[UserPart<'a>] {
        &self.parts
    }

    /// Whether the tool failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    pub(crate) fn parts_mut(&mut self) -> &mut [UserPart<'a>] {
        &mut self.parts
    }

    fn from_unpaired(result: UnpairedResult<'a>) -> Self {
        let UnpairedResult { result, mut parts, .. } = result;
        if parts.is_empty() {
            parts.push(UserPart::Text(Cow::Borrowed(NO_OUTPUT)));
        }
        Self { parts, is_error: result.is_error }
    }

    fn missing_result() -> Self {
        let parts = alloc::vec![UserPart::Text(Cow::Borrowed(MISSING_RESULT))];
        Self { parts, is_error: true }
    }
}

/// Ids already on the wire, with the next number to try for each that was wanted twice.
#[derive(Debug, Default)]
pub(crate) struct WireCallIds {
    used: BTreeSet<Arc<str>>,
    next: BTreeMap<Arc<str>, u64>,
    assigned: Vec<AssignedCallId>,
}

/// How to give an id back.
#[derive(Debug)]
struct AssignedCallId {
    at: usize,
    id: Arc<str>,
    /// The counter that was used, and its previous value.
    counter: Option<(Arc<str>, Option<u64>)>,
}

impl WireCallIds {
    fn assign<'a>(&mut self, id: &'a str, at: usize, rules: &ProviderRules) -> Cow<'a, str> {
        let legal = to_legal_name(id, rules.tools.call_id_chars_max);
        if !self.used.contains(&*legal) {
            self.record_assignment(Arc::from(&*legal), at, None);
            return legal;
        }
        let stem: Arc<str> = Arc::from(&*legal);
        let before = self.next.get(&stem).copied();
        let mut next = before.unwrap_or(2);
        let unique = loop {
            let suffix = format!("_{next}");
            next = next.saturating_add(1);
            let room = rules.tools.call_id_chars_max.saturating_sub(suffix.len());
            let unique = format!("{}{suffix}", stem.get(..room).unwrap_or(&stem));
            if !self.used.contains(unique.as_str()) {
                break unique;
            }
        };
        self.next.insert(stem.clone(), next);
        self.record_assignment(Arc::from(unique.as_str()), at, Some((stem, before)));
        Cow::Owned(unique)
    }

    fn record_assignment(
        &mut self,
        id: Arc<str>,
        at: usize,
        counter: Option<(Arc<str>, Option<u64>)>,
    ) {
        self.used.insert(id.clone());
        self.assigned.push(AssignedCallId { at, id, counter });
    }

    /// Gives back what was taken at or after a message.
    pub(crate) fn truncate(&mut self, from: usize) {
        while let Some(taken) = self.assigned.pop_if(|taken| taken.at >= from) {
            self.used.remove(&taken.id);
            match taken.counter {
                Some((stem, Some(before))) => drop(self.next.insert(stem, before)),
                Some((stem, None)) => drop(self.next.remove(&stem)),
                None => {}
            }
        }
    }
}

/// The same name in the alphabet that wires accept.
fn to_legal_name(name: &str, chars_max: usize) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= chars_max && name.chars().all(ProviderRules::is_name_char)
    {
        return Cow::Borrowed(name);
    }
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    let replaced = name.chars().map(|c| if ProviderRules::is_name_char(c) { c } else { '_' });
    Cow::Owned(replaced.take(chars_max).collect())
}

const MISSING_RESULT: &str = "The result of this call is missing: it was interrupted or lost. \
                       Whether it took effect is unknown.";

const NO_OUTPUT: &str = "(no output)";
