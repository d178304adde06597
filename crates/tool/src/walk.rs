//! Walks a directory for the searching tools, on several threads and within bounds.
//!
//! Leaves out what git ignores, the git directory itself, what deny rules hide, and everything
//! that is neither a directory nor a regular file. Follows no symbolic links, so it cannot go
//! round in circles or out of where it began. Files come in no order: whoever shows them sorts.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{AtFlags, Mode, OFlags};

use crate::file;
use crate::tool::Job;

/// After this a search returns what it has.
const TIME_MAX: Duration = Duration::from_secs(30);
const THREADS_MAX: usize = 8;

/// A walk under way.
pub(crate) struct Walk {
    job: Job,
    deadline: Instant,
    start: PathBuf,
    /// Where it starts, held open, if that is a directory.
    directory: Option<OwnedFd>,
    is_cut: AtomicBool,
    is_over: AtomicBool,
    looks: AtomicU64,
}

impl Walk {
    /// Where a search begins: a directory or a regular file, reached over no link.
    pub(crate) fn new(job: &Job, raw: Option<&str>) -> Result<Self, String> {
        let surroundings = &job.surroundings;
        let start = match raw {
            None => surroundings.cwd.clone(),
            Some(raw) => file::path_of(surroundings, raw)?,
        };
        if surroundings.is_hidden(&start) {
            return Err(format!("`{}` may not be read: a deny rule says so.", start.display()));
        }
        let directory = file::check_place(surroundings, &start)?;
        Ok(Self {
            job: job.clone(),
            deadline: Instant::now() + TIME_MAX,
            start,
            directory,
            is_cut: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            looks: AtomicU64::new(0),
        })
    }

    /// The path of a file from where the search began.
    pub(crate) fn below<'p>(&self, path: &'p Path) -> &'p Path {
        match path.strip_prefix(&self.start) {
            Ok(below) if !below.as_os_str().is_empty() => below,
            _ => path,
        }
    }

    /// Shows every regular file to a visitor, one visitor for each thread, until one of them says
    /// to stop, or out of time.
    pub(crate) fn each<V>(&self, visitor: impl Fn() -> V)
    where
        V: FnMut(&Path) -> bool + Send,
    {
        let surroundings = Arc::clone(&self.job.surroundings);
        let is_wanted = move |entry: &DirEntry| {
            entry.file_name() != ".git" && !surroundings.is_hidden(entry.path())
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let walk = WalkBuilder::new(&self.start)
            .hidden(false)
            .follow_links(false)
            .threads(threads.min(THREADS_MAX))
            .filter_entry(is_wanted)
            .build_parallel();
        walk.run(|| {
            let mut visit = visitor();
            Box::new(move |entry| {
                if self.must_stop() {
                    self.is_cut.store(true, Ordering::Relaxed);
                    return WalkState::Quit;
                }
                let Ok(entry) = entry else { return WalkState::Continue };
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && !visit(entry.path()) {
                    self.is_over.store(true, Ordering::Relaxed);
                }
                match self.is_over.load(Ordering::Relaxed) {
                    true => WalkState::Quit,
                    false => WalkState::Continue,
                }
            })
        });
    }

    /// Opens a file that was found, by its spelling alone.
    pub(crate) fn open(&self, path: &Path) -> Result<File, String> {
        match &self.directory {
            Some(directory) => file::open_below(directory, self.below(path), path),
            None => file::open(&self.job.surroundings, path).map(|opened| opened.file),
        }
    }

    fn start(&self) -> BorrowedFd<'_> {
        self.directory.as_ref().map_or(rustix::fs::CWD, AsFd::as_fd)
    }

    /// When a file was last changed. One that is gone by now counts as the oldest.
    pub(crate) fn modified(&self, path: &Path) -> SystemTime {
        changed(self.start(), self.below(path))
    }

    /// Tells for one thread when files were last changed.
    pub(crate) fn clock(&self) -> Clock<'_> {
        Clock { walk: self, folder: PathBuf::new(), held: None }
    }

    /// Cancelled or out of time. Asked often, also from inside a long file; the clock is asked now
    /// and then.
    pub(crate) fn must_stop(&self) -> bool {
        const EVERY: u64 = 64;
        let is_due = self.looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY);
        self.job.cancel.is_cancelled() || is_due && Instant::now() >= self.deadline
    }

    /// What the result does not show by itself.
    pub(crate) fn remark(&self) -> Option<String> {
        self.is_cut.load(Ordering::Relaxed).then(|| {
            let seconds = TIME_MAX.as_secs();
            format!("[Stopped after {seconds} s; not everything was searched. Narrow the search.]")
        })
    }
}

/// Tells when files were last changed. Files of one folder come one after the other, so the folder is
/// held: the way to it is gone once and not for each file.
pub(crate) struct Clock<'a> {
    walk: &'a Walk,
    folder: PathBuf,
    held: Option<OwnedFd>,
}

impl Clock<'_> {
    /// When a file was last changed. One that is gone by now counts as the oldest.
    pub(crate) fn modified(&mut self, path: &Path) -> SystemTime {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return SystemTime::UNIX_EPOCH;
        };
        if self.held.is_none() || self.folder != folder {
            self.held = self.hold(folder);
            folder.clone_into(&mut self.folder);
        }
        let (folder, name) = match &self.held {
            Some(held) => (held.as_fd(), Path::new(name)),
            None => (self.walk.start(), self.walk.below(path)),
        };
        changed(folder, name)
    }

    fn hold(&self, folder: &Path) -> Option<OwnedFd> {
        let below = folder.strip_prefix(&self.walk.start).ok()?;
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.walk.start(), below, flags, Mode::empty()).ok()
    }
}

fn changed(folder: BorrowedFd<'_>, name: &Path) -> SystemTime {
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return SystemTime::UNIX_EPOCH;
    };
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos)
}
