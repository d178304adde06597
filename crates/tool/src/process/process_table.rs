//! Reads the system's process table.

use std::collections::HashSet;
use std::path::Path;

use rustix::process::Pid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessEntry {
    pub(super) pid: i32,
    pub(super) parent_pid: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Its start time, in ticks since boot.
    pub(super) start_time: u64,
    /// It is not a zombie.
    pub(super) is_alive: bool,
}

const ENVIRONMENT_BYTES_MAX: u64 = 256 * 1024;

/// All visible processes; `None` where they cannot be listed.
pub(super) fn list_processes() -> Option<Vec<ProcessEntry>> {
    let listed = std::fs::read_dir("/proc").ok()?.flatten();
    let ids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<ProcessEntry> = ids.filter_map(read_process).collect();
    (!all.is_empty()).then_some(all)
}

/// All processes that may have started after this one, and perhaps others; `None` where they cannot
/// be listed. Ids are assigned in order, so if few were assigned since, only those are checked.
pub(super) fn list_processes_since(id: i32) -> Option<Vec<ProcessEntry>> {
    match read_last_pid() {
        Some(last) if (id..=id.saturating_add(PROBED_PIDS_MAX)).contains(&last) => {
            Some((id..=last).filter_map(read_process).collect())
        }
        _ => list_processes(),
    }
}

/// Up to this many ids are checked one by one; beyond, listing all processes is faster.
const PROBED_PIDS_MAX: i32 = 300;

fn read_last_pid() -> Option<i32> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().nth(4)?.parse().ok()
}

pub(super) fn read_process(id: i32) -> Option<ProcessEntry> {
    let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may contain any character, so fields are counted from its last one.
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(after_name + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X" | "x");
    let mut number = || fields.next()?.parse().ok();
    let parent_pid = number()?;
    let group = number()?;
    let session = number()?;
    let began = fields.nth(15)?.parse().ok()?;
    Some(ProcessEntry { pid: id, parent_pid, group, session, start_time: began, is_alive: lives })
}

/// The number of all processes and threads, read from one small file.
pub(super) fn count_processes() -> Option<usize> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Was this process started with this text in its environment?
pub(super) fn has_environment_mark(id: i32, mark: &str) -> bool {
    let Ok(file) = std::fs::File::open(format!("/proc/{id}/environ")) else {
        return false;
    };
    let mut environment = Vec::new();
    let read = std::io::Read::read_to_end(
        &mut std::io::Read::take(file, ENVIRONMENT_BYTES_MAX),
        &mut environment,
    );
    read.is_ok() && memchr::memmem::find(&environment, mark.as_bytes()).is_some()
}

/// Is its standard output or error one of these pipes?
pub(super) fn writes_to_pipe(id: i32, pipes: &[u64]) -> bool {
    [1, 2].into_iter().any(|stream| {
        let link = std::fs::read_link(Path::new(&format!("/proc/{id}/fd/{stream}")));
        let number = link.ok().and_then(|link| {
            link.to_str()?.strip_prefix("pipe:[")?.strip_suffix(']')?.parse::<u64>().ok()
        });
        number.is_some_and(|number| pipes.contains(&number))
    })
}

/// These processes with all their descendants.
pub(super) fn add_descendants(all: &[ProcessEntry], mut found: HashSet<i32>) -> HashSet<i32> {
    loop {
        let before = found.len();
        for entry in all {
            if found.contains(&entry.parent_pid) {
                found.insert(entry.pid);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Sends a signal to exactly this process, even if its id was reused meanwhile.
#[cfg(target_os = "linux")]
pub(super) fn send_signal(entry: &ProcessEntry, signal: rustix::process::Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let opened = Pid::from_raw(entry.pid).map(|id| pidfd_open(id, PidfdFlags::empty()));
    match opened {
        Some(Ok(process)) if is_same(entry) => {
            let _ = pidfd_send_signal(process, signal);
        }
        Some(Err(_)) => send_signal_by_number(entry, signal),
        Some(Ok(_)) | None => {}
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn send_signal(entry: &ProcessEntry, signal: rustix::process::Signal) {
    send_signal_by_number(entry, signal);
}

fn send_signal_by_number(entry: &ProcessEntry, signal: rustix::process::Signal) {
    if let Some(id) = Pid::from_raw(entry.pid).filter(|_| is_same(entry)) {
        let _ = rustix::process::kill_process(id, signal);
    }
}

fn is_same(entry: &ProcessEntry) -> bool {
    read_process(entry.pid).is_some_and(|now| now.start_time == entry.start_time)
}
