//! Users' hooks: programs, servers, models and tools that the user lets take part in a session.
//!
//! `config` reads which hook runs when, `matcher` decides which one applies, the `*_hook` modules run one each,
//! `hook_output` and `answer` read what it returned, `combined_result` joins several.
//! Start at [`HookSet::select`] and [`SelectedHooks::run`].
//!
//! What follows from a verdict is not decided here. Whether a changed input may run is decided by
//! `permission`, after all hooks have answered.

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
