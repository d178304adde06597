//! The guard against going in circles: the same call, the same result, nothing changed in between.
//!
//! Looks only at what the loop itself saw. A call that changed the workspace, or a different call
//! with effects, makes everything before it count for nothing, so re-running a test after an edit
//! is never a circle. A call that takes its time is a wait for something, a build or a server, and
//! counts for a tenth: what it waits for may yet happen.

use crate::digest;
use alloc::collections::BTreeMap;
use windlass_vocabulary::{
    EffectClass, Millis, ToolCall, ToolInspection, ToolOutcome, ToolResultPart,
};

/// Who ends a run, when the guard does.
pub(crate) const GUARD: &str = "guard against circles";

/// After so many equal results the model gets a hint.
pub const HINT: usize = 3;
/// After so many the run asks, or stops.
pub const STOP: usize = 5;
/// Different calls remembered; older memory is dropped whole, which can only delay the guard.
const REMEMBERED: usize = 256;

/// What was seen since the workspace last changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circle {
    seen: BTreeMap<u128, Seen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    result: u128,
    /// Tenths of a repetition.
    tenths: usize,
}

impl Seen {
    fn count(self) -> usize {
        self.tenths.div_ceil(10)
    }
}

/// A call that takes this long is a wait.
const WAIT: Millis = Millis(1_000);

impl Circle {
    /// Takes in one more result; says how often it has now been the same.
    pub(crate) fn record(
        &mut self,
        call: &ToolCall,
        inspection: &ToolInspection,
        outcome: &ToolOutcome,
    ) -> usize {
        let key = digest_call(call);
        let has_effects = inspection.class != EffectClass::Pure && !outcome.is_error;
        if outcome.changed_workspace || has_effects && !self.seen.contains_key(&key) {
            self.seen.clear();
        }
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        let result = digest_outcome(outcome);
        let tenths = if outcome.took >= WAIT { 1 } else { 10 };
        let seen = self.seen.entry(key).or_insert(Seen { result, tenths: 0 });
        if seen.result == result {
            seen.tenths = seen.tenths.saturating_add(tenths);
        } else {
            *seen = Seen { result, tenths };
        }
        seen.count()
    }

    /// How often this call has given the same result so far.
    pub(crate) fn count(&self, call: &ToolCall) -> usize {
        self.seen.get(&digest_call(call)).map_or(0, |seen| seen.count())
    }

    /// Somebody wants this call again all the same.
    pub(crate) fn forgive(&mut self, call: &ToolCall) {
        self.seen.remove(&digest_call(call));
    }

    pub(crate) fn forget(&mut self) {
        self.seen.clear();
    }
}

fn digest_call(call: &ToolCall) -> u128 {
    let hash = digest::add(digest::START, call.name.as_str().as_bytes());
    digest::add(digest::add(hash, &[0]), call.input.as_str().as_bytes())
}

fn digest_outcome(outcome: &ToolOutcome) -> u128 {
    let mut hash = digest::add(digest::START, &[u8::from(outcome.is_error)]);
    for part in &outcome.content {
        hash = match part {
            ToolResultPart::Text(words) => digest::add(hash, words.as_bytes()),
            ToolResultPart::Media(media) => digest::add(hash, media.data.as_bytes()),
        };
    }
    hash
}
