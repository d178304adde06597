//! Why the loop continues, and why it stops. The names are public: they are used in the journal, in
//! machine-readable output, in folder names and in scenarios.

use serde::{Deserialize, Serialize};

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every member, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The public name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named!(
    /// The seven ways to continue.
    Transition {
        /// Every call has its result.
        NextTurn = "next_turn",
        /// Too long: every staged collapse was applied.
        CollapseDrainRetry = "collapse_drain_retry",
        /// Too long or too large: history was summarised or cut.
        ReactiveCompactRetry = "reactive_compact_retry",
        /// Cut off at the output limit: same request, higher limit.
        MaxOutputTokensEscalate = "max_output_tokens_escalate",
        /// Still cut off: the model was asked to continue.
        MaxOutputTokensRecovery = "max_output_tokens_recovery",
        /// A stop hook blocked.
        StopHookBlocking = "stop_hook_blocking",
        /// Token budget is left.
        TokenBudgetContinuation = "token_budget_continuation",
    }
);

named!(
    /// The eleven ways to stop.
    Terminal {
        /// The model finished.
        Completed = "completed",
        /// It would not fit, and nothing may be shortened.
        BlockingLimit = "blocking_limit",
        /// Too long, and every recovery was used.
        PromptTooLong = "prompt_too_long",
        /// Media cannot be used.
        ImageError = "image_error",
        /// The call failed permanently.
        ModelError = "model_error",
        /// Interrupted while the model answered.
        AbortedStreaming = "aborted_streaming",
        /// Interrupted while tools ran.
        AbortedTools = "aborted_tools",
        /// A stop hook ended the run.
        StopHookPrevented = "stop_hook_prevented",
        /// A tool hook, or the guard against circles, ended the run.
        HookStopped = "hook_stopped",
        /// Turn limit.
        MaxTurns = "max_turns",
        /// Money limit.
        MaxBudgetUsd = "max_budget_usd",
    }
);

named!(
    /// How a run ended where its terminal does not say it all, so that "it stopped" and "it gave up" are never confused.
    Outcome {
        /// The model said all it wanted to say.
        Natural = "natural",
        /// The model refused.
        Refusal = "refusal",
        /// The answer was cut at the output limit and every resume is spent.
        OutputLimitExhausted = "output_limit_exhausted",
        /// The model said nothing.
        Empty = "empty",
        /// The model kept pausing and every resume is spent.
        PausesExhausted = "pauses_exhausted",
        /// Nothing was asked of the model but a summary, and history is compacted.
        Compacted = "compacted",
        /// Nothing was asked of the model but a summary, and history is as it was.
        NotCompacted = "not_compacted",
        /// A hook deferred the only call of the answer: it gets no result before the session
        /// continues.
        ToolDeferred = "tool_deferred",
        /// The guard against circles ended the run: a call came to the same again and again.
        Circled = "circled",
        /// The session could no longer be stored; overrides any other reason.
        StorageFailed = "storage_failed",
    }
);

impl Terminal {
    /// Did the run fail?
    #[must_use]
    pub fn is_error(self) -> bool {
        self != Self::Completed
    }

    /// Was it ended by an interrupt?
    #[must_use]
    pub fn is_abort(self) -> bool {
        matches!(self, Self::AbortedStreaming | Self::AbortedTools)
    }
}
