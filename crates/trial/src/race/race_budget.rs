//! The common budget of a race: each continuation may spend what the others leave.
//!
//! Where a process can reach an open file again (Linux), the file has no name: commands of a
//! continuation cannot find it, in a copy either, and nothing is left when the race ends.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_assembly::session::fork_with_files::read_spending;
use windlass_host::command_error::CommandError;
use windlass_journal::SharedBudgetFile;
use windlass_vocabulary::MicroUsd;

/// The file through which all continuations share the budget.
#[derive(Debug)]
pub(super) struct RaceBudget {
    path: PathBuf,
    /// The file without a name, from which others are opened.
    unnamed: Option<File>,
    limit: MicroUsd,
    file: Mutex<SharedBudgetFile>,
}

/// The part of one continuation.
#[derive(Clone, Debug)]
pub(super) struct RaceShare {
    budget: Arc<RaceBudget>,
    /// What its session had spent before the race.
    spent_before: MicroUsd,
}

impl RaceBudget {
    pub(super) fn create(path: PathBuf, limit: MicroUsd) -> Result<Arc<Self>, CommandError> {
        let failed = |error: std::io::Error| {
            CommandError::failure(format!("{} cannot be made: {error}", path.display()))
        };
        let file = SharedBudgetFile::create(&path, limit).map_err(failed)?;
        let unnamed = match cfg!(target_os = "linux") {
            true => {
                let opened = File::options().read(true).append(true).open(&path);
                std::fs::remove_file(&path).map_err(failed)?;
                Some(opened.map_err(failed)?)
            }
            false => None,
        };
        Ok(Arc::new(Self { path, unnamed, limit, file: Mutex::new(file) }))
    }

    /// Adds a share for the session with this journal.
    pub(super) fn add_share(self: &Arc<Self>, journal: &Path) -> Result<RaceShare, CommandError> {
        Ok(RaceShare { budget: Arc::clone(self), spent_before: read_spending(journal)? })
    }
}

impl RaceShare {
    /// The stdin through which a continuation reads and writes the budget, and its path. Its
    /// commands do not inherit that stdin, `/proc/self/fd/0` leads nowhere else for them, and they
    /// cannot look into processes of ours.
    pub(super) fn open_for_process(&self) -> Result<(Stdio, PathBuf), CommandError> {
        let path = &self.budget.path;
        let Some(unnamed) = &self.budget.unnamed else {
            return Ok((Stdio::null(), path.clone()));
        };
        // Opened anew, because a lock belongs to what one call has opened.
        let own = format!("/proc/self/fd/{}", unnamed.as_raw_fd());
        let opened = File::options().read(true).append(true).open(own).and_then(|mut file| {
            // Positioned past the end, so that reading it as stdin yields nothing.
            file.seek(SeekFrom::Start(INPUT_PLACE))?;
            Ok(file)
        });
        let opened = opened.map_err(|error| {
            CommandError::failure(format!("{} cannot be opened: {error}", path.display()))
        })?;
        Ok((Stdio::from(opened), PathBuf::from("/proc/self/fd/0")))
    }

    /// The session's own limit in dollars: all of the budget, in case the others spend nothing.
    pub(super) fn own_limit(&self) -> String {
        let MicroUsd(micros) = self.spent_before + self.budget.limit;
        format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }

    /// Closes the share after the process has ended or was killed. What its journal set aside stays
    /// reserved, the rest is released. If the journal cannot be read, nothing is released.
    pub(super) fn close(&self, session: &str, journal: &Path) {
        if let Ok(committed) = read_spending(journal) {
            let used = committed.less(self.spent_before);
            let mut file = self.budget.file.lock().unwrap_or_else(PoisonError::into_inner);
            // On failure, the share's last line in the file stays valid.
            let _ = file.close_share(session, used);
        }
    }
}

/// Far beyond the end of any budget file.
const INPUT_PLACE: u64 = 1 << 40;
