//! The real server: one origin, to which requests are forwarded.
//!
//! Credentials are only sent to this origin: redirects are not followed, and addresses that lead
//! elsewhere are rejected. Compression is disabled, because compressed data cannot be scrubbed.
//! Certificates are loaded only for `https`, with the first request. Reads no bodies and writes no
//! files.

use std::error::Error;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use windlass_http_request::HttpRequest;

use super::RecordError;

/// The client of the real server.
#[derive(Debug)]
pub(super) struct Upstream {
    base: Url,
    client: OnceLock<Client>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum UpstreamError {
    /// The request was not sent; with a status and reason for the client.
    NotSent(u16, String),
    /// The server closed the connection without an answer.
    Dropped { is_reset: bool },
    /// The server did not respond in time.
    TimedOut,
}

impl Upstream {
    /// Validates the address; opens no connection.
    pub(super) fn new(text: &str) -> Result<Self, RecordError> {
        let refuse = |problem| RecordError::Upstream { url: text.to_owned(), problem };
        let url = Url::parse(text).map_err(|_| refuse("it is not an address"))?;
        if !url.username().is_empty() || url.password().is_some() {
            // The address contains a secret, so it is not shown.
            let url = format!("{}://…", url.scheme());
            let problem = "put the secret into a header of the request";
            return Err(RecordError::Upstream { url, problem });
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("only http and https are supported"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(refuse("it names no host"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("it must end with its path"));
        }
        Ok(Self { base: url, client: OnceLock::new() })
    }

    /// Forwards a request, and waits for the head of the answer.
    pub(super) async fn send_request(
        &self,
        request: &HttpRequest,
    ) -> Result<reqwest::Response, UpstreamError> {
        let refuse = |why: &str| UpstreamError::NotSent(400, why.to_owned());
        let url =
            self.resolve_url(&request.target).ok_or_else(|| refuse("the path leads elsewhere"))?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| refuse("it is not an HTTP method"))?;
        let outgoing = self
            .get_or_build_client()?
            .request(method, url)
            .headers(build_forwarded_headers(&request.headers))
            .body(request.body.clone());
        match timeout(HEAD_MAX, outgoing.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.classify_error(&error)),
            Err(_) => Err(UpstreamError::TimedOut),
        }
    }

    fn resolve_url(&self, target: &str) -> Option<Url> {
        let base = self.base.as_str().trim_end_matches('/');
        let url = target.starts_with('/').then(|| Url::parse(&format!("{base}{target}")))?.ok()?;
        let is_same = url.scheme() == self.base.scheme()
            && url.host_str() == self.base.host_str()
            && url.port_or_known_default() == self.base.port_or_known_default()
            && url.username().is_empty();
        is_same.then_some(url)
    }

    fn get_or_build_client(&self) -> Result<&Client, UpstreamError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let is_https = self.base.scheme() == "https";
        let client = build_client(is_https, self.is_local()).map_err(|error| {
            UpstreamError::NotSent(502, format!("no HTTP client: {}", join_error_causes(&error)))
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    fn is_local(&self) -> bool {
        matches!(self.base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
    }

    fn classify_error(&self, error: &reqwest::Error) -> UpstreamError {
        if error.is_connect() || error.is_builder() {
            let host = self.base.host_str().unwrap_or_default();
            let port = self.base.port_or_known_default().unwrap_or_default();
            let why = join_error_causes(error);
            return UpstreamError::NotSent(
                502,
                format!("{host}:{port} cannot be reached: {why}; is the upstream address right?"),
            );
        }
        UpstreamError::Dropped { is_reset: is_reset(error) }
    }
}

/// Was the connection ended by a reset?
pub(super) fn is_reset(error: &reqwest::Error) -> bool {
    error_causes(error).any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::ConnectionReset)
    })
}

/// The headers that are about the answer and not about one hop.
pub(super) fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP_HEADERS.contains(&name) || name.starts_with("proxy-")
}

fn build_forwarded_headers(headers: &[(String, String)]) -> HeaderMap {
    let mut passed = HeaderMap::new();
    let passes = |name: &str| !is_hop_by_hop(name) && !REPLACED_HEADERS.contains(&name);
    for (name, value) in headers.iter().filter(|(name, _)| passes(name)) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value)) {
            value.set_sensitive(true);
            passed.append(name, value);
        }
    }
    passed.insert("accept-encoding", HeaderValue::from_static("identity"));
    passed
}

fn build_client(is_https: bool, is_local: bool) -> Result<Client, reqwest::Error> {
    // Fails if the process has installed a provider already, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_MAX)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEPALIVE)
        // No connection reuse: the server may just have closed the connection, which would be
        // recorded as a failure.
        .pool_max_idle_per_host(0);
    if is_local {
        builder = builder.no_proxy();
    }
    if is_https {
        return builder.https_only(true).build();
    }
    // Without `https`, loading root certificates would only cost time.
    let no_roots = ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    builder.tls_backend_preconfigured(no_roots).build()
}

/// The sources of an error, innermost last, without the address.
fn join_error_causes(error: &reqwest::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error_causes(error) {
        let text = cause.to_string();
        if !causes.iter().any(|earlier| earlier.contains(&text)) {
            causes.push(text);
        }
    }
    if causes.is_empty() { "the cause is unknown".to_owned() } else { causes.join(": ") }
}

fn error_causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// Hop-by-hop headers, in addition to those that start with `proxy-`.
const HOP_BY_HOP_HEADERS: [&str; 6] =
    ["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
/// Request headers that are set anew.
const REPLACED_HEADERS: [&str; 4] = ["host", "content-length", "expect", "accept-encoding"];
const CONNECT_MAX: Duration = Duration::from_secs(30);
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Timeout from the request to the head of the answer. Models may think for long.
const HEAD_MAX: Duration = Duration::from_secs(600);
