//! Walks a directory for the searching tools, in a settled order and within bounds.
//!
//! Leaves out what git ignores, the git directory itself, what deny rules hide, and everything
//! that is neither a directory nor a regular file. Follows no symbolic links, so it cannot go
//! round in circles or out of where it began.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};

use crate::file;
use crate::tool::Job;

/// After this a search returns what it has.
const TIME_MAX: Duration = Duration::from_secs(30);

/// A walk under way.
pub(crate) struct Walk {
    job: Job,
    deadline: Instant,
    is_cut: bool,
}

impl Walk {
    pub(crate) fn new(job: &Job) -> Self {
        Self { job: job.clone(), deadline: Instant::now() + TIME_MAX, is_cut: false }
    }

    /// Where a search begins: a directory or a regular file, reached over no link.
    pub(crate) fn start(&self, raw: Option<&str>) -> Result<PathBuf, String> {
        let surroundings = &self.job.surroundings;
        let path = match raw {
            None => surroundings.cwd.clone(),
            Some(raw) => file::path_of(surroundings, raw)?,
        };
        if surroundings.hidden.covers(&path) {
            return Err(format!("`{}` may not be read: a deny rule says so.", path.display()));
        }
        file::check_place(surroundings, &path)?;
        Ok(path)
    }

    /// Every regular file below, sorted by name within each directory, until told to stop or out
    /// of time.
    pub(crate) fn each(&mut self, start: &Path, mut visit: impl FnMut(&Self, &Path) -> bool) {
        let surroundings = Arc::clone(&self.job.surroundings);
        let is_wanted = move |entry: &DirEntry| {
            entry.file_name() != ".git" && !surroundings.hidden.covers(entry.path())
        };
        let walk = WalkBuilder::new(start)
            .hidden(false)
            .follow_links(false)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(is_wanted)
            .build();
        for entry in walk.flatten() {
            if self.must_stop() {
                self.is_cut = true;
                return;
            }
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if is_file && !visit(self, entry.path()) {
                return;
            }
        }
    }

    /// Cancelled or out of time. Asked often, also from inside a long file.
    pub(crate) fn must_stop(&self) -> bool {
        self.job.cancel.is_cancelled() || Instant::now() >= self.deadline
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    /// What the result does not show by itself.
    pub(crate) fn remark(&self) -> Option<String> {
        self.is_cut.then(|| {
            let seconds = TIME_MAX.as_secs();
            format!("[Stopped after {seconds} s; not everything was searched. Narrow the search.]")
        })
    }
}
