//! Where there is no sandbox yet: everything that needs one is refused.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Reason;
use crate::plan::Plan;
use crate::refusal::{Refused, Unavailable};
use crate::wanted::{Backend, Wanted};

/// A sandbox that works on this machine: there is none.
#[derive(Debug)]
pub struct Sandbox {
    never: Infallible,
}

/// A command that is ready to be started: there is none.
#[derive(Debug)]
pub struct Launch {
    never: Infallible,
}

/// What came of a command besides its own result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Protected files that it made or changed.
    pub taken_back: Vec<TakenBack>,
    /// Why the sandbox did not let it start.
    pub problem: Option<String>,
    /// Did the command come to an end?
    pub has_ended: bool,
}

/// Something that was moved aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// What changed.
    pub path: PathBuf,
    /// Where the changed version is now.
    pub kept_as: Option<PathBuf>,
    /// Is what was there before there again?
    pub is_restored: bool,
}

impl Sandbox {
    /// Finds nothing.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn probe(_wanted: &Wanted) -> Result<Self, Unavailable> {
        Err(Unavailable::new("There is no sandbox for this system yet; there is one for Linux."))
    }

    /// Which one it is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self.never {}
    }

    /// Which one, why, and what it does not cover.
    #[must_use]
    pub fn report(&self) -> &str {
        match self.never {}
    }

    /// Prepares a command.
    ///
    /// # Errors
    ///
    /// When this plan cannot be held here.
    pub fn command<A: AsRef<OsStr>>(
        &self,
        _plan: &Plan,
        _program: impl AsRef<OsStr>,
        _arguments: impl IntoIterator<Item = A>,
    ) -> Result<Launch, Refused> {
        match self.never {}
    }

    /// Prepares a shell command.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::command`].
    pub fn shell(&self, _: &Plan, _: &Path, _: &OsStr) -> Result<Launch, Refused> {
        match self.never {}
    }

    /// Did a command fail because of the sandbox?
    #[must_use]
    pub fn explain_failure(&self, _: &Plan, _: Option<i32>, _: &str) -> Option<Reason> {
        match self.never {}
    }
}

impl Launch {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// Whatever `start` returns.
    pub fn spawn<T>(&mut self, _start: impl FnOnce(Command) -> io::Result<T>) -> io::Result<T> {
        match self.never {}
    }

    /// May it go on running beside other work after all?
    #[must_use]
    pub fn may_last(&mut self) -> bool {
        match self.never {}
    }

    /// Ends whatever is left of it.
    #[must_use]
    pub fn settle(self) -> Settled {
        match self.never {}
    }
}

/// There is nothing to enter.
pub(crate) fn enter(_arguments: &[OsString]) -> i32 {
    eprintln!("windlass sandbox: there is none for this system");
    125
}
