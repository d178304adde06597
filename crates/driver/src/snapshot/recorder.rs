//! Which calls are under way, and what the thread that looks is asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use windlass_vocabulary::notice::ChangedFile;
use windlass_vocabulary::{ToolCallId, ToolName};
use windlass_workspace::CancelFlag;

use super::change_notices::ChangeNotices;
use super::recorder_thread::{RecorderThread, SnapshotJob};

/// Has the working directory looked at around batches of calls.
#[derive(Debug)]
pub(crate) struct SnapshotRecorder {
    batch: Mutex<CallBatch>,
    /// Read by one thread, which does the jobs in their order and ends when this is gone.
    jobs: mpsc::Sender<SnapshotJob>,
    notices: Arc<ChangeNotices>,
    /// Shared with every look after a batch that is not over.
    pending: Arc<()>,
    /// Ends looks that nothing waits for.
    cancel_idle: CancelFlag,
    /// The first look was asked for, or is put off until a call needs it.
    is_warm: AtomicBool,
    /// A call did not wait for its look, and that was told.
    has_told_slow: AtomicBool,
}

/// The calls that are under way, and those that ran beside them and have ended.
#[derive(Debug, Default)]
struct CallBatch {
    running: usize,
    calls: Vec<ToolCallId>,
    /// The look before the batch: `true` when it is over.
    before: Option<watch::Receiver<bool>>,
    /// Ends that look early.
    cancel: CancelFlag,
}

impl SnapshotRecorder {
    pub(crate) fn start(thread: RecorderThread) -> std::io::Result<Self> {
        let (jobs, asked) = mpsc::channel();
        let notices = Arc::clone(&thread.notices);
        // Where none was taken before, one is taken only for a call: it keeps whatever is there.
        let is_new = !thread.history.has_taken_snapshots();
        std::thread::Builder::new()
            .name("snapshots".to_owned())
            .spawn(move || thread.run(&asked))?;
        Ok(Self {
            batch: Mutex::default(),
            jobs,
            notices,
            pending: Arc::default(),
            cancel_idle: CancelFlag::new(),
            is_warm: AtomicBool::new(is_new),
            has_told_slow: AtomicBool::new(false),
        })
    }

    /// The end of a call was told, and what it changed may be.
    pub(crate) fn record_told(&self, call: &ToolCallId) {
        self.notices.record_told(call);
    }

    /// What these calls changed, or the whole run if none is named.
    pub(crate) fn list_changes(&self, calls: &[ToolCallId]) -> (Vec<ChangedFile>, usize) {
        self.notices.list_changes(calls)
    }

    /// A call of this tool may come soon: the directory is looked at beforehand.
    pub(crate) fn prepare_for(&self, tool: &ToolName) {
        let may_change_files = !READING_TOOLS.contains(&tool.as_str());
        if may_change_files && self.lock_batch().running == 0 {
            self.prepare();
        }
    }

    /// The model is asked for the first time: meanwhile the first look, which takes longest, is taken, if
    /// snapshots of this directory were taken before.
    pub(crate) fn warm_up(&self) {
        if !self.is_warm.swap(true, Ordering::Relaxed) {
            self.prepare();
        }
    }

    fn prepare(&self) {
        let _ = self.jobs.send(SnapshotJob::Prepare { cancel: self.cancel_idle.clone() });
    }

    /// Returns when a call, or a hook, which has no id, may begin: the directory was looked at, or that
    /// was given up. It is over when what is returned is dropped.
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
                // It ends with an error when the thread is gone; then there is nothing to wait for.
                _ = before.wait_for(|is_done| *is_done) => {}
                () = cancelled => cancel.cancel(),
                () = tokio::time::sleep(BEFORE_LOOK_WAIT_MAX) => self.give_up_before_look(&cancel),
            }
        }
        running
    }

    /// A call does not wait for long. A look that went on beside it would see half of its work.
    fn give_up_before_look(&self, cancel: &CancelFlag) {
        cancel.cancel();
        if !self.has_told_slow.swap(true, Ordering::Relaxed) {
            self.notices.warn(format!(
                "looking at the files of this directory takes more than {} s: what the call changes \
                 cannot be undone; the look goes on when it has ended",
                BEFORE_LOOK_WAIT_MAX.as_secs()
            ));
        }
    }

    /// A call has ended. After the last of a batch the directory is looked at.
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

    /// Returns when every look that was asked for is over and told, or that takes too long.
    pub(crate) async fn wait_until_idle(&self, patience: Duration) {
        if Arc::strong_count(&self.pending) > 1 {
            self.wait_for(|done| SnapshotJob::Report { done }, patience).await;
        }
        self.notices.flush();
    }

    /// The same at the end of the session, when no work goes on any more.
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

/// A call that is under way: ended when this is dropped.
#[derive(Debug)]
pub(crate) struct BatchGuard(Arc<SnapshotRecorder>);

impl Drop for BatchGuard {
    fn drop(&mut self) {
        self.0.end_call();
    }
}

/// How long a call waits for the look before it; the first look at a large directory takes longest.
const BEFORE_LOOK_WAIT_MAX: Duration = Duration::from_secs(4);

/// Calls of these change no files, so nothing is prepared for them.
const READING_TOOLS: [&str; 7] =
    ["Read", "Grep", "Glob", "TodoWrite", "WebFetch", "WebSearch", "AskUserQuestion"];
