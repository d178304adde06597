//! One attempt at a model, over the wire.
//!
//! `route` knows which model lives where; `call` encodes and sends; `answer` reads and decodes,
//! `refusal` what is no answer; `media` makes images fit; `http` owns the connections; `watchdog`
//! listens for silence. Everything that goes wrong is one `ModelFailure`, sorted by the dialect or
//! by `http`; what to do about it is the engine's to say.

mod answer_stream;
mod endpoint;
mod error_response;
mod http_endpoint;
mod image_fitter;
mod model_client;
mod model_routes;
pub(crate) mod side_model;
pub(crate) mod summary_call;
mod switch_model;
mod watchdog;

pub use endpoint::{CredentialRenewal, Endpoint, ModelTimeouts, RENEWAL_MAX};
pub(crate) use model_client::ModelClient;
pub(crate) use model_routes::ModelRoutes;
pub(crate) use switch_model::switch_model;
