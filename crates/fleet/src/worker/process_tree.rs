//! Kills a process tree, whatever process groups or sessions its processes are in.
//!
//! Below a child subreaper orphans stay in the tree, so it is found by parent pids alone. Killing
//! repeats until the tree is empty: a process that forks during one round is found in the next.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// Kills all descendants of a process, but not the process itself. Returns their number.
pub(crate) fn kill_descendants(root: u32) -> usize {
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS_MAX {
        let found = find_descendants(root);
        if found.is_empty() {
            break;
        }
        for pid in found {
            killed.insert(pid);
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                // Fails only if it has ended already.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        if root == std::process::id() {
            reap_children();
        }
        std::thread::sleep(ROUND_PAUSE);
    }
    killed.len()
}

/// Reaps adopted processes, so that they do not remain as zombies.
pub(crate) fn reap_children() {
    while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
}

/// Whether `pid` is a direct or indirect child of `root`.
pub(crate) fn is_descendant(pid: u32, root: u32) -> bool {
    let mut pid = pid;
    for _ in 0..DEPTH_MAX {
        let Some(parent) = read_parent(pid) else { return false };
        if parent == root {
            return true;
        }
        pid = parent;
    }
    false
}

fn read_parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Start time in ticks since boot. Together with the pid it identifies a process.
pub(crate) fn read_start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// The direct children of a process that have not ended.
pub(crate) fn find_children(parent: u32) -> Vec<u32> {
    find_descendants(parent).into_iter().filter(|pid| read_parent(*pid) == Some(parent)).collect()
}

fn find_descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut fields = rest.split_whitespace();
        let is_gone = fields.next().is_none_or(|state| matches!(state, "Z" | "X"));
        let parent: Option<u32> = fields.next().and_then(|parent| parent.parse().ok());
        if let (false, Some(parent)) = (is_gone, parent) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// More than a dying tree needs; a tree that forks faster than it is killed is given up.
const ROUNDS_MAX: usize = 200;
/// There are only a few levels between a guard and its session's process.
const DEPTH_MAX: usize = 16;
const ROUND_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
