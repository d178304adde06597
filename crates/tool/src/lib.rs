//! The built-in tools and the one trait every tool obeys.
//!
//! Reading order: [`tool`] (the trait and what a call is given), [`tool_session_context`] (what calls of a
//! session share), [`registry`] (name to tool), then the tools themselves. Nothing here decides
//! whether a call may run: `run` takes a proof that it may.

mod ask_user_question;
mod background;
mod bash;
pub mod custom_tool;
mod edit;
pub mod environment;
mod file;
mod file_walk;
pub mod front_matter;
pub mod git;
mod glob;
mod grep;
pub mod image_fit;
pub mod input;
mod notebook;
mod pdf;
mod plan_mode;
mod process;
mod process_output;
mod read;
pub mod registry;
pub mod secrets;
pub mod side_question;
mod skill;
mod skill_files;
pub mod task_lists;
pub mod tool;
mod tool_search;
pub mod tool_session_context;
mod tool_source;
mod typed_tool;
mod web;
pub mod worktree;
mod write;

pub use background::{
    BackgroundAgent, BackgroundEndNotice, BackgroundTask, BackgroundTasks, ForegroundAgentGuard,
};
pub use file::{FileBackupStore, FileChange, PendingFileChange, count_changed_lines};
pub use git::{GitError, GitOutput, GitRunner};
pub use image_fit::{ImageFit, ImageLimits, fit_image};
pub use process::one_shot_command::{
    CapturedStream, OneShotCommand, OneShotEndCause, OneShotResult,
};
pub use process::{
    LaunchExit, LaunchRequest, LongLivedProcess, LongLivedProgram, PreparedLaunch, ProcessLauncher,
    SpawnCommandFn,
};
pub use registry::ToolRegistry;
pub use secrets::Secrets;
pub use skill_files::{SkillDefinition, load_skills};
pub use task_lists::TaskLists;
pub use tool::{
    BackgroundCostSender, CallLimits, ProgressSender, Tool, ToolCallContext, ToolFuture,
};
pub use tool_session_context::{ToolLimits, ToolSessionContext};
pub use tool_source::ToolSource;
pub use web::NetworkAccess;
