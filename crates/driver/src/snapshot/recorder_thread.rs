//! The thread that takes snapshots of the working directory, one job at a time.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use windlass_tool::ToolSessionContext;
use windlass_vocabulary::ToolCallId;
use windlass_workspace::{CancelFlag, SnapshotId, WorkspaceError};

use super::SharedWorkspace;
use super::change_notices::ChangeNotices;
use super::change_summary::summarize_changes;
use super::snapshot_outage::SnapshotOutage;
use super::span_changes::list_span_changes;
use crate::clock;
use crate::rewind::FileHistory;

#[derive(Debug)]
pub(super) enum SnapshotJob {
    /// Take a snapshot that the next batch may use, or that at least makes the next one fast.
    Prepare { cancel: CancelFlag },
    /// Take the snapshot before a batch.
    Before { cancel: CancelFlag, done: watch::Sender<bool> },
    /// Take the snapshot after a batch.
    After { calls: Vec<ToolCallId>, pending: Arc<()> },
    /// Only reply.
    Report { done: oneshot::Sender<()> },
    /// The session ends.
    Finish { done: oneshot::Sender<()> },
}

#[derive(Debug)]
pub(crate) struct RecorderThread {
    pub(crate) history: Arc<FileHistory>,
    /// Shows whether background work continues after its call. Weak, because the session must be
    /// able to drop its temporary files while this thread is busy.
    pub(crate) tool_context: Weak<ToolSessionContext>,
    pub(crate) notices: Arc<ChangeNotices>,
    pub(crate) outage: Arc<SnapshotOutage>,
}

/// The thread's state between jobs, for each directory.
#[derive(Debug, Default)]
struct RecorderState {
    roots: Vec<RootState>,
}

#[derive(Debug, Default)]
struct RootState {
    prepared: Option<(SnapshotId, Instant)>,
    /// The index of the current batch's span.
    span: Option<usize>,
    /// The snapshot when background work began, and its time.
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
        // The warning is sent only once there is something to undo.
        let mut untold = None;
        // A failure that lasts is reported once.
        let mut told = String::new();
        for job in jobs {
            let is_prepared = matches!(job, SnapshotJob::Prepare { .. });
            let is_batch = matches!(job, SnapshotJob::Before { .. });
            let mut done = self.do_job(shared, &mut state, job);
            if is_batch
                && let Some(error) = untold.take()
                && done.is_ok()
                && !state.has_span()
            {
                self.warn_once(&error, &mut told);
            }
            if is_batch && state.has_span() {
                told.clear();
            }
            // The snapshot list exists from the first batch on.
            if done.is_ok() && state.has_span() && !is_registered {
                is_registered = true;
                done = self.history.register_snapshots().map(|is_shared| {
                    if is_shared {
                        self.notices.warn(OTHER_SESSION.to_owned());
                    }
                });
                shared.describe_untold().into_iter().for_each(|words| self.notices.warn(words));
            }
            if let Err(error) = done {
                if matches!(error, WorkspaceError::Cancelled) {
                    continue;
                }
                if is_prepared {
                    untold = Some(error);
                } else {
                    self.warn_once(&error, &mut told);
                }
            }
        }
    }

    fn warn_once(&self, error: &WorkspaceError, told: &mut String) {
        let words = error.to_string();
        if *told != words {
            self.warn(error);
            *told = words;
        }
    }

    fn do_job(
        &self,
        shared: &SharedWorkspace,
        state: &mut RecorderState,
        job: SnapshotJob,
    ) -> Result<(), WorkspaceError> {
        match job {
            SnapshotJob::Prepare { cancel } => {
                let prepared = for_each_root(shared, state, |root, state| {
                    let looked_at = Instant::now();
                    state.prepared = root.look(&cancel)?.map(|id| (id, looked_at));
                    Ok(())
                });
                self.record_outage(&prepared, state.roots.iter().all(|it| it.prepared.is_some()));
                prepared
            }
            SnapshotJob::Before { cancel, done } => {
                let begun = for_each_root(shared, state, |root, state| {
                    self.begin_batch(root, state, &cancel)
                });
                self.record_outage(&begun, state.roots.iter().all(|it| it.span.is_some()));
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
        // Changes a person made since an older snapshot would be attributed to the batch.
        let prepared = state.prepared.take().filter(|(_, at)| at.elapsed() <= PREPARED_AGE_MAX);
        let age = prepared.map_or(0, |(_, at)| clock::elapsed_since(at.into()).0);
        let begun = clock::unix_millis().saturating_sub(age);
        let from = match prepared {
            Some((id, _)) => Some(id),
            None => root.look(cancel)?,
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
        let had_span = state.has_span();
        let names: Vec<String> = calls.iter().map(|call| call.as_str().to_owned()).collect();
        let mut files = Vec::new();
        let ended = for_each_root(shared, state, |root, state| {
            state.prepared = None;
            let Some(number) = state.span.take() else { return Ok(()) };
            let Some(to) = root.look(&CancelFlag::new())? else { return Ok(()) };
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
        if had_span {
            // What the calls made and nobody knew of before.
            shared.describe_untold().into_iter().for_each(|words| self.notices.warn(words));
        }
        ended
    }

    fn record_outage(&self, done: &Result<(), WorkspaceError>, is_covered: bool) {
        match done {
            Err(error) => self.outage.record_failure(error),
            Ok(()) if is_covered => self.outage.end(),
            // Refused before, which was recorded then.
            Ok(()) => {}
        }
    }

    fn has_background_work(&self) -> bool {
        let context = self.tool_context.upgrade();
        context.is_some_and(|context| context.background.running_count() > 0)
    }

    /// Changes made while background work runs are attributed to that work.
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

    /// The last snapshot of a session, for background work until its end.
    fn finish(&self, root: &SharedWorkspace, state: &mut RootState) -> Result<(), WorkspaceError> {
        if state.left_at.is_some()
            && let Some(now) = root.look(&CancelFlag::new())?
        {
            self.record_background(root, state, now);
        }
        Ok(())
    }

    fn warn(&self, error: &dyn std::error::Error) {
        self.notices.warn(format!("changes made by commands cannot be undone: {error}"));
    }
}

/// Runs the job for every directory. A failure affects only its directory; the first error is
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

const OTHER_SESSION: &str = "another session works in this directory; a rewind asks before it overwrites files that the other may have changed";
/// How old a prepared snapshot may be to be used for a batch.
const PREPARED_AGE_MAX: Duration = Duration::from_secs(2);
/// Limit on the files listed; beyond it only the number is reported.
pub(super) const FILES_TOLD_MAX: usize = 200;
