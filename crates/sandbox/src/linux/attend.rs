//! Stands by while bubblewrap starts: bounds the first process before it may go on, and holds on
//! to it until it is gone.
//!
//! Bubblewrap says who the first process of the namespace is and then waits for a byte. In between
//! that process gets its limits, which only count when they are set inside its user namespace, and
//! its control group. A process that cannot be bounded is ended instead of let go.

use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};

use super::cgroup::Cgroup;
use crate::plan::Limits;

/// Bubblewrap needs milliseconds; a machine that swaps may need more.
const START: Duration = Duration::from_secs(30);

/// What it says has under 200 bytes.
const WORDS_MAX: usize = 4096;

/// Our ends of the two pipes.
#[derive(Debug)]
pub(super) struct Ends {
    /// Where bubblewrap says who it started.
    pub(super) from: OwnedFd,
    /// Where it waits for leave.
    pub(super) to: OwnedFd,
}

/// The first process of the namespace: when it is gone, all are.
#[derive(Debug)]
pub(super) struct First {
    pub(super) process: Option<OwnedFd>,
    /// Why it was not let go.
    pub(super) problem: Option<String>,
}

/// Waits for the first process, bounds it, and lets it go.
pub(super) fn attend(ends: Ends, limits: &Limits, cgroup: &Cgroup) -> First {
    let Ends { from, to } = ends;
    let Some(pid) = first_process(&from) else {
        // Bubblewrap ended before it came so far, and said why on its standard error.
        return First { process: None, problem: None };
    };
    let process = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(_) => return First { process: None, problem: None },
    };
    let problem = match bound(pid, limits, cgroup) {
        Ok(()) => std::fs::File::from(to).write_all(b"x").err().map(|error| error.to_string()),
        Err(problem) => Some(problem),
    };
    if problem.is_some() {
        let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
    }
    First { process: Some(process), problem }
}

/// Ends the first process, and with it every other; waits until they are gone.
pub(super) fn end(process: &OwnedFd, within: Duration) -> bool {
    let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
    is_ready(process, Instant::now() + within)
}

/// Waits until there is something to read, or the other end is gone.
pub(super) fn is_ready(descriptor: &impl AsFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut wanted = [PollFd::new(descriptor, PollFlags::IN)];
        match rustix::event::poll(&mut wanted, Some(&left)) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn first_process(from: &OwnedFd) -> Option<Pid> {
    let deadline = Instant::now() + START;
    let mut words = Vec::new();
    while !words.contains(&b'}') && words.len() < WORDS_MAX {
        let mut chunk = [0; 512];
        if !is_ready(from, deadline) {
            return None;
        }
        let read = rustix::io::read(from, &mut chunk).ok().filter(|read| *read > 0)?;
        words.extend_from_slice(chunk.get(..read)?);
    }
    child_pid(&String::from_utf8_lossy(&words))
}

/// The number after `"child-pid":`.
fn child_pid(words: &str) -> Option<Pid> {
    let (_, after) = words.split_once("\"child-pid\"")?;
    let digits: String = after
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    Pid::from_raw(digits.parse().ok()?)
}

fn bound(pid: Pid, limits: &Limits, cgroup: &Cgroup) -> Result<(), String> {
    for (resource, most) in resources(limits, !rustix::process::geteuid().is_root()) {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        rustix::process::prlimit(Some(pid), resource, limit)
            .map_err(|error| format!("{resource:?} cannot be limited to {most}: {error}"))?;
    }
    for door in cgroup.doors() {
        std::fs::write(&door, pid.as_raw_nonzero().to_string())
            .map_err(|error| format!("`{}`: {error}", door.display()))?;
    }
    Ok(())
}

/// What is limited. The number of processes of root is not counted by the kernel.
pub(super) fn resources(limits: &Limits, counts_processes: bool) -> Vec<(Resource, u64)> {
    let mut list = vec![(Resource::Core, 0), (Resource::Data, limits.memory)];
    list.extend(limits.processor_seconds.map(|seconds| (Resource::Cpu, seconds)));
    if counts_processes {
        list.push((Resource::Nproc, limits.processes));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_read_from_what_bubblewrap_says() {
        let words = "{\n    \"child-pid\": 16734,\n    \"mnt-namespace\": 4026532297\n}\n";
        assert_eq!(child_pid(words), Pid::from_raw(16734));
        assert_eq!(child_pid("{}"), None);
        assert_eq!(child_pid("{\"child-pid\": 99999999999999}"), None);
    }
}
