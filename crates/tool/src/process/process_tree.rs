//! Finds everything a process started, and ends it.
//!
//! Most descendants share its process group. The others are found in the process table: by process
//! session, by ancestors, by the mark in the environment, by the pipes they write to. Only a
//! process that changed all of these at once escapes, and only without confinement.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::time::Instant;

use super::process_table::{self, ProcessEntry};

/// A tree that forks while it is killed is killed again, up to this often.
const ROUNDS_MAX: usize = 10;
/// A killed process exits when it is next scheduled, which takes a while on a busy machine; it must
/// not be reported as ended before. The whole wait is needed only for one in uninterruptible sleep.
const KILL_WAIT_MAX: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Process ids cannot be reused within this time.
const PID_REUSE_MIN: Duration = Duration::from_secs(2);

/// A child and its descendants. Dropping this kills the rest of them, so that an abandoned call
/// leaves nothing running.
#[derive(Debug)]
pub(super) struct ProcessTree {
    leader: Pid,
    mark: String,
    pipes: Vec<u64>,
    start_time: u64,
    started: std::time::Instant,
    /// Known to have no descendants outside of the group.
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

    /// Identifies the process, even for another process of ours.
    pub(super) fn identity(&self) -> String {
        let id = self.leader.as_raw_nonzero();
        let began = match self.start_time {
            0 => process_table::read_process(id.get()).map_or(0, |entry| entry.start_time),
            began => began,
        };
        format!("{id} {began} {}", self.mark)
    }

    /// Ends what is left of a tree whose leader has exited, found by its mark. Returns whether
    /// there was anything.
    pub(super) fn end_orphans(identity: &str) -> bool {
        let mut words = identity.split(' ').skip(1);
        let began: Option<u64> = words.next().and_then(|began| began.parse().ok());
        let (Some(began), Some(mark)) = (began, words.next().filter(|mark| !mark.is_empty()))
        else {
            return false;
        };
        let mut was_there = false;
        let deadline = std::time::Instant::now() + KILL_WAIT_MAX;
        while std::time::Instant::now() < deadline {
            let mut all = process_table::list_processes().unwrap_or_default();
            all.retain(|entry| entry.is_alive && entry.start_time >= began);
            all.retain(|entry| process_table::has_environment_mark(entry.pid, mark));
            if all.is_empty() {
                break;
            }
            was_there = true;
            all.iter().for_each(|entry| process_table::send_signal(entry, Signal::KILL));
            std::thread::sleep(POLL_INTERVAL);
        }
        was_there
    }

    /// Kills the tree and blocks until it has exited, up to a limit.
    pub(super) fn end(mut self) {
        let deadline = std::time::Instant::now() + KILL_WAIT_MAX;
        let mut is_alive = true;
        loop {
            self.kill();
            // As in `wait_until_gone`, one check is not enough.
            let was_alive = std::mem::replace(&mut is_alive, self.is_alive());
            if !was_alive && !is_alive || std::time::Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        self.is_gone = !is_alive;
    }

    /// The tree with that identity, if its leader still runs.
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

    /// Is any process of the tree still running? A kill check would count zombies, which stay
    /// forever in a container without an init, so the processes are checked one by one. Where they
    /// cannot be listed, the kill check must do.
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

    /// Waits until a killed tree has exited, up to a limit.
    pub(super) async fn wait_until_gone(&mut self) {
        let deadline = Instant::now() + KILL_WAIT_MAX;
        let mut is_alive = self.is_alive();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            // During an exec a process shows neither mark nor pipes, so one check is not enough.
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

    /// Nothing is left of it, so later checks can be skipped.
    pub(super) fn mark_gone(&mut self) {
        self.is_gone = true;
    }

    /// For the time before `setsid` has created the group, when only the process itself can be
    /// killed. Must come before it is reaped, because its id may be reused after that.
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

    /// All running processes of the tree; `None` where processes cannot be listed.
    fn list_living(&self) -> Option<Vec<ProcessEntry>> {
        let id = self.leader.as_raw_nonzero().get();
        let ours = std::process::id();
        // Later, ids may have wrapped around once.
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
