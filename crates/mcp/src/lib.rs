//! An MCP client that offers remote tools as ours.
//!
//! Reading order: [`connection`] (one server, in our own words), `transport` (how messages get
//! there). The official library is used inside and never shown, so that its changes stay in here.

pub mod connection;
mod failure;
mod transport;

pub use connection::{CallTerms, Channel, Connection, Era, Host};
pub use failure::Failure;
pub use transport::http::HttpOrder;
pub use transport::process::ProcessOrder;
