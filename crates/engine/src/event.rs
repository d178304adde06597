//! Everything that can happen. Past tense; a closed list.
//!
//! The driver reports these and nothing else reaches the engine. Each event that answers an effect
//! carries the id of that effect, so that a late or doubled one is recognised in `stale.rs`.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use windlass_vocabulary::{
    AnswerIds, AttachmentKind, AttemptId, Chore, ContentBlock, Delta, HookReport, Message,
    ModelFailure, ModelStopReason, PermissionAnswer, Ticket, ToolInspection, ToolOutcome, Usage,
};

use crate::settings::Settings;

pub use windlass_vocabulary::Interrupt;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A person or a client sent a message.
    UserSubmitted {
        /// What it says.
        content: Vec<ContentBlock>,
        /// It survives every context level.
        pinned: bool,
    },
    /// The session goes on without a new prompt: a deferred call is looked at again.
    /// Means nothing where there is none, and while a run is going on.
    Resumed,
    /// Input that waits for the next tool boundary was changed or taken back.
    QueueChanged {
        /// Its place among what waits, counted from 0.
        place: usize,
        /// What it says now; nothing takes it back.
        content: Option<Vec<ContentBlock>>,
    },
    /// A conversation that was held elsewhere goes on here. Means nothing while a run is going on.
    Adopted {
        /// What was said, oldest first, with a result for every call. Numbered anew.
        messages: Vec<Message>,
    },
    /// The session goes on with these settings: written down when a process takes it up, so that a
    /// replay decides every event as it was decided.
    Configured(Box<Settings>),
    /// A person or a client wants history compacted now. Means nothing while a run is going on.
    CompactionAsked {
        /// What the summary should dwell on.
        focus: Option<String>,
    },
    /// Something is to be seen to beside runs: a question, or notes that have grown long.
    ChoreAsked {
        /// What.
        chore: Chore,
        /// The question; the notes.
        about: String,
    },
    /// The user or the client wants the run to end now.
    Interrupted(Interrupt),
    /// The server accepted the request and begins to answer.
    ModelStarted {
        /// The attempt.
        attempt: AttemptId,
        /// What the answer is called outside. Journals of older versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ids: Option<AnswerIds>,
    },
    /// A piece of the answer arrived.
    ModelDelta {
        /// The attempt.
        attempt: AttemptId,
        /// The piece.
        delta: Delta,
    },
    /// The answer is complete.
    ModelEnded {
        /// The attempt.
        attempt: AttemptId,
        /// Why the model stopped.
        stop: ModelStopReason,
        /// The provider's final figures.
        usage: Usage,
    },
    /// The call failed, before or in the middle of the answer.
    ModelFailed {
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        failure: ModelFailure,
    },
    /// A running tool says how far it is.
    ToolProgressed {
        /// The errand.
        ticket: Ticket,
        /// What it says.
        text: String,
    },
    /// A tool ended, well or badly.
    ToolEnded {
        /// The errand.
        ticket: Ticket,
        /// What came of it.
        outcome: ToolOutcome,
    },
    /// A permission question was answered.
    PermissionAnswered {
        /// The question.
        ticket: Ticket,
        /// The answer.
        answer: PermissionAnswer,
        /// What the registry says of a changed input.
        inspection: Option<ToolInspection>,
    },
    /// Every hook at one point has answered or failed.
    HookEnded {
        /// The errand.
        ticket: Ticket,
        /// Their joint verdict.
        report: HookReport,
    },
    /// A summary or a label came back.
    SummaryEnded {
        /// The errand.
        ticket: Ticket,
        /// The text, or why there is none.
        result: Result<String, ModelFailure>,
        /// What it used.
        usage: Usage,
    },
    /// Something to slip in at the next tool boundary is ready.
    AttachmentArrived {
        /// What it is.
        kind: AttachmentKind,
        /// The text.
        text: String,
    },
    /// A timer the engine set has run out.
    TimerFired {
        /// The errand.
        ticket: Ticket,
    },
}
