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

/// The handle of a running session. Clones refer to the same session; when the last one is dropped,
/// the session closes.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) commands: mpsc::Sender<SessionCommand>,
    pub(crate) closed: watch::Receiver<bool>,
    pub(crate) close_max: Duration,
    pub(crate) file_history: Option<Arc<FileHistory>>,
    pub(crate) client_questions: Arc<ClientQuestions>,
    pub(crate) resources: WeakSessionResources,
    /// The number of prompts that are submitted but not yet used.
    pub(crate) waiting_prompts: watch::Receiver<usize>,
    pub(crate) spending: ModelSpending,
}

/// Limit on such prompts.
const WAITING_PROMPTS_MAX: usize = 1_024;

/// How long closing takes, in addition to the limit of slow hooks.
pub(crate) const CLOSE_GRACE: Duration = Duration::from_secs(1);

impl Session {
    /// Submits a prompt. Between runs it starts one; during a run it is queued for the next tool
    /// boundary.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full: [`Session::wait_for_room`] returns when there
    /// is room again.
    pub fn submit(&self, message: impl Into<PromptSubmission>) -> Result<(), SendError> {
        if *self.waiting_prompts.borrow() >= WAITING_PROMPTS_MAX {
            return Err(SendError::Full);
        }
        self.send(SessionCommand::Submit(message.into()))
    }

    /// Waits until the session can take another prompt. Returns `false` when it is closed. A caller
    /// that reads prompts from a source should not read while it waits, so that none is rejected.
    pub async fn wait_for_room(&self) -> bool {
        let mut waiting = self.waiting_prompts.clone();
        let has_room = waiting.wait_for(|count| *count < WAITING_PROMPTS_MAX).await.is_ok();
        has_room && self.commands.reserve().await.is_ok()
    }

    /// Usage and cost per model, including nested sessions, since this process opened the session.
    #[must_use]
    pub fn spending(&self) -> ModelSpending {
        self.spending.clone()
    }

    /// Answers a question of `Notice::PermissionAsked`. An answer to a question that is no
    /// longer open changes nothing.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
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

    /// Interrupts the current run. Its end arrives as `Notice::RunEnded`.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
    pub fn interrupt(&self, why: Interrupt) -> Result<(), SendError> {
        self.send(SessionCommand::Interrupt(why))
    }

    /// Ends the pause before the next retry, if there is one, for example because the network is
    /// back.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
    pub fn retry_now(&self) -> Result<(), SendError> {
        self.send(SessionCommand::RetryNow)
    }

    /// Changes the settings; all changes are applied together. The number of models must not change
    /// during a run.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
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

    /// Asks hooks whether an agent that has finished should continue.
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
    /// The session is closed, or its queue is full.
    pub fn compact(&self, focus: Option<String>) -> Result<(), SendError> {
        self.send(SessionCommand::Compact(focus))
    }

    /// Asks a question about the conversation, as of the end of the last run, without becoming part of
    /// it. The answer arrives as `Notice::SideQuestionAnswered`, also during a run.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
    pub fn ask_side_question(&self, question: impl Into<String>) -> Result<(), SendError> {
        self.send(SessionCommand::AskSideQuestion(question.into()))
    }

    /// Sets the title of the session. The model is not asked for one then.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
    pub fn rename(&self, title: impl Into<String>) -> Result<(), SendError> {
        self.send(SessionCommand::Rename(title.into()))
    }

    /// Records in the journal which front end sends the next command, and what it is: short names
    /// such as `browser` and `answer`. Only for readers of the journal.
    ///
    /// # Errors
    ///
    /// The session is closed, or its queue is full.
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

    /// What the context window contains now, and what was dropped to make room; `None` when the
    /// session is closed.
    pub async fn inventory(&self) -> Option<ContextUsage> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::GetInventory(reply)).await.ok()?;
        answer.await.ok()
    }

    /// The messages queued for the next tool boundary, in order; `None` when the session is closed.
    pub async fn queued_messages(&self) -> Option<Vec<QueuedMessage>> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::ListQueued(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Changes a queued message, or removes it if `content` is `None`. Returns whether it was still
    /// queued; the change is then recorded in the journal.
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
    /// No file history is kept, there is no such message, other programs changed files since and
    /// may not be overwritten, or the disk fails.
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
    /// As for [`Session::rewind_files`]; also if the session is closed, or the current run does not
    /// end.
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

    /// Interrupts the current run, waits until all processes of tools have ended, and closes the
    /// session. Returns within [`CLOSE_MAX`](crate::CLOSE_MAX), unless a session end hook has a
    /// longer limit. May be called more than once.
    pub async fn close(&self) {
        self.close_with_reason(SessionEndReason::Other).await;
    }

    /// The same, with a reason for session end hooks.
    pub async fn close_with_reason(&self, why: SessionEndReason) {
        let mut closed = self.closed.clone();
        let done = async {
            // An error means that the session is closing already.
            let _ = self.commands.send(SessionCommand::Close(why)).await;
            let _ = closed.wait_for(|is_closed| *is_closed).await;
        };
        // If the session does not end in time, its tasks are ended with the runtime.
        let _ = tokio::time::timeout(self.close_max, done).await;
    }

    /// Are both handles of the same session?
    pub(crate) fn is_same_session(&self, other: &Self) -> bool {
        self.commands.same_channel(&other.commands)
    }

    /// Whether the session has ended: it takes nothing more.
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
