//! Commands that a [`Session`](crate::Session) handle sends to the loop.
//!
//! They are handled in `session_loop/apply_command.rs`.

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
    Submit(PromptSubmission),
    Answer(Ticket, PermissionAnswer),
    /// Interrupt the current run.
    Interrupt(Interrupt),
    /// Decide a deferred call again. Replies whether there is one.
    ResumeDeferred(oneshot::Sender<bool>),
    /// Ask hooks whether a background agent that has finished may end. Replies with their prompt if
    /// not.
    AskIdleHooks(oneshot::Sender<Option<String>>),
    /// Compact the history.
    Compact(Option<String>),
    GetInventory(oneshot::Sender<ContextUsage>),
    GetSettings(oneshot::Sender<Box<SessionSettingsView>>),
    /// List the messages queued for the next tool boundary.
    ListQueued(oneshot::Sender<Vec<QueuedMessage>>),
    /// Change or remove a queued message.
    ChangeQueued {
        /// The message as the caller saw it.
        queued: QueuedMessage,
        content: Option<Vec<ContentBlock>>,
        /// Replies whether it was still queued, once the change is recorded.
        reply: oneshot::Sender<bool>,
    },
    /// Ask a question outside of the conversation.
    AskSideQuestion(String),
    /// Set the title.
    Rename(String),
    /// Record which front end sends the next command.
    RecordAct {
        /// The front end, for example `browser`.
        by: &'static str,
        /// The command's name.
        act: &'static str,
    },
    /// Reply when no chore is running any more.
    Drain(oneshot::Sender<()>),
    /// End the pause before the next retry.
    RetryNow,
    Rewind(RewindRequest),
    /// Change settings.
    Configure(Vec<SettingsChange>),
    /// Reply whether a run is in progress.
    IsRunActive(oneshot::Sender<bool>),
    /// Run the `ConfigChange` hooks.
    ReviewConfigChange(ConfigChange, oneshot::Sender<Result<(), String>>),
    ReplaceHooks(HookSet),
    Close(SessionEndReason),
}

#[derive(Debug)]
pub(crate) struct RewindRequest {
    pub(crate) message: String,
    pub(crate) scope: RewindScope,
    pub(crate) options: RewindOptions,
    pub(crate) reply: oneshot::Sender<Result<RewindResult, RewindError>>,
    /// The current run must have ended by then.
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

/// A change of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The source, as hooks get it: `user_settings`, `project_settings`, `local_settings`,
    /// `policy_settings`.
    pub source: ConfigChangeSource,
    /// The settings file that changed.
    pub file: PathBuf,
}

impl ConfigChange {
    /// Is it the administrator's? Hooks cannot block that.
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
