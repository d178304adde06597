//! One attempt at a model, over the wire.
//!
//! `call` encodes, sends and decodes; `http` owns the connections; `watchdog` listens for silence.
//! Everything that goes wrong is one `ModelFailure`, sorted by the dialect or by `http`; what to do
//! about it is the engine's to say.

mod call;
mod endpoint;
mod http;
mod watchdog;

pub(crate) use call::{ModelPort, inspect};
pub use endpoint::{Endpoint, Timeouts};
