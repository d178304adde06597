//! The thread that looks at the working directory, one job after the other.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use windlass_tool::ToolSessionContext;
use windlass_vocabulary::ToolCallId;
use windlass_workspace::{CancelFlag, LookDepth, SnapshotId, WorkspaceError};

use super::SharedWorkspace;
use super::change_notices::ChangeNotices;
use super::change_summary::summarize_changes;
use super::span_changes::list_span_changes;
use crate::clock;
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

/// What the thread knows between jobs, for each directory.
#[derive(Debug, Default)]
struct RecorderState {
    roots: Vec<RootState>,
}

#[derive(Debug, Default)]
struct RootState {
    prepared: Option<(SnapshotId, Instant)>,
    /// The batch under way: the number of its span.
    span: Option<usize>,
    /// How the directory stood when work was left in the background, and when.
    left_at: Option<(SnapshotId, u64)>,
}

impl RecorderState {
    fn has_span(&self) -> bool {
        self.roots.iter().any(|root| root.span.is_some())
    }
}

impl RecorderThread {
    pub(super) fn run(self, jobs: &Receiver<SnapshotJob>) {
        let Ok(shared) = self.history.shared_workspace() else { return };
        let mut state = RecorderState::default();
        state.roots.resize_with(shared.members().count(), RootState::default);
        let mut is_registered = false;
        // Told only once there is something to take back.
        let mut untold = None;
        for job in jobs {
            let is_prepared = matches!(job, SnapshotJob::Prepare { .. });
            let is_batch = matches!(job, SnapshotJob::Before { .. });
            let mut done = self.do_job(shared, &mut state, job);
            if is_batch
                && let Some(error) = untold.take()
                && done.is_ok()
                && !state.has_span()
            {
                self.warn(&error);
            }
            // Its list of snapshots is there from the first batch on.
            if done.is_ok() && state.has_span() && !is_registered {
                is_registered = true;
                done = self.history.register_snapshots().map(|is_shared| {
                    if is_shared {
                        self.notices.warn(OTHER_SESSION.to_owned());
                    }
                });
            }
            if let Err(error) = done {
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

    fn do_job(
        &self,
        shared: &SharedWorkspace,
        state: &mut RecorderState,
        job: SnapshotJob,
    ) -> Result<(), WorkspaceError> {
        match job {
            SnapshotJob::Prepare { cancel } => for_each_root(shared, state, |root, state| {
                let looked_at = Instant::now();
                state.prepared = look(root, &cancel)?.map(|id| (id, looked_at));
                Ok(())
            }),
            SnapshotJob::Before { cancel, done } => {
                let begun = for_each_root(shared, state, |root, state| {
                    self.begin_batch(root, state, &cancel)
                });
                done.send_replace(true);
                begun
            }
            SnapshotJob::After { calls, pending } => {
                let ended = self.end_batch(shared, state, calls);
                drop(pending);
                ended
            }
            SnapshotJob::Report { done } => {
                let _ = done.send(());
                Ok(())
            }
            SnapshotJob::Finish { done } => {
                let finished = for_each_root(shared, state, |root, state| self.finish(root, state));
                let _ = done.send(());
                finished
            }
        }
    }

    fn begin_batch(
        &self,
        root: &SharedWorkspace,
        state: &mut RootState,
        cancel: &CancelFlag,
    ) -> Result<(), WorkspaceError> {
        // What a person changed since an older look would count as the batch's.
        let prepared = state.prepared.take().filter(|(_, at)| at.elapsed() <= PREPARED_AGE_MAX);
        let age = prepared.map_or(0, |(_, at)| clock::elapsed_since(at.into()).0);
        let begun = clock::unix_millis().saturating_sub(age);
        let from = match prepared {
            Some((id, _)) => Some(id),
            None => look(root, cancel)?,
        };
        let Some(from) = from else { return Ok(()) };
        self.record_background(root, state, from);
        match self.history.begin_span(root.root(), from, begun) {
            Ok(number) => state.span = Some(number),
            Err(error) => self.warn(&error),
        }
        Ok(())
    }

    fn end_batch(
        &self,
        shared: &SharedWorkspace,
        state: &mut RecorderState,
        calls: Vec<ToolCallId>,
    ) -> Result<(), WorkspaceError> {
        let has_background_work = self.has_background_work();
        let names: Vec<String> = calls.iter().map(|call| call.as_str().to_owned()).collect();
        let mut files = Vec::new();
        let ended = for_each_root(shared, state, |root, state| {
            state.prepared = None;
            let Some(number) = state.span.take() else { return Ok(()) };
            let Some(to) = look(root, &CancelFlag::new())? else { return Ok(()) };
            let at = clock::unix_millis();
            state.left_at = has_background_work.then_some((to, at));
            let kept = self.history.store();
            if let Err(error) = kept.end_span(number, names.clone(), to.to_string(), at) {
                self.warn(&error);
            }
            let Some(span) = kept.spans().into_iter().nth(number) else { return Ok(()) };
            let changes = list_span_changes(root, &span)?;
            files.extend(summarize_changes(&changes, |path| shared.name_file(root, path)));
            Ok(())
        });
        let count = files.len();
        files.truncate(FILES_TOLD_MAX);
        if count > 0 {
            self.notices.tell(calls, files, count);
        }
        ended
    }

    fn has_background_work(&self) -> bool {
        let context = self.tool_context.upgrade();
        context.is_some_and(|context| context.background.running_count() > 0)
    }

    /// What changed while work went on in the background counts as that work's.
    fn record_background(&self, root: &SharedWorkspace, state: &mut RootState, now: SnapshotId) {
        let Some((from, begun)) = state.left_at.take().filter(|(from, _)| *from != now) else {
            return;
        };
        let recorded = self.history.begin_span(root.root(), from, begun).and_then(|number| {
            let ended = clock::unix_millis();
            self.history.store().end_span(number, Vec::new(), now.to_string(), ended)
        });
        if let Err(error) = recorded {
            self.warn(&error);
        }
    }

    /// The last look of a session, for what went on in the background until its end.
    fn finish(&self, root: &SharedWorkspace, state: &mut RootState) -> Result<(), WorkspaceError> {
        if state.left_at.is_some()
            && let Some(now) = look(root, &CancelFlag::new())?
        {
            self.record_background(root, state, now);
        }
        Ok(())
    }

    fn warn(&self, error: &dyn std::error::Error) {
        self.notices.warn(format!("changes made by commands cannot be undone: {error}"));
    }
}

fn look(root: &SharedWorkspace, cancel: &CancelFlag) -> Result<Option<SnapshotId>, WorkspaceError> {
    root.run(|workspace| Ok(workspace.look(LookDepth::Quick, cancel)?.id))
}

/// Does it for every directory. What fails in one costs the way back there, and the first such error is
/// returned.
fn for_each_root(
    shared: &SharedWorkspace,
    state: &mut RecorderState,
    mut work: impl FnMut(&SharedWorkspace, &mut RootState) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    let mut done = Ok(());
    for (root, state) in shared.members().zip(&mut state.roots) {
        if let Err(error) = work(root, state) {
            *state = RootState::default();
            done = done.and(Err(error));
        }
    }
    done
}

const OTHER_SESSION: &str = "another session works in this directory: a file that both change at the same time counts as the other's, and a rewind asks before it overwrites what is not this session's";
/// How old a look may be that a batch begins with.
const PREPARED_AGE_MAX: Duration = Duration::from_secs(2);
/// Of more files only the number is told.
pub(super) const FILES_TOLD_MAX: usize = 200;
