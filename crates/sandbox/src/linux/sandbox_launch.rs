//! Starts one prepared command, and cleans up after it.
//!
//! The caller keeps its own pipes, process group and deadline; it passes a function that spawns a
//! prepared `Command` in any way. The launcher's descriptors are inheritable only while that
//! function runs, and only one command is started at a time, so that none of them leaks to another
//! sandbox. Afterwards, [`SandboxLaunch::clean_up`] waits until nothing of it runs.

use std::ffi::OsString;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;
use rustix::pipe::PipeFlags;

use super::cgroup::CgroupLease;
use super::guarded_root::{GuardedRoot, RevertedProtectedFile};
use super::mount_renewal::RunningSandbox;
use super::namespace_status;

/// How long killed processes may take to exit.
const EXIT_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) enum SandboxLaunchMethod {
    /// Bubblewrap, with this seccomp filter.
    Bubblewrap { filter: Arc<[u8]> },
    /// Our entry, which restricts itself.
    Entry,
}

/// A command that is ready to start, and then to be cleaned up.
#[derive(Debug)]
pub struct SandboxLaunch {
    pub(super) launcher: SandboxLaunchMethod,
    pub(super) program: PathBuf,
    /// Before the options with descriptors.
    pub(super) arguments: Vec<OsString>,
    /// After them.
    pub(super) final_arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) directory: PathBuf,
    pub(super) cgroup: Option<CgroupLease>,
    pub(super) guarded_roots: Vec<Arc<GuardedRoot>>,
    /// Created for this command.
    pub(super) scratch: Option<PathBuf>,
    pub(super) running: Arc<RunningSandbox>,
    pub(super) pending_end: SandboxPendingEnd,
}

#[derive(Debug, Default)]
pub(super) enum SandboxPendingEnd {
    #[default]
    Nothing,
    /// The first process of the namespace, as bubblewrap reports it.
    Namespace,
    /// The end of all processes that hold the other end of this pipe.
    Pipe(OwnedFd),
}

/// The result of cleaning up after a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxCleanup {
    /// Protected files that it created or changed, and that were reverted.
    pub reverted: Vec<RevertedProtectedFile>,
    /// Protected files that were created or changed while a background command ran. It is unknown
    /// who did it, so they were not reverted.
    pub left_alone: Vec<PathBuf>,
    pub problem: Option<String>,
    /// Did the command itself end, according to the launcher? If not, and the launcher was not
    /// killed, the command never started, and may be prepared and tried once more.
    pub has_ended: bool,
}

/// Descriptors are inheritable for one start at a time.
pub(super) static SPAWN_LOCK: Mutex<()> = Mutex::new(());

impl SandboxLaunch {
    /// Starts the command: `start` gets a command with program, arguments, environment and
    /// directory, adds its own pipes and process group, and spawns it.
    ///
    /// The calling thread must outlive the command: the kernel ends it with that thread. All other
    /// descriptors of this process become close-on-exec.
    ///
    /// # Errors
    ///
    /// The error of `start`, or of creating the pipes.
    pub fn spawn<T>(&mut self, start: impl FnOnce(Command) -> io::Result<T>) -> io::Result<T> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().current_dir(&self.directory);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let _turn = SPAWN_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let (ours, theirs) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let mut theirs = vec![("--json-status-fd", theirs)];
        if let SandboxLaunchMethod::Bubblewrap { filter } = &self.launcher {
            theirs.push(("--seccomp", create_sealed_file(filter)?));
        }
        // All other open descriptors must not leak to the command.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        for (option, descriptor) in &theirs {
            if matches!(self.launcher, SandboxLaunchMethod::Bubblewrap { .. }) {
                command.arg(option).arg(descriptor.as_raw_fd().to_string());
            }
            rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        command.args(&self.final_arguments);
        let inside = self.cgroup.as_ref().map(CgroupLease::enter).transpose()?;
        let started = start(command)?;
        drop(inside);
        self.pending_end = match self.launcher {
            SandboxLaunchMethod::Bubblewrap { .. } => {
                self.running.set_status(ours);
                self.guarded_roots.iter().for_each(|root| root.add_sandbox(&self.running));
                SandboxPendingEnd::Namespace
            }
            SandboxLaunchMethod::Entry => SandboxPendingEnd::Pipe(ours),
        };
        Ok(started)
    }

    /// The command moves to the background. Returns whether protected files can be guarded there.
    pub fn continue_in_background(&mut self) -> bool {
        match self.launcher {
            SandboxLaunchMethod::Bubblewrap { .. } => {
                self.guarded_roots.iter().for_each(|root| root.continue_in_background());
                true
            }
            SandboxLaunchMethod::Entry => self.guarded_roots.is_empty(),
        }
    }

    /// Must be called when the launcher has ended or was killed, with its whole process group. Ends
    /// the rest of the command, waits for it, and reverts its changes to protected files. Blocks
    /// for at most a few seconds, usually not at all.
    #[must_use]
    pub fn clean_up(mut self) -> SandboxCleanup {
        self.finish()
    }

    fn finish(&mut self) -> SandboxCleanup {
        let (is_gone, has_ended) = match std::mem::take(&mut self.pending_end) {
            SandboxPendingEnd::Nothing => (true, false),
            SandboxPendingEnd::Namespace => {
                let status = self.running.read_status().unwrap_or_default();
                (status.kill(EXIT_DEADLINE), status.has_ended)
            }
            SandboxPendingEnd::Pipe(pipe) => {
                (drain_until_closed(&pipe, Instant::now() + EXIT_DEADLINE), true)
            }
        };
        let problem = (!is_gone).then(|| "a process of the command could not be ended".to_owned());
        let mut cleanup = SandboxCleanup { problem, has_ended, ..SandboxCleanup::default() };
        for guarded in self.guarded_roots.drain(..) {
            let changes = guarded.settle();
            cleanup.reverted.extend(changes.reverted);
            cleanup.left_alone.extend(changes.left_alone);
        }
        if let Some(scratch) = self.scratch.take() {
            let _ = std::fs::remove_dir_all(scratch);
        }
        self.cgroup = None;
        cleanup
    }
}

impl Drop for SandboxLaunch {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Creates a sealed memory file, which no process can change.
fn create_sealed_file(program: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = std::fs::File::from(rustix::fs::memfd_create("rules", flags)?);
    file.write_all(program)?;
    file.rewind()?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// Reads and discards until all other ends are closed.
fn drain_until_closed(pipe: &OwnedFd, deadline: Instant) -> bool {
    let mut chunk = [0; 512];
    while namespace_status::wait_readable(pipe, deadline) {
        match rustix::io::read(pipe, &mut chunk) {
            Ok(0) => return true,
            Ok(_) if Instant::now() < deadline => {}
            _ => return false,
        }
    }
    false
}
