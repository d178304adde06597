//! Users' hooks: other people's programs, asked at the moments of a session at which they may speak.
//!
//! `config` reads which hook runs when, `matcher` says whether one is meant, `command`, `http`,
//! `callback` and `counsel` ask it, `wire` and `answer` read what it said, `verdict` makes one verdict of several.
//! [`HookSet::select`] and [`SelectedHooks::run`] are the doors.
//!
//! What follows from a verdict is not decided here, and whether a changed input may run is decided
//! by permission, after all hooks have spoken.

mod answer;
mod background_hooks;
mod callback;
mod combined_result;
mod command;
mod config;
mod event;
mod hook;
mod hook_environment;
mod hook_output;
mod hook_set;
mod http;
mod long_output;
mod matcher;
mod prompt_hook;
mod run;

pub use answer::{HookAnswer, HookRunResult};
pub use background_hooks::BackgroundHooks;
pub use callback::{HookCallback, HookCallbackFuture};
pub use combined_result::CombinedHookResult;
pub use config::HookSource;
pub use event::HookEvent;
pub use hook::OnFailure;
pub use hook_environment::{HookEnvironment, HookInvocation, HookWaker, HookWatcher};
pub use hook_output::{ElicitationAnswer, PermissionRequestAnswer};
pub use hook_set::{HookHttpPolicy, HookListing, HookSet, SelectedHooks};
pub use prompt_hook::{HookBackend, HookBackendReply, HookBackendReplyFuture};
