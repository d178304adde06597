//! What may change in a session from outside, between its runs: settings files, and with them the
//! hooks. Who watches files, and what they say, is known elsewhere.

use tokio::sync::oneshot;
use windlass_hook::HookSet;

use super::Session;
use crate::error::SendError;
use crate::session_command::{ConfigChange, SessionCommand};

impl Session {
    /// Is a run going on? `false` when the session is over.
    pub async fn is_run_active(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(SessionCommand::IsRunActive(reply)).await;
        sent.is_ok() && answer.await.unwrap_or(false)
    }

    /// Shows the user a `Notice::Warning`.
    pub fn warn(&self, words: impl Into<String>) {
        self.client_questions.warn(words.into());
    }

    /// Runs the `ConfigChange` hooks, which may refuse that the change takes effect. Takes as long as
    /// the hooks may take.
    ///
    /// # Errors
    ///
    /// With the hook's reason, when one refuses a change that is not the administrator's.
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
    /// When the session is closed, or does not keep up.
    pub fn replace_hooks(&self, hooks: HookSet) -> Result<(), SendError> {
        self.send(SessionCommand::ReplaceHooks(hooks))
    }
}
