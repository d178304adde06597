//! Interface for commands on trial: run on an overlay of the working directory, and applied when
//! the user agrees. The driver implements it.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use super::launch::ProcessLauncher;

pub type CommandTrialFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Creates trials.
pub trait CommandTrials: fmt::Debug + Send + Sync {
    /// Prepares a trial. `held_by` confines the command in addition; it may write to
    /// `scratch_directory`.
    fn begin(
        &self,
        held_by: Option<Arc<dyn ProcessLauncher>>,
        scratch_directory: PathBuf,
    ) -> CommandTrialFuture<'_, Result<Box<dyn CommandTrial>, String>>;
}

/// One trial. Dropping it discards it.
pub trait CommandTrial: fmt::Debug + Send {
    /// Starts the command on the trial.
    fn launcher(&self) -> Arc<dyn ProcessLauncher>;

    /// Called when the command has ended: shows the changes, asks, and applies or discards them.
    fn settle(
        self: Box<Self>,
        ended: TriedCommand,
    ) -> CommandTrialFuture<'static, Result<TrialVerdict, String>>;
}

/// A command that ran on a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedCommand {
    pub call_id: String,
    pub command: String,
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The output for the model.
    pub output: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialVerdict {
    /// No files were changed, so nothing was asked.
    NothingChanged,
    /// Applied; the message for the model lists what was and was not.
    Applied(String),
    /// The user refused, possibly with a message.
    Refused(String),
}
