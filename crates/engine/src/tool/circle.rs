//! The guard against going in circles: the same turns, the same results, nothing changed in between.
//!
//! Looks only at what the loop itself saw, and at whole turns: five equal calls in one answer are one
//! step, as they are for a person who watches. A different call, a changed result, a change of the
//! workspace or a pause for something to happen makes everything before it count for nothing. Waiting
//! for the same for longer than [`POLLING_MAX`] is a circle again.

use crate::digest;
use crate::settings::CircleGuard;
use crate::tool::queue::{Entry, Stage};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use windlass_vocabulary::{EffectClass, Millis, ToolCall, ToolOutcome, ToolResultPart};

/// Who ends a run, when the guard does.
pub(crate) const GUARD: &str = "guard against circles";

/// How often a turn may repeat before the model gets a hint, and before the run asks or stops.
#[derive(Clone, Copy)]
struct RepeatLimits {
    hint: usize,
    stop: usize,
}

/// The same turn again and again.
const ONE_TURN: RepeatLimits = RepeatLimits { hint: 3, stop: 5 };
/// The same few turns in turn. A person is slower to call that a circle.
const SEVERAL_TURNS: RepeatLimits = RepeatLimits { hint: 5, stop: 10 };
/// The longest row of turns that is seen to repeat.
const PERIOD_MAX: usize = 4;
/// Turns remembered: enough to see the longest row repeat too often.
const TURNS_MAX: usize = PERIOD_MAX * SEVERAL_TURNS.stop;
/// Different calls or turns remembered; older memory is dropped whole, which can only delay the guard.
const REMEMBERED: usize = 256;
/// A call that takes this long is a wait.
const WAIT: Millis = Millis(1_000);
/// Waiting for the same thing is no circle for so long, all waits together.
pub const POLLING_MAX: Millis = Millis(60 * 60 * 1_000);

/// What was seen since the workspace last changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circle {
    /// The last turns, the newest last.
    turns: VecDeque<SeenTurn>,
    /// Turns seen since something last changed, whether they waited or not.
    known: BTreeSet<u128>,
    /// How long calls waited since then.
    polled: Millis,
    /// How often the last turns were the same, once that is too often, and the calls that come next
    /// if it goes on.
    stop: Option<(usize, BTreeSet<u128>)>,
    /// What [`CircleGuard::Calls`] counts.
    calls: BTreeMap<u128, SeenCall>,
}

/// One turn: its calls, and its calls with their results.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SeenTurn {
    calls: BTreeSet<u128>,
    digest: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeenCall {
    result: u128,
    /// Tenths of a repetition.
    tenths: usize,
}

impl SeenCall {
    fn count(self) -> usize {
        self.tenths.div_ceil(10)
    }
}

/// What the guard makes of a call or a turn: how often it was the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CircleVerdict {
    Hint(usize),
    Stop(usize),
}

impl CircleVerdict {
    fn from_count(count: usize, limits: RepeatLimits) -> Option<Self> {
        match count {
            _ if count >= limits.stop => Some(Self::Stop(count)),
            _ if count >= limits.hint => Some(Self::Hint(count)),
            _ => None,
        }
    }
}

impl Circle {
    /// Takes in a whole turn. Says what the guard makes of it.
    pub(crate) fn record_turn(&mut self, entries: &[Entry]) -> Option<CircleVerdict> {
        let mut calls = BTreeSet::new();
        let mut results = BTreeSet::new();
        let mut took = Millis(0);
        for entry in entries.iter().filter(|entry| !entry.inspection.limits_itself) {
            let Stage::Done(outcome) = &entry.stage else { continue };
            if outcome.changed_workspace {
                self.forget();
                return None;
            }
            let call = digest_call(&entry.call);
            calls.insert(call);
            results.insert((call, digest_outcome(outcome)));
            took = took.max(outcome.took);
        }
        if calls.is_empty() {
            return None;
        }
        let digest = results.iter().fold(digest::START, |hash, (call, result)| {
            digest::add(digest::add(hash, &call.to_be_bytes()), &result.to_be_bytes())
        });
        self.stop = None;
        if self.is_waiting(digest, took) {
            self.turns.clear();
            return None;
        }
        self.turns.push_back(SeenTurn { calls, digest });
        if self.turns.len() > TURNS_MAX {
            self.turns.pop_front();
        }
        let (verdict, period) = self.find_repetition()?;
        if let CircleVerdict::Stop(count) = verdict {
            let next = self.turns.len().checked_sub(period).and_then(|at| self.turns.get(at));
            self.stop = next.map(|turn| (count, turn.calls.clone()));
        }
        Some(verdict)
    }

    /// Is this a pause for something that may yet happen?
    fn is_waiting(&mut self, digest: u128, took: Millis) -> bool {
        if !self.known.contains(&digest) {
            if self.known.len() >= REMEMBERED || self.polled > Millis(0) {
                self.known.clear();
            }
            self.known.insert(digest);
            self.polled = Millis(0);
        }
        if took < WAIT {
            return false;
        }
        self.polled = Millis(self.polled.0.saturating_add(took.0));
        self.polled <= POLLING_MAX
    }

    /// The shortest row of turns that came too often, and how many turns it has.
    fn find_repetition(&self) -> Option<(CircleVerdict, usize)> {
        (1..=PERIOD_MAX).find_map(|period| {
            let limits = if period == 1 { ONE_TURN } else { SEVERAL_TURNS };
            let newest_first = || self.turns.iter().rev().map(|turn| turn.digest);
            let same = newest_first()
                .zip(newest_first().skip(period))
                .take_while(|(newer, older)| newer == older)
                .count();
            let count = same / period + 1;
            CircleVerdict::from_count(count, limits).map(|verdict| (verdict, period))
        })
    }

    /// Takes in one more result, as [`CircleGuard::Calls`] counts them.
    pub(crate) fn record_call(
        &mut self,
        entry: &Entry,
        outcome: &ToolOutcome,
    ) -> Option<CircleVerdict> {
        let key = digest_call(&entry.call);
        let has_effects = entry.inspection.class != EffectClass::Pure && !outcome.is_error;
        let is_new = !self.calls.contains_key(&key);
        let is_full = self.calls.len() >= REMEMBERED;
        if outcome.changed_workspace || is_full || has_effects && is_new {
            self.calls.clear();
        }
        let result = digest_outcome(outcome);
        let tenths = if outcome.took >= WAIT { 1 } else { 10 };
        let seen = self.calls.entry(key).or_insert(SeenCall { result, tenths: 0 });
        if seen.result == result {
            seen.tenths = seen.tenths.saturating_add(tenths);
        } else {
            *seen = SeenCall { result, tenths };
        }
        CircleVerdict::from_count(seen.count(), ONE_TURN)
    }

    /// How often it was the same so far, if this call goes on with what was the same too often.
    pub(crate) fn count_before(&self, call: &ToolCall, guard: CircleGuard) -> Option<usize> {
        let key = digest_call(call);
        match guard {
            CircleGuard::Off => None,
            CircleGuard::Turns => {
                let (count, next) = self.stop.as_ref()?;
                next.contains(&key).then_some(*count)
            }
            CircleGuard::Calls => {
                let count = self.calls.get(&key)?.count();
                (count >= ONE_TURN.stop).then_some(count)
            }
        }
    }

    /// The user wants this call again all the same.
    pub(crate) fn forgive(&mut self, call: &ToolCall) {
        let calls = core::mem::take(&mut self.calls);
        self.forget();
        self.calls = calls;
        self.calls.remove(&digest_call(call));
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
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
