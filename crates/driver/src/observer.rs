//! For programs that measure sessions: what a session and those nested in it do, as it happens.
//!
//! An observer sees more than a front end (failed attempts, verdicts of hooks, what is beside the
//! conversation) and changes nothing. It is called on the session's own task, so it must not wait.

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

/// Watches sessions. One observer may watch many.
pub trait SessionObserver: fmt::Debug + Send + Sync {
    /// Something happened. Must return at once.
    fn observe(&self, session: &ObservedSession, observation: Observation<'_>);

    /// Where something that is about to be started stands in a trace, if there is one.
    fn trace_context(
        &self,
        session: &ObservedSession,
        position: TracePosition<'_>,
    ) -> Option<TraceContext>;

    /// The first session of a tree is over: a last chance to send what was observed. The session is
    /// closed when this ends, or after [`SessionObserver::finish_max`].
    fn finish(&self) -> ObserverFuture;

    /// The longest that [`SessionObserver::finish`] may take.
    fn finish_max(&self) -> Duration;
}

/// What [`SessionObserver::finish`] returns.
pub type ObserverFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The session that something happened in.
#[derive(Clone, Debug)]
pub struct ObservedSession {
    /// The id of the first session of its tree.
    pub id: String,
    /// The agent of this session.
    pub agent: AgentId,
    /// The kind of agent; the first session has none.
    pub agent_kind: Option<String>,
    /// The agent and the call that started this session; the first session has none.
    pub started_by: Option<(AgentId, ToolCallId)>,
    /// What must not leave the session.
    pub secrets: Secrets,
    /// Where models live that have no server of their own below.
    pub server: ModelServer,
    /// Models that live elsewhere.
    pub other_servers: Vec<(ModelName, ModelServer)>,
}

impl ObservedSession {
    /// Where a model lives.
    #[must_use]
    pub fn server_of(&self, model: &ModelName) -> &ModelServer {
        let other = self.other_servers.iter().find(|(name, _)| name == model);
        other.map_or(&self.server, |(_, server)| server)
    }
}

/// A model server, without what proves who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelServer {
    /// The language it speaks.
    pub wire: WireFormat,
    /// Its address.
    pub base_url: String,
}

/// What is about to be started.
#[derive(Clone, Copy, Debug)]
pub enum TracePosition<'a> {
    /// A request to the model server at this address.
    Request {
        /// The request.
        attempt: AttemptId,
        /// Where it goes.
        base_url: &'a str,
    },
    /// A tool call, or a hook about one.
    Call(&'a str),
    /// A hook that is about no call.
    Session,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// The session is open.
    SessionStarted {
        /// Why, as hooks are told: `startup`, `resume`, `clear`, `fork`.
        source: &'a str,
    },
    /// The session closes. Nothing follows.
    SessionEnded,
    /// A prompt was accepted.
    PromptAccepted(&'a [ContentBlock]),
    /// A client asked for compaction.
    CompactionAsked,
    /// A request of the conversation goes out.
    RequestSent(&'a ModelRequest),
    /// The answer is complete.
    AnswerEnded {
        /// The request.
        attempt: AttemptId,
        /// Why the model stopped.
        stop: ModelStopReason,
    },
    /// The request failed, before or in the middle of the answer.
    RequestFailed {
        /// The request.
        attempt: AttemptId,
        /// Why.
        failure: &'a ModelFailure,
    },
    /// The request was given up.
    RequestCancelled {
        /// The request.
        attempt: AttemptId,
    },
    /// A request beside the conversation goes out: a summary, a title.
    SideRequestSent {
        /// What it is known by.
        ticket: Ticket,
        /// The request.
        request: &'a ModelRequest,
    },
    /// A request beside the conversation ended.
    SideRequestEnded {
        /// What it is known by.
        ticket: Ticket,
        /// Why there is no answer.
        failure: Option<&'a ModelFailure>,
        /// What it used.
        usage: Usage,
        /// What it cost.
        cost: MicroUsd,
    },
    /// A question of a tool or a hook to a model was answered, or was not.
    SideQuestionEnded {
        /// The model asked.
        model: &'a ModelName,
        /// What it used.
        usage: Usage,
        /// What it cost.
        cost: MicroUsd,
        /// How long it took.
        took: Millis,
        /// There is an answer.
        is_answered: bool,
    },
    /// Hooks are asked about a call before it is decided.
    HooksAsked {
        /// What the question is known by.
        ticket: Ticket,
        /// The call.
        call: &'a ToolCall,
    },
    /// Hooks have spoken.
    HooksAnswered {
        /// What the question is known by.
        ticket: Ticket,
        /// What they said together.
        verdict: &'a HookVerdict,
    },
    /// The user is to be asked about a call; a hook may still answer first.
    QuestionAsked {
        /// What the question is known by.
        ticket: Ticket,
        /// The call.
        call: &'a ToolCall,
    },
    /// A question about a call was answered.
    QuestionAnswered {
        /// What the question is known by.
        ticket: Ticket,
        /// The answer.
        answer: &'a PermissionAnswer,
    },
    /// A call was allowed and starts.
    CallStarted {
        /// What its end is known by.
        ticket: Ticket,
        /// The call.
        call: &'a ToolCall,
    },
    /// A call ended.
    CallEnded {
        /// What its start was known by.
        ticket: Ticket,
        /// What came of it.
        outcome: &'a ToolOutcome,
    },
    /// Hooks of one moment start.
    HooksStarted {
        /// The moment, by its public name.
        event: &'a str,
        /// The tool or the source they are matched with.
        target: Option<&'a str>,
        /// How many.
        count: usize,
    },
    /// Hooks of one moment have ended.
    HooksEnded(&'a HookBatchResult<'a>),
    /// Another permission mode applies.
    ModeChanged {
        /// The mode until now.
        from: PermissionMode,
        /// The mode from now on.
        to: PermissionMode,
        /// A tool changed it, not the user.
        is_by_tool: bool,
    },
    /// What front ends are told.
    Notice(&'a Notice),
}

/// How it went with the hooks of one moment.
#[derive(Clone, Copy, Debug)]
pub struct HookBatchResult<'a> {
    /// The moment, by its public name.
    pub event: &'a str,
    /// The tool or the source they were matched with.
    pub target: Option<&'a str>,
    /// How many there were.
    pub count: usize,
    /// How many ended well.
    pub succeeded: usize,
    /// How many objected.
    pub blocking: usize,
    /// How many failed without a say.
    pub failed: usize,
    /// How many were called off.
    pub cancelled: usize,
    /// How long all of them took together.
    pub took: Millis,
}
