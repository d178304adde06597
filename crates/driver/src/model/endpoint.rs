//! Where the model server is and how it is spoken to, and how long we wait for it.
//!
//! The credential is written into request headers and nowhere else: not into logs, errors, `Debug`
//! output or the environment of children, and it never reaches another origin, because redirects
//! are not followed. How a secret is found (environment, file, key chain) is the front end's
//! business.

use std::time::Duration;

use windlass_dialect::Credential;
use windlass_vocabulary::Wire;

/// A model server. All models of a session are asked at one endpoint.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The language it speaks.
    pub wire: Wire,
    /// Scheme, host, port and the path below which the wire's own paths begin; for example
    /// `https://models.example.org`.
    pub base_url: String,
    /// What proves who asks.
    pub credential: Credential,
    /// Sent with every request, after the wire's own headers; the same name replaces.
    pub headers: Vec<(String, String)>,
}

impl Endpoint {
    /// An endpoint that asks for no proof.
    #[must_use]
    pub fn new(wire: Wire, base_url: impl Into<String>) -> Self {
        Self { wire, base_url: base_url.into(), credential: Credential::None, headers: Vec::new() }
    }

    /// With this credential.
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        self.credential = credential;
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// How long a model server may keep us waiting. Each over-run is a transport failure, which the
/// engine retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// From sending the request to the last header of the reply.
    pub headers: Duration,
    /// Without a single byte of the body.
    pub silence: Duration,
    /// With bytes but without one whole event: a server that drips.
    pub event: Duration,
    /// With nothing but signs of life.
    pub pings: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            headers: Duration::from_secs(600),
            silence: Duration::from_secs(120),
            event: Duration::from_secs(180),
            pings: Duration::from_secs(300),
        }
    }
}
