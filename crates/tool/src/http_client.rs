//! What every HTTP client of ours has in common: certificates that the user trusts besides those of the
//! system, and a limit on connecting that a stop of this process does not use up.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use reqwest::{Certificate, ClientBuilder};
use tower_layer::Layer;
use tower_service::Service;

use crate::running_time::timeout;

/// Set once for the process, because every client needs them and none can be made without.
static EXTRA_CERTIFICATES: OnceLock<Vec<Certificate>> = OnceLock::new();

/// From now on these certificates are trusted as well. The first call counts.
///
/// # Errors
/// What is wrong with them.
pub fn trust_certificates(pem: &[u8]) -> Result<(), String> {
    let certificates = Certificate::from_pem_bundle(pem).map_err(|error| error.to_string())?;
    if certificates.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    let _ = EXTRA_CERTIFICATES.set(certificates);
    Ok(())
}

/// Lets a client trust what the system and the user trust. For clients that speak TLS.
pub fn with_trusted_certificates(builder: ClientBuilder) -> ClientBuilder {
    let extra = EXTRA_CERTIFICATES.get().map(Vec::as_slice).unwrap_or_default();
    builder.tls_certs_merge(extra.iter().cloned())
}

/// Gives connecting, TLS included, so much running time.
pub fn with_connect_limit(builder: ClientBuilder, limit: Duration) -> ClientBuilder {
    builder.connector_layer(ConnectLimitLayer(limit))
}

#[derive(Clone, Copy, Debug)]
struct ConnectLimitLayer(Duration);

impl<S> Layer<S> for ConnectLimitLayer {
    type Service = LimitedConnector<S>;

    fn layer(&self, connector: S) -> LimitedConnector<S> {
        LimitedConnector { connector, limit: self.0 }
    }
}

#[derive(Clone, Debug)]
struct LimitedConnector<S> {
    connector: S,
    limit: Duration,
}

type ConnectError = Box<dyn Error + Send + Sync>;

impl<S, R> Service<R> for LimitedConnector<S>
where
    S: Service<R, Error = ConnectError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let connecting = self.connector.call(request);
        let limit = self.limit;
        Box::pin(async move {
            timeout(limit, connecting).await.unwrap_or_else(|_| {
                let words = format!("no connection within {} s", limit.as_secs_f32());
                Err(io::Error::new(io::ErrorKind::TimedOut, words).into())
            })
        })
    }
}
