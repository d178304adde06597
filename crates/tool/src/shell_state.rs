//! What each shell command hands on to the next: its directory and its exported variables.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::environment::ExportedVariables;
use crate::lock::lock;

/// The directory and the exported variables the last shell command ended with.
#[derive(Debug)]
pub struct ShellState {
    directory: Mutex<PathBuf>,
    exported_variables: Mutex<CarriedVariables>,
}

/// A command in a sandbox needs no yes, so what it exports must not steer one that leaves the sandbox
/// with a yes: the user would not see that another program runs.
#[derive(Debug, Default)]
struct CarriedVariables {
    inside: ExportedVariables,
    /// Exported by commands outside of the sandbox alone.
    outside: ExportedVariables,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandSide {
    /// In the session's sandbox, or in a session without one.
    Inside,
    /// Outside of the session's sandbox.
    Outside,
}

impl ShellState {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory: Mutex::new(directory), exported_variables: Mutex::default() }
    }

    #[must_use]
    pub fn directory(&self) -> PathBuf {
        lock(&self.directory).clone()
    }

    pub(crate) fn set_directory(&self, directory: PathBuf) {
        *lock(&self.directory) = directory;
    }

    /// What the shell has exported since the session began: the value, or `None` for a variable
    /// that was unset.
    #[must_use]
    pub fn exported_variables(&self) -> Vec<(OsString, Option<OsString>)> {
        lock(&self.exported_variables).inside.to_list()
    }

    /// Takes over what a command on this side left that was started with this environment.
    pub(crate) fn set_exported_variables(
        &self,
        base: &[(OsString, OsString)],
        left: &[(OsString, OsString)],
        side: CommandSide,
    ) {
        let mut carried = lock(&self.exported_variables);
        match side {
            CommandSide::Inside => carried.inside = ExportedVariables::diff(base, left),
            CommandSide::Outside => {
                let before = carried.outside.apply_to(base);
                carried.inside.extend(ExportedVariables::diff(&before, left));
                carried.outside = ExportedVariables::diff(base, left);
            }
        }
    }

    pub(crate) fn build_environment(
        &self,
        base: &[(OsString, OsString)],
        side: CommandSide,
    ) -> Vec<(OsString, OsString)> {
        let carried = lock(&self.exported_variables);
        match side {
            CommandSide::Inside => carried.inside.apply_to(base),
            CommandSide::Outside => carried.outside.apply_to(base),
        }
    }
}
