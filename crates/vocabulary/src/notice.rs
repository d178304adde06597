//! Notices to front ends. A closed list; front ends use these and never engine types.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::delta::Delta;
use crate::failure::ModelFailure;
use crate::hook::{HookNotice, HookPoint};
use crate::id::{AgentId, AnswerIds, AttemptId, Ticket, ToolCallId};
use crate::message::Message;
use crate::model::ModelName;
use crate::permission::PermissionQuestion;
use crate::reason::{Outcome, Terminal, Transition};
use crate::time::Millis;
use crate::tool::{ToolCall, ToolOutcome};
use crate::usage::{MicroUsd, Tokens, Usage};

/// One thing a front end may want to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A run began.
    RunStarted,
    /// A request went out.
    RequestStarted {
        /// Every later notice about this request carries the same id.
        attempt: AttemptId,
        /// The model asked.
        model: ModelName,
        /// The turn it belongs to.
        turn: u32,
        /// Tokens of input, as estimated before the provider counted them.
        input_estimate: Tokens,
    },
    /// The server begins to answer.
    AnswerStarted {
        /// The attempt it belongs to.
        attempt: AttemptId,
        /// What the answer is called outside.
        ids: AnswerIds,
    },
    /// A piece of an answer. Shown at once; may be retracted.
    Streamed {
        /// The attempt it belongs to.
        attempt: AttemptId,
        /// One piece, in the order of arrival.
        delta: Delta,
    },
    /// Everything shown of this attempt is void: a tombstone.
    Retracted {
        /// The attempt whose text is taken back.
        attempt: AttemptId,
        /// For people: what failed.
        why: String,
    },
    /// The stream was cut after a tool had started: the answer is kept up to its last whole block.
    Sealed {
        /// The attempt that was cut.
        attempt: AttemptId,
    },
    /// The transcript grew.
    MessageAdded(Arc<Message>),
    /// A tool started.
    ToolStarted(ToolCall),
    /// A tool says how far it is.
    ToolProgressed {
        /// The call that is running.
        call: ToolCallId,
        /// New output or a status line, for people.
        text: String,
    },
    /// A tool ended.
    ToolEnded {
        /// The call that ended.
        call: ToolCallId,
        /// Its result, as the model will see it.
        outcome: ToolOutcome,
    },
    /// A call may not run.
    ToolDenied {
        /// The call as the model asked for it.
        call: ToolCall,
        /// The rule, hook or answer that denied it.
        why: String,
    },
    /// The user must answer. The answer names the ticket, so it cannot hit another question.
    PermissionAsked {
        /// The question's ticket.
        ticket: Ticket,
        /// The call in question, and why it is asked.
        question: PermissionQuestion,
    },
    /// A question is withdrawn; an answer to it would be ignored.
    PermissionWithdrawn(Ticket),
    /// We wait before we try again.
    RetryScheduled {
        /// Why the last attempt failed.
        failure: ModelFailure,
        /// The retry that follows, counted from 1.
        attempt: u8,
        /// The maximum.
        attempts_max: u8,
        /// The pause before it.
        wait: Millis,
    },
    /// Another model is asked from now on.
    ModelSwitched {
        /// The model asked until now.
        from: ModelName,
        /// The model asked from now on.
        to: ModelName,
        /// For people: what made the first one unusable.
        why: String,
    },
    /// The request was repaired: something was left out.
    Repaired {
        /// What was left out and why.
        why: String,
    },
    /// A context level made the projection smaller.
    ContextShrunk {
        /// Which level, 1 to 5.
        level: u8,
        /// Estimated tokens freed.
        freed: Tokens,
        /// What was dropped: the loss record.
        losses: Vec<String>,
    },
    /// The loop continues.
    Continued {
        /// The reason for another iteration.
        transition: Transition,
        /// The turn it is now.
        turn: u32,
    },
    /// A hook said something.
    HookMessage {
        /// The point of the loop at which it ran.
        point: HookPoint,
        /// The hook that said it.
        name: String,
        /// Its message, for people.
        text: String,
    },
    /// A hook began or ended. For display only: what it means for the run comes as other notices.
    Hook(HookNotice),
    /// Files of the working directory differ from before these calls.
    FilesChanged {
        /// The calls that ran together.
        calls: Vec<ToolCallId>,
        /// The first of the files that differ, by path.
        files: Vec<ChangedFile>,
        /// How many differ.
        count: usize,
    },
    /// A short label for the last batch of tools.
    ToolsLabelled(String),
    /// The session has a name now.
    SessionTitled(String),
    /// What the user may want to say next. After a run; decoration.
    PromptSuggested(String),
    /// A question beside the conversation was answered, or why it was not.
    SideQuestionAnswered(Result<String, String>),
    /// Input is kept for later.
    InputQueued(String),
    /// A request was paid for.
    Billed {
        /// The attempt that was billed.
        attempt: AttemptId,
        /// What it used.
        usage: Usage,
        /// What it cost.
        cost: MicroUsd,
        /// What the session has cost.
        total: MicroUsd,
    },
    /// Something people should know; nothing else follows from it.
    Warning(String),
    /// The turn limit stops the run.
    MaxTurnsReached {
        /// The turn that would have come.
        turn: u32,
        /// The most turns a run may take.
        limit: u32,
    },
    /// A session that a call started tells something: when its run begins and ends, its messages, its
    /// tools. Its questions come as if they were this session's own.
    SubagentNotice {
        /// The call that started the nested session.
        call: ToolCallId,
        /// The agent of the nested session.
        agent: AgentId,
        /// What the nested session reports.
        notice: Box<Notice>,
    },
    /// The run is over. The last notice of a run, exactly once.
    RunEnded(RunEnding),
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where it is, below the working directory.
    pub path: String,
    /// The kind of the change.
    pub kind: ChangeKind,
}

/// How a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// It holds something else, or its mode changed.
    Modified,
    /// It was deleted.
    Deleted,
}

impl ChangeKind {
    /// Its name on every wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnding {
    /// The reason, one of eleven.
    pub terminal: Terminal,
    /// How, when it completed.
    pub outcome: Option<Outcome>,
    /// The reason, for display.
    pub why: String,
    /// A failure that was held back until nothing more could be done about it.
    pub failure: Option<ModelFailure>,
    /// Turns that this run took.
    pub turns: u32,
    /// Usage of this run.
    pub usage: Usage,
    /// Cost of the session so far.
    pub cost: MicroUsd,
    /// The call that was put off, if the run ended for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Box<ToolCall>>,
}
