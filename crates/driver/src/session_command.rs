//! Commands a [`Session`](crate::Session) handle sends to the loop, with what they carry.
//!
//! What each means is in `session_loop/apply_command.rs`.

use std::path::PathBuf;

use tokio::sync::oneshot;
use tokio::time::Instant;
use windlass_hook::HookSet;
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{ContentBlock, Interrupt, PermissionAnswer, Ticket};

use crate::prompt_submission::{PromptSubmission, QueuedMessage};
use crate::rewind::{RewindError, RewindOptions, RewindResult, RewindScope};
use crate::session_end_reason::SessionEndReason;
use crate::session_settings::{SessionSettingsView, SettingsChange};

#[derive(Debug)]
pub(crate) enum SessionCommand {
    /// A message came.
    Submit(PromptSubmission),
    /// A question was answered.
    Answer(Ticket, PermissionAnswer),
    /// End what is going on.
    Interrupt(Interrupt),
    /// Look again at the call that was put off, and say whether there is one.
    ResumeDeferred(oneshot::Sender<bool>),
    /// Ask hooks whether an agent that was left alone and has nothing more to do may end; what they
    /// want of it, if not.
    AskIdleHooks(oneshot::Sender<Option<String>>),
    /// Compact history.
    Compact(Option<String>),
    /// Say what fills the window.
    GetInventory(oneshot::Sender<ContextUsage>),
    /// Say what is set now.
    GetSettings(oneshot::Sender<Box<SessionSettingsView>>),
    /// Say what waits for the next tool boundary.
    ListQueued(oneshot::Sender<Vec<QueuedMessage>>),
    /// Change what waits there, or take it back.
    ChangeQueued {
        /// What is meant.
        queued: QueuedMessage,
        /// What it says from now on.
        content: Option<Vec<ContentBlock>>,
        /// Was it still waiting? Answered when the change is on record.
        reply: oneshot::Sender<bool>,
    },
    /// Ask something beside the conversation.
    AskSideQuestion(String),
    /// Call the session this.
    Rename(String),
    /// Write down who did what comes next.
    RecordAct {
        /// The front end, for example `browser`.
        by: &'static str,
        /// What it did.
        act: &'static str,
    },
    /// Say when nothing is seen to beside runs any more.
    Drain(oneshot::Sender<()>),
    /// Wait no longer before the next try.
    RetryNow,
    /// Go back to an earlier prompt.
    Rewind(RewindRequest),
    /// Go on with other settings.
    Configure(Vec<SettingsChange>),
    /// Say whether a run is going on.
    IsRunActive(oneshot::Sender<bool>),
    /// Ask hooks whether a change of settings files may take effect.
    ReviewConfigChange(ConfigChange, oneshot::Sender<Result<(), String>>),
    /// Ask other hooks from now on.
    ReplaceHooks(HookSet),
    /// End the session.
    Close(SessionEndReason),
}

#[derive(Debug)]
pub(crate) struct RewindRequest {
    pub(crate) message: String,
    pub(crate) scope: RewindScope,
    pub(crate) options: RewindOptions,
    pub(crate) reply: oneshot::Sender<Result<RewindResult, RewindError>>,
    /// What is going on must have ended by then.
    pub(crate) deadline: Option<Instant>,
}

impl RewindRequest {
    pub(crate) fn new(
        message: String,
        scope: RewindScope,
        options: RewindOptions,
        reply: oneshot::Sender<Result<RewindResult, RewindError>>,
    ) -> Self {
        Self { message, scope, options, reply, deadline: None }
    }
}

/// Settings that changed: in which layer, and in which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The layer.
    pub source: ConfigChangeSource,
    /// The file.
    pub file: PathBuf,
}

impl ConfigChange {
    /// Is it the administrator's, so that no hook may object?
    pub(crate) fn is_policy_change(&self) -> bool {
        self.source == ConfigChangeSource::Policy
    }
}

/// The layer whose settings changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigChangeSource {
    /// The user's.
    User,
    /// The project's.
    Project,
    /// The user's for this project.
    Local,
    /// The administrator's.
    Policy,
}

impl ConfigChangeSource {
    /// As hooks read it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user_settings",
            Self::Project => "project_settings",
            Self::Local => "local_settings",
            Self::Policy => "policy_settings",
        }
    }
}
