//! Limits of tools.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Timeout of a shell command by default.
    pub command_timeout_default: Duration,
    /// The longest timeout a command may request.
    pub command_timeout_max: Duration,
    /// Bytes of a command's output shown to the model.
    pub output_inline_bytes_max: usize,
    /// Bytes of output stored on disk; a command that exceeds them is stopped.
    pub output_spill_bytes_max: u64,
    /// Processes of a command at a time; a command that exceeds them is stopped.
    pub processes_max: usize,
    pub background_tasks_max: usize,
    /// Timeout of a background command.
    pub background_timeout_max: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            command_timeout_default: Duration::from_secs(120),
            command_timeout_max: Duration::from_secs(600),
            output_inline_bytes_max: 30_000,
            output_spill_bytes_max: 64 * 1024 * 1024,
            processes_max: 2_000,
            background_tasks_max: 16,
            background_timeout_max: Duration::from_secs(12 * 60 * 60),
        }
    }
}
