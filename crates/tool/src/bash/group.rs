//! A process group that ends as one.

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// The group of a child we started. Whatever is left of it is killed when this is dropped, so a
/// call that is given up leaves nothing behind.
#[derive(Debug)]
pub(super) struct Group(Pid);

impl Group {
    pub(super) fn of(child: &tokio::process::Child) -> Option<Self> {
        let id = i32::try_from(child.id()?).ok()?;
        Pid::from_raw(id).map(Self)
    }

    /// Asks all of it to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Is anything of it left that can still do something? Dead processes that nobody has buried
    /// count for the kernel, and in a container without an init they stay for ever, so where the
    /// kernel says yes the processes are looked at one by one.
    pub(super) fn is_alive(&self) -> bool {
        test_kill_process_group(self.0).is_ok() && self.has_living_member().unwrap_or(true)
    }

    /// `None` where processes cannot be listed.
    fn has_living_member(&self) -> Option<bool> {
        let mut has_any = false;
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
            if !is_process {
                continue;
            }
            has_any = true;
            let Ok(stat) = std::fs::read(entry.path().join("stat")) else {
                continue;
            };
            if member(&stat) == Some((self.0.as_raw_nonzero().get(), true)) {
                return Some(true);
            }
        }
        has_any.then_some(false)
    }

    /// A group that is gone already is as good as signalled.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }

    /// For the moment before `setsid` has made the group, when only the process itself can be
    /// reached. Only while it has not been waited for, or the number may be somebody else's.
    pub(super) fn kill_leader(&self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// A process's group and whether it lives, out of the kernel's line about it. The name in
/// parentheses may hold anything, so the fields are counted from its end.
fn member(stat: &[u8]) -> Option<(i32, bool)> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(after_name + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X" | "x");
    let _parent = fields.next()?;
    Some((fields.next()?.parse().ok()?, lives))
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
