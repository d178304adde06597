//! Hooks as they are run: real programs, real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod config;
mod exit;
mod fault;
mod http;
mod json;
mod program_environment;
mod test_bed;
