//! Whole runs on trial.
//!
//! Each run is a process of ours on an overlay of the working directory: its tools, hooks and servers
//! see the directory at its own path, and what they change is shown at the end, and applied or
//! dropped. `dry_run` starts one, `race` several from one point of a session, and `apply` accepts one
//! that was left.

pub mod apply;
pub mod dry_run;
mod preview_report;
pub mod race;
mod trial_process;
