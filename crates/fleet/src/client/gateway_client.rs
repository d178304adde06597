//! HTTP client for a gateway, with the token from the environment.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Certificate, Client, Response, StatusCode};
use serde_json::Value;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_host::extra_certificates::load_extra_certificates;

use crate::args::ServerArgs;

pub(crate) struct GatewayClient {
    client: Client,
    server: String,
    token: String,
}

impl GatewayClient {
    pub(crate) fn new(args: &ServerArgs) -> Result<Self, CommandError> {
        let token = std::env::var("WINDLASS_TOKEN").map_err(|_| {
            CommandError::usage(
                "WINDLASS_TOKEN is not set; `windlass store token add` makes a token",
            )
        })?;
        let server = args.server.trim_end_matches('/').to_owned();
        if !server.starts_with("http://") && !server.starts_with("https://") {
            return Err(CommandError::usage(
                "--server must be a URL such as https://fleet.example",
            ));
        }
        // Fails if a provider is already installed, which is then the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT_WAIT)
            .redirect(reqwest::redirect::Policy::none())
            .tls_certs_merge(load_certificates())
            .build()
            .map_err(|error| CommandError::failure(error.to_string()))?;
        Ok(Self { client, server, token })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CommandError> {
        self.try_get(path).await.map_err(GatewayError::into_command_error)
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, CommandError> {
        self.try_post(path, body).await.map_err(GatewayError::into_command_error)
    }

    /// The same, for callers that go on after some errors.
    pub(crate) async fn try_post(&self, path: &str, body: &Value) -> Result<Value, GatewayError> {
        let request = self.client.post(format!("{}{path}", self.server)).timeout(CALL_WAIT);
        self.read(request.header(CONTENT_TYPE, "application/json").body(body.to_string())).await
    }

    pub(crate) async fn try_get(&self, path: &str) -> Result<Value, GatewayError> {
        self.read(self.client.get(format!("{}{path}", self.server)).timeout(CALL_WAIT)).await
    }

    /// Opens the event stream of a session after event `after`.
    pub(crate) async fn follow(
        &self,
        session: &str,
        after: &str,
        follows: bool,
        is_live: bool,
    ) -> Result<Response, GatewayError> {
        // Gateways of earlier versions do not know the parameter.
        let live = if is_live { "&live=true" } else { "" };
        let url = format!(
            "{}/v1/sessions/{session}/events?after={after}&follow={follows}{live}",
            self.server
        );
        let request = self.client.get(url).header(ACCEPT, "text/event-stream");
        self.send(request).await
    }

    pub(crate) async fn get_text(&self, path: &str) -> Result<String, CommandError> {
        let request = self.client.get(format!("{}{path}", self.server)).timeout(CALL_WAIT);
        self.read_text(request).await.map_err(GatewayError::into_command_error)
    }

    async fn read_text(&self, request: reqwest::RequestBuilder) -> Result<String, GatewayError> {
        let text = self.send(request).await?.text().await;
        text.map_err(|error| self.unreachable(&error))
    }

    async fn read(&self, request: reqwest::RequestBuilder) -> Result<Value, GatewayError> {
        let text = self.read_text(request).await?;
        serde_json::from_str(&text)
            .map_err(|_| GatewayError::from_words(format!("{} is not a gateway", self.server)))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Response, GatewayError> {
        let request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.unwrap_or_default();
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let field = |name: &str| answer.pointer(name).and_then(Value::as_str).map(str::to_owned);
        let words = match field("/error/message") {
            Some(words) => format!("the gateway refuses: {words}"),
            None => format!("the gateway answers with status {status}"),
        };
        Err(GatewayError { status: Some(status), code: field("/error/code"), words })
    }

    fn unreachable(&self, error: &reqwest::Error) -> GatewayError {
        let why =
            std::error::Error::source(error).map_or_else(|| error.to_string(), |it| it.to_string());
        let server = &self.server;
        GatewayError::from_words(format!("{server} cannot be reached: {why}; see --server"))
    }
}

/// Why a call of a gateway failed.
#[derive(Debug)]
pub(crate) struct GatewayError {
    /// `None` if there was no answer.
    status: Option<StatusCode>,
    /// The `code` of the error.
    code: Option<String>,
    words: String,
}

impl GatewayError {
    fn from_words(words: String) -> Self {
        Self { status: None, code: None, words }
    }

    /// Whether the id of a new session is taken.
    pub(crate) fn is_existing_session(&self) -> bool {
        // Gateways of earlier versions send no code; for a submission this status means the same.
        self.status == Some(StatusCode::CONFLICT)
            && self.code.as_deref().is_none_or(|code| code == "session_exists")
    }

    /// Whether the same call may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        self.status.is_none_or(|status| {
            status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
        })
    }

    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    pub(crate) fn into_command_error(self) -> CommandError {
        CommandError::failure(self.words)
    }
}

/// The certificates that the user trusts besides those of the system.
fn load_certificates() -> Vec<Certificate> {
    let mut certificates = Vec::new();
    let warning = load_extra_certificates(&process_environment, |pem| {
        certificates = Certificate::from_pem_bundle(pem).map_err(|error| error.to_string())?;
        Ok(())
    });
    if let Some(warning) = warning {
        eprintln!("{warning}");
    }
    certificates
}

const CONNECT_WAIT: Duration = Duration::from_secs(10);
const CALL_WAIT: Duration = Duration::from_secs(60);
