//! The queue of folders to walk, shared by a few threads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

use super::walk::{FolderOutcome, WalkJob};
use crate::cancel_flag::CancelFlag;
use crate::content_filter::ContentFilter;
use crate::digest::SnapshotId;
use crate::error::WorkspaceError;
use crate::options::WorkspaceLimits;
use crate::raw_stat::device_of;
use crate::root_folder::{FileStamp, RootFolder};
use crate::store::ContentStore;

/// A file changed this shortly before it was read may change again with an equal time stamp.
const SETTLE_NANOS: i128 = 2_000_000_000;

/// State shared by the threads of one look.
pub(crate) struct Walker<'a> {
    pub(crate) root: &'a RootFolder,
    pub(crate) store: &'a ContentStore,
    pub(crate) settings: WalkSettings<'a>,
    pub(crate) bytes_read: AtomicU64,
    started: Instant,
    wall_nanos: i128,
    /// Device and inode of the store and of the excluded folders: they may lie below the root.
    excluded: Vec<(u64, u64)>,
    paths: AtomicU64,
    has_failed: AtomicBool,
    large_file: Mutex<()>,
    queue: Mutex<WalkQueue>,
    work_came: Condvar,
}

#[derive(Default)]
struct WalkQueue {
    jobs: Vec<WalkJob>,
    busy: usize,
    waiting: usize,
    /// Indexed by node; a folder has a higher number than its parent.
    outcomes: Vec<Option<FolderOutcome>>,
    failure: Option<WorkspaceError>,
}

#[derive(Clone, Copy)]
pub(crate) struct WalkSettings<'a> {
    pub(crate) limits: &'a WorkspaceLimits,
    pub(crate) ignore_patterns: &'a [String],
    pub(crate) excluded_folders: &'a [PathBuf],
    pub(crate) content_filter: &'a ContentFilter,
    pub(crate) keeps_refused: bool,
    pub(crate) refers_to_packs: bool,
    pub(crate) may_trust_cache: bool,
    /// The cache comes from an earlier look of this process.
    pub(crate) keeps_coverage: bool,
    /// What these cover is covered, whatever the rules say now.
    pub(crate) covered_in: &'a [SnapshotId],
    /// The store may lack contents that the cache names.
    pub(crate) must_ask_store: bool,
    pub(crate) cancel: &'a CancelFlag,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(
        root: &'a RootFolder,
        store: &'a ContentStore,
        settings: WalkSettings<'a>,
    ) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let excluded = settings.excluded_folders.iter().map(PathBuf::as_path);
        let excluded = excluded.chain([store.folder()]);
        Self {
            root,
            store,
            settings,
            bytes_read: AtomicU64::new(0),
            started: Instant::now(),
            wall_nanos: i128::try_from(wall.as_nanos()).unwrap_or(0),
            excluded: excluded
                .filter_map(|path| rustix::fs::stat(path).ok())
                .map(|stat| (device_of(&stat), stat.st_ino))
                .collect(),
            paths: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            large_file: Mutex::new(()),
            queue: Mutex::default(),
            work_came: Condvar::new(),
        }
    }

    /// Walks the whole tree. Returns the outcomes by node, and the number of bytes read.
    pub(crate) fn run(
        self,
        root: WalkJob,
        threads: usize,
    ) -> Result<(Vec<Option<FolderOutcome>>, u64), WorkspaceError> {
        self.push(root);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If no thread can be started, the calling thread does all the work.
                let helper = std::thread::Builder::new().name("look".to_owned());
                if helper.spawn_scoped(scope, || self.work()).is_err() {
                    break;
                }
            }
            self.work();
        });
        let queue = self.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        match queue.failure {
            Some(failure) => Err(failure),
            None => Ok((queue.outcomes, self.bytes_read.into_inner())),
        }
    }

    pub(crate) fn push(&self, mut job: WalkJob) -> usize {
        let mut queue = self.queue();
        let node = queue.outcomes.len();
        job.node = node;
        queue.outcomes.push(None);
        queue.jobs.push(job);
        // Without waiters, a notification would be a wasted system call per folder.
        let is_awaited = queue.waiting > 0;
        drop(queue);
        if is_awaited {
            self.work_came.notify_one();
        }
        node
    }

    fn work(&self) {
        while let Some(job) = self.take_job() {
            let _done = BusyMark(self);
            match self.walk_folder(&job) {
                Ok(outcome) => {
                    if let Some(place) = self.queue().outcomes.get_mut(job.node) {
                        *place = Some(outcome);
                    }
                }
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// Waits for a job; `None` when all work is done or the look has failed. `check_stop` bounds
    /// every running job, so this wait ends too.
    fn take_job(&self) -> Option<WalkJob> {
        let mut queue = self.queue();
        loop {
            if self.has_failed.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                return None;
            }
            queue.waiting += 1;
            queue = self.work_came.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.waiting -= 1;
        }
    }

    fn fail(&self, failure: WorkspaceError) {
        self.has_failed.store(true, Ordering::Relaxed);
        self.queue().failure.get_or_insert(failure);
    }

    pub(crate) fn check_cancel(&self) -> Result<(), WorkspaceError> {
        match self.settings.cancel.is_cancelled() || self.has_failed.load(Ordering::Relaxed) {
            true => Err(WorkspaceError::Cancelled),
            false => Ok(()),
        }
    }

    pub(crate) fn check_stop(&self) -> Result<(), WorkspaceError> {
        self.check_cancel()?;
        match self.started.elapsed() > self.settings.limits.look_time {
            true => Err(WorkspaceError::TooSlow(self.settings.limits.look_time)),
            false => Ok(()),
        }
    }

    pub(crate) fn count_paths(&self, count: usize) -> Result<(), WorkspaceError> {
        let before = self.paths.fetch_add(count as u64, Ordering::Relaxed);
        match before + count as u64 > self.settings.limits.paths {
            true => Err(WorkspaceError::TooManyPaths(self.settings.limits.paths)),
            false => Ok(()),
        }
    }

    /// Old enough that any later write changes the stamp. Times in the future never are.
    pub(crate) fn is_settled(&self, stamp: &FileStamp) -> bool {
        let nanos =
            |seconds: i64, nanos: u32| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let modified = nanos(stamp.modified_seconds, stamp.modified_nanos);
        let changed = nanos(stamp.changed_seconds, stamp.changed_nanos);
        self.wall_nanos - modified.max(changed) >= SETTLE_NANOS
    }

    pub(crate) fn is_excluded(&self, stat: &Stat) -> bool {
        self.excluded.contains(&(device_of(stat), stat.st_ino))
    }

    pub(crate) fn large_file_turn(&self) -> MutexGuard<'_, ()> {
        self.large_file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, WalkQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one running job. Dropped on panic too, so that the other threads do not wait for it.
struct BusyMark<'a, 'b>(&'a Walker<'b>);

impl Drop for BusyMark<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_failed.store(true, Ordering::Relaxed);
        }
        let mut queue = self.0.queue();
        queue.busy -= 1;
        // The last job wakes the waiting threads, so that they end.
        let is_end = queue.busy == 0 && queue.jobs.is_empty();
        let must_wake = queue.waiting > 0 && (is_end || self.0.has_failed.load(Ordering::Relaxed));
        drop(queue);
        if must_wake {
            self.0.work_came.notify_all();
        }
    }
}
