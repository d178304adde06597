//! The worker's end of live text: serves the tails of its sessions to gateways.
//!
//! Over TLS with a certificate made at the start, for requests with a key made at the start: both are
//! in the store, so only who may read the store can connect, and knows whom it is connected to.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::digest;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use windlass_host::random;

use super::AbortedOnDrop;
use super::live_sessions::LiveSessions;
use super::session_tail::{SessionTail, TailReader};
use crate::gateway::body::GatewayBody;
use crate::gateway::client_stream::ClientStream;
use crate::store::LiveEndpoint;

/// Serves until it is dropped.
#[derive(Debug)]
pub(crate) struct OwnerServer {
    pub(crate) endpoint: LiveEndpoint,
    _accepting: AbortedOnDrop,
}

impl OwnerServer {
    /// `address` is where gateways reach this host; port 0 takes a free one.
    pub(crate) async fn start(
        address: SocketAddr,
        sessions: Arc<LiveSessions>,
    ) -> Result<Self, String> {
        let listener = TcpListener::bind(address).await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (config, certificate) = make_certificate()?;
        let key = format!("{}{}", random::generate_uuid(), random::generate_uuid());
        let authorization = format!("Bearer {key}");
        let expected = digest::digest(&digest::SHA256, authorization.as_bytes());
        let serving = Arc::new(OwnerService { sessions, expected });
        let accepting = accept_gateways(listener, TlsAcceptor::from(config), serving);
        Ok(Self {
            endpoint: LiveEndpoint { address: address.to_string(), key, certificate },
            _accepting: AbortedOnDrop(tokio::spawn(accepting)),
        })
    }
}

/// The address for gateways, from the one the database sees this host at.
pub(crate) fn to_own_address(seen: Option<&str>) -> SocketAddr {
    let seen = seen.and_then(|seen| seen.split('/').next()?.parse::<IpAddr>().ok());
    // A database that is reached by a socket is on this host, and so is what reaches it.
    SocketAddr::new(seen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), 0)
}

fn make_certificate() -> Result<(Arc<ServerConfig>, String), String> {
    let made = rcgen::generate_simple_self_signed([OWNER_NAME.to_owned()])
        .map_err(|error| error.to_string())?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .map_err(|error| error.to_string())?;
    Ok((Arc::new(config), made.cert.pem()))
}

struct OwnerService {
    sessions: Arc<LiveSessions>,
    /// The digest of the header that a gateway sends.
    expected: digest::Digest,
}

async fn accept_gateways(listener: TcpListener, tls: TlsAcceptor, service: Arc<OwnerService>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let tls = tls.clone();
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            serve_gateway(stream, tls, service).await;
            drop(place);
        });
    }
}

async fn serve_gateway(stream: TcpStream, tls: TlsAcceptor, service: Arc<OwnerService>) {
    let _ = stream.set_nodelay(true);
    let accepted = tokio::time::timeout(HANDSHAKE_WAIT, tls.accept(stream)).await;
    let Ok(Ok(stream)) = accepted else { return };
    let answer = service_fn(|request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(service.answer(&request)) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE_WAIT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(ClientStream::new(stream)), answer);
    // An error means that the gateway is gone.
    let _ = connection.await;
}

impl OwnerService {
    fn answer(&self, request: &Request<Incoming>) -> Response<GatewayBody> {
        let mut response = Response::new(GatewayBody::whole(""));
        let sent = request.headers().get(AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
        // Digests: how long a comparison takes says nothing about the key.
        if digest::digest(&digest::SHA256, sent).as_ref() != self.expected.as_ref() {
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            return response;
        }
        match self.find_tail(request.uri().path()) {
            Some(tail) => {
                let (sender, receiver) = mpsc::channel(CHANNEL_LINES);
                tokio::spawn(send_items(tail, sender));
                *response.body_mut() = GatewayBody::Events(receiver);
            }
            None => *response.status_mut() = StatusCode::NOT_FOUND,
        }
        response
    }

    fn find_tail(&self, path: &str) -> Option<Arc<SessionTail>> {
        let (session, epoch) = path.strip_prefix("/live/")?.split_once('/')?;
        self.sessions.find(session, epoch.parse().ok()?)
    }
}

/// Sends the items as lines of JSON, and empty lines while there are none.
async fn send_items(tail: Arc<SessionTail>, sender: mpsc::Sender<hyper::body::Bytes>) {
    let mut reader = TailReader::new(tail, None);
    loop {
        let (read, is_open) = reader.read();
        for one in &read {
            let Ok(mut line) = serde_json::to_vec(&*one.item) else { return };
            line.push(b'\n');
            if sender.send(line.into()).await.is_err() {
                return;
            }
        }
        if !is_open {
            return;
        }
        tokio::select! {
            () = reader.wait_for_change() => {}
            () = tokio::time::sleep(SILENCE) => {
                if sender.send("\n".into()).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
}

/// The name in the certificate of every worker; the certificate itself says which.
pub(crate) const OWNER_NAME: &str = "worker.windlass.internal";
/// Pause after which an empty line shows that the connection works.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);
const CONNECTIONS_MAX: usize = 512;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
const HEADERS_MAX: usize = 32;
const BUFFER_BYTES_MAX: usize = 64 << 10;
const CHANNEL_LINES: usize = 64;
