//! The HTTP side of an endpoint: one connection pool per origin, created with its first request.
//!
//! Redirects are not followed, so a credential never leaves its origin. There are no cookies and no
//! decompression (the caller's content check rejects a server that compresses anyway). Root
//! certificates are loaded only for `https`: on a plain connection they would cost milliseconds of
//! start-up time for nothing. It does not read bodies, and classifies only connection errors.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use tokio::task::spawn_blocking;
use windlass_dialect::{Credential, Dialect};
use windlass_tool::http_client::{client_builder_for, is_loopback, with_connect_limit};
use windlass_vocabulary::{FailureKind, ModelFailure, RequestSource};

use super::endpoint::RENEWAL_MAX;
use super::{Endpoint, ModelTimeouts};
use crate::clock::{RunningClock, timeout};
use crate::error::SessionStartError;

#[derive(Debug)]
pub(crate) struct HttpEndpoint {
    base: Url,
    endpoint: Endpoint,
    auth: Mutex<EndpointAuth>,
    connect_timeout: Duration,
    local_server: LocalServerStart,
    client: Arc<OnceLock<Client>>,
}

/// The credential and the identifying headers of requests.
#[derive(Clone, Debug)]
struct EndpointAuth {
    credential: Credential,
    headers: HeaderMap,
}

/// Waits for a local server that is starting or restarting. The wait is granted once, and again
/// after the server has responded.
#[derive(Debug)]
struct LocalServerStart {
    wait_max: Duration,
    is_used_up: AtomicBool,
}

