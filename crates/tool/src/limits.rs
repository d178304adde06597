//! Bounds of what tools use.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// How long a shell command may take when it does not say.
    pub command_timeout_default: Duration,
    /// How long it may ask for.
    pub command_timeout_max: Duration,
    /// Bytes of a shell command's output shown to the model.
    pub output_inline_bytes_max: usize,
    /// Bytes of output kept on disk; beyond them the command is stopped.
    pub output_spill_bytes_max: u64,
    /// Processes a command may have at a time; beyond them it is stopped.
    pub processes_max: usize,
    pub background_tasks_max: usize,
    /// How long a command in the background may take.
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
