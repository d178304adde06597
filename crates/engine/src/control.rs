//! The finite part of the state: what the rules look at, and all they look at.
//!
//! Small, `Copy` and hashable, so that every reachable value can be visited. Of the ten fields an
//! iteration hands to the next, seven live here; the large ones (`messages`, `tool_context`, the
//! text of `pending_tool_summary`) live beside it in [`State`](crate::state::State).

use windlass_vocabulary::{Terminal, Transition};

/// Where the loop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// What the loop waits for.
    pub phase: Phase,
    /// Starts at 1, grows only in `next_turn`.
    pub turn: u32,
    /// Why this iteration exists; `None` on the first.
    pub transition: Option<Transition>,
    /// How often a cut answer was asked to resume since the last good turn.
    pub output_recoveries: u8,
    /// How far the ladder against overflow was climbed since the last good turn.
    pub reactive_compact_tried: Overflow,
    /// Was the output limit raised since the last good turn?
    pub output_cap: OutputCap,
    /// What auto-compaction did.
    pub auto_compact: AutoCompact,
    /// What stop hooks did in this run.
    pub stop_hook: StopHook,
    /// What the token budget did in this run.
    pub nudges: Nudges,
    /// Place in the fallback chain; only grows inside a run.
    pub model: u8,
    /// Counters of the current iteration; every transition makes them fresh.
    pub attempt: Attempt,
    /// A failure is held back until every recovery is spent.
    pub withheld: bool,
    /// The answer under way has calls that still lack results. After the end of a run: its only
    /// call was deferred.
    pub calls_open: bool,
}

/// What the loop waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The first message of the session.
    Idle,
    /// The projection is being made (inside one step).
    Preparing,
    /// A summary.
    Compacting(Compaction),
    /// The model.
    Streaming,
    /// The end of a pause before the next try.
    Waiting,
    /// The tools still out after the answer is complete.
    RunningTools,
    /// A call that an earlier run deferred.
    Settling(Then),
    /// What arrived beside the tools is being taken in (inside one step).
    Attaching,
    /// The stop hooks.
    Stopping,
    /// The next message; the last run ended like this.
    Ended(Terminal),
}

/// Why a summary was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compaction {
    /// Space is getting short.
    Auto,
    /// The provider said the prompt is too long.
    ForLength,
    /// The provider said the media are too large.
    ForMedia,
    /// The user asked for it; nothing follows.
    ByHand,
}

/// What a run is about, once the deferred call has its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// The model goes on, and hears what was said.
    Call,
    /// History is compacted.
    Compact,
}

/// The ladder against overflow: each rung at most once between two good turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Overflow {
    /// Nothing was tried.
    Untried,
    /// Staged collapses were drained.
    Drained,
    /// History was compacted. There is no further rung.
    Compacted,
}

/// The output limit of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputCap {
    /// As set.
    Normal,
    /// Raised; it cannot be raised again.
    Raised,
}

/// The guards of auto-compaction. `failures` outlives a run: three in a row switch it off for the
/// session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AutoCompact {
    /// Did it run in this run?
    pub has_run: bool,
    /// Turns since it last ran, counted no further than matters.
    pub turns_since: u8,
    /// Failed summaries in a row.
    pub failures: u8,
    /// Times the window filled up again in quick succession.
    pub refills: u8,
}

/// The guards of the stop hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StopHook {
    /// A stop hook sent the model back and its answer is not in yet.
    pub is_retry: bool,
    /// Objections in this run.
    pub blocks: u8,
    /// The last objection in a row with the same text.
    pub same: u8,
}

/// The guards of the token budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nudges {
    /// Continuations in this run.
    pub used: u8,
    /// Of these, the last so many in a row added little; counted to 2.
    pub small: u8,
}

/// Counters inside one iteration. Retry, fallback, repair and resuming a paused answer are attempts,
/// not transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Tries after the first, with the current model.
    pub retries: u8,
    /// Overloads in a row.
    pub overloads: u8,
    /// The request was repaired once.
    pub repaired: bool,
    /// Paused answers resumed.
    pub pauses: u8,
    /// History was auto-compacted in this iteration.
    pub compacted: bool,
}

impl Attempt {
    /// Nothing tried yet.
    pub const FRESH: Self =
        Self { retries: 0, overloads: 0, repaired: false, pauses: 0, compacted: false };
}

impl AutoCompact {
    /// A session that never compacted.
    pub const FRESH: Self = Self { has_run: false, turns_since: 0, failures: 0, refills: 0 };

    /// One more turn went by.
    #[must_use]
    pub fn aged(self, limit: u8) -> Self {
        Self { turns_since: self.turns_since.saturating_add(1).min(limit), ..self }
    }
}

impl StopHook {
    /// No hook has objected.
    pub const FRESH: Self = Self { is_retry: false, blocks: 0, same: 0 };
}

impl Nudges {
    /// No continuation yet.
    pub const FRESH: Self = Self { used: 0, small: 0 };
}

impl Phase {
    /// Is a run going on?
    #[must_use]
    pub fn is_running(self) -> bool {
        !matches!(self, Self::Idle | Self::Ended(_))
    }
}

impl Control {
    /// A session that has not begun.
    pub const IDLE: Self = Self {
        phase: Phase::Idle,
        turn: 1,
        transition: None,
        output_recoveries: 0,
        reactive_compact_tried: Overflow::Untried,
        output_cap: OutputCap::Normal,
        auto_compact: AutoCompact::FRESH,
        stop_hook: StopHook::FRESH,
        nudges: Nudges::FRESH,
        model: 0,
        attempt: Attempt::FRESH,
        withheld: false,
        calls_open: false,
    };

    /// A new run: everything fresh but what the session has learned about summaries.
    #[must_use]
    pub fn new_run(self) -> Self {
        Self {
            phase: Phase::Preparing,
            auto_compact: AutoCompact {
                failures: self.auto_compact.failures,
                ..AutoCompact::FRESH
            },
            ..Self::IDLE
        }
    }
}
