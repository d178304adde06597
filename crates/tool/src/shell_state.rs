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
    exported_variables: Mutex<ExportedVariables>,
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
        lock(&self.exported_variables).to_list()
    }

    pub(crate) fn set_exported_variables(&self, exported: ExportedVariables) {
        *lock(&self.exported_variables) = exported;
    }

    pub(crate) fn build_environment(
        &self,
        base: &[(OsString, OsString)],
    ) -> Vec<(OsString, OsString)> {
        lock(&self.exported_variables).apply_to(base)
    }
}
