//! One attempt at a model call, over the wire.
//!
//! `model_routes` knows which endpoint serves which model; `model_client` encodes and sends;
//! `answer_stream` reads and decodes, `error_response` reads what is not a stream; `image_fitter` makes
//! images fit; `http_endpoint` owns the connections; `watchdog` detects silence. Every failure is one
//! `ModelFailure`, classified by the dialect or by `http_endpoint`; the engine decides what follows.

mod answer_ids;
mod answer_stream;
mod collected_answer;
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

pub(crate) use answer_ids::AnswerIdSource;
pub use endpoint::{CredentialRenewal, Endpoint, ModelTimeouts, RENEWAL_MAX};
pub(crate) use model_client::ModelClient;
pub(crate) use model_routes::ModelRoutes;
pub(crate) use switch_model::switch_model;
