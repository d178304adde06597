//! Checks that the scripts that a hook, a helper or a server names are still those the user
//! trusted.
//!
//! Checked before each start, because a command may have changed them since the settings were read.
//! The caller implements the check.

use std::fmt;
use std::sync::Arc;

/// Knows the trusted scripts.
pub trait TrustedScriptCheck: fmt::Debug + Send + Sync {
    /// The first file named in this command line that has changed since it was trusted, for
    /// display.
    fn find_changed_script(&self, command_line: &str) -> Option<String>;
}

/// Checks the command lines of one source; does nothing for those the user wrote.
#[derive(Clone, Debug, Default)]
pub struct ScriptGuard(Option<Arc<dyn TrustedScriptCheck>>);

impl ScriptGuard {
    #[must_use]
    pub fn new(check: Arc<dyn TrustedScriptCheck>) -> Self {
        Self(Some(check))
    }

    /// Do its command lines come from the project, not from the user?
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// The first file that this command line names and that is not as it was trusted, for people.
    #[must_use]
    pub fn find_changed_script(&self, command_line: &str) -> Option<String> {
        self.0.as_ref()?.find_changed_script(command_line)
    }
}

/// Equal if they run the same, whichever guard checks their scripts.
impl PartialEq for ScriptGuard {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ScriptGuard {}

/// A command line as written, with the check to make before each start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardedCommandLine {
    pub line: String,
    pub guard: ScriptGuard,
}

impl GuardedCommandLine {
    /// Checks whether it may start.
    ///
    /// # Errors
    /// Why not, as a phrase that follows the name of what was to start.
    pub fn check(&self) -> Result<(), String> {
        match self.guard.find_changed_script(&self.line) {
            None => Ok(()),
            Some(path) => Err(format!(
                "was not started: {path} has changed since you trusted it; look at it and run `windlass trust`"
            )),
        }
    }
}
