//! Control groups for commands, where we may create them.
//!
//! They count processes and memory of a whole command, and are the only limit on the number of
//! root's processes. Optional: ordinary users usually cannot create them, and then a limit of the
//! user namespace counts processes.
//!
//! A group is used by one command at a time and reused for the next one, because creating one costs
//! a tenth of a start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::plan::SandboxLimits;

const ROOT: &str = "/sys/fs/cgroup";

/// The prefix of our groups; a process id and a number follow.
const PREFIX: &str = "windlass-";

/// Writing to it moves the calling thread. Only exists in version 1.
const TASKS_FILE: &str = "tasks";
const SELF_PID: &str = "0";

/// The usual number of concurrent commands.
const POOLED_MAX: usize = 8;

struct ControllerLimit {
    controller: &'static str,
    file: &'static str,
    value: u64,
}

fn controller_limits(limits: &SandboxLimits) -> [ControllerLimit; 2] {
    [
        ControllerLimit { controller: "pids", file: "pids.max", value: limits.processes },
        ControllerLimit {
            controller: "memory",
            file: "memory.limit_in_bytes",
            value: limits.memory,
        },
    ]
}

/// Groups without a command.
#[derive(Debug, Default)]
pub(crate) struct CgroupPool {
    free: Mutex<Vec<Cgroup>>,
}

/// The groups of one command; returned to the pool on drop.
#[derive(Debug)]
pub(crate) struct CgroupLease {
    pool: Arc<CgroupPool>,
    cgroup: Cgroup,
}

/// One group per available controller; removed on drop.
#[derive(Debug, Default)]
struct Cgroup {
    directories: Vec<PathBuf>,
    limits: SandboxLimits,
    counts_processes: bool,
    counts_memory: bool,
}

impl CgroupPool {
    pub(crate) fn lease(self: &Arc<Self>, limits: &SandboxLimits) -> CgroupLease {
        let free = lock(&self.free).pop();
        let fits = free.filter(|cgroup| cgroup.limits == *limits);
        let cgroup = fits.unwrap_or_else(|| Cgroup::create(limits));
        CgroupLease { pool: Arc::clone(self), cgroup }
    }
}

impl CgroupLease {
    pub(crate) fn counts_processes(&self) -> bool {
        self.cgroup.counts_processes
    }

    /// Is the memory of all processes counted together?
    pub(crate) fn counts_memory(&self) -> bool {
        self.cgroup.counts_memory
    }

    /// Moves this thread into the groups until the result is dropped: children it starts meanwhile
    /// are inside.
    pub(crate) fn enter(&self) -> io::Result<CgroupMembership<'_>> {
        let inside = CgroupMembership { cgroup: &self.cgroup };
        for directory in &self.cgroup.directories {
            std::fs::write(directory.join(TASKS_FILE), SELF_PID)?;
        }
        Ok(inside)
    }
}

impl Drop for CgroupLease {
    fn drop(&mut self) {
        let cgroup = std::mem::take(&mut self.cgroup);
        let mut free = lock(&self.pool.free);
        if free.len() < POOLED_MAX && cgroup.is_empty() {
            free.push(cgroup);
        }
    }
}

/// This thread is inside; dropping this moves it back.
#[derive(Debug)]
pub(crate) struct CgroupMembership<'a> {
    cgroup: &'a Cgroup,
}

impl Drop for CgroupMembership<'_> {
    fn drop(&mut self) {
        for outer in self.cgroup.directories.iter().filter_map(|directory| directory.parent()) {
            // The thread was there before, so this succeeds.
            let _ = std::fs::write(outer.join(TASKS_FILE), SELF_PID);
        }
    }
}

impl Cgroup {
    fn create(limits: &SandboxLimits) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let mut made = Self::default();
        made.limits = *limits;
        let Ok(ours) = std::fs::read_to_string("/proc/self/cgroup") else {
            return made;
        };
        for (names, path) in ours.lines().filter_map(parse_own_group) {
            for ControllerLimit { controller, file, value } in controller_limits(limits) {
                if !names.split(',').any(|one| one == controller) {
                    continue;
                }
                let parent = Path::new(ROOT).join(names).join(path);
                let directory = parent.join(&name);
                if std::fs::create_dir(&directory).is_err() {
                    continue;
                }
                let is_set = std::fs::write(directory.join(file), value.to_string()).is_ok();
                if !is_set || !directory.join(TASKS_FILE).exists() {
                    let _ = std::fs::remove_dir(&directory);
                    continue;
                }
                made.counts_processes |= controller == "pids";
                made.counts_memory |= controller == "memory";
                made.directories.push(directory);
                if number == 0 {
                    remove_stale_groups(&parent);
                }
            }
        }
        made
    }

    fn is_empty(&self) -> bool {
        self.directories.iter().all(|directory| {
            std::fs::read(directory.join(TASKS_FILE)).is_ok_and(|inmates| inmates.is_empty())
        })
    }
}

impl Drop for Cgroup {
    /// A group that is not empty cannot be removed; it only wastes a name.
    fn drop(&mut self) {
        for directory in &self.directories {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Removes groups left by killed processes.
fn remove_stale_groups(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let pid = rest.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// Parses a line `4:memory:/a/b`: the controllers and the path in their hierarchy.
fn parse_own_group(line: &str) -> Option<(&str, &str)> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some((controllers, path.strip_prefix('/').unwrap_or(path)))
}

/// No update under this lock can be left half done, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
