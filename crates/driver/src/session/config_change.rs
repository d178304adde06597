//! Changes from outside between the runs of a session: settings files and hooks. The caller watches
//! and reads the files.

use tokio::sync::oneshot;
use windlass_hook::HookSet;

use super::Session;
use crate::error::SendError;
use crate::session_command::{ConfigChange, SessionCommand};

impl Session {
    /// Is a run in progress? `false` when the session is closed.
    pub async fn is_run_active(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(SessionCommand::IsRunActive(reply)).await;
        sent.is_ok() && answer.await.unwrap_or(false)
    }

    /// Shows the user a `Notice::Warning`.
    pub fn warn(&self, words: impl Into<String>) {
        self.client_questions.warn(words.into());
    }

    /// Runs the `ConfigChange` hooks, which may block the change. Takes as long as the hooks.
    ///
    /// # Errors
    ///
    /// The hook's reason, if one blocks a change other than the administrator's.
    pub async fn report_config_change(&self, change: ConfigChange) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        if self.commands.send(SessionCommand::ReviewConfigChange(change, reply)).await.is_err() {
            return Ok(());
        }
        answer.await.unwrap_or(Ok(()))
    }

    /// Replaces the hooks the session was built with. Hooks of loaded skills stay; nested sessions that
    /// already run keep theirs.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
    pub fn replace_hooks(&self, hooks: HookSet) -> Result<(), SendError> {
        self.send(SessionCommand::ReplaceHooks(hooks))
    }
}
