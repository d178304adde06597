//! `windlass-fleet serve`: the HTTP API in front of the store. With a database it is stateless: any
//! number of gateways serve the same fleet, and when one dies its clients only reconnect. Without
//! one it also runs the sessions, and keeps them in files.

pub(crate) mod body;
pub(crate) mod client_stream;
mod endpoint;
mod event_stream;
mod http_error;
mod metrics;
mod request_limits;
pub mod routes;
mod server_tls;
mod tenant_streams;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::task::JoinSet;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;

use self::client_stream::ClientStream;
use self::endpoint::answer_request;
use self::metrics::GatewayMetrics;
use self::server_tls::ServerTls;
pub use self::server_tls::TlsFiles;
use self::tenant_streams::TenantStreams;
use crate::live::LiveOption;
use crate::live::live_mirror::{LiveMirrors, LiveSource};
use crate::live::live_sessions::LiveSessions;
use crate::live::nats_live::NatsFollower;
use crate::store::{FileStore, FleetStore, SessionStore, StoreNews};
use crate::worker::{self, WorkerOptions, report_line};

#[derive(Clone, Debug)]
pub struct GatewayOptions {
    pub listen: String,
    /// Limit on concurrent connections.
    pub connections: usize,
    /// Limit on concurrent event streams of one tenant.
    pub streams: usize,
    /// For HTTPS; without it a proxy does that.
    pub tls: Option<TlsFiles>,
    /// Where live text comes from.
    pub live: LiveOption,
}

/// Shared by all requests.
#[derive(Debug)]
pub(crate) struct GatewayContext {
    pub(crate) store: SessionStore,
    pub(crate) metrics: GatewayMetrics,
    pub(crate) streams: Arc<TenantStreams>,
    pub(crate) live: LiveMirrors,
    /// Ids of sessions with new events.
    pub(crate) news: broadcast::Sender<String>,
    /// Set when the gateway shuts down: streams are closed, and clients reconnect elsewhere.
    pub(crate) is_ending: watch::Sender<bool>,
}

/// Serves the fleet with this database.
pub async fn serve(store_url: &str, options: GatewayOptions) -> Result<Exit, CommandError> {
    let store = FleetStore::open(store_url, DATABASE_CONNECTIONS).await;
    let store = store.map_err(|error| CommandError::failure(error.to_string()))?;
    let listener = listen_at(&options.listen).await?;
    let store = SessionStore::Database(store);
    let live = match &options.live {
        LiveOption::Owner | LiveOption::Address(_) => LiveSource::Owners(store.clone()),
        LiveOption::Nats(server) => LiveSource::Nats(NatsFollower::start(server.clone())),
        LiveOption::Off => LiveSource::Off,
    };
    serve_on(store, listener, options, live).await
}

/// Serves without a database: sessions run here, and are kept in the worker's folder.
pub async fn serve_embedded(
    options: GatewayOptions,
    worker: WorkerOptions,
) -> Result<Exit, CommandError> {
    let root = worker.directory.join("store");
    let store = FileStore::open(&root).map_err(|error| CommandError::failure(error.to_string()))?;
    let store = SessionStore::Files(Arc::new(store));
    let listener = listen_at(&options.listen).await?;
    report_line(&format!("the token is in {}", root.join("token").display()));
    let live = Arc::new(LiveSessions::default());
    let serving = serve_on(store.clone(), listener, options, LiveSource::Local(Arc::clone(&live)));
    // Both end with the same signal. If one fails, the other is dropped, and its sessions with it.
    let (exit, _) = tokio::try_join!(serving, worker::run_on(store, worker, live))?;
    Ok(exit)
}

async fn listen_at(address: &str) -> Result<TcpListener, CommandError> {
    TcpListener::bind(address).await.map_err(|error| {
        CommandError::failure(format!(
            "cannot listen at {address}: {error}; choose another with --listen"
        ))
    })
}

async fn serve_on(
    store: SessionStore,
    listener: TcpListener,
    options: GatewayOptions,
    live: LiveSource,
) -> Result<Exit, CommandError> {
    let address =
        listener.local_addr().map_err(|error| CommandError::failure(error.to_string()))?;
    let tls = options.tls.map(ServerTls::load).transpose().map_err(CommandError::usage)?;
    let tls = tls.map(Arc::new);
    let context = Arc::new(GatewayContext {
        store,
        metrics: GatewayMetrics::default(),
        streams: Arc::new(TenantStreams::new(options.streams)),
        live: LiveMirrors::new(live),
        news: broadcast::Sender::new(NEWS_MAX),
        is_ending: watch::Sender::new(false),
    });
    let mut signals = SignalListener::listen()?;
    let hearing = tokio::spawn(hear_news(Arc::clone(&context)));
    let places = Arc::new(Semaphore::new(options.connections));
    let mut connections = JoinSet::new();
    let scheme = if tls.is_some() { "https" } else { "http" };
    report_line(&format!("serving at {scheme}://{address}"));
    let exit = loop {
        tokio::select! {
            signal = signals.next() => break signal.exit(),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    // Out of file descriptors: retries when a connection may have ended.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                // Above the limit a connection is closed at once, instead of waiting in the accept
                // queue.
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
                let context = Arc::clone(&context);
                let tls = tls.clone();
                connections.spawn(async move {
                    serve_client(stream, tls, context).await;
                    drop(place);
                });
            }
        }
    };
    drop(listener);
    context.is_ending.send_replace(true);
    let all_end = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN_WAIT, all_end).await;
    hearing.abort();
    report_line("gateway ended");
    Ok(exit)
}

async fn serve_client(
    stream: TcpStream,
    tls: Option<Arc<ServerTls>>,
    context: Arc<GatewayContext>,
) {
    // Disables Nagle's algorithm, so that events are sent at once.
    let _ = stream.set_nodelay(true);
    match tls {
        None => serve_connection(ClientStream::new(stream), context).await,
        Some(tls) => {
            if let Some(stream) = tls.accept(stream).await {
                serve_connection(ClientStream::new(stream), context).await;
            }
        }
    }
}

async fn serve_connection(
    stream: ClientStream<impl AsyncRead + AsyncWrite + Unpin>,
    context: Arc<GatewayContext>,
) {
    let service = service_fn(|request| {
        let context = Arc::clone(&context);
        async move { Ok::<_, Infallible>(answer_request(context, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut is_ending = context.is_ending.subscribe();
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            changed = is_ending.changed() => {
                connection.as_mut().graceful_shutdown();
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

/// Forwards the store's notifications. Without them streams still work, by polling.
async fn hear_news(context: Arc<GatewayContext>) {
    loop {
        if let Some(mut listener) = context.store.listen().await {
            // Reconnects after a silence, since a dead connection cannot be told from an idle one.
            while let Ok(Some(heard)) = tokio::time::timeout(HEARING_SILENCE, listener.next()).await
            {
                if let StoreNews::Events(session) = heard {
                    // Fails when no stream is subscribed.
                    let _ = context.news.send(session);
                }
            }
        }
        tokio::time::sleep(HEARING_PAUSE).await;
    }
}

const DATABASE_CONNECTIONS: u32 = 16;
const NEWS_MAX: usize = 1024;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const DRAIN_WAIT: Duration = Duration::from_secs(10);
const HEADER_WAIT: Duration = Duration::from_secs(10);
const HEADERS_MAX: usize = 64;
const BUFFER_BYTES_MAX: usize = 64 << 10;
const HEARING_SILENCE: Duration = Duration::from_secs(60);
const HEARING_PAUSE: Duration = Duration::from_secs(2);
