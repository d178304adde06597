//! Serves the counters to a Prometheus server. Listens on the configured address, by default on
//! loopback, and answers only `GET /metrics`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

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
        let (metrics, standard) = (Arc::clone(metrics), Arc::clone(standard));
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
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        let mut buffer = [0; 1024];
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        head.extend_from_slice(buffer.get(..read).unwrap_or_default());
    }
    let (status, body) = page.answer(&String::from_utf8_lossy(&head));
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n\
         content-length: {}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}

impl ScrapedPage {
    fn answer(&self, head: &str) -> (&'static str, String) {
        let mut lines = head.split("\r\n");
        let mut request = lines.next().unwrap_or_default().split(' ');
        let (method, path) = (request.next().unwrap_or_default(), request.next());
        let host = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        });
        let path = path.map(|path| path.split('?').next().unwrap_or_default());
        match (method, path) {
            _ if self.is_local && !host.is_some_and(is_this_machine) => {
                ("403 Forbidden", "this is another machine's name\n".to_owned())
            }
            ("GET", Some("/metrics")) => {
                let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
                ("200 OK", render_prometheus(&metrics, &self.standard.of_metrics))
            }
            ("GET", _) => ("404 Not Found", "there is only /metrics\n".to_owned()),
            _ => ("405 Method Not Allowed", "only GET is answered\n".to_owned()),
        }
    }
}

/// Accepts loopback names such as `127.0.0.1:9464`, `localhost`, `[::1]:9464`.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, _)) => name,
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

const CONNECTIONS_MAX: usize = 8;
const CONNECTION_MAX: Duration = Duration::from_secs(2);
const HEAD_BYTES_MAX: usize = 8 << 10;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
