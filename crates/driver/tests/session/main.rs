//! Sessions against a rehearsed model server, over real sockets and with real processes. One
//! program, because linking is what takes time.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod agent;
mod context;
mod conversation;
mod fault;
#[path = "../fixture/mod.rs"]
mod fixture;
mod hook;
mod interrupt;
mod journal;
mod left;
mod media;
mod plan;
mod queue;
mod tls;
mod tool;
mod undo;
mod web;
mod worktree;
