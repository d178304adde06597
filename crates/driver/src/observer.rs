//! Observes what a session and its nested sessions do, for telemetry.
//!
//! An observer sees more than a front end (failed attempts, hook verdicts, requests outside of the
//! conversation) and cannot change anything. It is called on the session's own task, so it must not
//! block.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use windlass_tool::{Secrets, TraceContext};
use windlass_vocabulary::{
    AgentId, AttemptId, ContentBlock, HookVerdict, MicroUsd, Millis, ModelFailure, ModelName,
    ModelRequest, ModelStopReason, Notice, PermissionAnswer, PermissionMode, Ticket, ToolCall,
    ToolCallId, ToolOutcome, Usage, WireFormat,
};

/// Observes sessions. One observer may be used for many.
pub trait SessionObserver: fmt::Debug + Send + Sync {
    /// Called for each observation. Must return at once.
    fn observe(&self, session: &ObservedSession, observation: Observation<'_>);

    /// The trace context for something that is about to start, if there is a trace.
    fn trace_context(
        &self,
        session: &ObservedSession,
        position: TracePosition<'_>,
    ) -> Option<TraceContext>;

    /// Called when the first session of a tree has ended: a last chance to send observations. The
    /// session closes when the future completes, or after [`SessionObserver::finish_max`].
    fn finish(&self) -> ObserverFuture;

    /// Limit for [`SessionObserver::finish`].
    fn finish_max(&self) -> Duration;
}

/// What [`SessionObserver::finish`] returns.
pub type ObserverFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The session of an observation.
#[derive(Clone, Debug)]
pub struct ObservedSession {
    /// The id of the first session of its tree.
    pub id: String,
    /// The agent of this session.
    pub agent: AgentId,
    /// The kind of agent; `None` for the first session.
    pub agent_kind: Option<String>,
    /// The agent and the call that started this session; `None` for the first session.
    pub started_by: Option<(AgentId, ToolCallId)>,
    /// The keys to redact from whatever leaves the session.
    pub secrets: Secrets,
    /// The server of all models that `other_servers` does not name.
    pub server: ModelServer,
    /// Models with a server of their own.
    pub other_servers: Vec<(ModelName, ModelServer)>,
}

impl ObservedSession {
    /// The server of a model.
    #[must_use]
    pub fn server_of(&self, model: &ModelName) -> &ModelServer {
        let other = self.other_servers.iter().find(|(name, _)| name == model);
        other.map_or(&self.server, |(_, server)| server)
    }
}

/// A model server, without its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelServer {
    /// The wire format it uses.
    pub wire: WireFormat,
    /// Its address.
    pub base_url: String,
}

/// What is about to start.
#[derive(Clone, Copy, Debug)]
pub enum TracePosition<'a> {
    /// A request to a model server.
    Request {
        /// Which attempt it belongs to.
        attempt: AttemptId,
        /// The server's address.
        base_url: &'a str,
    },
    /// A tool call, or a hook for one.
    Call(&'a str),
    /// A hook that does not belong to a call.
    Session,
}

