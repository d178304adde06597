//! Child processes: starts, supervises and ends them.
//!
//! `launch` is the only place that starts processes, so that confinement cannot be missed;
//! `spawn_retry` waits there for system resources, `running_note` records on disk what runs.
//! `process_tree` finds everything a process started. `supervisor` reads pipes and enforces
//! deadlines. Callers decide what may run.

mod call_confinement;
mod command_trial;
mod confined_environment;
mod end_report;
mod fork_bomb_guard;
mod held_programs;
mod launch;
mod long_lived_process;
pub(crate) mod one_shot_command;
mod process_confinement;
mod process_context;
mod process_pipe;
mod process_table;
mod process_tree;
mod running_note;
mod spawn_retry;
mod supervisor;

/// Tells the model what it can do about a confined command that failed.
pub const ASK_TO_RUN_UNCONFINED: &str =
    "With dangerouslyDisableSandbox the user is asked to let it run outside.";

pub(crate) use call_confinement::CallConfinement;
pub use command_trial::{
    CommandTrial, CommandTrialFuture, CommandTrials, TrialVerdict, TriedCommand,
};
pub(crate) use confined_environment::is_changed_by_confinement;
pub use confined_environment::may_hold_token;
pub(crate) use end_report::{explain_spawn_failure, render_end_cause, render_exit_status};
pub(crate) use held_programs::{HeldProgramsLine, hold_programs};
pub use launch::{
    HeldProgramsRequest, LaunchExit, LaunchRequest, PreparedLaunch, ProcessLauncher, SpawnCommandFn,
};
pub(crate) use launch::{ProgramSpec, SpawnedProcess, kill_process_tree};
pub use long_lived_process::{LongLivedProcess, LongLivedProgram, ProcessStreams};
pub(crate) use process_confinement::{ProcessConfinement, find_hidden_files};
pub use process_context::ProcessContext;
pub(crate) use running_note::RunningNote;
pub(crate) use spawn_retry::spawn_with_retry;
pub(crate) use supervisor::{
    FinishedProcess, ProcessEndCause, ProcessHandover, ProcessOwner, SuperviseOptions,
    SuperviseOutputOptions, supervise,
};
