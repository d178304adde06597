//! Downloads one page: checks every redirect, and every address when it is connected to, with
//! limits on size and time.
//!
//! Sends no credentials and stores no cookies. A redirect to another host is not followed, because
//! only this host was permitted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use rustls::{ClientConfig, RootCertStore};

use crate::http_client::{
    install_crypto_provider, is_loopback, with_connect_limit, with_trusted_certificates,
};
use crate::network_access::NetworkAccess;

const REDIRECTS_MAX: usize = 10;
const CONNECT_MAX: Duration = Duration::from_secs(15);
/// Limit of a fetch, from the name lookup to the last byte.
pub(super) const TIME_MAX: Duration = Duration::from_secs(60);
const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;
const URL_BYTES_MAX: usize = 8_000;

#[derive(Debug)]
pub(super) struct FetchedPage {
    pub(super) url: Url,
    pub(super) status: reqwest::StatusCode,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    pub(super) is_cut: bool,
}

#[derive(Debug)]
pub(super) enum WebFetchOutcome {
    Page(FetchedPage),
    /// Redirected to another host, which needs a permission of its own.
    OtherHost {
        from: Url,
        to: Url,
        status: reqwest::StatusCode,
    },
}

pub(super) fn parse_url(text: &str) -> Result<Url, String> {
    if text.len() > URL_BYTES_MAX {
        return Err(format!("longer than {URL_BYTES_MAX} bytes"));
    }
    let url = Url::parse(text.trim()).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}` is not fetched, only http and https", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or password; none are sent".to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("it names no host".to_owned());
    }
    Ok(url)
}

/// Follows redirects within the host, and reads the page.
pub(super) async fn fetch(start: Url, network: NetworkAccess) -> Result<WebFetchOutcome, String> {
    let client = build_client(&start, network)?;
    let mut url = start;
    for _ in 0..REDIRECTS_MAX {
        check_literal_address(&url, network)?;
        let response =
            client.get(url.clone()).send().await.map_err(|error| describe_error(&url, &error))?;
        let Some(target) = find_redirect_target(&response, &url)? else {
            return Ok(WebFetchOutcome::Page(read_page(response, url).await?));
        };
        if !is_same_host(&url, &target) {
            return Ok(WebFetchOutcome::OtherHost {
                from: url,
                to: target,
                status: response.status(),
            });
        }
        if url.scheme() == "https" && target.scheme() == "http" {
            return Err(format!("{url} leads back to plain http, which is not followed."));
        }
        url = target;
    }
    Err(format!("More than {REDIRECTS_MAX} redirects, the last to {url}."))
}

fn build_client(start: &Url, network: NetworkAccess) -> Result<Client, String> {
    install_crypto_provider();
    let mut headers = HeaderMap::new();
    let accept = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1";
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    // No proxy: it would connect for us, to addresses that were not checked.
    let builder = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .referer(false)
        .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .pool_max_idle_per_host(0)
        .dns_resolver(Arc::new(CheckedResolver(network)));
    // The caller has a deadline for the whole fetch.
    let mut builder = with_connect_limit(builder, CONNECT_MAX);
    if start.scheme() == "http" && is_loopback(start) {
        // A local server needs no root certificates, which take time to load.
        let none = ClientConfig::builder()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(none);
    } else {
        builder = with_trusted_certificates(builder);
    }
    builder.build().map_err(|error| format!("No HTTP client: {error}."))
}

/// A host that is an IP address never reaches the resolver, so it is checked here.
fn check_literal_address(url: &Url, network: NetworkAccess) -> Result<(), String> {
    let address = match url.host() {
        Some(url::Host::Ipv4(address)) => address.into(),
        Some(url::Host::Ipv6(address)) => address.into(),
        _ => return Ok(()),
    };
    network.check(address).map_err(|why| format!("{url} is not fetched: {why}."))
}

#[derive(Debug)]
struct CheckedResolver(NetworkAccess);

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let network = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let mut refused = None;
            let mut allowed: Vec<SocketAddr> = Vec::new();
            for address in found {
                match network.check(address.ip()) {
                    Ok(()) => allowed.push(address),
                    Err(why) => refused = Some(why),
                }
            }
            match (allowed.is_empty(), refused) {
                (true, Some(why)) => Err(AddressRefusal(why).into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

#[derive(Debug)]
struct AddressRefusal(String);

impl std::fmt::Display for AddressRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AddressRefusal {}

fn find_redirect_target(response: &Response, url: &Url) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let location = String::from_utf8_lossy(location.as_bytes());
    let wrong = |why: String| format!("{url} redirects to `{location}`: {why}.");
    let target = url.join(&location).map_err(|error| wrong(error.to_string()))?;
    parse_url(target.as_str()).map(Some).map_err(wrong)
}

fn is_same_host(one: &Url, other: &Url) -> bool {
    let plain = |url: &Url| url.host_str().map(|host| host.trim_end_matches('.').to_owned());
    let is_upgrade = one.port().is_none() && other.port().is_none();
    plain(one) == plain(other)
        && (is_upgrade || one.port_or_known_default() == other.port_or_known_default())
}

async fn read_page(mut response: Response, url: Url) -> Result<FetchedPage, String> {
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|kind| kind.to_str().ok()).unwrap_or("").to_owned();
    let status = response.status();
    let mut body = Vec::new();
    let mut is_cut = false;
    while let Some(chunk) = response.chunk().await.map_err(|error| describe_error(&url, &error))? {
        let room = BODY_BYTES_MAX - body.len();
        is_cut = chunk.len() > room;
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if is_cut {
            break;
        }
    }
    Ok(FetchedPage { url, status, content_type, body, is_cut })
}

/// The error with its sources; the last one is the most specific.
fn describe_error(url: &Url, error: &reqwest::Error) -> String {
    let mut text = format!("{url} could not be fetched");
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        last = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() {
        last = "no answer in time".to_owned();
    }
    text.push_str(&format!(": {last}."));
    text
}
