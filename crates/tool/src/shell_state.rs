//! State that each shell command passes on to the next: its directory and exported variables.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::environment::ExportedVariables;
use crate::lock::lock;

/// The directory and exported variables after the last shell command.
#[derive(Debug)]
pub struct ShellState {
    directory: Mutex<PathBuf>,
    exported_variables: Mutex<CarriedVariables>,
}

/// A sandboxed command runs without a question, so variables it exports must not affect one outside
/// of the sandbox that the user approved: the user would not see that another program runs.
#[derive(Debug, Default)]
struct CarriedVariables {
    inside: ExportedVariables,
    /// Exported only by commands outside of the sandbox.
    outside: ExportedVariables,
}

/// Whether a command runs in the sandbox.
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

    /// Variables the shell has exported since the session began; `None` for one that was unset.
    #[must_use]
    pub fn exported_variables(&self) -> Vec<(OsString, Option<OsString>)> {
        lock(&self.exported_variables).inside.to_list()
    }

    /// Stores the final environment of a command on this side that was started with this
    /// environment.
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
