//! The thread that looks at the working directory, one job after the other.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use windlass_tool::ToolSessionContext;
use windlass_vocabulary::ToolCallId;
use windlass_workspace::{CancelFlag, LookDepth, SnapshotId, WorkspaceError};

use super::change_notices::ChangeNotices;
use super::change_summary::summarize_changes;
use crate::rewind::FileHistory;

#[derive(Debug)]
pub(super) enum SnapshotJob {
    /// A look that the next batch may begin with, or that at least makes the next one quick.
    Prepare { cancel: CancelFlag },
    /// The look before a batch.
    Before { cancel: CancelFlag, done: watch::Sender<bool> },
    /// The look after a batch.
    After { calls: Vec<ToolCallId>, pending: Arc<()> },
    /// Nothing but an answer.
    Report { done: oneshot::Sender<()> },
    /// The session is over.
    Finish { done: oneshot::Sender<()> },
}

#[derive(Debug)]
pub(crate) struct RecorderThread {
    pub(crate) history: Arc<FileHistory>,
    /// Asked for work in the background, which goes on when its call has ended. The session's own: what it
    /// has made for its commands goes with it, whatever this thread is busy with then.
    pub(crate) tool_context: Weak<ToolSessionContext>,
    pub(crate) notices: Arc<ChangeNotices>,
}

/// What the thread knows between jobs.
#[derive(Debug, Default)]
struct RecorderState {
    prepared: Option<(SnapshotId, Instant)>,
    /// The batch under way: the number of its span, and how the directory stood before.
    span: Option<(usize, SnapshotId)>,
    /// How the directory stood when work was left in the background.
    left_at: Option<SnapshotId>,
}

impl RecorderThread {
    pub(super) fn run(self, jobs: &Receiver<SnapshotJob>) {
        let mut state = RecorderState::default();
        let mut is_registered = false;
        // Told only once there is something to take back.
        let mut untold = None;
        for job in jobs {
            let is_prepared = matches!(job, SnapshotJob::Prepare { .. });
            let is_batch = matches!(job, SnapshotJob::Before { .. });
            let mut done = self.do_job(&mut state, job);
            if is_batch
                && let Some(error) = untold.take()
                && done.is_ok()
                && state.span.is_none()
            {
                self.warn(&error);
            }
            // Its list of snapshots is there from the first batch on.
            if done.is_ok() && state.span.is_some() && !is_registered {
                is_registered = true;
                done = self.history.register_snapshots().map(|is_shared| {
                    if is_shared {
                        self.notices.warn(OTHER_SESSION.to_owned());
                    }
                });
            }
            if let Err(error) = done {
                state = RecorderState::default();
                if matches!(error, WorkspaceError::Cancelled) {
                    continue;
                }
                if is_prepared {
                    untold = Some(error);
                } else {
                    self.warn(&error);
                }
            }
        }
    }

    fn do_job(&self, state: &mut RecorderState, job: SnapshotJob) -> Result<(), WorkspaceError> {
        match job {
            SnapshotJob::Prepare { cancel } => {
                let looked_at = Instant::now();
                let id = self.look(&cancel)?;
                state.prepared = id.map(|id| (id, looked_at));
                Ok(())
            }
            SnapshotJob::Before { cancel, done } => {
                let begun = self.begin_batch(state, &cancel);
                done.send_replace(true);
                begun
            }
            SnapshotJob::After { calls, pending } => {
                let ended = self.end_batch(state, calls);
                drop(pending);
                ended
            }
            SnapshotJob::Report { done } => {
                let _ = done.send(());
                Ok(())
            }
            SnapshotJob::Finish { done } => {
                let finished = self.finish(state);
                let _ = done.send(());
                finished
            }
        }
    }

    fn look(&self, cancel: &CancelFlag) -> Result<Option<SnapshotId>, WorkspaceError> {
        self.history.run_workspace(|workspace| Ok(workspace.look(LookDepth::Quick, cancel)?.id))
    }

    fn begin_batch(
        &self,
        state: &mut RecorderState,
        cancel: &CancelFlag,
    ) -> Result<(), WorkspaceError> {
        // What a person changed since an older look would count as the batch's.
        let prepared = state.prepared.take().filter(|(_, at)| at.elapsed() <= PREPARED_AGE_MAX);
        let from = match prepared {
            Some((id, _)) => Some(id),
            None => self.look(cancel)?,
        };
        let Some(from) = from else { return Ok(()) };
        self.record_background(state, from);
        match self.history.begin_span(from) {
            Ok(number) => state.span = Some((number, from)),
            Err(error) => self.warn(&error),
        }
        Ok(())
    }

    fn end_batch(
        &self,
        state: &mut RecorderState,
        calls: Vec<ToolCallId>,
    ) -> Result<(), WorkspaceError> {
        state.prepared = None;
        let Some((number, from)) = state.span.take() else { return Ok(()) };
        let Some(to) = self.look(&CancelFlag::new())? else { return Ok(()) };
        state.left_at = self.has_background_work().then_some(to);
        let names = calls.iter().map(|call| call.as_str().to_owned()).collect();
        if let Err(error) = self.history.store().end_span(number, names, to.to_string()) {
            self.warn(&error);
        }
        let changes = self.history.run_workspace(|workspace| workspace.changes(from, to))?;
        let mut files = summarize_changes(&changes.unwrap_or_default());
        let count = files.len();
        files.truncate(FILES_TOLD_MAX);
        if count > 0 {
            self.notices.tell(calls, files, count);
        }
        Ok(())
    }

    fn has_background_work(&self) -> bool {
        let context = self.tool_context.upgrade();
        context.is_some_and(|context| context.background.running_count() > 0)
    }

    /// What changed while work went on in the background counts as that work's.
    fn record_background(&self, state: &mut RecorderState, now: SnapshotId) {
        let Some(from) = state.left_at.take().filter(|from| *from != now) else { return };
        let recorded = self
            .history
            .begin_span(from)
            .and_then(|number| self.history.store().end_span(number, Vec::new(), now.to_string()));
        if let Err(error) = recorded {
            self.warn(&error);
        }
    }

    /// The last look of a session, for what went on in the background until its end.
    fn finish(&self, state: &mut RecorderState) -> Result<(), WorkspaceError> {
        if state.left_at.is_some()
            && let Some(now) = self.look(&CancelFlag::new())?
        {
            self.record_background(state, now);
        }
        Ok(())
    }

    fn warn(&self, error: &dyn std::error::Error) {
        self.notices.warn(format!("changes made by commands cannot be undone: {error}"));
    }
}

const OTHER_SESSION: &str = "another session works in this directory: what it changes while a command runs here counts as the command's, and a rewind asks before it overwrites the rest";
/// How old a look may be that a batch begins with.
const PREPARED_AGE_MAX: Duration = Duration::from_secs(2);
/// Of more files only the number is told.
pub(super) const FILES_TOLD_MAX: usize = 200;
