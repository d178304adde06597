//! Streamable HTTP: each message is a request of its own, the answer is JSON or an event stream.
//!
//! Redirects are followed only within an origin, so that our headers reach no other server.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, StreamableHttpClientTransport};
use windlass_tool::http_client::{
    install_crypto_provider, is_loopback, with_connect_limit, with_trusted_certificates,
};

use super::MESSAGE_BYTES_MAX;
use super::capped_http::CappedHttpClient;
use crate::failure::McpFailure;
use crate::login::OauthAccess;

const CONNECT_MAX: Duration = Duration::from_secs(10);
const HOPS_MAX: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpServerConfig {
    pub url: String,
    /// The server uses the first HTTP transport: one event stream, and a separate address for
    /// messages.
    pub is_legacy_sse: bool,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// A command of the user that prints more headers, run for every connection.
    pub headers_command: Option<String>,
    /// An OAuth client id that was registered beforehand.
    pub client_id: Option<String>,
    /// The port of the redirect URL of a login.
    pub callback_port: Option<u16>,
}

impl HttpServerConfig {
    /// The configuration contains credentials.
    pub(crate) fn is_authorized(&self) -> bool {
        self.headers_command.is_some()
            || self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }
}

pub(crate) fn build_transport(
    config: &HttpServerConfig,
) -> Result<StreamableHttpClientTransport<CappedHttpClient>, McpFailure> {
    let transport_config = build_transport_config(config)?;
    Ok(StreamableHttpClientTransport::with_client(build_client(&config.url)?, transport_config))
}

/// A transport with the user's login.
pub(crate) fn build_authorized_transport(
    config: &HttpServerConfig,
    access: OauthAccess,
) -> Result<StreamableHttpClientTransport<AuthClient<CappedHttpClient>>, McpFailure> {
    let transport_config = build_transport_config(config)?;
    let client = AuthClient::new(build_client(&config.url)?, *access.manager);
    Ok(StreamableHttpClientTransport::with_client(client, transport_config))
}

fn build_transport_config(
    config: &HttpServerConfig,
) -> Result<StreamableHttpClientTransportConfig, McpFailure> {
    Ok(StreamableHttpClientTransportConfig::with_uri(config.url.as_str())
        .custom_headers(parse_headers(config)?)
        .max_sse_event_size(MESSAGE_BYTES_MAX)
        .reinit_on_expired_session(true))
}

/// The configured headers, validated.
pub(super) fn parse_headers(
    config: &HttpServerConfig,
) -> Result<HashMap<HeaderName, HeaderValue>, McpFailure> {
    let unusable = |reason: String| McpFailure::Unreachable { reason };
    reqwest::Url::parse(&config.url)
        .map_err(|error| unusable(format!("`{}` is not a URL: {error}", config.url)))?;
    let mut headers = HashMap::new();
    for (name, value) in &config.headers {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| unusable(format!("`{name}` is not the name of a header")))?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| unusable(format!("the value of the header `{name}` cannot be sent")))?;
        headers.insert(key, value);
    }
    Ok(headers)
}

pub(super) fn build_client(url: &str) -> Result<CappedHttpClient, McpFailure> {
    finish_client(client_builder(url)).map(CappedHttpClient)
}

/// A client whose connection can become another protocol's, which HTTP/2 does in another way.
pub(super) fn build_upgrade_client(url: &str) -> Result<Client, McpFailure> {
    finish_client(client_builder(url).http1_only())
}

fn finish_client(builder: ClientBuilder) -> Result<Client, McpFailure> {
    builder.build().map_err(|error| McpFailure::Unreachable { reason: error.to_string() })
}

fn client_builder(url: &str) -> ClientBuilder {
    install_crypto_provider();
    let policy = Policy::custom(|attempt| {
        let is_same = attempt.previous().first().is_some_and(|first| {
            first.origin() == attempt.url().origin() && attempt.previous().len() <= HOPS_MAX
        });
        match is_same {
            true => attempt.follow(),
            false => attempt.error("it redirects to another place"),
        }
    });
    let builder = Client::builder().pool_max_idle_per_host(0).referer(false).redirect(policy);
    let mut builder = with_trusted_certificates(with_connect_limit(builder, CONNECT_MAX));
    if reqwest::Url::parse(url).is_ok_and(|url| is_loopback(&url)) {
        // A configured proxy could not reach this machine, or would reach its own loopback.
        builder = builder.no_proxy();
    }
    builder
}
