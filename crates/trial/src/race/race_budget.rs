//! One limit on money for all continuations of a race: each may spend what the others leave.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_assembly::session::fork_with_files::read_spending;
use windlass_host::command_error::CommandError;
use windlass_journal::SharedBudgetFile;
use windlass_vocabulary::MicroUsd;

/// The file that all of them draw on.
#[derive(Debug)]
pub(super) struct RaceBudget {
    path: PathBuf,
    limit: MicroUsd,
    file: Mutex<SharedBudgetFile>,
}

/// What one of them has to do with it.
#[derive(Clone, Debug)]
pub(super) struct RaceShare {
    budget: Arc<RaceBudget>,
    /// What its session had spent before the race.
    spent_before: MicroUsd,
}

impl RaceBudget {
    pub(super) fn create(path: PathBuf, limit: MicroUsd) -> Result<Arc<Self>, CommandError> {
        let file = SharedBudgetFile::create(&path, limit).map_err(|error| {
            CommandError::failure(format!("{} cannot be made: {error}", path.display()))
        })?;
        Ok(Arc::new(Self { path, limit, file: Mutex::new(file) }))
    }

    /// A share for the session in this journal.
    pub(super) fn add_share(self: &Arc<Self>, journal: &Path) -> Result<RaceShare, CommandError> {
        Ok(RaceShare { budget: Arc::clone(self), spent_before: read_spending(journal)? })
    }
}

impl RaceShare {
    /// What a continuation reads and writes the budget by: its standard input, which its commands do not
    /// have. The path leads nowhere else, and in a trial the file itself can only be read.
    pub(super) fn open_for_process(&self) -> Result<(Stdio, PathBuf), CommandError> {
        let path = &self.budget.path;
        if !cfg!(target_os = "linux") {
            return Ok((Stdio::null(), path.clone()));
        }
        let opened = File::options().read(true).append(true).open(path).and_then(|mut file| {
            // As an input it is empty, whatever is written to it.
            file.seek(SeekFrom::Start(INPUT_PLACE))?;
            Ok(file)
        });
        let opened = opened.map_err(|error| {
            CommandError::failure(format!("{} cannot be opened: {error}", path.display()))
        })?;
        Ok((Stdio::from(opened), PathBuf::from("/proc/self/fd/0")))
    }

    /// The session's own limit, in dollars: everything, if the others spend nothing.
    pub(super) fn own_limit(&self) -> String {
        let MicroUsd(micros) = self.spent_before + self.budget.limit;
        format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }

    /// Its process has ended, perhaps by a kill. What its journal leaves set aside stays so, the rest is
    /// for the others. Where the journal cannot be read, nothing is given back.
    pub(super) fn close(&self, session: &str, journal: &Path) {
        if let Ok(committed) = read_spending(journal) {
            let used = committed.less(self.spent_before);
            let mut file = self.budget.file.lock().unwrap_or_else(PoisonError::into_inner);
            // If it cannot be written, its last line stands.
            let _ = file.close_share(session, used);
        }
    }
}

/// Far behind the end of every budget.
const INPUT_PLACE: u64 = 1 << 40;
