//! Sessions on many hosts, as safe as one in a terminal.
//!
//! The store is PostgreSQL ([`store`]). A [`worker`] claims sessions and runs each in a process of its
//! own, which is the ordinary `windlass` command with a relay for its journal. A guard process stands
//! between the two and ends everything the session started before the worker's lease ends. The
//! [`gateway`] is HTTP in front of the store, and keeps nothing. `docs/fleet.md` is for those who run it.

pub mod gateway;
pub mod postgres_journal_store;
pub mod session_spec;
pub mod store;
pub mod store_transfer;
pub mod tenant_policy;
pub mod worker;
