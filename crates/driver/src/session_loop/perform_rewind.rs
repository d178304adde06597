//! Rewinds an open session to an earlier prompt.
//!
//! The current run is ended first. Then the journal starts a new file, and the session gets the
//! state it would have if that file had been resumed: the state is replayed from the remaining
//! records, events of earlier work are dropped, and files must be read again. Granted permissions
//! stay, and spent money stays spent.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use windlass_engine::{Event, Interrupt};

use super::{EVENTS_MAX, SessionLoop};
use crate::clock;
use crate::rewind::{
    FileHistory, RewindError, RewindOptions, RewindResult, RewindScope, run_blocking,
};
use crate::session_command::RewindRequest;
use crate::session_journal::RewoundState;
use crate::tool::past_task_lists::rebuild_task_lists;

impl SessionLoop {
    /// Interrupts the current run, so that the session can be rewound.
    pub(super) fn prepare_rewind(&mut self, mut request: RewindRequest) -> Option<Event> {
        self.inbox.prompt_intake.interrupt(self.run_status());
        request.deadline = Some(clock::now() + RUN_END_WAIT_MAX);
        if let Some(earlier) = self.rewind.pending.replace(request) {
            // If this fails, the caller has stopped waiting.
            let _ = earlier.reply.send(Err(RewindError::StillRunning));
        }
        let is_running = self.state.control.phase.is_running();
        is_running.then_some(Event::Interrupted(Interrupt::User))
    }

    /// The pending rewind, once the run has ended or its deadline has passed.
    pub(super) fn take_ready_rewind(&mut self) -> Option<RewindRequest> {
        let is_over = !self.state.control.phase.is_running() && !self.performer.is_busy();
        self.rewind.pending.take_if(|request| {
            is_over || request.deadline.is_none_or(|until| until <= clock::now())
        })
    }

    /// The deadline for the run to end, if a rewind is pending.
    pub(super) fn rewind_deadline(&self) -> Option<Instant> {
        self.rewind.pending.as_ref().and_then(|request| request.deadline)
    }

    pub(super) async fn perform_rewind(mut self, request: RewindRequest) -> Self {
        let RewindRequest { message, scope, options, reply, .. } = request;
        let result;
        (self, result) = self.try_rewind(message, scope, options).await;
        // If this fails, the caller has stopped waiting.
        let _ = reply.send(result);
        self
    }

    async fn try_rewind(
        self,
        message: String,
        scope: RewindScope,
        options: RewindOptions,
    ) -> (Self, Result<RewindResult, RewindError>) {
        let Some(file_history) = self.rewind.file_history.clone() else {
            return (self, Err(RewindError::NotKept));
        };
        if self.state.control.phase.is_running() {
            return (self, Err(RewindError::StillRunning));
        }
        if let Some(snapshots) = &self.rewind.snapshots {
            // Takes the last snapshot first, so that the changes of the last calls are undone too.
            snapshots.wait_until_idle(RUN_END_WAIT_MAX).await;
        }
        let history = Arc::clone(&file_history);
        let files = run_blocking(move || {
            let point = history.find_point(&message)?;
            let files = match scope.files {
                true => history.rewind_files(&point, &options)?,
                false => Vec::new(),
            };
            Ok((point.conversation, RewindResult { prompt: point.text, files }))
        });
        match files.await {
            Ok((before, rewound)) if scope.conversation => {
                let (run, done) = self.rewind_conversation(before, file_history).await;
                (run, done.map(|()| rewound))
            }
            Ok((_, rewound)) => (self, Ok(rewound)),
            Err(error) => (self, Err(error)),
        }
    }

    async fn rewind_conversation(
        mut self,
        to: u64,
        file_history: Arc<FileHistory>,
    ) -> (Self, Result<(), RewindError>) {
        // The remaining conversation does not know of these background tasks.
        let tool_context = self.performer.tool_context();
        let _ = timeout_at(clock::now() + RUN_END_WAIT_MAX, tool_context.background.close()).await;
        let (report, events) = mpsc::channel(EVENTS_MAX);
        self.performer.reset(report);
        self.inbox.events = events;
        self.inbox.ready_items.clear();
        let (policy, tools) = {
            let context = &self.state.tool_context;
            (context.policy.clone(), context.tools.clone())
        };
        let notice_sender = self.performer.notice_sender().clone();
        let transcript = self.transcript.clone_empty();
        let done;
        (self.journal, done) = self
            .journal
            .rewind_to(to, file_history, &self.settings, &notice_sender, transcript)
            .await;
        let spent = match done {
            Ok(Some(RewoundState { state, transcript, spent })) => {
                self.state = state;
                self.transcript = transcript;
                let lists = rebuild_task_lists(self.state.transcript.messages());
                self.performer.restore_task_lists(lists.unwrap_or_default());
                spent
            }
            Ok(None) if self.journal.has_failed() => {
                return (self.stop_after_disk_failure(Vec::new()).await, Err(RewindError::Closed));
            }
            Ok(None) => return (self, Ok(())),
            Err(error) => return (self, Err(error.into())),
        };
        let event = self.change_settings(|settings| {
            settings.policy = policy;
            settings.tools = tools;
            settings.budget.budget_max = settings.budget.budget_max.map(|limit| limit.less(spent));
        });
        self = self.process_event(event).await;
        if self.state.control.phase.is_running() {
            // The prompt was submitted during a run, whose work has been cancelled.
            self = self.process_event(Event::Interrupted(Interrupt::Crashed)).await;
        }
        (self, Ok(()))
    }
}

/// How long the current run may take to end; the same as tools get at a close.
const RUN_END_WAIT_MAX: Duration = Duration::from_secs(4);
