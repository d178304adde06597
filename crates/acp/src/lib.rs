//! The front end for editors: the Agent Client Protocol, version 1. JSON-RPC with one message per
//! line, over standard input and output; the editor starts the process, and ends it by closing the
//! input.
//!
//! One process serves many sessions, each with a directory of its own. They are the same sessions as in
//! the terminal, with the same journals: one that began in an editor goes on in a terminal, and back.
//!
//! Reading order: `schema` (the values), `rpc` (the lines), `server` (the methods), `session` (one
//! conversation: a task that turns notices into updates and requests into effects), `editor_setup` (the
//! entry in an editor's own settings).

pub mod editor_setup;
mod rpc;
mod schema;
mod server;
mod session;

pub use server::serve;
