//! Runs sessions on many hosts, as safely as one in a terminal.
//!
//! The store is PostgreSQL ([`store`]). A [`worker`] claims sessions and runs each in its own
//! process: the ordinary `windlass` command with a relay for its journal. A guard process between
//! the two ends everything the session started before the worker's lease ends. The [`gateway`] is a
//! stateless HTTP API in front of the store. [`live`] is the text of answers while they are written. `docs/fleet.md` is the manual for administrators.

pub mod gateway;
pub mod live;
pub mod local_command;
pub mod postgres_journal_store;
pub mod session_spec;
pub mod store;
pub mod store_transfer;
pub mod tenant_policy;
pub mod worker;
