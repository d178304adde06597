//! The handle a front end or an embedder holds: submit, answer, interrupt, close.
//!
//! A [`SessionBuilder`](crate::SessionBuilder) starts a session on the current tokio runtime (one thread
//! is enough) and returns two ends: a [`Session`] to send to and [`Notices`](crate::Notices) to read
//! from. Sending never blocks; the result arrives as a notice. Nothing is decided here.

mod background;
mod config_change;
mod prompt_result;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{ContentBlock, Interrupt, PermissionAnswer, PermissionQuestion, Ticket};

pub(crate) use self::background::WeakSessionResources;
pub use self::prompt_result::PromptResult;
use crate::client_questions::ClientQuestions;
use crate::error::SendError;
use crate::prompt_submission::{PromptSubmission, QueuedMessage};
use crate::rewind::{
    FileHistory, FileRewind, RewindError, RewindOptions, RewindResult, RewindScope, run_blocking,
};
use crate::session_command::{RewindRequest, SessionCommand};
use crate::session_end_reason::SessionEndReason;
use crate::session_settings::SettingsChange;

/// The handle of a running session. Clones speak to the same session; when the last one is
/// dropped, the session closes.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) commands: mpsc::Sender<SessionCommand>,
    pub(crate) closed: watch::Receiver<bool>,
    pub(crate) close_max: Duration,
    pub(crate) file_history: Option<Arc<FileHistory>>,
    pub(crate) client_questions: Arc<ClientQuestions>,
    pub(crate) resources: WeakSessionResources,
}

/// What closing takes besides hooks that are given a long time.
pub(crate) const CLOSE_GRACE: Duration = Duration::from_secs(1);

