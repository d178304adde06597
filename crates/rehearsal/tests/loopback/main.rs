//! The server as a client sees it: real sockets on loopback, and a client that trusts nothing.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code may stop at the first surprise"
)]

mod cassette;
mod client;
mod demo;
mod fault;
mod history_rules;
mod order;
mod script_error;
mod serve;
mod wire;
