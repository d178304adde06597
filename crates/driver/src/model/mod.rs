//! One attempt at a model, over the wire.
//!
//! `route` knows which model lives where; `call` encodes and sends; `answer` reads and decodes,
//! `refusal` what is no answer; `media` makes images fit; `http` owns the connections; `watchdog`
//! listens for silence. Everything that goes wrong is one `ModelFailure`, sorted by the dialect or
//! by `http`; what to do about it is the engine's to say.

mod answer;
mod call;
mod endpoint;
mod http;
mod media;
mod refusal;
mod route;
mod watchdog;

pub(crate) use call::ModelPort;
pub use endpoint::{Endpoint, RENEWAL_MAX, Renewal, Timeouts};
pub(crate) use route::Routes;
