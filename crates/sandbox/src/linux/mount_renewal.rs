//! Renews mounts of a running sandbox, in another process: only a single-threaded one may enter the
//! sandbox's namespaces.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags};

use super::namespace_status::{self, NamespaceStatus};
use super::sandbox_launch::SPAWN_LOCK;
use crate::probe_options::EntryProgram;

/// It normally takes some milliseconds.
const DEADLINE: Duration = Duration::from_secs(10);

/// A starting or running sandbox, with its first process once the launcher has reported it.
#[derive(Debug)]
pub(super) struct RunningSandbox {
    entry: EntryProgram,
    status: OnceLock<OwnedFd>,
    told: Mutex<Vec<u8>>,
}

impl RunningSandbox {
    pub(super) fn new(entry: EntryProgram) -> Self {
        Self { entry, status: OnceLock::new(), told: Mutex::default() }
    }

    /// The pipe on which its launcher reports it.
    pub(super) fn set_status(&self, status: OwnedFd) {
        let _ = self.status.set(status);
    }

    /// What was reported so far. `None` if it was not started.
    pub(super) fn read_status(&self) -> Option<NamespaceStatus> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        Some(NamespaceStatus::read(self.status.get()?, &mut told))
    }

    /// Mounts a file as it is now. Returns whether that worked.
    pub(super) fn hold_again(&self, file: &Path) -> bool {
        let Some(first) = self.read_status().and_then(|status| status.find_first_process()) else {
            return false;
        };
        let mut command = Command::new(&self.entry.program);
        command.args(&self.entry.arguments).arg("hold").arg(first.number.to_string()).arg(file);
        command.env_clear().current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = {
            let _turn = SPAWN_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
            command.spawn()
        };
        let Ok(mut child) = started else { return false };
        let opened = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .and_then(|child| rustix::process::pidfd_open(child, PidfdFlags::empty()).ok());
        let deadline = Instant::now() + DEADLINE;
        if !opened.is_some_and(|opened| namespace_status::wait_readable(&opened, deadline)) {
            let _ = child.kill();
        }
        child.wait().is_ok_and(|status| status.success())
    }
}
