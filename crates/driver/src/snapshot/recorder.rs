//! Tracks which calls are running, and sends jobs to the thread that takes snapshots.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use windlass_vocabulary::notice::ChangedFile;
use windlass_vocabulary::{ToolCallId, ToolName};
use windlass_workspace::CancelFlag;

use super::change_notices::ChangeNotices;
use super::recorder_thread::{RecorderThread, SnapshotJob};
use super::snapshot_outage::SnapshotOutage;

/// Takes snapshots of the working directory around batches of calls.
#[derive(Debug)]
pub(crate) struct SnapshotRecorder {
    batch: Mutex<CallBatch>,
    /// Jobs for the thread, which runs them in order and ends when this is dropped.
    jobs: mpsc::Sender<SnapshotJob>,
    notices: Arc<ChangeNotices>,
    outage: Arc<SnapshotOutage>,
    /// Cloned into every pending snapshot after a batch; its count tells how many there are.
    pending: Arc<()>,
    /// Cancels snapshots that no caller waits for.
    cancel_idle: CancelFlag,
    /// The first snapshot was requested, or is postponed until a call needs it.
    is_warm: AtomicBool,
    /// The user was warned that a call did not wait for its snapshot.
    has_told_slow: AtomicBool,
}

/// The running calls, and those of the same batch that have ended.
#[derive(Debug, Default)]
struct CallBatch {
    running: usize,
    calls: Vec<ToolCallId>,
    /// The snapshot before the batch; `true` when it is done.
    before: Option<watch::Receiver<bool>>,
    /// Cancels that snapshot.
    cancel: CancelFlag,
}

impl SnapshotRecorder {
    pub(crate) fn start(thread: RecorderThread) -> std::io::Result<Self> {
        let (jobs, asked) = mpsc::channel();
        let notices = Arc::clone(&thread.notices);
        let outage = Arc::clone(&thread.outage);
        // The first snapshot stores every file, so it is taken only when a call needs it.
        let is_new = !thread.history.has_taken_snapshots();
        std::thread::Builder::new()
            .name("snapshots".to_owned())
            .spawn(move || thread.run(&asked))?;
        Ok(Self {
            batch: Mutex::default(),
            jobs,
            notices,
            outage,
            pending: Arc::default(),
            cancel_idle: CancelFlag::new(),
            is_warm: AtomicBool::new(is_new),
            has_told_slow: AtomicBool::new(false),
        })
    }

    pub(crate) fn outage(&self) -> &Arc<SnapshotOutage> {
        &self.outage
    }

    /// The end of a call was reported, so its changes may be reported too.
    pub(crate) fn record_told(&self, call: &ToolCallId) {
        self.notices.record_told(call);
    }

    /// What these calls changed, or the whole run if the list is empty.
    pub(crate) fn list_changes(&self, calls: &[ToolCallId]) -> (Vec<ChangedFile>, usize) {
        self.notices.list_changes(calls)
    }

    /// A call of this tool may follow, so take the snapshot beforehand.
    pub(crate) fn prepare_for(&self, tool: &ToolName) {
        let may_change_files = !READING_TOOLS.contains(&tool.as_str());
        if may_change_files && self.lock_batch().running == 0 {
            self.prepare();
        }
    }

    /// Takes the first snapshot, which is the slowest, during the first model call, if this
    /// directory has earlier snapshots.
    pub(crate) fn warm_up(&self) {
        if !self.is_warm.swap(true, Ordering::Relaxed) {
            self.prepare();
        }
    }

    fn prepare(&self) {
        let _ = self.jobs.send(SnapshotJob::Prepare { cancel: self.cancel_idle.clone() });
    }

    /// Returns when a call, or a hook (which has no id), may begin: the snapshot is taken or was
    /// abandoned. Dropping the result marks the end of the call.
    pub(crate) async fn begin_call(
        self: Arc<Self>,
        call: Option<ToolCallId>,
        cancelled: impl Future<Output = ()>,
    ) -> BatchGuard {
        let (mut before, cancel) = {
            let mut batch = self.lock_batch();
            batch.running += 1;
            batch.calls.extend(call);
            if batch.running == 1 {
                let (done, before) = watch::channel(false);
                batch.before = Some(before);
                batch.cancel = CancelFlag::new();
                let cancel = batch.cancel.clone();
                let _ = self.jobs.send(SnapshotJob::Before { cancel, done });
            }
            (batch.before.clone(), batch.cancel.clone())
        };
        let running = BatchGuard(Arc::clone(&self));
        if let Some(before) = before.as_mut() {
            tokio::select! {
                // Fails when the thread has ended; then there is nothing to wait for.
                _ = before.wait_for(|is_done| *is_done) => {}
                () = cancelled => cancel.cancel(),
                () = tokio::time::sleep(BEFORE_LOOK_WAIT_MAX) => self.give_up_before_look(&cancel),
            }
        }
        running
    }

    /// A call waits only for a limited time. The snapshot is then cancelled, because it would
    /// contain half of the call's changes.
    fn give_up_before_look(&self, cancel: &CancelFlag) {
        cancel.cancel();
        if !self.has_told_slow.swap(true, Ordering::Relaxed) {
            self.notices.warn(format!(
                "scanning the files of this directory takes more than {} s: what the call changes \
                 cannot be undone; the scan continues when it has ended",
                BEFORE_LOOK_WAIT_MAX.as_secs()
            ));
        }
    }

    /// A call has ended. After the last one of a batch a snapshot is taken.
    fn end_call(&self) {
        let mut batch = self.lock_batch();
        batch.running = batch.running.saturating_sub(1);
        if batch.running == 0 {
            let calls = std::mem::take(&mut batch.calls);
            batch.before = None;
            let _ =
                self.jobs.send(SnapshotJob::After { calls, pending: Arc::clone(&self.pending) });
            if batch.cancel.is_cancelled() && self.has_told_slow.load(Ordering::Relaxed) {
                self.prepare();
            }
        }
    }

    /// Returns when all requested snapshots are done and reported, or at the limit.
    pub(crate) async fn wait_until_idle(&self, patience: Duration) {
        if Arc::strong_count(&self.pending) > 1 {
            self.wait_for(|done| SnapshotJob::Report { done }, patience).await;
        }
        self.notices.flush();
    }

    /// The same at the end of the session, when no call runs any more.
    pub(crate) async fn finish(&self, patience: Duration) {
        self.cancel_idle.cancel();
        self.wait_for(|done| SnapshotJob::Finish { done }, patience).await;
    }

    async fn wait_for(
        &self,
        build_job: impl FnOnce(oneshot::Sender<()>) -> SnapshotJob,
        patience: Duration,
    ) {
        let (done, answer) = oneshot::channel();
        if self.jobs.send(build_job(done)).is_ok() {
            let _ = tokio::time::timeout(patience, answer).await;
        }
    }

    fn lock_batch(&self) -> MutexGuard<'_, CallBatch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running call; dropping this marks its end.
#[derive(Debug)]
pub(crate) struct BatchGuard(Arc<SnapshotRecorder>);

impl Drop for BatchGuard {
    fn drop(&mut self) {
        self.0.end_call();
    }
}

/// How long a call waits for the snapshot before it. The first one of a large directory is the
/// slowest.
const BEFORE_LOOK_WAIT_MAX: Duration = Duration::from_secs(4);

/// Tools that change no files, so no snapshot is prepared for them.
const READING_TOOLS: [&str; 7] =
    ["Read", "Grep", "Glob", "TodoWrite", "WebFetch", "WebSearch", "AskUserQuestion"];
