//! Two processes that end everything a command leaves behind, where there is no namespace for that.
//!
//! The front is in the caller's process group and may be killed at any moment. The keeper is in a
//! process session of its own and adopts processes that the command abandons; when the command or
//! the front ends, it stops all its descendants, so that none can start another, and kills them.
//! Neither has a deadline: the caller ends the front.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::entry_arguments::EntryArguments;
use super::exit_code;

/// Limit for the end; processes left after it are stuck in the kernel.
const KILL_DEADLINE: Duration = Duration::from_secs(4);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Starts the keeper and returns its exit code.
pub(super) fn run_parent(before: &[OsString], entry: &EntryArguments) -> Result<i32, String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("no death signal: {error}"))?;
    // The parent may have ended before.
    if rustix::process::getppid() != entry.parent_pid.and_then(Pid::from_raw) {
        return Err("the process that started this is gone".into());
    }
    let us = rustix::process::getpid().as_raw_nonzero().get();
    let mut keeper =
        respawn_self(before, "keep", &EntryArguments { parent_pid: Some(us), ..entry.clone() })?;
    keeper.wait().map(exit_code).map_err(|error| error.to_string())
}

/// Starts the command, and waits until all its processes have ended.
pub(super) fn run_reaper(before: &[OsString], entry: &EntryArguments) -> Result<i32, String> {
    rustix::process::setsid().map_err(|error| format!("no session: {error}"))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| format!("cannot adopt: {error}"))?;
    let parent = entry.parent_pid.and_then(Pid::from_raw).ok_or("there is no front")?;
    let front = rustix::process::pidfd_open(parent, PidfdFlags::empty())
        .map_err(|error| format!("the front is gone: {error}"))?;
    // Only a direct child can be sure that this is still the same process.
    if rustix::process::getppid() != Some(parent) {
        return Err("the front is gone".into());
    }
    let mut child = respawn_self(before, "stage", entry)?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no process id")?;
    let command = rustix::process::pidfd_open(id, PidfdFlags::empty())
        .map_err(|error| format!("the command cannot be watched: {error}"))?;
    loop {
        let mut wanted = [PollFd::new(&front, PollFlags::IN), PollFd::new(&command, PollFlags::IN)];
        match rustix::event::poll(&mut wanted, None) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let status = child.try_wait().ok().flatten();
    kill_descendants();
    if let Some(directory) = &entry.remove {
        // If this fails, the creator tries again.
        let _ = std::fs::remove_dir_all(directory);
    }
    Ok(status.map_or(super::EXIT_NOT_ENTERED, exit_code))
}

/// This program in another role. This path works even if its file was replaced since it started.
fn respawn_self(before: &[OsString], role: &str, entry: &EntryArguments) -> Result<Child, String> {
    let mut command = Command::new("/proc/self/exe");
    command.args(before).arg(role).args(entry.to_arguments());
    command.spawn().map_err(|error| format!("cannot start itself: {error}"))
}

/// Stops all descendants until no new ones appear, then kills them.
fn kill_descendants() {
    let deadline = Instant::now() + KILL_DEADLINE;
    let mut stopped = Vec::new();
    while reap_has_children() && Instant::now() < deadline {
        let found = list_descendants();
        let fresh: Vec<Pid> = found.iter().copied().filter(|pid| !stopped.contains(pid)).collect();
        if fresh.is_empty() {
            for pid in found {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        for pid in fresh {
            let _ = rustix::process::kill_process(pid, Signal::STOP);
            stopped.push(pid);
        }
    }
}

/// Reaps zombies, and returns whether any child is alive.
fn reap_has_children() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

fn list_descendants() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: BTreeMap<i32, i32> =
        ids.filter_map(|id: i32| Some((id, read_parent_pid(id)?))).collect();
    let us = rustix::process::getpid().as_raw_nonzero().get();
    let comes_from_us = |id: &i32| {
        let mut above = parents.get(id);
        // A chain of parents is at most as long as the number of processes.
        for _ in 0..parents.len() {
            match above {
                Some(parent) if *parent == us => return true,
                Some(parent) => above = parents.get(parent),
                None => return false,
            }
        }
        false
    };
    parents.keys().filter(|id| comes_from_us(id)).filter_map(|id| Pid::from_raw(*id)).collect()
}

/// The second field after the name, which may contain any character.
fn read_parent_pid(id: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    let text = String::from_utf8_lossy(&stat);
    let (_, after) = text.rsplit_once(')')?;
    after.split_whitespace().nth(1)?.parse().ok()
}
