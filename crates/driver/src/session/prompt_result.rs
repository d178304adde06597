//! One prompt and its result, for callers that need nothing else: the run is read to its end, questions
//! go to a function, and the last message of the model is the answer.

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, PermissionAnswer, PermissionQuestion, Role};

use super::Session;
use crate::error::SendError;
use crate::notices::Notices;
use crate::prompt_submission::PromptSubmission;

/// What came of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptResult {
    /// The text of the last message of the model.
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
    /// When the session is closed, or does not keep up.
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
