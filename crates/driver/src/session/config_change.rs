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

    /// Tells people something, as `Notice::Warning`.
    pub fn warn(&self, words: impl Into<String>) {
        self.client_questions.warn(words.into());
    }

    /// Tells hooks that settings changed, and asks whether that may take effect: `Err` with the reason
    /// of whoever objects. Takes as long as the hooks may take.
    ///
    /// # Errors
    ///
    /// When a hook objects, and may.
    pub async fn report_config_change(&self, change: ConfigChange) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        if self.commands.send(SessionCommand::ReviewConfigChange(change, reply)).await.is_err() {
            return Ok(());
        }
        answer.await.unwrap_or(Ok(()))
    }

    /// Asks these hooks from now on in the place of those the session was built with. Those of skills
    /// that were loaded stay; nested sessions that run already keep theirs.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn replace_hooks(&self, hooks: HookSet) -> Result<(), SendError> {
        self.send(SessionCommand::ReplaceHooks(hooks))
    }
}
