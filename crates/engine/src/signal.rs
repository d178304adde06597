//! What happened, as far as the rules care: a finite alphabet.
//!
//! `facts.rs` reads these off events, transcript and ledger; `decide.rs` acts on them; the checker
//! tries every one of them in every reachable [`Control`](crate::control::Control), so no rule can
//! rest on anything that is not here.

use alloc::vec::Vec;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// A user message begins a run.
    Submitted,
    /// A deferred call is looked at again, without a new prompt; begins a run.
    Resumed,
    /// The user wants history compacted; a run of its own.
    CompactionAsked,
    /// The user or the client wants the run to end.
    Interrupted,
    /// The projection is made.
    Prepared {
        /// How it fits.
        size: Size,
        /// Collapses are staged and not yet committed.
        staged: bool,
        /// Is there money for it?
        funds: Funds,
    },
    /// The summary came, or its replacement was cut.
    Summarized(Shrunk),
    /// The answer is complete.
    Answered(AnswerEnd),
    /// The call failed.
    Failed(Fault),
    /// The pause before the next try is over.
    TimerFired,
    /// Every call of the answer has its result.
    ToolsDone {
        /// A hook or the guard against circles wants the run to end.
        stop: bool,
    },
    /// A hook deferred the only call of the answer.
    Deferred,
    /// What arrived beside the tools is in.
    Attached,
    /// The stop hooks have answered.
    HooksEnded {
        /// What they said.
        verdict: StopVerdict,
        /// What the token budget says, should they let us end.
        budget: Budget,
        /// The answer they judged was empty.
        is_empty: bool,
    },
}

/// How a projection fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// With room to spare.
    Fits,
    /// Over the threshold of auto-compaction.
    OverThreshold,
    /// Over the hard limit.
    OverLimit,
}

/// Is there money for the next request?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Funds {
    /// Yes, perhaps with a smaller output limit.
    Enough,
    /// Not even for a useful answer.
    Short,
}

/// What came of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shrunk {
    /// A summary that keeps the contract.
    Summary,
    /// The summary failed; the deterministic cut took its place.
    Cut,
    /// Media were taken out; history is as it was.
    Stripped,
    /// There was nothing left to cut.
    Nothing,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerEnd {
    /// With complete tool calls, whatever the stop reason.
    Calls,
    /// With text.
    Text {
        /// What the token budget says, should nothing else object.
        budget: Budget,
    },
    /// With nothing at all.
    Empty {
        /// What the token budget says, should nothing else object.
        budget: Budget,
    },
    /// Cut at the output limit.
    OutputLimit {
        /// The model can give more than it was asked for.
        can_raise: bool,
    },
    /// Cut because the window is full.
    WindowFull {
        /// Collapses are staged.
        staged: bool,
    },
    /// It wants to be asked to go on.
    Pause,
    /// It refuses.
    Refusal,
}

/// What the token budget says at the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Budget {
    /// No budget, or nearly spent.
    Spent,
    /// There is budget left and the last answer added much.
    LeftMuch,
    /// There is budget left and the last answer added little.
    LeftLittle,
}

/// Why a call failed, by what the failure demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A tool of the cut answer had started: the answer is sealed and goes on as it is.
    Sealed,
    /// Wait; the model is overloaded.
    Overloaded,
    /// Wait; anything else.
    Wait,
    /// Wait, but the total waited is more than this run may wait.
    WaitedOut,
    /// Shrink: too long.
    TooLong {
        /// Collapses are staged.
        staged: bool,
    },
    /// Shrink: media too large.
    MediaTooLarge,
    /// Repair: one image is unusable.
    BadImage,
    /// Repair: the history breaks the provider's law.
    Invalid,
    /// Switch: the model is gone.
    Gone,
    /// Stop: a person must act.
    Fatal,
}

/// What the stop hooks said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopVerdict {
    /// Nothing against it.
    Pass,
    /// End the run.
    Prevent,
    /// Go on.
    Object {
        /// With the same words as last time.
        is_same: bool,
    },
}

const BUDGETS: [Budget; 3] = [Budget::Spent, Budget::LeftMuch, Budget::LeftLittle];
const BOTH: [bool; 2] = [false, true];

impl Signal {
    /// Every signal there is.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = alloc::vec![
            Self::Submitted,
            Self::Resumed,
            Self::CompactionAsked,
            Self::Interrupted,
            Self::TimerFired,
            Self::Deferred,
        ];
        all.push(Self::Attached);
        for staged in BOTH {
            for size in [Size::Fits, Size::OverThreshold, Size::OverLimit] {
                for funds in [Funds::Enough, Funds::Short] {
                    all.push(Self::Prepared { size, staged, funds });
                }
            }
            all.push(Self::Answered(AnswerEnd::WindowFull { staged }));
            all.push(Self::Failed(Fault::TooLong { staged }));
        }
        all.extend(
            [Shrunk::Summary, Shrunk::Cut, Shrunk::Stripped, Shrunk::Nothing].map(Self::Summarized),
        );
        all.extend([AnswerEnd::Calls, AnswerEnd::Pause, AnswerEnd::Refusal].map(Self::Answered));
        all.extend(BOTH.map(|can_raise| Self::Answered(AnswerEnd::OutputLimit { can_raise })));
        all.extend(BOTH.map(|stop| Self::ToolsDone { stop }));
        for budget in BUDGETS {
            all.push(Self::Answered(AnswerEnd::Text { budget }));
            all.push(Self::Answered(AnswerEnd::Empty { budget }));
            for verdict in [
                StopVerdict::Pass,
                StopVerdict::Prevent,
                StopVerdict::Object { is_same: false },
                StopVerdict::Object { is_same: true },
            ] {
                for is_empty in BOTH {
                    all.push(Self::HooksEnded { verdict, budget, is_empty });
                }
            }
        }
        all.extend(
            [
                Fault::Sealed,
                Fault::Overloaded,
                Fault::Wait,
                Fault::WaitedOut,
                Fault::MediaTooLarge,
                Fault::BadImage,
                Fault::Invalid,
                Fault::Gone,
                Fault::Fatal,
            ]
            .map(Self::Failed),
        );
        all
    }
}
