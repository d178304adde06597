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

    /// Ends all of it. Says whether anything was left.
    pub(super) fn kill(&self) -> bool {
        self.signal(Signal::KILL)
    }

    /// Is anything of it left?
    pub(super) fn is_alive(&self) -> bool {
        test_kill_process_group(self.0).is_ok()
    }

    /// The group exists from the start when we make it. When `setsid` makes it, there is a moment
    /// in which only the process can be reached; it is a member of our own group then, so only the
    /// process may be.
    fn signal(&self, signal: Signal) -> bool {
        kill_process_group(self.0, signal).is_ok()
    }

    /// For the moment before the group exists. Only while the child has not been waited for, or
    /// the number may belong to somebody else.
    pub(super) fn kill_leader(&self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
