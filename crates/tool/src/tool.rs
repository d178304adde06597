//! The trait that every tool implements, and the context of a call.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_permission::{Confinement, PermissionGrant, Policy};
use windlass_vocabulary::{Json, MicroUsd, ToolCall, ToolInspection, ToolOutcome, ToolSpec};

use crate::process::CallConfinement;
use crate::progress::ProgressSender;
use crate::side_question::SideModel;
use crate::tool_session_context::ToolSessionContext;
use crate::trace_context::TraceContext;

/// A running call. Dropping it ends everything it started.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Inspects an input without running it.
    fn inspect(&self, input: &Json) -> ToolInspection;

    /// A failure is content for the model, so there is no error type.
    fn run<'a>(
        &'a self,
        call: PermissionGrant<ToolCall>,
        context: ToolCallContext,
    ) -> ToolFuture<'a>;
}

#[derive(Clone, Debug)]
pub struct ToolCallContext {
    /// Shared by all calls of a session.
    pub tool_context: Arc<ToolSessionContext>,
    /// The model's id of the call; empty for a call of ours.
    pub call_id: String,
    /// Ends the call early with the outcome so far.
    pub cancel: CancellationToken,
    pub progress: ProgressSender,
    /// The limits of a session that the call starts.
    pub call_limits: CallLimits,
    pub cost_sender: BackgroundCostSender,
    /// Answers side questions of the call.
    pub side_model: Option<Arc<dyn SideModel>>,
    /// The confinement of the call's processes.
    pub confinement: Confinement,
    /// The offsets of programs in its command line that are confined one by one.
    pub held_words: Vec<usize>,
    /// What its confined processes may read if the home directory is hidden from them.
    pub readable: Vec<PathBuf>,
    /// The trace context of the call.
    pub trace_context: Option<TraceContext>,
}

/// Reports the cost of a background session, once.
#[derive(Clone, Debug, Default)]
pub struct BackgroundCostSender(Option<mpsc::Sender<MicroUsd>>);

impl BackgroundCostSender {
    #[must_use]
    pub fn from_sender(sender: mpsc::Sender<MicroUsd>) -> Self {
        Self(Some(sender))
    }

    pub fn report(self, spent: MicroUsd) {
        if let Some(sender) = self.0 {
            // Fails if the session has closed; then its cost is not counted either.
            let _ = sender.try_send(spent);
        }
    }
}

/// The limits of a session that a call starts.
#[derive(Clone, Debug, Default)]
pub struct CallLimits {
    /// The parent's current policy, which it must not exceed.
    pub policy: Policy,
    /// The reserved money, if the session has a budget.
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
            readable: Vec::new(),
            trace_context: None,
        }
    }

    pub(crate) fn call_confinement(&self) -> CallConfinement<'_> {
        CallConfinement {
            kind: self.confinement,
            held_words: &self.held_words,
            readable: &self.readable,
        }
    }
}
