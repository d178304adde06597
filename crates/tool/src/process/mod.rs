//! Child processes: started in one place, watched to their end, ended as one.
//!
//! `launch` is the only place where a process is made, so that whatever confines processes has one
//! door to stand in. `tree` knows everything a process started, wherever it went. `watch` keeps
//! pipes drained and deadlines kept. What is run, and whether it may, is decided elsewhere.

pub(crate) mod errand;
mod lasting;
mod launch;
mod stream;
mod swarm;
mod table;
mod tree;
mod watch;

pub use lasting::{Lasting, LastingProgram};
pub use launch::{Launch, LaunchEnd, Launcher, Prepared, Start};
pub(crate) use launch::{Process, Program, began, end, spawn};
pub(crate) use watch::{Cause, Ended, Order, Output, stay};
