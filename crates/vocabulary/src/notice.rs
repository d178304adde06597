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
    /// A request was sent.
    RequestStarted {
        /// Later notices about this request have the same id.
        attempt: AttemptId,
        /// The model asked.
        model: ModelName,
        /// The turn it belongs to.
        turn: u32,
        /// Tokens of input, as estimated before the provider counted them.
        input_estimate: Tokens,
    },
    /// The server has started to answer.
    AnswerStarted {
        /// The attempt it belongs to.
        attempt: AttemptId,
        /// The public ids of the answer.
        ids: AnswerIds,
    },
    /// A piece of an answer. Displayed at once; may be retracted.
    Streamed {
        /// The attempt it belongs to.
        attempt: AttemptId,
        /// One piece, in order of arrival.
        delta: Delta,
    },
    /// Everything displayed of this attempt is void: a tombstone.
    Retracted {
        /// The attempt whose text is retracted.
        attempt: AttemptId,
        /// What failed, for display.
        why: String,
    },
    /// The stream was cut off after a tool had started: the answer is kept up to its last complete
    /// block.
    Sealed {
        /// The attempt that was cut off.
        attempt: AttemptId,
    },
    /// The transcript grew.
    MessageAdded(Arc<Message>),
    /// A call was granted and runs.
    ToolStarted(ToolCall),
    /// A tool reports progress.
    ToolProgressed {
        /// The call that is running.
        call: ToolCallId,
        /// New output or a status line, for display.
        text: String,
    },
    /// A call has its result, which may be a failure.
    ToolEnded {
        /// The call that ended.
        call: ToolCallId,
        /// Its result, as sent to the model.
        outcome: ToolOutcome,
    },
    /// A call may not run.
    ToolDenied {
        /// The call as the model asked for it.
        call: ToolCall,
        /// The rule, hook or answer that denied it.
        why: String,
    },
    /// The user must answer. The answer contains the ticket, so it cannot apply to another
    /// question.
    PermissionAsked {
        /// The question's ticket.
        ticket: Ticket,
        /// The call in question, and why it is asked.
        question: PermissionQuestion,
    },
    /// A question is withdrawn; an answer to it would be ignored.
    PermissionWithdrawn(Ticket),
    /// The loop waits before a retry.
    RetryScheduled {
        /// Why the last attempt failed.
        failure: ModelFailure,
        /// The number of the retry, counted from 1.
        attempt: u8,
        /// The maximum.
        attempts_max: u8,
        /// The pause before it.
        wait: Millis,
    },
    /// Another model is used from now on.
    ModelSwitched {
        /// The model asked until now.
        from: ModelName,
        /// The model asked from now on.
        to: ModelName,
        /// Why the first one is unusable, for display.
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
        /// The estimated tokens freed.
        freed: Tokens,
        /// Describes what was dropped.
        losses: Vec<String>,
    },
    /// The loop continues.
    Continued {
        /// The reason for another iteration.
        transition: Transition,
        /// The turn it is now.
        turn: u32,
    },
    /// Text that a hook shows to the user.
    HookMessage {
        /// The point of the loop at which it ran.
        point: HookPoint,
        /// The hook that said it.
        name: String,
        /// Its message, for people.
        text: String,
    },
    /// A hook began or ended. For display only: its effects are reported by other notices.
    Hook(HookNotice),
    /// Files in the working directory have changed since before these calls.
    FilesChanged {
        /// The calls that ran together.
        calls: Vec<ToolCallId>,
        /// The first changed files, by path.
        files: Vec<ChangedFile>,
        /// The number of changed files.
        count: usize,
    },
    /// A short label for the last batch of tools.
    ToolsLabelled(String),
    /// A model wrote a short title for the conversation.
    SessionTitled(String),
    /// A suggestion for the next prompt, after a run. Only decoration.
    PromptSuggested(String),
    /// The answer to a side question, or why there is none.
    SideQuestionAnswered(Result<String, String>),
    /// A message arrived during a run and waits for the next tool boundary.
    InputQueued(String),
    /// The cost of a request is known.
    Billed {
        /// The attempt that was billed.
        attempt: AttemptId,
        /// What it used.
        usage: Usage,
        /// The price of this request alone.
        cost: MicroUsd,
        /// The total cost of the session.
        total: MicroUsd,
    },
    /// A message for the user without other consequences.
    Warning(String),
    /// The turn limit stops the run.
    MaxTurnsReached {
        /// The number of the turn that was prevented.
        turn: u32,
        /// The most turns a run may take.
        limit: u32,
    },
    /// A notice of a nested session: the start and end of its run, its messages, its tools. Its
    /// questions arrive as if they were this session's own.
    SubagentNotice {
        /// The call that started the nested session.
        call: ToolCallId,
        /// The agent of the nested session.
        agent: AgentId,
        /// What the nested session reports.
        notice: Box<Notice>,
    },
    /// The run has ended. The last notice of a run, exactly once.
    RunEnded(RunEnding),
}

/// A file that is different from before the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path relative to the working directory.
    pub path: String,
    /// The kind of the change.
    pub kind: ChangeKind,
}

/// How a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It did not exist before.
    Created,
    /// Its content or mode changed.
    Modified,
    /// The file no longer exists.
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
    /// The reason.
    pub terminal: Terminal,
    /// The outcome, if it completed.
    pub outcome: Option<Outcome>,
    /// The reason, for display.
    pub why: String,
    /// A failure that was withheld until no recovery was left.
    pub failure: Option<ModelFailure>,
    /// The turns of this run.
    pub turns: u32,
    /// Usage of this run.
    pub usage: Usage,
    /// Cost of the session so far.
    pub cost: MicroUsd,
    /// The deferred call, if the run ended because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Box<ToolCall>>,
}
