//! A proxy from the sandbox to allowed hosts only.
//!
//! It listens on a socket in a directory of its own, speaks HTTP/1.1 to clients inside, resolves
//! names itself and checks the address before it connects. Tunnelled data is not inspected: an
//! allowed host can serve as a relay to any other.

mod allowed_host;
mod proxy_request;
mod proxy_thread;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use windlass_permission::{AddressClass, classify_address};

pub use allowed_host::{AllowedHost, InvalidAllowedHost};
use proxy_request::ProxyRequest;
pub use proxy_thread::ProxyThread;

/// Limit on concurrent connections; more must wait.
const CONNECTIONS_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 16 * 1024;
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
const CONNECT_DEADLINE: Duration = Duration::from_secs(20);
/// Limit on the duration of a connection.
const CONNECTION_DEADLINE: Duration = Duration::from_secs(30 * 60);
/// Limit on remembered refusals; the oldest are dropped.
const REFUSALS_MAX: usize = 32;

/// A running proxy; stops on drop.
#[derive(Debug)]
pub struct Proxy {
    socket: PathBuf,
    task: JoinHandle<()>,
    state: Arc<ProxyState>,
}

/// The allowed hosts, and exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyHostRules {
    pub allowed: Vec<AllowedHost>,
    /// Denied on every port.
    pub denied: Vec<AllowedHost>,
}

impl From<Vec<AllowedHost>> for ProxyHostRules {
    fn from(allowed: Vec<AllowedHost>) -> Self {
        Self { allowed, denied: Vec::new() }
    }
}

#[derive(Debug)]
struct ProxyState {
    hosts: ProxyHostRules,
    refusals: Mutex<Vec<String>>,
}

impl Proxy {
    /// Listens on `proxy` in a directory that only this user can enter.
    ///
    /// # Errors
    ///
    /// The socket cannot be created. Must be called inside of a tokio runtime.
    pub fn start(directory: &Path, hosts: impl Into<ProxyHostRules>) -> io::Result<Self> {
        let socket = directory.join("proxy");
        let listener = UnixListener::bind(&socket)?;
        let rules = Arc::new(ProxyState { hosts: hosts.into(), refusals: Mutex::default() });
        let task = tokio::spawn(serve(listener, Arc::clone(&rules)));
        Ok(Self { socket, task, state: rules })
    }

    /// For [`ViaProxy`](crate::SandboxNetwork::ViaProxy).
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The hosts refused since the last call, and why.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.state.take_refusals()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Connections are owned by this task, so they end with it.
async fn serve(listener: UnixListener, rules: Arc<ProxyState>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut open = JoinSet::new();
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        while open.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let rules = Arc::clone(&rules);
                open.spawn(async move {
                    let _slot = slot;
                    // The client notices that the connection is closed.
                    let _ = timeout(CONNECTION_DEADLINE, forward_connection(stream, &rules)).await;
                });
            }
            // Out of descriptors: wait until others are closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn forward_connection(mut inside: UnixStream, rules: &ProxyState) -> io::Result<()> {
    let head = match timeout(HEAD_DEADLINE, read_head(&mut inside)).await {
        Ok(Ok(head)) => head,
        Ok(Err(error)) => return Err(error),
        Err(_) => return refuse(&mut inside, "400 Bad Request", "the request took too long").await,
    };
    let (head, more) = head;
    let request = match proxy_request::parse_request(&head) {
        Ok(request) => request,
        Err(problem) => return refuse(&mut inside, "400 Bad Request", problem).await,
    };
    let mut outside = match rules.connect(&request).await {
        Ok(outside) => outside,
        Err(problem) => {
            rules.add_refusal(&problem);
            return refuse(&mut inside, "403 Forbidden", &problem).await;
        }
    };
    if request.is_tunnel {
        inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    }
    outside.write_all(&request.forwarded_head).await?;
    outside.write_all(&more).await?;
    tokio::io::copy_bidirectional(&mut inside, &mut outside).await.map(drop)
}

impl ProxyState {
    async fn connect(&self, request: &ProxyRequest) -> Result<TcpStream, String> {
        let ProxyRequest { host, port, .. } = request;
        let Some(reaches_private) = self.find_private_access(host, *port) else {
            return Err(format!("{host}:{port} is not on the list of hosts"));
        };
        let attempt = async {
            let found = tokio::net::lookup_host((host.as_str(), *port)).await;
            let found: Vec<SocketAddr> =
                found.map_err(|error| format!("{host} has no address: {error}"))?.collect();
            let is_right = |address: &&SocketAddr| match classify_address(address.ip()) {
                AddressClass::Public => true,
                AddressClass::Loopback | AddressClass::Private | AddressClass::Reserved => {
                    reaches_private
                }
                AddressClass::Unspecified | AddressClass::Metadata | AddressClass::Unroutable => {
                    false
                }
            };
            let right: Vec<SocketAddr> = found.iter().filter(is_right).copied().collect();
            if right.is_empty() {
                return Err(format!(
                    "{host} is an address of this machine, of the network around it, or of \
                     neither; its entry on the list of hosts does not say so"
                ));
            }
            TcpStream::connect(&*right).await.map_err(|error| format!("{host}:{port}: {error}"))
        };
        timeout(CONNECT_DEADLINE, attempt)
            .await
            .unwrap_or_else(|_| Err(format!("{host}:{port} does not answer")))
    }

    /// Whether a host is allowed, and if so, whether it may be private.
    fn find_private_access(&self, host: &str, port: u16) -> Option<bool> {
        if self.hosts.denied.iter().any(|one| one.matches_host(host)) {
            return None;
        }
        let covering = self.hosts.allowed.iter().filter(|one| one.covers(host, port));
        covering.map(|one| one.reaches_private).reduce(|one, other| one || other)
    }

    fn take_refusals(&self) -> Vec<String> {
        std::mem::take(&mut *self.refusals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add_refusal(&self, problem: &str) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() >= REFUSALS_MAX {
            refusals.remove(0);
        }
        refusals.push(problem.to_owned());
    }
}

/// Everything up to the empty line, and the bytes after it.
async fn read_head(from: &mut (impl AsyncRead + Unpin)) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::with_capacity(1024);
    loop {
        if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            let more = head.split_off(at + 4);
            return Ok((head, more));
        }
        if head.len() > HEAD_BYTES_MAX || from.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

async fn refuse(to: &mut UnixStream, status: &str, problem: &str) -> io::Result<()> {
    let body = format!("windlass sandbox: {problem}\n");
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    to.write_all(answer.as_bytes()).await?;
    to.shutdown().await
}
