//! Users' hooks: commands, servers, models and tools that take part in a session.
//!
//! `config` parses the configuration, `matcher` decides which hooks apply, each `*_hook` module
//! runs one kind, `hook_output` and `answer` parse the result, `combined_result` combines several.
//! Start at [`HookSet::select`] and [`SelectedHooks::run`].
//!
//! The engine decides what follows from a verdict. `permission` decides whether a changed input may
//! run, after all hooks have answered.

mod answer;
mod background_hooks;
mod callback;
mod combined_result;
mod command_hook;
mod config;
mod event;
mod hook;
mod hook_backend;
mod hook_environment;
mod hook_output;
mod hook_run_result;
mod hook_set;
mod http_hook;
mod long_output;
mod matcher;
mod mcp_tool_hook;
mod prompt_hook;
mod raw_hook_output;
mod run;

pub use background_hooks::BackgroundHooks;
pub use callback::{HookCallback, HookCallbackFuture};
pub use combined_result::CombinedHookResult;
pub use config::HookSource;
pub use event::HookEvent;
pub use hook::{HookType, OnFailure};
pub use hook_backend::{HookBackend, HookBackendReply, HookBackendReplyFuture};
pub use hook_environment::{HookEnvironment, HookInvocation, HookWaker, HookWatcher};
pub use hook_output::{ElicitationAnswer, PermissionRequestAnswer};
pub use hook_run_result::{HookAnswer, HookRunResult};
pub use hook_set::{HookListing, HookSet, SelectedHooks};
pub use http_hook::HookHttpPolicy;
pub use windlass_tool::{ScriptGuard, TrustedScriptCheck};
