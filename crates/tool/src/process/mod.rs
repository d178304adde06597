//! Child processes: started in one place, watched to their end, ended as one.
//!
//! `launch` is the only place where a process is made, so that whatever confines processes has one
//! door to stand in; `crowd` waits there for room, `record` notes on disk what runs. `tree` knows everything a process started, wherever it went. `watch` keeps
//! pipes drained and deadlines kept. What is run, and whether it may, is decided elsewhere.

mod crowd;
pub(crate) mod errand;
mod lasting;
mod launch;
mod record;
mod stream;
mod swarm;
mod table;
mod tree;
mod watch;

pub(crate) use crowd::spawn;
pub use lasting::{Lasting, LastingProgram};
pub use launch::{Launch, LaunchEnd, Launcher, Prepared, Start};
pub(crate) use launch::{Program, end};
pub(crate) use record::{Running, sweep};
pub(crate) use watch::{Cause, Ended, Order, Output, stay};
