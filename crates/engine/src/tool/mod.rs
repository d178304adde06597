//! What the loop knows of tool calls: how far each has come, which may start, how all are closed.
//!
//! The driver's room of the same name does what is decided here.

pub mod circle;
mod deferral;
pub(crate) mod life;
pub(crate) mod pairing;
pub mod queue;
pub(crate) mod schedule;
