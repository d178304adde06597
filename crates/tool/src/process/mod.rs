//! Child processes: started in one place, watched to their end, ended as one.
//!
//! `launch` is the only place where a process is made, so that whatever confines processes has one
//! door to stand in; `crowd` waits there for room, `record` notes on disk what runs. `tree` knows everything a process started, wherever it went. `watch` keeps
//! pipes drained and deadlines kept. What is run, and whether it may, is decided elsewhere.

mod end_report;
mod fork_bomb_guard;
mod launch;
mod long_lived_process;
pub(crate) mod one_shot_command;
mod process_context;
mod process_pipe;
mod process_table;
mod process_tree;
mod running_note;
mod spawn_retry;
mod supervisor;

pub(crate) use end_report::{explain_spawn_failure, render_end_cause, render_exit_status};
pub use launch::{LaunchExit, LaunchRequest, PreparedLaunch, ProcessLauncher, SpawnCommandFn};
pub(crate) use launch::{ProgramSpec, end_process_tree};
pub use long_lived_process::{LongLivedProcess, LongLivedProgram, ProcessStreams};
pub use process_context::ProcessContext;
pub(crate) use running_note::RunningNote;
pub(crate) use spawn_retry::spawn_with_retry;
pub(crate) use supervisor::{
    FinishedProcess, ProcessEndCause, SuperviseOptions, SuperviseOutputOptions, supervise,
};
