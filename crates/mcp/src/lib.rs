//! An MCP client that offers remote tools as ours.
//!
//! Reading order: [`connection`] (one server, in our own words), `transport` (how messages get
//! there), [`server`] (when to connect, and again), `tool` (remote tools as ours), [`servers`] (all of
//! a session), [`serve`] (the other way round: our tools for others). The official library is used inside `connection` and `transport` and never shown, so
//! that its changes stay in there.

pub mod config;
pub mod conformance;
pub mod connection;
mod failure;
pub mod form;
mod login;
mod name;
mod person;
mod prompt;
pub mod serve;
pub mod server;
mod servers;
mod tool;
mod transport;

pub use connection::{Asking, CallTerms, Channel, Connection, Era, Host, Question, Reply};
pub use failure::Failure;
pub use login::{Identity, Login, Pass, Safe, Vault};
pub use name::prefix;
pub use person::{Admitting, Doorman, Person, Seat};
pub use prompt::PromptCommand;
pub use server::{Common, Inside, ListMemory, Patience, ServerOrder, Status, Way};
pub use servers::{ServerStatus, Servers};
pub use transport::http::HttpOrder;
pub use transport::process::ProcessOrder;
