//! Serves the counters to a Prometheus server. Listens on the configured address, by default on
//! loopback, and answers only `GET /metrics`.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass_http_request::{
    BodyForm, HttpRequest, RequestLimits, RequestReadError, is_loopback_authority, read_request,
};

use crate::config::ScrapeAddress;
use crate::metric_table::MetricTable;
use crate::prometheus::render_prometheus;
use crate::standard_attributes::StandardAttributes;

pub(super) struct ScrapeServer {
    listener: TcpListener,
    page: Arc<ScrapedPage>,
}

struct ScrapedPage {
    metrics: Arc<Mutex<MetricTable>>,
    standard: Arc<StandardAttributes>,
    /// Listens on loopback, so only loopback names are valid in `Host`: with DNS rebinding, a web
    /// page could make its own name resolve to this server.
    is_local: bool,
}

impl ScrapeServer {
    pub(super) async fn bind(
        address: &ScrapeAddress,
        metrics: &Arc<Mutex<MetricTable>>,
        standard: &Arc<StandardAttributes>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((address.host.as_str(), address.port)).await?;
        let is_local = listener.local_addr()?.ip().is_loopback();
        let metrics = Arc::clone(metrics);
        let standard = Arc::clone(standard);
        Ok(Self { listener, page: Arc::new(ScrapedPage { metrics, standard, is_local }) })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until dropped. Connections above the limit wait in the accept queue.
    pub(super) async fn run(self) {
        let mut connections = JoinSet::new();
        loop {
            let has_room = connections.len() < CONNECTIONS_MAX;
            tokio::select! {
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if has_room => match accepted {
                    Ok((stream, _)) => {
                        let answer = answer(stream, Arc::clone(&self.page));
                        connections.spawn(timeout(CONNECTION_MAX, answer));
                    }
                    // Out of file descriptors, or the client has disconnected: pauses to avoid a
                    // busy loop.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
    }
}

/// Handles one request per connection.
async fn answer(mut stream: TcpStream, page: Arc<ScrapedPage>) -> io::Result<()> {
    let (status, body) = match read_request(&mut stream, &mut Vec::new(), &REQUEST_LIMITS).await {
        Ok(request) => page.answer(&request),
        Err(RequestReadError::Gone | RequestReadError::Late) => return Ok(()),
        Err(RequestReadError::Refused(_, why)) => ("400 Bad Request", format!("{why}\n")),
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n\
         content-length: {}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}

impl ScrapedPage {
    fn answer(&self, request: &HttpRequest) -> (&'static str, String) {
        match (request.method.as_str(), request.path()) {
            _ if self.is_local
                && !request.single_header("host").is_some_and(is_loopback_authority) =>
            {
                ("403 Forbidden", "the Host header names another machine\n".to_owned())
            }
            ("GET", "/metrics") => {
                let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
                ("200 OK", render_prometheus(&metrics, &self.standard.of_metrics))
            }
            ("GET", _) => ("404 Not Found", "only /metrics is served\n".to_owned()),
            _ => ("405 Method Not Allowed", "only GET is answered\n".to_owned()),
        }
    }
}

const CONNECTIONS_MAX: usize = 8;
const CONNECTION_MAX: Duration = Duration::from_secs(2);
/// What scrapes is older than browsers.
const REQUEST_LIMITS: RequestLimits = RequestLimits {
    head_bytes_max: 8 << 10,
    body_bytes_max: 0,
    minor_version_min: 0,
    body: BodyForm::LengthOnly,
    idle_max: CONNECTION_MAX,
    arrival_max: CONNECTION_MAX,
};
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
