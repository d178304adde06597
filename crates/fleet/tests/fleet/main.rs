//! Tests of the fleet with the real commands, a real PostgreSQL and a scripted model server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod approvals;
mod batches;
mod branches;
mod clients;
mod embedded;
mod faults;
mod fixture;
mod gateway;
mod hostile;
mod limits;
mod link;
mod live_text;
mod local_command;
mod nats;
mod network_split;
mod postgres;
mod retries;
mod speed;
mod store;
#[path = "../../../journal/tests/store_conformance/mod.rs"]
mod store_conformance;
mod tls;
