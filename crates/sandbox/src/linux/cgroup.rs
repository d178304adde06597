//! A control group for one command, where we may make one.
//!
//! Counts processes and memory of the whole command. It is the only thing that bounds the number
//! of processes of root. Used when it is there, not required: on most machines of ordinary users it
//! is not, and there a limit of the user namespace counts processes instead.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::Limits;

const ROOT: &str = "/sys/fs/cgroup";

/// Takes in the thread that writes this to it. Only the first version of control groups has it.
const DOOR: &str = "tasks";
const ONESELF: &str = "0";

/// The groups one command runs in; removed with the value.
#[derive(Debug, Default)]
pub(crate) struct Cgroup {
    directories: Vec<PathBuf>,
    counts_processes: bool,
    counts_memory: bool,
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
                if !is_set || !directory.join(DOOR).exists() {
                    let _ = std::fs::remove_dir(&directory);
                    continue;
                }
                made.counts_processes |= controller == "pids";
                made.counts_memory |= controller == "memory";
                made.directories.push(directory);
            }
        }
        made
    }

    /// Is the number of processes bounded?
    pub(crate) fn counts_processes(&self) -> bool {
        self.counts_processes
    }

    /// Is the memory of all of them together?
    pub(crate) fn counts_memory(&self) -> bool {
        self.counts_memory
    }

    /// Moves this thread in until the answer is dropped: what it starts meanwhile is born inside.
    pub(crate) fn enter(&self) -> io::Result<Inside<'_>> {
        let inside = Inside { of: self };
        for directory in &self.directories {
            std::fs::write(directory.join(DOOR), ONESELF)?;
        }
        Ok(inside)
    }
}

/// This thread is inside; dropping this moves it back to where it was.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    of: &'a Cgroup,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        for outer in self.of.directories.iter().filter_map(|directory| directory.parent()) {
            // It was there before, and nothing has changed since.
            let _ = std::fs::write(outer.join(DOOR), ONESELF);
        }
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
