//! Are the scripts that a hook, a helper or a server names still those that the user trusted?
//!
//! Asked each time one of them is about to start: a command may have changed them since the settings
//! were read. How that is known is the caller's affair.

use std::fmt;
use std::sync::Arc;

/// Knows the scripts that were trusted.
pub trait TrustedScriptCheck: fmt::Debug + Send + Sync {
    /// The first file that this command line names and that is not as it was trusted, for people.
    fn find_changed_script(&self, command_line: &str) -> Option<String>;
}

/// The check of one source of command lines; none where the user wrote them.
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

/// Two command lines that run the same are the same, whichever guard checks their scripts.
impl PartialEq for ScriptGuard {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ScriptGuard {}

/// A command line as its source wrote it, and the check that comes before each start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardedCommandLine {
    pub line: String,
    pub guard: ScriptGuard,
}

impl GuardedCommandLine {
    /// May it start?
    ///
    /// # Errors
    /// Why not, in words that follow the name of what was to start.
    pub fn check(&self) -> Result<(), String> {
        match self.guard.find_changed_script(&self.line) {
            None => Ok(()),
            Some(path) => Err(format!(
                "was not started: {path} is not what you trusted; look at it and run `windlass trust`"
            )),
        }
    }
}
