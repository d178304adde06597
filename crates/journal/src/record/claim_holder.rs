//! The process that writes a journal, and whether it is still alive.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimHolder {
    pub pid: u32,
    pub host: String,
}

impl ClaimHolder {
    /// This process on this machine.
    #[must_use]
    pub fn current_process() -> Self {
        let name = rustix::system::uname();
        let host = name.nodename().to_string_lossy().into_owned();
        Self { pid: std::process::id(), host }
    }

    /// Did it run on this machine, and has it ended?
    pub(crate) fn is_dead(&self) -> bool {
        let id = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        self.host == Self::current_process().host
            && id.is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH))
    }
}
