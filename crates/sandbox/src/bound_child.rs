//! A command that ends with the thread that started it. Otherwise it runs unchanged.

use std::process::Command;

use crate::probe_options::EntryProgram;

/// The role of the entry that binds a command to its parent.
#[cfg(target_os = "linux")]
pub(crate) const BOUND_CHILD_ROLE: &str = "bound";

impl EntryProgram {
    /// Wraps a command so that it gets a signal when the calling thread ends, on systems that
    /// support that. Its environment must be set completely.
    #[must_use]
    pub fn bind_child(&self, command: &Command) -> Command {
        #[cfg(target_os = "linux")]
        let mut bound = {
            let mut entry = Command::new(&self.program);
            entry.args(&self.arguments).arg(BOUND_CHILD_ROLE).arg(std::process::id().to_string());
            entry.arg(command.get_program());
            entry
        };
        #[cfg(not(target_os = "linux"))]
        let mut bound = Command::new(command.get_program());
        bound.args(command.get_args()).env_clear();
        bound.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = command.get_current_dir() {
            bound.current_dir(directory);
        }
        bound
    }
}
