//! Everything one process started, to be ended as one.
//!
//! Most of it shares the group. What left the group is found in the table of processes: by its
//! session, by its ancestors, by the mark in its environment, by the pipes it writes to. Only a
//! process that gave up all of these at once escapes, and only where nothing confines it.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::time::Instant;

use super::process_table::{self, ProcessEntry};

/// A tree that forks while it is killed is killed again, so often.
const ROUNDS_MAX: usize = 10;
/// A killed process dies when it is next scheduled, which takes a while on a busy machine; it must not be
/// reported as ended before. Only one that the kernel does not let go costs the whole wait.
const KILL_WAIT_MAX: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Process numbers cannot all be used up in this time.
const PID_REUSE_MIN: Duration = Duration::from_secs(2);

/// A child and its descendants. Whatever is left of them is killed when this is dropped, so a call
/// that is given up leaves nothing behind.
#[derive(Debug)]
pub(super) struct ProcessTree {
    leader: Pid,
    mark: String,
    pipes: Vec<u64>,
    start_time: u64,
    started: std::time::Instant,
    /// Can have no descendants outside the group.
    is_leaf_program: bool,
    is_gone: bool,
}

impl ProcessTree {
    pub(super) fn from_child(
        child: &tokio::process::Child,
        mark: String,
        is_plain: bool,
    ) -> Option<Self> {
        let id = i32::try_from(child.id()?).ok()?;
        let leader = Pid::from_raw(id)?;
        let began = match is_plain {
            true => 0,
            false => process_table::read_process(id).map_or(0, |entry| entry.start_time),
        };
        let out = child.stdout.as_ref().map(AsFd::as_fd);
        let err = child.stderr.as_ref().map(AsFd::as_fd);
        let pipes = [out, err].into_iter().flatten();
        let pipes = pipes.filter_map(|pipe| rustix::fs::fstat(pipe).ok()).map(|stat| stat.st_ino);
        let started = std::time::Instant::now();
        Some(Self {
            leader,
            mark,
            pipes: pipes.collect(),
            start_time: began,
            started,
            is_leaf_program: is_plain,
            is_gone: false,
        })
    }

    /// Enough to know it again from another process.
    pub(super) fn identity(&self) -> String {
        let id = self.leader.as_raw_nonzero();
        let began = match self.start_time {
            0 => process_table::read_process(id.get()).map_or(0, |entry| entry.start_time),
            began => began,
        };
        format!("{id} {began} {}", self.mark)
    }

    /// Ends what is left of a tree whose leader is gone: whatever carries its mark. Says whether
    /// there was anything.
    pub(super) fn end_orphans(identity: &str) -> bool {
        let mut words = identity.split(' ').skip(1);
        let began: Option<u64> = words.next().and_then(|began| began.parse().ok());
        let (Some(began), Some(mark)) = (began, words.next().filter(|mark| !mark.is_empty()))
        else {
            return false;
        };
        let mut was_there = false;
        for _ in 0..ROUNDS_MAX {
            let mut all = process_table::list_processes().unwrap_or_default();
            all.retain(|entry| entry.is_alive && entry.start_time >= began);
            all.retain(|entry| process_table::has_environment_mark(entry.pid, mark));
            if all.is_empty() {
                break;
            }
            was_there = true;
            all.iter().for_each(|entry| process_table::send_signal(entry, Signal::KILL));
        }
        was_there
    }

    /// The tree of that identity, if its leader still lives.
    pub(super) fn from_identity(identity: &str) -> Option<Self> {
        let mut words = identity.split(' ');
        let leader: i32 = words.next()?.parse().ok()?;
        let began: u64 = words.next()?.parse().ok()?;
        let mark = words.next().filter(|mark| !mark.is_empty())?.to_owned();
        let lives = process_table::read_process(leader)
            .is_some_and(|entry| entry.start_time == began && entry.is_alive);
        let leader = Pid::from_raw(leader).filter(|_| lives && began > 0)?;
        let pipes = Vec::new();
        let started = std::time::Instant::now().checked_sub(PID_REUSE_MIN)?;
        Some(Self {
            leader,
            mark,
            pipes,
            start_time: began,
            started,
            is_leaf_program: false,
            is_gone: false,
        })
    }

