//! A command that is tried first: it runs on an overlay of the working directory, and what it changed
//! is applied when the user agrees. How that is done is not known here.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use super::launch::ProcessLauncher;

pub type CommandTrialFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Begins trials.
pub trait CommandTrials: fmt::Debug + Send + Sync {
    /// Makes one ready. `held_by` holds the command besides; it may write to `scratch_directory`.
    fn begin(
        &self,
        held_by: Option<Arc<dyn ProcessLauncher>>,
        scratch_directory: PathBuf,
    ) -> CommandTrialFuture<'_, Result<Box<dyn CommandTrial>, String>>;
}

/// One trial. Dropped, it leaves no trace.
pub trait CommandTrial: fmt::Debug + Send {
    /// Starts the command on it.
    fn launcher(&self) -> Arc<dyn ProcessLauncher>;

    /// The command has ended: shows what it did, asks, and applies it or drops it.
    fn settle(
        self: Box<Self>,
        ended: TriedCommand,
    ) -> CommandTrialFuture<'static, Result<TrialVerdict, String>>;
}

/// What a command did on trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedCommand {
    pub call_id: String,
    pub command: String,
    /// None when a signal ended it.
    pub exit_code: Option<i32>,
    /// As the model would read it.
    pub output: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialVerdict {
    /// Nothing that lasts was changed, so nothing was asked.
    NothingChanged,
    /// Applied; in words for the model, what and what not.
    Applied(String),
    /// The user does not want it; their words, if any.
    Refused(String),
}
