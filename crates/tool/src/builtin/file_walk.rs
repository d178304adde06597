//! Walks a directory for the search tools, on several threads and within limits.
//!
//! Skips what git ignores, the git directory, what deny rules hide, places where keys are kept, and
//! everything other than directories and regular files. Follows no symlinks, so it cannot loop or leave the start
//! directory. The order is arbitrary: the caller sorts.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{AtFlags, Mode, OFlags};

use crate::file;
use crate::linked_secrets::{LinkedSecretFiles, has_other_names};
use crate::tool::ToolCallContext;

/// After this time a search returns what it has found.
const TIME_MAX: Duration = Duration::from_secs(30);
const THREADS_MAX: usize = 8;

pub(crate) struct FileWalk {
    call: ToolCallContext,
    deadline: Instant,
    start_path: PathBuf,
    /// The start directory, held open.
    directory: Option<OwnedFd>,
    has_timed_out: AtomicBool,
    is_stopped: AtomicBool,
    stop_checks: AtomicU64,
    /// Computed when the first file with several hard links is found.
    linked_secrets: OnceLock<Result<LinkedSecretFiles, String>>,
}

impl FileWalk {
    /// Starts at a directory or regular file, reached without symlinks.
    pub(crate) fn new(call: &ToolCallContext, raw: Option<&str>) -> Result<Self, String> {
        let context = &call.tool_context;
        let start = match raw {
            None => context.files.cwd.clone(),
            Some(raw) => file::resolve_path(&context.files, raw)?,
        };
        if context.hidden_paths.covers(&start) {
            return Err(format!("`{}` may not be read: a deny rule says so.", start.display()));
        }
        let directory = file::open_search_root(&context.files, &start)?;
        Ok(Self {
            call: call.clone(),
            deadline: Instant::now() + TIME_MAX,
            start_path: start,
            directory,
            has_timed_out: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            stop_checks: AtomicU64::new(0),
            linked_secrets: OnceLock::new(),
        })
    }

    pub(crate) fn relative_path<'p>(&self, path: &'p Path) -> &'p Path {
        match path.strip_prefix(&self.start_path) {
            Ok(below) if !below.as_os_str().is_empty() => below,
            _ => path,
        }
    }

    /// Passes every regular file to a visitor, one per thread, until a visitor stops the walk or
    /// the time is up.
    pub(crate) fn visit_files<V>(&self, visitor: impl Fn() -> V)
    where
        V: FnMut(&Path) -> bool + Send,
    {
        let context = Arc::clone(&self.call.tool_context);
        let secrets = context.hidden_paths.list_secrets_below(&self.start_path);
        let is_wanted = move |entry: &DirEntry| {
            entry.file_name() != ".git"
                && !context.hidden_paths.covers(entry.path())
                && !secrets.iter().any(|secret| entry.path() == secret)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let walk = WalkBuilder::new(&self.start_path)
            .hidden(false)
            .follow_links(false)
            .threads(threads.min(THREADS_MAX))
            .filter_entry(is_wanted)
            .build_parallel();
        walk.run(|| {
            let mut visit = visitor();
            Box::new(move |entry| {
                if self.should_stop() {
                    self.has_timed_out.store(true, Ordering::Relaxed);
                    return WalkState::Quit;
                }
                let Ok(entry) = entry else { return WalkState::Continue };
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && !visit(entry.path()) {
                    self.is_stopped.store(true, Ordering::Relaxed);
                }
                match self.is_stopped.load(Ordering::Relaxed) {
                    true => WalkState::Quit,
                    false => WalkState::Continue,
                }
            })
        });
    }

    /// Opens a file that the walk has found, without following symlinks.
    pub(crate) fn open_file(&self, path: &Path) -> Result<File, String> {
        let file = match &self.directory {
            Some(directory) => file::open_beneath(directory, self.relative_path(path), path)?,
            None => file::open_regular_file(&self.call.tool_context.files, path)?.file,
        };
        let metadata = file.metadata().map_err(|error| format!("`{}`: {error}", path.display()))?;
        if has_other_names(&metadata) {
            let list = || LinkedSecretFiles::list(&self.call.tool_context);
            match self.linked_secrets.get_or_init(list) {
                Ok(linked) => linked.refuse(path, &metadata)?,
                Err(why) => return Err(why.clone()),
            }
        }
        Ok(file)
    }

    fn root_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_ref().map_or(rustix::fs::CWD, AsFd::as_fd)
    }

    /// The modification time. A file that was deleted meanwhile counts as oldest.
    pub(crate) fn modified_time(&self, path: &Path) -> SystemTime {
        read_modified_time(self.root_fd(), self.relative_path(path))
    }

    /// Reads modification times for one thread.
    pub(crate) fn modified_time_reader(&self) -> ModifiedTimeReader<'_> {
        ModifiedTimeReader { walk: self, folder: PathBuf::new(), directory_fd: None }
    }

    /// Cancelled or out of time. Called often, also within a long file, so the clock is read only
    /// sometimes.
    pub(crate) fn should_stop(&self) -> bool {
        const EVERY: u64 = 64;
        let is_due = self.stop_checks.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY);
        self.call.cancel.is_cancelled() || is_due && Instant::now() >= self.deadline
    }

    pub(crate) fn render_remark(&self) -> Option<String> {
        self.has_timed_out.load(Ordering::Relaxed).then(|| {
            let seconds = TIME_MAX.as_secs();
            format!("[Stopped after {seconds} s; not everything was searched. Narrow the search.]")
        })
    }
}

/// Reads modification times. Files of one folder come in sequence, so its descriptor is kept open:
/// the path is resolved once per folder and not once per file.
pub(crate) struct ModifiedTimeReader<'a> {
    walk: &'a FileWalk,
    folder: PathBuf,
    directory_fd: Option<OwnedFd>,
}

impl ModifiedTimeReader<'_> {
    /// The modification time. A file that was deleted meanwhile counts as oldest.
    pub(crate) fn modified_time(&mut self, path: &Path) -> SystemTime {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return SystemTime::UNIX_EPOCH;
        };
        if self.directory_fd.is_none() || self.folder != folder {
            self.directory_fd = self.open_directory(folder);
            folder.clone_into(&mut self.folder);
        }
        let (folder, name) = match &self.directory_fd {
            Some(held) => (held.as_fd(), Path::new(name)),
            None => (self.walk.root_fd(), self.walk.relative_path(path)),
        };
        read_modified_time(folder, name)
    }

    fn open_directory(&self, folder: &Path) -> Option<OwnedFd> {
        let below = folder.strip_prefix(&self.walk.start_path).ok()?;
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let flags = file::PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.walk.root_fd(), below, flags, Mode::empty()).ok()
    }
}

fn read_modified_time(folder: BorrowedFd<'_>, name: &Path) -> SystemTime {
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return SystemTime::UNIX_EPOCH;
    };
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos)
}
