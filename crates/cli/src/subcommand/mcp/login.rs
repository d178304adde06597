//! `windlass mcp login`: the user goes to a page in a browser and comes back to a port of ours.

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use windlass_driver::mcp::conformance::{self, Brief};
use windlass_driver::mcp::{HttpOrder, Identity, Login, Vault};

use crate::browser;
use crate::environment::Lookup;
use crate::refusal::Refusal;
use crate::remote;

/// How long the user may take.
const USER_MAX: Duration = Duration::from_secs(300);
/// How long a browser may take to say what it wants.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// Visits that are none of ours, before we give up.
const VISITS_MAX: usize = 20;

/// A login that has begun: the user is to go to a page.
pub(crate) struct Going {
    login: Login,
    listener: TcpListener,
    port: u16,
    url: String,
}

impl Going {
    /// Begins one, for a server by its name.
    pub(crate) async fn begin(
        name: &str,
        cwd: &Path,
        lookup: &impl Lookup,
    ) -> Result<Self, Refusal> {
        begun(&super::http(name, cwd, lookup)?, lookup).await
    }

    /// The page.
    pub(crate) fn address(&self) -> &str {
        self.login.address()
    }

    /// Opens the page, if there is a browser, and waits until the user comes back.
    pub(crate) async fn finish(self) -> Result<String, Refusal> {
        browser::open(self.login.address());
        let back = tokio::time::timeout(USER_MAX, visited(&self.listener, self.port)).await;
        let back =
            back.map_err(|_| Refusal::failed("nobody came back from the login; try again"))??;
        let passed = self.login.finish(&back).await;
        passed.map_err(|error| Refusal::failed(error.to_string()))?;
        Ok(format!("logged in to {}\n", self.url))
    }
}

async fn begun(order: &HttpOrder, lookup: &impl Lookup) -> Result<Going, Refusal> {
    let failed = |error: &dyn std::fmt::Display| Refusal::failed(error.to_string());
    let vault = kept(lookup)?;
    let port = order.callback_port.unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|error| Refusal::failed(format!("port {port} cannot be listened on: {error}")))?;
    let port = listener.local_addr().map_err(|error| failed(&error))?.port();
    let identity = Identity {
        redirect: format!("http://localhost:{port}/callback"),
        client_id: order.client_id.clone(),
        ..Identity::default()
    };
    let login = Login::begin(&order.url, &identity, "", &vault).await;
    let login = login.map_err(|error| failed(&error))?;
    Ok(Going { login, listener, port, url: order.url.clone() })
}

/// Forgets a login.
pub(super) fn log_out(order: &HttpOrder, lookup: &impl Lookup) -> Result<String, Refusal> {
    match kept(lookup)?.forget(&order.url) {
        true => Ok(format!("logged out of {}\n", order.url)),
        false => Err(Refusal::failed(format!("there is no login to {}", order.url))),
    }
}

/// Does what the conformance runner wants.
pub(crate) async fn conform(url: &str, lookup: &impl Lookup) -> Result<String, Refusal> {
    let text = |name: &str| lookup(name).and_then(|value| value.into_string().ok());
    let (context, revision) =
        (text("MCP_CONFORMANCE_CONTEXT"), text("MCP_CONFORMANCE_PROTOCOL_VERSION"));
    let brief = Brief::new(context.as_deref(), revision.as_deref());
    // Scenarios run side by side and must not know of each other.
    let folder = std::env::temp_dir().join(format!("windlass-conformance-{}", std::process::id()));
    let done = conformance::run(url, &brief, &Vault::new(&folder)).await;
    let _ = std::fs::remove_dir_all(&folder);
    done.map(|()| String::new()).map_err(|error| Refusal::failed(error.to_string()))
}

fn kept(lookup: &impl Lookup) -> Result<Vault, Refusal> {
    remote::vault(lookup)
        .ok_or_else(|| Refusal::failed("there is no home directory to keep logins in; set HOME"))
}

/// The address the browser came back to.
async fn visited(listener: &TcpListener, port: u16) -> Result<String, Refusal> {
    for _ in 0..VISITS_MAX {
        let Ok((mut stream, _)) = listener.accept().await else { continue };
        let mut line = String::new();
        let mut reader = BufReader::new(&mut stream);
        let read = tokio::time::timeout(REQUEST_MAX, reader.read_line(&mut line)).await;
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let is_ours = matches!(read, Ok(Ok(_))) && path.starts_with("/callback?");
        let words = if is_ours { "You can close this page." } else { "There is nothing here." };
        let page = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{words}",
            words.len()
        );
        // Whether it is shown is the browser's affair.
        let _ = tokio::time::timeout(REQUEST_MAX, stream.write_all(page.as_bytes())).await;
        if is_ours {
            return Ok(format!("http://localhost:{port}{path}"));
        }
    }
    Err(Refusal::failed("something else keeps visiting the port of the login; try again"))
}
