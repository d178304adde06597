//! Where hooks run, their input, and who observes them.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_tool::{ProcessLauncher, TraceContext};

use crate::background_hooks::BackgroundHooks;
use crate::event::HookEvent;
use crate::hook_backend::HookBackend;
use crate::hook_run_result::HookRunResult;

#[derive(Clone, Debug)]
pub struct HookEnvironment {
    /// The session's directory, where hooks run.
    pub cwd: PathBuf,
    pub project: PathBuf,
    /// The complete environment of child processes.
    pub env_vars: Vec<(OsString, OsString)>,
    /// Confines hooks of the project, if the session has a sandbox.
    pub launcher: Option<Arc<dyn ProcessLauncher>>,
    /// The directory for long output, which the model can read.
    pub spill: PathBuf,
    /// Runs async hooks.
    pub background: Arc<BackgroundHooks>,
    pub watcher: Option<Arc<dyn HookWatcher>>,
    /// Calls models and tools for hooks.
    pub backend: Option<Arc<dyn HookBackend>>,
    /// Passes output of async hooks to the model.
    pub waker: Option<Arc<dyn HookWaker>>,
}

impl HookEnvironment {
    /// Without watcher, backend and waker.
    #[must_use]
    pub fn new(
        cwd: PathBuf,
        project: PathBuf,
        env_vars: Vec<(OsString, OsString)>,
        spill: PathBuf,
    ) -> Self {
        Self {
            cwd,
            project,
            env_vars,
            launcher: None,
            spill,
            background: Arc::default(),
            watcher: None,
            backend: None,
            waker: None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct HookInvocation {
    /// The JSON object that each hook gets.
    pub input: Value,
    /// For display beside the event: a tool's name or a source.
    pub subject: Option<String>,
    pub tool_use_id: Option<String>,
    /// A file to which hooks write variables for later commands.
    pub env_file: Option<PathBuf>,
    /// A limit for all hooks together, in addition to that of each one.
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    /// The trace context for command hooks.
    pub trace_context: Option<TraceContext>,
}

/// Passes on output of async hooks.
pub trait HookWaker: fmt::Debug + Send + Sync {
    /// Passes text to the model; starts a run if none is in progress.
    fn wake(&self, words: String);
}

/// Is notified of every hook.
pub trait HookWatcher: fmt::Debug + Send + Sync {
    /// A hook starts. The number is unique in this process.
    fn hook_started(&self, number: u64, name: &str, event: HookEvent);
    fn hook_ended(&self, result: &HookRunResult);
}
