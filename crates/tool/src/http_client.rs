//! Shared by all HTTP clients: the user's additional certificates, no redirects by default, and a
//! connect timeout that does not count time while this process was stopped.
//!
//! Three clients stay apart, each for a reason. Web fetch resolves names itself and never uses a proxy,
//! which would connect to addresses that were not checked. The MCP client also logs in at servers with a
//! scheme of their own and follows redirects within an origin. The cassette recorder and the fleet's
//! client are in crates that do not depend on this one.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Url};
use rustls::{ClientConfig, RootCertStore};
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

/// The beginning of a client for one server: no redirects, no referrer, no proxy to this machine. It speaks TLS if
/// the address does, and loads certificates, which takes milliseconds, only then.
pub fn client_builder_for(url: &Url) -> ClientBuilder {
    install_crypto_provider();
    let mut builder = Client::builder().redirect(Policy::none()).referer(false);
    if is_loopback(url) {
        // A proxy meant for the world would not find this machine, or the wrong one.
        builder = builder.no_proxy();
    }
    if url.scheme() == "https" {
        return with_trusted_certificates(builder).https_only(true);
    }
    let no_roots = ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    builder.tls_backend_preconfigured(no_roots)
}

/// Chooses what TLS computes with, once per process.
pub fn install_crypto_provider() {
    // Fails if an embedding program has chosen before; then its choice is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
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
