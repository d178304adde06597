//! Runs whole sessions on trial.
//!
//! Each run is a `windlass` process on an overlay of the working directory: its tools, hooks and
//! servers see the directory at its own path, and its changes are shown at the end, then applied or
//! discarded. `dry_run` starts one trial, `race` several from one point of a session, and `apply`
//! applies a kept one. `session_worktree` is the lasting way to work beside others: a branch of its own.

pub mod apply;
pub mod dry_run;
mod preview_report;
pub mod race;
pub mod session_worktree;
mod trial_process;
