//! `windlass mcp login`: the user logs in with a browser, which is redirected to a local port.

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use windlass_driver::mcp::{
    HttpServerConfig, LoginStore, McpServerTransport, OauthClientIdentity, OauthLogin,
};

use super::browser;
use crate::options::{McpOptions, SettingsOptions};
use crate::settings::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

/// How long the user may take.
const USER_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a browser may take to send its request.
const BROWSER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit on requests other than the callback.
const VISITS_MAX: usize = 20;

/// A login that has begun: the user is to go to a page.
pub struct BrowserLogin {
    login: OauthLogin,
    listener: TcpListener,
    port: u16,
    url: String,
}

impl BrowserLogin {
    pub async fn begin(
        name: &str,
        cwd: &Path,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        start_login(&find_http_server(name, cwd, lookup)?, lookup).await
    }

    pub fn address(&self) -> &str {
        self.login.authorization_url()
    }

    /// Opens the page, if there is a browser, and waits until the user comes back.
    pub async fn finish(self) -> Result<String, CommandError> {
        browser::open_in_browser(self.login.authorization_url());
        let back =
            tokio::time::timeout(USER_TIMEOUT, wait_for_callback(&self.listener, self.port)).await;
        let back = back.map_err(|_| {
            CommandError::failure("the login was not finished in the browser in time; try again")
        })??;
        let passed = self.login.finish(&back).await;
        passed.map_err(|error| CommandError::failure(error.to_string()))?;
        Ok(format!("logged in to {}\n", self.url))
    }
}

async fn start_login(
    server: &HttpServerConfig,
    lookup: &impl EnvLookup,
) -> Result<BrowserLogin, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::failure(error.to_string());
    let token_store = open_token_store(lookup)?;
    let port = server.callback_port.unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| {
        CommandError::failure(format!("port {port} cannot be listened on: {error}"))
    })?;
    let port = listener.local_addr().map_err(|error| failed(&error))?.port();
    let identity = OauthClientIdentity {
        redirect: format!("http://localhost:{port}/callback"),
        client_id: server.client_id.clone(),
        ..OauthClientIdentity::default()
    };
    let login = OauthLogin::begin(&server.url, &identity, "", &token_store).await;
    let login = login.map_err(|error| failed(&error))?;
    Ok(BrowserLogin { login, listener, port, url: server.url.clone() })
}

pub fn log_out(server: &HttpServerConfig, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    match open_token_store(lookup)?.forget(&server.url) {
        true => Ok(format!("logged out of {}\n", server.url)),
        false => Err(CommandError::failure(format!("there is no login to {}", server.url))),
    }
}

fn open_token_store(lookup: &impl EnvLookup) -> Result<LoginStore, CommandError> {
    super::open_credential_store(lookup).ok_or_else(|| {
        CommandError::failure("there is no home directory to store logins in; set HOME")
    })
}

async fn wait_for_callback(listener: &TcpListener, port: u16) -> Result<String, CommandError> {
    for _ in 0..VISITS_MAX {
        let Ok((mut stream, _)) = listener.accept().await else { continue };
        let mut line = String::new();
        let mut reader = BufReader::new(&mut stream);
        let read = tokio::time::timeout(BROWSER_REQUEST_TIMEOUT, reader.read_line(&mut line)).await;
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let is_ours = matches!(read, Ok(Ok(_))) && path.starts_with("/callback?");
        let words = if is_ours { "You can close this page." } else { "There is nothing here." };
        let page = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{words}",
            words.len()
        );
        // Whether it is shown is the browser's affair.
        let _ =
            tokio::time::timeout(BROWSER_REQUEST_TIMEOUT, stream.write_all(page.as_bytes())).await;
        if is_ours {
            return Ok(format!("http://localhost:{port}{path}"));
        }
    }
    Err(CommandError::failure(
        "another program keeps connecting to the port of the login; try again",
    ))
}

/// The server of this name, if it is reached over HTTP.
pub fn find_http_server(
    name: &str,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<HttpServerConfig, CommandError> {
    let layers = SettingsLayers::load(&SettingsOptions::default(), false, cwd, lookup)?;
    let stored = &layers.loaded.mcp_servers;
    let configured = super::load_server_configs(&McpOptions::default(), stored, cwd, lookup)?;
    match configured
        .servers
        .into_iter()
        .find(|server| server.name == name)
        .map(|server| server.transport)
    {
        Some(McpServerTransport::Http(server)) => Ok(server),
        Some(_) => Err(CommandError::failure(format!("`{name}` is not a server over HTTP"))),
        None => {
            let line = format!("there is no MCP server `{name}`; see `windlass mcp list`");
            Err(CommandError::failure(line))
        }
    }
}
