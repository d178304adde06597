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
use crate::model_spending::ModelSpending;
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
    /// How many prompts the session has taken in and not yet used.
    pub(crate) waiting_prompts: watch::Receiver<usize>,
    pub(crate) spending: ModelSpending,
}

/// Prompts that a session keeps until it can use them.
const WAITING_PROMPTS_MAX: usize = 1_024;

/// What closing takes besides hooks that are given a long time.
pub(crate) const CLOSE_GRACE: Duration = Duration::from_secs(1);

impl Session {
    /// Sends a message. Between runs it starts one; during a run it is kept and delivered at the
    /// next tool boundary.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up: [`Session::wait_for_room`] says when it does
    /// again.
    pub fn submit(&self, message: impl Into<PromptSubmission>) -> Result<(), SendError> {
        if *self.waiting_prompts.borrow() >= WAITING_PROMPTS_MAX {
            return Err(SendError::Full);
        }
        self.send(SessionCommand::Submit(message.into()))
    }

    /// Waits until the session can take another prompt. Returns `false` when it is closed. A caller
    /// that reads prompts from somewhere stops reading meanwhile, so that none is refused.
    pub async fn wait_for_room(&self) -> bool {
        let mut waiting = self.waiting_prompts.clone();
        let has_room = waiting.wait_for(|count| *count < WAITING_PROMPTS_MAX).await.is_ok();
        has_room && self.commands.reserve().await.is_ok()
    }

    /// What each model used and cost, nested sessions included, since this process took the session up.
    #[must_use]
    pub fn spending(&self) -> ModelSpending {
        self.spending.clone()
    }

    /// Answers a question of `Notice::PermissionAsked`. An answer to a question that is no
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

    /// Asks the client of this session a question that is not part of the conversation, as
    /// `Notice::PermissionAsked`. Returns `None` when no answer will come; dropping the future withdraws
    /// the question.
    pub fn ask_client(
        &self,
        question: PermissionQuestion,
    ) -> impl Future<Output = Option<PermissionAnswer>> + Send + 'static {
        Arc::clone(&self.client_questions).ask(question)
    }

    /// Ends the current run. Its end arrives as `Notice::RunEnded`.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn interrupt(&self, why: Interrupt) -> Result<(), SendError> {
        self.send(SessionCommand::Interrupt(why))
    }

    /// Ends the pause before the next retry, if there is one: for a user who knows that the network is
    /// back.
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

    /// Continues without a prompt: a call that a hook deferred (`RunEnding::deferred`) is decided again,
    /// and a run begins with it. Returns whether there is one. Submitting a prompt does the same first.
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

    /// Compacts history now, with an optional focus for the summary. This is a run of its own; during
    /// another run it is refused with a warning.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn compact(&self, focus: Option<String>) -> Result<(), SendError> {
        self.send(SessionCommand::Compact(focus))
    }

    /// Asks a question about the conversation, as of the end of the last run, without becoming part of
    /// it. The answer arrives as `Notice::SideQuestionAnswered`, also during a run.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn ask_side_question(&self, question: impl Into<String>) -> Result<(), SendError> {
        self.send(SessionCommand::AskSideQuestion(question.into()))
    }

    /// Sets the title of the session, for lists. The model is not asked for one then.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn rename(&self, title: impl Into<String>) -> Result<(), SendError> {
        self.send(SessionCommand::Rename(title.into()))
    }

    /// Writes into the journal which front end does what is sent next, and what that is: short words
    /// such as `browser` and `answer`. For those who read the journal; nothing follows from it.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn record_act(&self, by: &'static str, act: &'static str) -> Result<(), SendError> {
        self.send(SessionCommand::RecordAct { by, act })
    }

    /// Waits until the chores after a run (title, memory notes) are done and saved, at most this long.
    /// For callers that exit at once: closing the session drops chores that are under way.
    pub async fn drain(&self, limit: Duration) {
        let (reply, done) = oneshot::channel();
        let drained = async {
            if self.commands.send(SessionCommand::Drain(reply)).await.is_ok() {
                let _ = done.await;
            }
        };
        let _ = tokio::time::timeout(limit, drained).await;
    }

    /// What fills the context window now, and what was dropped to make room; `None` when the session is
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

    /// Changes a queued message, or removes it if `content` is `None`. Returns whether it was still
    /// queued; by then the change is on record.
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

    /// Restores files to what they were before this message, given by its name in the transcript; a dry
    /// run only returns what would change. Meant for the time between runs.
    ///
    /// # Errors
    ///
    /// When no history is kept, there is no such message, other programs changed files since and may not
    /// be overwritten, or the disk fails.
    pub async fn rewind_files(
        &self,
        message: impl Into<String>,
        options: RewindOptions,
    ) -> Result<Vec<FileRewind>, RewindError> {
        let file_history = self.file_history.clone().ok_or(RewindError::NotKept)?;
        let message = message.into();
        run_blocking(move || file_history.rewind(&message, &options)).await
    }

    /// Goes back to before this message or call, given by its name in the transcript: the conversation from it
    /// on is dropped, files are restored, or both. The current run is ended first, and the session
    /// continues from there. A dry run ends and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`Session::rewind_files`]; and when the session is over, or the current run does not end.
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
                let point = file_history.find_point(&message)?;
                let files = match scope.files {
                    true => file_history.rewind_files(&point, &options)?,
                    false => Vec::new(),
                };
                Ok(RewindResult { prompt: point.text, files })
            })
            .await;
        }
        let (reply, answer) = oneshot::channel();
        let command = SessionCommand::Rewind(RewindRequest::new(message, scope, options, reply));
        self.commands.send(command).await.map_err(|_| RewindError::Closed)?;
        answer.await.unwrap_or(Err(RewindError::Closed))
    }

    /// Interrupts the current run, waits until every process of every tool is gone, and closes the
    /// session. Returns within [`CLOSE_MAX`](crate::CLOSE_MAX), unless a hook at the end is
    /// configured to take longer. May be called again.
    pub async fn close(&self) {
        self.close_with_reason(SessionEndReason::Other).await;
    }

    /// The same, with a reason for the hooks.
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
