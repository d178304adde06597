//! A control group for one command, where we may make one.
//!
//! Counts processes and memory of the whole command. It is the only thing that bounds the number
//! of processes of root. Used when it is there, not required: on most machines of ordinary users it
//! is not, and there a limit of the user namespace counts processes instead.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::Limits;

const ROOT: &str = "/sys/fs/cgroup";

/// The groups one command runs in; removed with the value.
#[derive(Debug, Default)]
pub(crate) struct Cgroup {
    directories: Vec<PathBuf>,
    counts_processes: bool,
}

impl Cgroup {
    /// Makes the groups that can be made.
    pub(crate) fn make(limits: &Limits) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-{}-{number}", std::process::id());
        let mut made = Self::default();
        let Ok(ours) = std::fs::read_to_string("/proc/self/cgroup") else {
            return made;
        };
        for (controllers, path) in ours.lines().filter_map(own_group) {
            for (controller, file, value) in [
                ("pids", "pids.max", limits.processes),
                ("memory", "memory.limit_in_bytes", limits.memory),
            ] {
                if !controllers.split(',').any(|one| one == controller) {
                    continue;
                }
                let directory = Path::new(ROOT).join(controllers).join(path).join(&name);
                if std::fs::create_dir(&directory).is_err() {
                    continue;
                }
                let is_set = std::fs::write(directory.join(file), value.to_string()).is_ok();
                made.counts_processes |= is_set && controller == "pids";
                made.directories.push(directory);
            }
        }
        made
    }

    /// Is the number of processes bounded?
    pub(crate) fn counts_processes(&self) -> bool {
        self.counts_processes
    }

    /// The files that take in whoever writes a process id to them.
    pub(crate) fn doors(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.directories.iter().map(|directory| directory.join("cgroup.procs"))
    }
}

impl Drop for Cgroup {
    /// A group that is not empty stays; it holds nothing but a name.
    fn drop(&mut self) {
        for directory in &self.directories {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Of a line `4:memory:/a/b`: the controllers and the path below their mount.
fn own_group(line: &str) -> Option<(&str, &str)> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some((controllers, path.strip_prefix('/').unwrap_or(path)))
}