    pub(super) fn terminate(&self) {
        let _ = kill_process_group(self.leader, Signal::TERM);
        for entry in self.list_escaped() {
            process_table::send_signal(&entry, Signal::TERM);
        }
    }

    pub(super) fn kill(&self) {
        for _ in 0..ROUNDS_MAX {
            let _ = kill_process_group(self.leader, Signal::KILL);
            let strays = self.list_escaped();
            if strays.is_empty() {
                return;
            }
            for entry in strays {
                process_table::send_signal(&entry, Signal::KILL);
            }
        }
    }

    /// Is anything of it left that can still do something? Zombies that were not waited for
    /// count for the kernel, and in a container without an init they stay for ever, so the processes
    /// are looked at one by one. Where they cannot be listed, the kernel's word has to do.
    pub(super) fn is_alive(&self) -> bool {
        let has_group = || test_kill_process_group(self.leader).is_ok();
        if self.is_leaf_program && !has_group() {
            return false;
        }
        self.list_living().map_or_else(has_group, |living| !living.is_empty())
    }

    pub(super) fn count_living(&self) -> usize {
        self.list_living().map_or(0, |living| living.len())
    }

    /// Waits until a killed tree is no more, but not for what the kernel will not let go.
    pub(super) async fn wait_until_gone(&mut self) {
        let deadline = Instant::now() + KILL_WAIT_MAX;
        let mut is_alive = self.is_alive();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            // A process that is just starting another program shows neither mark nor pipes, so one
            // look is not enough.
            let was_alive = std::mem::replace(&mut is_alive, self.is_alive());
            if !was_alive && !is_alive || Instant::now() >= deadline {
                break;
            }
            if is_alive {
                self.kill();
            }
        }
        self.is_gone = !is_alive;
    }

    /// Nothing is left of it; it need not be looked for again.
    pub(super) fn mark_gone(&mut self) {
        self.is_gone = true;
    }

    /// For the moment before `setsid` has made the group, when only the process itself can be
    /// reached. Only while it has not been waited for, or the number may belong to another process.
    pub(super) fn kill_leader(&self) {
        let _ = kill_process(self.leader, Signal::KILL);
    }

    fn list_escaped(&self) -> Vec<ProcessEntry> {
        if self.is_leaf_program {
            return Vec::new();
        }
        let id = self.leader.as_raw_nonzero().get();
        let living = self.list_living().unwrap_or_default();
        living.into_iter().filter(|entry| entry.group != id).collect()
    }

    /// All of it that lives; `None` where processes cannot be listed.
    fn list_living(&self) -> Option<Vec<ProcessEntry>> {
        let id = self.leader.as_raw_nonzero().get();
        let ours = std::process::id();
        // Later, numbers may have come round once.
        let mut all = match self.started.elapsed() < PID_REUSE_MIN {
            true => process_table::list_processes_since(id)?,
            false => process_table::list_processes()?,
        };
        if self.is_leaf_program {
            all.retain(|entry| entry.is_alive && entry.group == id);
            return Some(all);
        }
        all.retain(|entry| entry.start_time >= self.start_time && entry.pid.unsigned_abs() != ours);
        let is_ours = |entry: &&ProcessEntry| {
            entry.group == id
                || entry.session == id
                || entry.is_alive
                    && (process_table::has_environment_mark(entry.pid, &self.mark)
                        || process_table::writes_to_pipe(entry.pid, &self.pipes))
        };
        let found: HashSet<i32> = all.iter().filter(is_ours).map(|entry| entry.pid).collect();
        let found = process_table::add_descendants(&all, found);
        all.retain(|entry| entry.is_alive && found.contains(&entry.pid));
        Some(all)
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.is_gone {
            self.kill();
        }
    }
}
