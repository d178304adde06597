//! Are the scripts that a hook names still those that the user trusted?
//!
//! Asked each time the hook is about to run: a command may have changed them since the settings were
//! read. How that is known is the caller's affair.

use std::fmt;
use std::sync::Arc;

/// Knows the scripts that were trusted.
pub trait TrustedScriptCheck: fmt::Debug + Send + Sync {
    /// The first file that this command line names and that is not as it was trusted, for people.
    fn find_changed_script(&self, command_line: &str) -> Option<String>;
}

/// The check of one source of hooks; none where the user wrote them.
#[derive(Clone, Debug, Default)]
pub struct ScriptGuard(Option<Arc<dyn TrustedScriptCheck>>);

impl ScriptGuard {
    #[must_use]
    pub fn new(check: Arc<dyn TrustedScriptCheck>) -> Self {
        Self(Some(check))
    }

    /// Do its hooks come from the project, not from the user?
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn find_changed_script(&self, command_line: &str) -> Option<String> {
        self.0.as_ref()?.find_changed_script(command_line)
    }
}

/// Two hooks that run the same are the same, whoever watches over their scripts.
impl PartialEq for ScriptGuard {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ScriptGuard {}
