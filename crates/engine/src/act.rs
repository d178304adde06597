//! What a decision can be: data only. The rules are in `decide.rs`.

use windlass_vocabulary::{Outcome, Terminal, Transition};

use crate::control::{Compaction, Control};

/// Where we are now and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Where we are now.
    pub control: Control,
    /// What to do.
    pub act: Act,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Nothing: the signal means nothing here.
    Nothing,
    /// Make the projection and read off how it fits.
    Prepare(Because),
    /// Send the prepared request.
    Call,
    /// Wait before the next try.
    Backoff,
    /// Ask for a summary.
    Summarize(Compaction),
    /// Wait for the tools still out.
    AwaitTools,
    /// Look again at the deferred call.
    Settle,
    /// Take in what arrived beside the tools.
    Attach,
    /// Run the stop hooks.
    RunStopHooks,
    /// End the run.
    Finish(Terminal, Why),
}

/// Why a projection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Because {
    /// A run begins.
    Started,
    /// The pause before another try is over.
    Retried,
    /// Another model is asked.
    Switched,
    /// Something is left out this time.
    Repaired,
    /// A paused answer goes on.
    Resumed,
    /// History was compacted.
    Compacted,
    /// The loop goes round again.
    Continued(Transition),
}

/// Which rule ended the run, where one terminal has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The terminal says it all.
    Plain,
    /// How a completed run ended.
    Outcome(Outcome),
    /// The window fills up as fast as it is emptied.
    Thrash,
    /// A stop hook objected too often.
    TooManyBlocks,
}
