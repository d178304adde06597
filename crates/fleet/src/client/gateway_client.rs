//! HTTP client for a gateway, with the token from the environment.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Certificate, Client, Response};
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
        let request = self.client.get(format!("{}{path}", self.server)).timeout(CALL_WAIT);
        self.read(request).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, CommandError> {
        let request = self.client.post(format!("{}{path}", self.server)).timeout(CALL_WAIT);
        self.read(request.header(CONTENT_TYPE, "application/json").body(body.to_string())).await
    }

    /// Opens the event stream of a session after event `after`.
    pub(crate) async fn follow(
        &self,
        session: &str,
        after: u64,
        follows: bool,
    ) -> Result<Response, CommandError> {
        let url =
            format!("{}/v1/sessions/{session}/events?after={after}&follow={follows}", self.server);
        let request = self.client.get(url).header(ACCEPT, "text/event-stream");
        self.send(request).await
    }

    pub(crate) async fn get_text(&self, path: &str) -> Result<String, CommandError> {
        let request = self.client.get(format!("{}{path}", self.server)).timeout(CALL_WAIT);
        self.read_text(request).await
    }

    async fn read_text(&self, request: reqwest::RequestBuilder) -> Result<String, CommandError> {
        let text = self.send(request).await?.text().await;
        text.map_err(|error| self.unreachable(&error))
    }

    async fn read(&self, request: reqwest::RequestBuilder) -> Result<Value, CommandError> {
        let text = self.read_text(request).await?;
        serde_json::from_str(&text)
            .map_err(|_| CommandError::failure(format!("{} is not a gateway", self.server)))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Response, CommandError> {
        let request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.unwrap_or_default();
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let words = answer.pointer("/error/message").and_then(Value::as_str);
        Err(CommandError::failure(match words {
            Some(words) => format!("the gateway refuses: {words}"),
            None => format!("the gateway answers with status {status}"),
        }))
    }

    fn unreachable(&self, error: &reqwest::Error) -> CommandError {
        let why =
            std::error::Error::source(error).map_or_else(|| error.to_string(), |it| it.to_string());
        let server = &self.server;
        CommandError::failure(format!("{server} cannot be reached: {why}; see --server"))
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
