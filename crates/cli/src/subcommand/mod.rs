//! The subcommands, one file each.

pub(crate) mod auth;
pub(crate) mod bound;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod fleet;
pub(crate) mod fork;
pub(crate) mod hooks;
pub(crate) mod journal;
pub(crate) mod key;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod pack;
pub(crate) mod permission;
mod provider_redirect;
pub(crate) mod record;
pub(crate) mod rehearse;
mod rehearse_cassette;
pub(crate) mod rewind;
pub(crate) mod sessions;
pub(crate) mod stats;
pub(crate) mod trust;
