//! HTTP/1.1 on loopback for one browser: a strict parser, a guard before every route, and limits on
//! all time and memory a client can use.
//!
//! Built on `httparse` instead of a server library: only a few plain requests are served, and
//! everything else (chunked bodies, upgrades, other versions) is refused.

pub(crate) mod access_token;
pub(crate) mod connection;
pub(crate) mod http_response;
pub(crate) mod query;
pub(crate) mod request_guard;

use std::future::Future;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use windlass_http_request::HttpRequest;

use connection::serve_connection;
use http_response::HttpReply;
use request_guard::RequestGuard;

/// Handles requests that passed the guard.
pub(crate) trait RequestRouter: Send + Sync + 'static {
    fn route(
        self: Arc<Self>,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = HttpReply> + Send>>;
}

pub(crate) struct BrowserServer<R> {
    listener: TcpListener,
    guard: Arc<RequestGuard>,
    router: Arc<R>,
}

/// Binds the socket: loopback only; port 0 lets the system choose.
pub(crate) async fn bind_loopback(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

impl<R: RequestRouter> BrowserServer<R> {
    pub(crate) fn new(listener: TcpListener, guard: RequestGuard, router: Arc<R>) -> Self {
        Self { listener, guard: Arc::new(guard), router }
    }

    /// Serves until dropped. Connections above the limit wait in the accept queue.
    pub(crate) async fn run(self) {
        let mut connections = JoinSet::new();
        loop {
            let has_room = connections.len() < CONNECTIONS_MAX;
            tokio::select! {
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if has_room => match accepted {
                    Ok((stream, _)) => {
                        let guard = Arc::clone(&self.guard);
                        let router = Arc::clone(&self.router);
                        connections.spawn(serve_connection(stream, guard, router));
                    }
                    // Out of file descriptors, or the client has disconnected: pauses to avoid a
                    // busy loop.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
    }
}

/// Limit on concurrent connections.
pub(crate) const CONNECTIONS_MAX: usize = 64;
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
