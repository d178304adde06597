//! Reads requests of HTTP/1.1 clients, within limits on size and time.
//!
//! The servers of this workspace answer few kinds of requests, and one of them must be able to break
//! every rule at a chosen byte, so each writes its own responses. What a request is, is decided here
//! once: `request` holds it, `request_reader` reads it.

mod request;
mod request_reader;

pub use request::{HttpRequest, is_loopback_authority};
pub use request_reader::{BodyForm, RequestLimits, RequestReadError, read_request};
