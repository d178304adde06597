//! The built-in tools, and the trait that every tool implements.
//!
//! Reading order: [`tool`] (the trait and the context of a call), [`tool_session_context`] (what
//! the calls of a session share), [`registry`] (tools by name), then the tools themselves. No
//! permission is decided here: `run` takes a proof of it.

mod background;
mod builtin;
pub mod custom_tool;
pub mod environment;
mod file;
pub mod front_matter;
mod hidden_path_set;
pub mod http_client;
pub mod image_fit;
pub mod input;
mod limits;
mod linked_secrets;
mod lock;
mod model_state;
mod network_access;
mod notebook;
mod process;
mod process_output;
mod progress;
pub mod registry;
pub mod running_time;
mod script_guard;
pub mod secrets;
mod shell_state;
pub mod side_question;
mod skill_files;
pub mod task_lists;
pub mod tool;
pub mod tool_session_context;
mod tool_source;
mod trace_context;
mod typed_tool;
pub mod worktree;

pub use background::{
    BackgroundAgent, BackgroundEndNotice, BackgroundTask, BackgroundTaskEnd, BackgroundTasks,
    ForegroundAgentGuard, StoppedTask,
};
pub use builtin::{changes_task_lists, repeat_task_call, reread_file};
pub use file::{
    EditorFiles, EditorWrite, FileBackupStore, FileChange, FileContext, PendingFileChange,
    count_changed_lines,
};
pub use hidden_path_set::HiddenPathSet;
pub use image_fit::{ImageFit, ImageLimits, fit_image};
pub use limits::ToolLimits;
pub use model_state::ModelState;
pub use network_access::NetworkAccess;
pub use process::one_shot_command::{
    CapturedStream, OneShotCommand, OneShotEndCause, OneShotLauncher, OneShotResult,
};
pub use process::{
    ASK_TO_RUN_UNCONFINED, CommandTrial, CommandTrialFuture, CommandTrials, HeldProgramsRequest,
    LaunchExit, LaunchRequest, LongLivedProcess, LongLivedProgram, PreparedLaunch, ProcessContext,
    ProcessLauncher, ProcessStreams, SpawnCommandFn, TrialVerdict, TriedCommand, may_hold_token,
};
pub use progress::ProgressSender;
pub use registry::ToolRegistry;
pub use script_guard::{GuardedCommandLine, ScriptGuard, TrustedScriptCheck};
pub use secrets::Secrets;
pub use shell_state::ShellState;
pub use skill_files::{SkillDefinition, load_skills};
pub use task_lists::TaskLists;
pub use tool::{BackgroundCostSender, CallLimits, Tool, ToolCallContext, ToolFuture};
pub use tool_session_context::ToolSessionContext;
pub use tool_source::ToolSource;
pub use trace_context::TraceContext;
pub use windlass_git::{GitError, GitOutput, GitRunner};