impl Session {
    /// Sends a message. Between runs it starts one; during a run it is kept and delivered at the
    /// next tool boundary.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn submit(&self, message: impl Into<PromptSubmission>) -> Result<(), SendError> {
        self.send(SessionCommand::Submit(message.into()))
    }

    /// Answers a question told as `Notice::PermissionAsked`. An answer to a question that is no
    /// longer open changes nothing.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn answer(&self, ticket: Ticket, answer: PermissionAnswer) -> Result<(), SendError> {
        if ClientQuestions::is_client_ticket(ticket) {
            self.client_questions.answer(ticket, answer);
            return Ok(());
        }
        self.send(SessionCommand::Answer(ticket, answer))
    }

    /// Puts a question that is no part of the conversation to whoever answers this session's, as
    /// `Notice::PermissionAsked`. `None` when nobody will answer; dropped, it is withdrawn.
    pub fn ask_client(
        &self,
        question: PermissionQuestion,
    ) -> impl Future<Output = Option<PermissionAnswer>> + Send + 'static {
        Arc::clone(&self.client_questions).ask(question)
    }

    /// Ends what is going on, whatever it is. The end is told as `Notice::RunEnded`.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn interrupt(&self, why: Interrupt) -> Result<(), SendError> {
        self.send(SessionCommand::Interrupt(why))
    }

    /// Ends the pause before the next try, if there is one; for a person who knows that the network
    /// is back.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn retry_now(&self) -> Result<(), SendError> {
        self.send(SessionCommand::RetryNow)
    }

    /// Changes the settings from now on, all of these changes as one. The number of models must stay
    /// as it is while a run is going on.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn configure(
        &self,
        changes: impl IntoIterator<Item = SettingsChange>,
    ) -> Result<(), SendError> {
        self.send(SessionCommand::Configure(changes.into_iter().collect()))
    }

    /// Goes on without a word: a call that a hook put off (`Ending::deferred`) is looked at again, and
    /// a run begins with it. Says whether there is one. A prompt does the same before it is heard.
    pub async fn resume_deferred(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(SessionCommand::ResumeDeferred(reply)).await;
        sent.is_ok() && answer.await.unwrap_or(false)
    }

    /// Asks hooks what is still to be done by one that has nothing more to do.
    pub(crate) async fn ask_idle_hooks(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::AskIdleHooks(reply)).await.ok()?;
        answer.await.ok().flatten()
    }

    /// Compacts history now, perhaps with a view to something. A run of its own, told like any
    /// other; while a run is going on it is refused with a warning.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn compact(&self, focus: Option<String>) -> Result<(), SendError> {
        self.send(SessionCommand::Compact(focus))
    }

    /// Asks something about the conversation that is no part of it: of what was said up to the end of
    /// the last run. Answered as `Notice::QuestionAnswered`, also while a run is going on.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn ask_side_question(&self, question: impl Into<String>) -> Result<(), SendError> {
        self.send(SessionCommand::AskSideQuestion(question.into()))
    }

    /// Gives the session a name, for lists. None is asked for then.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn rename(&self, title: impl Into<String>) -> Result<(), SendError> {
        self.send(SessionCommand::Rename(title.into()))
    }

    /// Waits until everything that is seen to after a run is done and kept, at most so long. For
    /// those who leave at once; a session that is closed drops what is under way.
    pub async fn drain(&self, limit: Duration) {
        let (reply, done) = oneshot::channel();
        let drained = async {
            if self.commands.send(SessionCommand::Drain(reply)).await.is_ok() {
                let _ = done.await;
            }
        };
        let _ = tokio::time::timeout(limit, drained).await;
    }

    /// What fills the window now, and what was dropped to make room; `None` when the session is
    /// over.
    pub async fn inventory(&self) -> Option<ContextUsage> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::GetInventory(reply)).await.ok()?;
        answer.await.ok()
    }

    /// The messages that wait for the next tool boundary, the next to be delivered first; `None`
    /// when the session is over.
    pub async fn queued_messages(&self) -> Option<Vec<QueuedMessage>> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::ListQueued(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Changes a message that waits, or takes it back if it is to say nothing. Says whether it was
    /// still waiting; when it returns, the change is kept like the message was.
    pub async fn change_queued_message(
        &self,
        queued: QueuedMessage,
        content: Option<Vec<ContentBlock>>,
    ) -> bool {
        let (reply, answer) = oneshot::channel();
        let sent =
            self.commands.send(SessionCommand::ChangeQueued { queued, content, reply }).await;
        sent.is_ok() && answer.await.unwrap_or(false)
    }

    /// Takes files back to where they were before this message, called by its name in the
    /// transcript; or says what that would change. Meant for the time between runs.
    ///
    /// # Errors
    ///
    /// When nothing is kept, there is no such message, others changed files since and may not be
    /// overwritten, or the disk says no.
    pub async fn rewind_files(
        &self,
        message: impl Into<String>,
        options: RewindOptions,
    ) -> Result<Vec<FileRewind>, RewindError> {
        let file_history = self.file_history.clone().ok_or(RewindError::NotKept)?;
        let message = message.into();
        run_blocking(move || file_history.rewind(&message, options)).await
    }

    /// Goes back to before this message, called by its name in the transcript: what was said from it
    /// on no longer counts, files are as they were, or both. What is going on is ended first, and the
    /// session goes on from there. If it is only to be looked at, nothing ends and nothing changes.
    ///
    /// # Errors
    ///
    /// As [`Session::rewind_files`]; and when the session is over, or what is going on does not end.
    pub async fn rewind(
        &self,
        message: impl Into<String>,
        scope: RewindScope,
        options: RewindOptions,
    ) -> Result<RewindResult, RewindError> {
        let file_history = self.file_history.clone().ok_or(RewindError::NotKept)?;
        let message = message.into();
        if options.dry_run {
            return run_blocking(move || {
                let (before, prompt) = file_history.find_message(&message)?;
                let files =
                    if scope.files { file_history.rewind_to(before, options)? } else { Vec::new() };
                Ok(RewindResult { prompt, files })
            })
            .await;
        }
        let (reply, answer) = oneshot::channel();
        let command = SessionCommand::Rewind(RewindRequest::new(message, scope, options, reply));
        self.commands.send(command).await.map_err(|_| RewindError::Closed)?;
        answer.await.unwrap_or(Err(RewindError::Closed))
    }

    /// Interrupts what is going on, waits until every process of every tool is gone, and closes
    /// the session. Done within [`CLOSE_MAX`](crate::CLOSE_MAX), unless a hook at the end is
    /// configured to take longer. May be called again.
    pub async fn close(&self) {
        self.close_with_reason(SessionEndReason::Other).await;
    }

    /// The same, and hooks are told why.
    pub async fn close_with_reason(&self, why: SessionEndReason) {
        let mut closed = self.closed.clone();
        let done = async {
            // An error means that the session is closing already.
            let _ = self.commands.send(SessionCommand::Close(why)).await;
            let _ = closed.wait_for(|is_closed| *is_closed).await;
        };
        // A session that does not end by then is past helping; its tasks die with the runtime.
        let _ = tokio::time::timeout(self.close_max, done).await;
    }

    /// Do both speak to the same session?
    pub(crate) fn is_same_session(&self, other: &Self) -> bool {
        self.commands.same_channel(&other.commands)
    }

    /// Is the session over?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    pub(crate) fn send(&self, command: SessionCommand) -> Result<(), SendError> {
        self.commands.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SendError::Full,
            mpsc::error::TrySendError::Closed(_) => SendError::Closed,
        })
    }
}
