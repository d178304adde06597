//! Where hooks run, their input, and who watches them.

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
    /// The session's directory; hooks run there.
    pub cwd: PathBuf,
    pub project: PathBuf,
    /// The environment of child processes, complete.
    pub env_vars: Vec<(OsString, OsString)>,
    /// Holds the hooks that come from the project, where the session has a sandbox.
    pub launcher: Option<Arc<dyn ProcessLauncher>>,
    /// Where long words are kept, for the model to read.
    pub spill: PathBuf,
    /// Runs async hooks.
    pub background: Arc<BackgroundHooks>,
    pub watcher: Option<Arc<dyn HookWatcher>>,
    /// Asks models and tools on behalf of hooks.
    pub backend: Option<Arc<dyn HookBackend>>,
    /// Passes an async hook's words on to the model.
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
    /// What each hook reads: an object.
    pub input: Value,
    /// How people call the moment, beside the event: a tool's name, a source.
    pub subject: Option<String>,
    pub tool_use_id: Option<String>,
    /// A file for variables that later commands should have.
    pub env_file: Option<PathBuf>,
    /// All of them together may take so long; each may take its own time besides.
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    /// Where the moment stands in a trace, for programs.
    pub trace_context: Option<TraceContext>,
}

/// Passes on what an async hook says.
pub trait HookWaker: fmt::Debug + Send + Sync {
    /// The model is to hear this, and to be asked if it is at rest.
    fn wake(&self, words: String);
}

/// Is notified of every hook.
pub trait HookWatcher: fmt::Debug + Send + Sync {
    /// A hook begins. The number is its own as long as the process lives.
    fn hook_started(&self, number: u64, name: &str, event: HookEvent);
    fn hook_ended(&self, result: &HookRunResult);
}
