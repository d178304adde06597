//! Sends one prompt and returns its result, for simple callers: reads the run to its end, answers
//! questions with a function, and returns the model's last message.

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, PermissionAnswer, PermissionQuestion, Role};

use super::Session;
use crate::error::SendError;
use crate::notices::Notices;
use crate::prompt_submission::PromptSubmission;

/// How the run of a prompt ended, and the text of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptResult {
    /// The text of the model's last message.
    pub text: String,
    /// How the run ended, and what it cost.
    pub ending: RunEnding,
}

impl Session {
    /// Sends a prompt and waits for the end of its run. Questions go to `judge`, if the session may ask
    /// ([`SessionBuilder::permission_prompts`](crate::SessionBuilder::permission_prompts)). All other
    /// notices are dropped; to see them, [`submit`](Session::submit) and read [`Notices`] yourself.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
    pub async fn prompt(
        &self,
        message: impl Into<PromptSubmission>,
        notices: &mut Notices,
        mut judge: impl FnMut(&PermissionQuestion) -> PermissionAnswer,
    ) -> Result<PromptResult, SendError> {
        self.submit(message)?;
        let mut text = String::new();
        loop {
            let notice = notices.next().await.ok_or(SendError::Closed)?;
            if let Notice::PermissionAsked { ticket, question } = notice {
                self.answer(ticket, judge(&question))?;
            } else if let Notice::MessageAdded(message) = notice {
                if message.role == Role::Assistant {
                    text = message.text();
                }
            } else if let Notice::RunEnded(ending) = notice {
                return Ok(PromptResult { text, ending });
            }
        }
    }
}