impl LocalServerStart {
    fn may_come_up(&self, clock: &mut RunningClock) -> bool {
        if clock.read() >= self.wait_max {
            self.is_used_up.store(true, Ordering::Relaxed);
        }
        !self.is_used_up.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
pub(crate) struct HttpClientPool {
    by_origin: HashMap<String, Arc<OnceLock<Client>>>,
}

impl HttpEndpoint {
    pub(crate) fn new(
        endpoint: &Endpoint,
        dialect: &dyn Dialect,
        timeouts: ModelTimeouts,
        clients: &mut HttpClientPool,
    ) -> Result<Self, SessionStartError> {
        let base = parse_base_url(&endpoint.base_url)?;
        let credential = endpoint.credential.clone();
        let headers = build_headers(endpoint, &credential, dialect)?;
        let origin = base.origin().ascii_serialization();
        let is_local = is_loopback(&base);
        Ok(Self {
            base,
            endpoint: endpoint.clone(),
            auth: Mutex::new(EndpointAuth { credential, headers }),
            connect_timeout: timeouts.connect,
            local_server: LocalServerStart {
                wait_max: if is_local { timeouts.local_start } else { Duration::ZERO },
                is_used_up: AtomicBool::new(false),
            },
            client: Arc::clone(clients.by_origin.entry(origin).or_default()),
        })
    }

    pub(crate) fn base_url(&self) -> &str {
        self.base.as_str()
    }

    /// Sends a request and waits for the response headers. The caller sets the deadline.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        source: RequestSource,
        body: Vec<u8>,
    ) -> Result<reqwest::Response, ModelFailure> {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let request = self.client()?.post(url).headers(self.auth().headers);
        let request = headers.iter().fold(request, |request, (name, value)| {
            // A header of the same name set by the user is sent as well: these headers are lists.
            request.header(*name, *value)
        });
        // Identifies the caller, so that a proxy or a rehearsal server can tell the requests of a
        // session apart.
        let request = request.header("x-windlass-source", source.name()).body(body);
        let mut clock = RunningClock::start();
        loop {
            let Some(copy) = request.try_clone() else {
                return request.send().await.map_err(|error| classify_transport_error(&error));
            };
            match copy.send().await {
                Err(error) if is_refused(&error) && self.local_server.may_come_up(&mut clock) => {
                    tokio::time::sleep(LOCAL_START_POLL).await;
                }
                Err(error) => return Err(classify_transport_error(&error)),
                Ok(response) => {
                    self.local_server.is_used_up.store(false, Ordering::Relaxed);
                    return Ok(response);
                }
            }
        }
    }

    /// The current credential; `None` if it can never change.
    pub(crate) fn renewable_credential(&self) -> Option<Credential> {
        self.endpoint.renewal.as_ref().map(|_| self.auth().credential)
    }

    /// Called when this credential was rejected. Returns whether there is a different one now.
    pub(crate) async fn renew(&self, refused: &Credential, dialect: &dyn Dialect) -> bool {
        if self.auth().credential != *refused {
            // A concurrent request has already renewed it.
            return true;
        }
        let Some(renewal) = self.endpoint.renewal.clone() else {
            return false;
        };
        // A key ring or helper program may block for long.
        let found = timeout(RENEWAL_MAX, spawn_blocking(move || renewal.find_credential())).await;
        let Ok(Ok(Some(credential))) = found else {
            return false;
        };
        match build_headers(&self.endpoint, &credential, dialect) {
            Ok(headers) if credential != *refused => {
                let mut proof = self.auth.lock().unwrap_or_else(PoisonError::into_inner);
                *proof = EndpointAuth { credential, headers };
                true
            }
            _ => false,
        }
    }

    fn auth(&self) -> EndpointAuth {
        self.auth.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn client(&self) -> Result<&Client, ModelFailure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = build_client(&self.base, self.connect_timeout).map_err(|error| {
            build_misconfigured_failure(format!("no HTTP client: {}", render_error_chain(&error)))
        })?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn build_client(base: &Url, connect: Duration) -> Result<Client, reqwest::Error> {
    let builder = client_builder_for(base)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(60))
        .pool_max_idle_per_host(POOL_IDLE_MAX);
    with_connect_limit(builder, connect).build()
}

fn parse_base_url(text: &str) -> Result<Url, SessionStartError> {
    let refuse = |problem: String| SessionStartError::Address { url: text.to_owned(), problem };
    let url = Url::parse(text).map_err(|error| refuse(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("only http and https are supported".to_owned()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refuse("it names no host".to_owned()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it must end with its path".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The address is not part of the message, because it contains a secret.
        return Err(SessionStartError::Address {
            url: format!("{}://…@{}", url.scheme(), url.host_str().unwrap_or_default()),
            problem: "put the secret into the credential".to_owned(),
        });
    }
    Ok(url)
}

fn build_headers(
    endpoint: &Endpoint,
    credential: &Credential,
    dialect: &dyn Dialect,
) -> Result<HeaderMap, SessionStartError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let own = dialect.headers(credential);
    for (name, value) in own.iter().chain(&endpoint.headers) {
        let refuse = |problem| SessionStartError::Header { name: name.clone(), problem };
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refuse("the name has characters no header name may have"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| refuse("the value has characters no header may have"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

pub(crate) fn classify_transport_error(error: &reqwest::Error) -> ModelFailure {
    let words = render_error_chain(error);
    if has_bad_certificate(error) {
        return build_misconfigured_failure(format!(
            "the server's certificate is not trusted ({words}); check the address, or add the \
             issuer to the system's certificates"
        ));
    }
    if error.is_builder() {
        return build_misconfigured_failure(words);
    }
    let words = match error.is_connect() {
        true => format!("the server cannot be reached; offline, or a wrong address? ({words})"),
        false => format!("the connection failed: {words}"),
    };
    ModelFailure::new(FailureKind::Transport, words)
}

fn build_misconfigured_failure(words: String) -> ModelFailure {
    ModelFailure::new(FailureKind::Misconfigured, words)
}

/// Retrying does not help against an untrusted certificate.
fn has_bad_certificate(error: &reqwest::Error) -> bool {
    error_causes(error).any(|cause| {
        let mut cause = cause;
        // An I/O error does not list the error it wraps as its source, and may wrap another I/O
        // error.
        while let Some(inner) = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            cause = inner;
        }
        matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
    })
}

/// Nothing listens on the port.
fn is_refused(error: &reqwest::Error) -> bool {
    error_causes(error).any(|cause| {
        let cause: Option<&io::Error> = cause.downcast_ref();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// The error and its sources, innermost last, without the address: it may name a private host, and
/// the error may be shown to others than its owner. The front end knows it anyway.
fn render_error_chain(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in error_causes(error) {
        let text = cause.to_string();
        if !words.iter().any(|earlier| earlier.contains(&text)) {
            words.push(text);
        }
    }
    if words.is_empty() {
        return "the cause is unknown".to_owned();
    }
    words.join(": ")
}

fn error_causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    core::iter::successors(error.source(), |&cause| cause.source())
}

/// Interval for polling a local server.
const LOCAL_START_POLL: Duration = Duration::from_millis(200);
/// Idle connections kept per host: one for the conversation and one for a summary.
const POOL_IDLE_MAX: usize = 4;
