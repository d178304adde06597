//! Everything the driver may be asked to do. Imperative; a closed list.
//!
//! Effects are returned in the order in which the driver must start them. It performs each and
//! reports what happened as an [`Event`](crate::event::Event); it contains no rule.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_permission::PermissionGrant;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    AttachmentKind, AttemptId, Chore, FailureKind, HookPoint, MicroUsd, Millis, ModelRequest,
    Notice, PermissionQuestion, Ticket, ToolCall, ToolOutcome, ToolResult,
};

/// Something to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send this request and stream the answer.
    CallModel(Box<ModelRequest>),
    /// Drop this request; nothing it still says matters.
    CancelModel {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Run this call.
    StartTool {
        /// The errand.
        ticket: Ticket,
        /// The call, with the proof that it may run.
        granted: PermissionGrant<ToolCall>,
        /// What a nested session may spend; reserved in our ledger.
        allowance: Option<MicroUsd>,
    },
    /// Stop this call, its whole process tree included.
    CancelTool {
        /// The errand.
        ticket: Ticket,
    },
    /// Ask the user or the client this question.
    AskPermission {
        /// The errand.
        ticket: Ticket,
        /// The question.
        question: PermissionQuestion,
    },
    /// Run the user's hooks at this point.
    RunHook {
        /// The errand, or `None` when nobody waits for the verdict.
        ticket: Option<Ticket>,
        /// When.
        point: HookPoint,
        /// About what.
        subject: HookSubject,
    },
    /// Ask a model for a text that is not part of the conversation.
    Summarize {
        /// The errand.
        ticket: Ticket,
        /// The request; `source` says what for.
        request: Box<ModelRequest>,
    },
    /// Keep this text on disk under this name, so that the model can read it back.
    Spill {
        /// A file name, derived from the call id.
        name: Arc<str>,
        /// The whole text.
        text: String,
    },
    /// Keep what came of something that was seen to beside runs.
    Keep {
        /// What it is.
        chore: Chore,
        /// The text, not empty.
        text: String,
    },
    /// Look for something that may help, beside the model call.
    Prefetch {
        /// What to look for.
        kind: AttachmentKind,
        /// What to go by: the user's words, or the paths of files, one a line.
        about: String,
    },
    /// Report after this long.
    SetTimer {
        /// The errand.
        ticket: Ticket,
        /// How long.
        after: Millis,
    },
    /// Tell the front ends.
    Tell(Notice),
    /// The run is over. Exactly one per run, and the last effect of it.
    Finish(RunEnding),
}

/// What a hook is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookSubject {
    /// A call that may run.
    Call(ToolCall),
    /// A call that ran.
    Outcome(ToolCall, ToolOutcome),
    /// All calls of an answer, with what the model sees of them.
    Batch(Vec<(ToolCall, ToolResult)>),
    /// The end of the run.
    Stop {
        /// A stop hook already sent the model back in this run.
        is_retry: bool,
        /// Objections so far, and how many are allowed; a hook may want to know.
        blocks: u8,
        /// The limit.
        blocks_max: u8,
        /// The last answer.
        answer: String,
        /// The hooks objected too often and are told so; what they say now means nothing.
        is_overridden: bool,
    },
    /// An error ended the run.
    Failure {
        /// In words.
        why: String,
        /// What kind of failure it was.
        kind: Option<FailureKind>,
        /// The last answer, if there was one.
        answer: String,
    },
    /// History is about to be compacted.
    Compaction {
        /// The user asked for it; otherwise space ran out.
        by_hand: bool,
        /// What the summary should dwell on.
        focus: Option<String>,
    },
    /// History was compacted.
    Compacted {
        /// The user asked for it; otherwise space ran out.
        by_hand: bool,
        /// What stands for it now.
        summary: String,
    },
}
