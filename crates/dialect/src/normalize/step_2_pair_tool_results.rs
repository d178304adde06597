//! Step 2, pair tool results: every call holds its result from here on.
//!
//! A call without a result in the reply to it gets an error result in fixed words; a result without
//! a call goes; of two results for one call the first counts. Ids are made unique and legal, the
//! same way in every request. This is the only place that can make an [`AnsweredCall`].

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelName, ToolCall};

use super::Notes;
use super::step_1_shape::{LoosePart, Shaped, ShapedResult, Side};
use crate::law::Law;
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
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult<'a> {
    parts: Vec<UserPart<'a>>,
    is_error: bool,
}

/// Runs the step.
pub(crate) fn pair<'a>(shaped: Shaped<'a>, law: &Law, notes: &mut Notes) -> Projection<'a> {
    let mut projection = Projection { opening: Vec::new(), exchanges: Vec::new() };
    let mut ids = Ids::default();
    let mut sides = shaped.into_iter().peekable();
    while let Some(side) = sides.next() {
        match side {
            Side::User { results, parts } => {
                note_orphans(&results, notes);
                projection.opening.extend(parts);
            }
            Side::Answer(answer) => {
                let reply = sides.next_if(|side| matches!(side, Side::User { .. }));
                let (mut results, parts) = match reply {
                    Some(Side::User { results, parts }) => (results, parts),
                    _ => (Vec::new(), Vec::new()),
                };
                let answer = answer
                    .into_iter()
                    .map(|part| paired(part, &mut results, &mut ids, law, notes))
                    .collect();
                note_orphans(&results, notes);
                projection.exchanges.push(Exchange { answer, reply: parts });
            }
        }
    }
    projection
}

fn paired<'a>(
    part: LoosePart<'a>,
    results: &mut Vec<ShapedResult<'a>>,
    ids: &mut Ids,
    law: &Law,
    notes: &mut Notes,
) -> AnswerPart<'a> {
    let (call, input, model) = match part {
        LoosePart::Text(text) => return AnswerPart::Text(text),
        LoosePart::Thinking(thinking, model) => return AnswerPart::Thinking(thinking, model),
        LoosePart::Provider(block, model) => return AnswerPart::Provider(block, model),
        LoosePart::Call { call, input, model } => (call, input, model),
    };
    let result = match results.iter().position(|result| result.result.call == call.id) {
        Some(at) => CallResult::of(results.remove(at)),
        None => {
            notes.add(format!("the call {} had no result; the model is told so", call.id));
            CallResult::missing()
        }
    };
    AnswerPart::Call(AnsweredCall {
        id: ids.take(&call.id.0, law),
        name: legal(&call.name.0, law.tool_name_chars_max),
        input,
        signature: signature(call),
        model,
        result,
    })
}

fn signature(call: &ToolCall) -> Option<&str> {
    call.signature.as_deref()
}

fn note_orphans(results: &[ShapedResult<'_>], notes: &mut Notes) {
    for orphan in results {
        notes
            .add(format!("a result for {}, which nobody called, was left out", orphan.result.call));
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
        let ShapedResult { result, mut parts } = result;
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
#[derive(Default)]
struct Ids {
    used: BTreeSet<String>,
    next: BTreeMap<String, u64>,
}

impl Ids {
    fn take<'a>(&mut self, id: &'a str, law: &Law) -> Cow<'a, str> {
        let legal = legal(id, law.call_id_chars_max);
        if self.used.insert(String::from(&*legal)) {
            return legal;
        }
        let next = self.next.entry(String::from(&*legal)).or_insert(2);
        loop {
            let suffix = format!("_{next}");
            *next = next.saturating_add(1);
            let room = law.call_id_chars_max.saturating_sub(suffix.len());
            let stem = legal.get(..room).unwrap_or(&legal);
            let unique = format!("{stem}{suffix}");
            if self.used.insert(unique.clone()) {
                return Cow::Owned(unique);
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
