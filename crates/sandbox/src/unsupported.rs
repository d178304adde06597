//! Stubs for systems without a sandbox, neither Linux nor macOS: everything that needs one is refused.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cell_plan::CellPlan;
use crate::error::{SandboxPlanRefusal, SandboxUnavailable};
use crate::failure::SandboxFailure;
use crate::plan::SandboxPlan;
use crate::probe_options::{SandboxBackend, SandboxProbeOptions};

/// Cannot be created on this system.
#[derive(Debug)]
pub struct Sandbox {
    never: Infallible,
}

/// Cannot be created on this system.
#[derive(Debug)]
pub struct SandboxLaunch {
    never: Infallible,
}

/// The result of cleaning up after a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxCleanup {
    pub reverted: Vec<RevertedProtectedFile>,
    pub left_alone: Vec<PathBuf>,
    /// Why the command could not start.
    pub problem: Option<String>,
    pub has_ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertedProtectedFile {
    pub path: PathBuf,
    pub moved_to: Option<PathBuf>,
    /// Was the old content restored?
    pub is_restored: bool,
}

impl Sandbox {
    /// Always fails.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn probe(_options: &SandboxProbeOptions) -> Result<Self, SandboxUnavailable> {
        Err(SandboxUnavailable::new(
            "There is no sandbox for this system; there is one for Linux and one for macOS.",
        ))
    }

    #[must_use]
    pub fn backend(&self) -> SandboxBackend {
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
    /// This plan cannot be enforced.
    pub fn prepare_command<A: AsRef<OsStr>>(
        &self,
        _plan: &SandboxPlan,
        _program: impl AsRef<OsStr>,
        _arguments: impl IntoIterator<Item = A>,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        match self.never {}
    }

    /// Prepares a shell command.
    ///
    /// # Errors
    ///
    /// As for [`Sandbox::prepare_command`].
    pub fn prepare_shell(
        &self,
        _: &SandboxPlan,
        _: &Path,
        _: &OsStr,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        match self.never {}
    }

    /// Something else may have changed protected files.
    pub fn accept_protected_changes(&self) {
        match self.never {}
    }

    /// This file was created with permission.
    pub fn accept_protected_change(&self, _: &Path) {
        match self.never {}
    }

    /// Did a command fail because of the sandbox?
    #[must_use]
    pub fn explain_failure(
        &self,
        _: &SandboxPlan,
        _: Option<i32>,
        _: &str,
    ) -> Option<SandboxFailure> {
        match self.never {}
    }
}

impl SandboxLaunch {
    /// Starts the command.
    ///
    /// # Errors
    ///
    /// The error of `start`.
    pub fn spawn<T>(&mut self, _start: impl FnOnce(Command) -> io::Result<T>) -> io::Result<T> {
        match self.never {}
    }

    /// The command moves to the background.
    pub fn continue_in_background(&mut self) -> bool {
        match self.never {}
    }

    #[must_use]
    pub fn clean_up(self) -> SandboxCleanup {
        match self.never {}
    }
}

/// Cannot be created on this system.
#[derive(Debug)]
pub struct Cell {
    never: Infallible,
}

/// Cannot be created on this system.
#[derive(Debug)]
pub struct PreparedCell {
    never: Infallible,
}

impl Cell {
    /// Finds nothing.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn probe() -> Result<Self, SandboxUnavailable> {
        Err(SandboxUnavailable::new(
            "There is no cell for this system; there is one for Linux and one for macOS.",
        ))
    }

    #[must_use]
    pub fn report(&self) -> &str {
        match self.never {}
    }

    /// Prepares a cell for one command.
    ///
    /// # Errors
    ///
    /// When this plan cannot be held here.
    pub fn prepare(&self, _plan: &CellPlan) -> Result<PreparedCell, SandboxPlanRefusal> {
        match self.never {}
    }
}

impl PreparedCell {
    #[must_use]
    pub fn confine_command(&self, _: std::process::Command) -> std::process::Command {
        match self.never {}
    }

    /// Starts the command.
    ///
    /// # Errors
    ///
    /// Whatever `start` returns.
    pub fn spawn<T: Send>(self, _start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        match self.never {}
    }
}

pub(crate) fn enter(_arguments: &[OsString]) -> i32 {
    eprintln!("windlass sandbox: there is none for this system");
    125
}
