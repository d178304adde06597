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

use super::step_1_shape::{LoosePart, Shaped, ShapedResult, Side};
use super::{Notes, Past, Step};
use crate::law::Law;
use crate::origins::Place;
use crate::projection::{AnswerPart, Exchange, Projection, UserPart};

/// A call with its result. Neither can be had without the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredCall<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    input: Cow<'a, str>,
    signature: Option<&'a str>,
    model: Option<&'a ModelName>,
    result: CallResult<'a>,
    /// Where the result comes from, if it was not made up.
    result_place: Option<Place>,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult<'a> {
    parts: Vec<UserPart<'a>>,
    is_error: bool,
}

/// Runs the step.
pub(crate) fn pair<'a>(shaped: Shaped<'a>, law: &Law, past: &mut Past) -> Projection<'a> {
    let mut projection = Projection::default();
    let mut sides = shaped.into_iter().peekable();
    while let Some(side) = sides.next() {
        match side {
            Side::User { results, parts, places } => {
                note_orphans(&results, 0, &mut past.notes);
                projection.opening.extend(parts);
                projection.opening_places.extend(places);
            }
            Side::Answer { start, parts, places } => {
                let reply = sides.next_if(|side| matches!(side, Side::User { .. }));
                let (mut results, reply, reply_places) = match reply {
                    Some(Side::User { results, parts, places }) => (results, parts, places),
                    _ => (Vec::new(), Vec::new(), Vec::new()),
                };
                let paired = |part| paired(part, start, &mut results, law, past);
                let answer = parts.into_iter().map(paired).collect();
                note_orphans(&results, start, &mut past.notes);
                projection.exchanges.push(Exchange {
                    start,
                    answer,
                    answer_places: places,
                    reply,
                    reply_places,
                });
            }
        }
    }
    projection
}

fn paired<'a>(
    part: LoosePart<'a>,
    at: usize,
    results: &mut Vec<ShapedResult<'a>>,
    law: &Law,
    past: &mut Past,
) -> AnswerPart<'a> {
    let (call, input, model) = match part {
        LoosePart::Text(text) => return AnswerPart::Text(text),
        LoosePart::Thinking(thinking, model) => return AnswerPart::Thinking(thinking, model),
        LoosePart::Provider(block, model) => return AnswerPart::Provider(block, model),
        LoosePart::Call { call, input, model } => (call, input, model),
    };
    let (result, result_place) = match results.iter().position(|one| one.result.call == call.id) {
        Some(position) => {
            let result = results.remove(position);
            let place = result.place;
            (CallResult::of(result), Some(place))
        }
        None => {
            let line = format!("the call {} had no result; the model is told so", call.id);
            past.notes.add(Step::Pair, at, line);
            (CallResult::missing(), None)
        }
    };
    AnswerPart::Call(AnsweredCall {
        id: past.ids.take(&call.id.0, at, law),
        name: legal(&call.name.0, law.tool_name_chars_max),
        input,
        signature: signature(call),
        model,
        result,
        result_place,
    })
}

fn signature(call: &ToolCall) -> Option<&str> {
    call.signature.as_deref()
}

fn note_orphans(results: &[ShapedResult<'_>], at: usize, notes: &mut Notes) {
    for orphan in results {
        let call = &orphan.result.call;
        let line = format!("a result for {call}, which nobody called, was left out");
        notes.add(Step::Pair, at, line);
    }
}

impl<'a> AnsweredCall<'a> {
    /// Its id on the wire.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool.
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

    /// What it came to.
    #[must_use]
    pub fn result(&self) -> &CallResult<'a> {
        &self.result
    }

    /// Where the result comes from, if it was not made up.
    pub(crate) fn result_place(&self) -> Option<Place> {
        self.result_place
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

    /// Did it fail?
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    pub(crate) fn parts_mut(&mut self) -> &mut [UserPart<'a>] {
        &mut self.parts
    }

    fn of(result: ShapedResult<'a>) -> Self {
        let ShapedResult { result, mut parts, .. } = result;
        if parts.is_empty() {
            parts.push(UserPart::Text(Cow::Borrowed(NO_OUTPUT)));
        }
        Self { parts, is_error: result.is_error }
    }

    fn missing() -> Self {
        let parts = alloc::vec![UserPart::Text(Cow::Borrowed(MISSING))];
        Self { parts, is_error: true }
    }
}

/// Ids already on the wire, with the next number to try for each that was wanted twice.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    used: BTreeSet<Arc<str>>,
    next: BTreeMap<Arc<str>, u64>,
    taken: Vec<Taken>,
}

/// How to give an id back.
#[derive(Debug)]
struct Taken {
    at: usize,
    id: Arc<str>,
    /// The counter that was used, and where it stood before.
    counter: Option<(Arc<str>, Option<u64>)>,
}

impl Ids {
    fn take<'a>(&mut self, id: &'a str, at: usize, law: &Law) -> Cow<'a, str> {
        let legal = legal(id, law.call_id_chars_max);
        if !self.used.contains(&*legal) {
            self.note(Arc::from(&*legal), at, None);
            return legal;
        }
        let stem: Arc<str> = Arc::from(&*legal);
        let before = self.next.get(&stem).copied();
        let mut next = before.unwrap_or(2);
        let unique = loop {
            let suffix = format!("_{next}");
            next = next.saturating_add(1);
            let room = law.call_id_chars_max.saturating_sub(suffix.len());
            let unique = format!("{}{suffix}", stem.get(..room).unwrap_or(&stem));
            if !self.used.contains(unique.as_str()) {
                break unique;
            }
        };
        self.next.insert(stem.clone(), next);
        self.note(Arc::from(unique.as_str()), at, Some((stem, before)));
        Cow::Owned(unique)
    }

    fn note(&mut self, id: Arc<str>, at: usize, counter: Option<(Arc<str>, Option<u64>)>) {
        self.used.insert(id.clone());
        self.taken.push(Taken { at, id, counter });
    }

    /// Gives back what was taken at or after a message.
    pub(crate) fn truncate(&mut self, from: usize) {
        while let Some(taken) = self.taken.pop_if(|taken| taken.at >= from) {
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
fn legal(name: &str, chars_max: usize) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= chars_max && name.chars().all(Law::is_name_char) {
        return Cow::Borrowed(name);
    }
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    let replaced = name.chars().map(|c| if Law::is_name_char(c) { c } else { '_' });
    Cow::Owned(replaced.take(chars_max).collect())
}

const MISSING: &str = "The result of this call is missing: it was interrupted or lost. \
                       Whether it took effect is unknown.";

const NO_OUTPUT: &str = "(no output)";