/// What an observer can see: each step of a session, when it happens.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// The session is open.
    SessionStarted {
        /// The start source given to hooks: `startup`, `resume`, `clear`, `fork`.
        source: &'a str,
    },
    /// The session closes. Nothing follows.
    SessionEnded,
    /// A prompt enters the conversation; no hook rejected it.
    PromptAccepted(&'a [ContentBlock]),
    /// A client requested a compaction.
    CompactionAsked,
    /// A request of the conversation is sent.
    RequestSent(&'a ModelRequest),
    /// The body of a request goes to its server: again with every try.
    BodySent {
        /// What the body encodes.
        request: &'a ModelRequest,
        /// Exactly as they are sent.
        body: &'a [u8],
    },
    /// The answer is complete.
    AnswerEnded {
        /// The attempt that answered.
        attempt: AttemptId,
        /// Why the model stopped.
        stop: ModelStopReason,
    },
    /// The request failed, before or in the middle of the answer.
    RequestFailed {
        /// The attempt that failed.
        attempt: AttemptId,
        /// How it failed, by what the loop can do about it.
        failure: &'a ModelFailure,
    },
    /// The session gave the request up, for example on an interrupt.
    RequestCancelled {
        /// The attempt that was given up.
        attempt: AttemptId,
    },
    /// A request outside of the conversation is sent: a summary, a title.
    SideRequestSent {
        /// Its id.
        ticket: Ticket,
        /// What is sent, tools included.
        request: &'a ModelRequest,
    },
    /// A request outside of the conversation has ended.
    SideRequestEnded {
        /// Its id.
        ticket: Ticket,
        /// The failure; `None` if there is an answer.
        failure: Option<&'a ModelFailure>,
        /// The tokens the provider counted.
        usage: Usage,
        /// Their price; zero if the price of the model is unknown.
        cost: MicroUsd,
    },
    /// A model request of a tool or hook has ended.
    SideQuestionEnded {
        /// The model that was asked.
        model: &'a ModelName,
        /// The tokens the provider counted.
        usage: Usage,
        /// Their price; zero if the price of the model is unknown.
        cost: MicroUsd,
        /// From the request to the end of the answer.
        took: Millis,
        /// Whether there is an answer.
        is_answered: bool,
    },
    /// Hooks run before a call is decided.
    HooksAsked {
        /// The id of this step.
        ticket: Ticket,
        /// What the hooks look at.
        call: &'a ToolCall,
    },
    /// Those hooks have ended.
    HooksAnswered {
        /// The id of this step.
        ticket: Ticket,
        /// Their combined verdict.
        verdict: &'a HookVerdict,
    },
    /// The user is about to be asked about a call; a hook may still answer first.
    QuestionAsked {
        /// The id of the question.
        ticket: Ticket,
        /// What the user is asked about.
        call: &'a ToolCall,
    },
    /// A question about a call was answered.
    QuestionAnswered {
        /// The id of the question.
        ticket: Ticket,
        /// Whether the call may run.
        answer: &'a PermissionAnswer,
    },
    /// A call was allowed and starts.
    CallStarted {
        /// The id of the execution.
        ticket: Ticket,
        /// What runs now, as it was granted.
        call: &'a ToolCall,
    },
    /// A tool returned, failed or was interrupted.
    CallEnded {
        /// The id of the execution.
        ticket: Ticket,
        /// Its result.
        outcome: &'a ToolOutcome,
    },
    /// A batch of hooks starts.
    HooksStarted {
        /// The name of the hook event.
        event: &'a str,
        /// The tool or source that the matchers are compared with.
        target: Option<&'a str>,
        /// How many hooks run.
        count: usize,
    },
    /// A batch of hooks has ended.
    HooksEnded(&'a HookBatchResult<'a>),
    /// The permission mode has changed.
    ModeChanged {
        /// The previous mode.
        from: PermissionMode,
        /// The new mode.
        to: PermissionMode,
        /// It was changed by a tool, not by the user.
        is_by_tool: bool,
    },
    /// A notice to front ends.
    Notice(&'a Notice),
}

/// How the hooks of one event ended.
#[derive(Clone, Copy, Debug)]
pub struct HookBatchResult<'a> {
    /// The name of the hook event.
    pub event: &'a str,
    /// The tool or source that the matchers were compared with.
    pub target: Option<&'a str>,
    /// How many hooks ran.
    pub count: usize,
    /// Hooks that neither failed nor blocked.
    pub succeeded: usize,
    /// How many blocked.
    pub blocking: usize,
    /// How many failed without blocking.
    pub failed: usize,
    /// Hooks that were stopped before they ended.
    pub cancelled: usize,
    /// The time from the first start to the last end.
    pub took: Millis,
}
