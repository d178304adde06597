//! The trait every tool obeys, and what one call is given to work with.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_permission::{Confinement, PermissionGrant, Policy};
use windlass_vocabulary::{Json, MicroUsd, ToolCall, ToolInspection, ToolOutcome, ToolSpec};

use crate::progress::ProgressSender;
use crate::side_question::SideModel;
use crate::tool_session_context::ToolSessionContext;
use crate::trace_context::TraceContext;

/// A call under way. Dropping it ends whatever it started.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Looks at an input without acting on it.
    fn inspect(&self, input: &Json) -> ToolInspection;

    /// A failure is content for the model, so there is no error to return.
    fn run<'a>(
        &'a self,
        call: PermissionGrant<ToolCall>,
        context: ToolCallContext,
    ) -> ToolFuture<'a>;
}

#[derive(Clone, Debug)]
pub struct ToolCallContext {
    /// What it shares with the other calls of its session.
    pub tool_context: Arc<ToolSessionContext>,
    /// As the model named it; empty for a call of ours.
    pub call_id: String,
    /// Ends the call early; what it has so far is its outcome.
    pub cancel: CancellationToken,
    pub progress: ProgressSender,
    /// What a session that the call starts may do and spend.
    pub call_limits: CallLimits,
    pub cost_sender: BackgroundCostSender,
    /// Answers questions of the call outside the conversation.
    pub side_model: Option<Arc<dyn SideModel>>,
    /// What processes of the call are held to.
    pub confinement: Confinement,
    /// Where programs begin in its command line that are held one by one.
    pub held_words: Vec<usize>,
    /// Where the call stands in a trace, if there is one.
    pub trace_context: Option<TraceContext>,
}

/// Reports what a session in the background has spent, once.
#[derive(Clone, Debug, Default)]
pub struct BackgroundCostSender(Option<mpsc::Sender<MicroUsd>>);

impl BackgroundCostSender {
    #[must_use]
    pub fn from_sender(sender: mpsc::Sender<MicroUsd>) -> Self {
        Self(Some(sender))
    }

    pub fn report(self, spent: MicroUsd) {
        if let Some(sender) = self.0 {
            // Fails when the session is gone; then its cost is not counted either.
            let _ = sender.try_send(spent);
        }
    }
}

/// What a session that a call starts may do and spend.
#[derive(Clone, Debug, Default)]
pub struct CallLimits {
    /// No more than this is allowed: what its parent may do at this moment.
    pub policy: Policy,
    /// What is set aside for it, where money is limited.
    pub allowance: Option<MicroUsd>,
}

impl ToolCallContext {
    /// A context without cancellation, progress or limits of its own.
    #[must_use]
    pub fn new(tool_context: Arc<ToolSessionContext>) -> Self {
        Self {
            tool_context,
            call_id: String::new(),
            cancel: CancellationToken::new(),
            progress: ProgressSender::default(),
            call_limits: CallLimits::default(),
            cost_sender: BackgroundCostSender::default(),
            side_model: None,
            confinement: Confinement::default(),
            held_words: Vec::new(),
            trace_context: None,
        }
    }
}
