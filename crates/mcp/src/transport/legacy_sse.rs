//! The HTTP+SSE transport of the first revision: the server sends over one open event stream, and
//! the client posts to an address that the first event names.
//!
//! Used only for servers whose entry says so; the others use [`super::http`]. A broken stream
//! cannot be resumed: pending calls are lost and the server is reconnected.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use reqwest::header::{ACCEPT, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, Url};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::auth::AuthorizationManager;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use sse_stream::{Error, Sse};

use super::capped_http::{EVENT_STREAM_TYPE, stream_events};
use super::http::{HttpServerConfig, build_client, parse_headers};
use super::{IncomingMessage, MESSAGE_BYTES_MAX, parse_message_bytes};
use crate::connection::{ConnectionHealth, clean_excerpt};
use crate::failure::McpFailure;
use crate::login::OauthAccess;

/// Limit for accepting a message; its answer comes later over the stream.
const POST_MAX: Duration = Duration::from_secs(60);
/// Limit on events before the one that names the address.
const PREFACE_MAX: usize = 16;

pub(crate) struct LegacySseTransport {
    endpoint: LegacySseEndpoint,
    events: BoxStream<'static, Result<Sse, Error>>,
    health: Arc<ConnectionHealth>,
}

/// The address for messages, and the headers sent there.
#[derive(Clone)]
struct LegacySseEndpoint {
    client: Client,
    headers: HeaderMap,
    access: Option<Arc<AuthorizationManager>>,
    /// The address of the event stream until the server names another one.
    url: Url,
}

impl LegacySseTransport {
    /// Opens the event stream, and waits until the server has named the address for messages.
    pub(crate) async fn open(
        config: &HttpServerConfig,
        access: Option<OauthAccess>,
        health: Arc<ConnectionHealth>,
    ) -> Result<Self, McpFailure> {
        let headers = parse_headers(config)?.into_iter().collect();
        let url = Url::parse(&config.url).map_err(|error| unreachable_failure(&error))?;
        let access = access.map(|access| Arc::new(*access.manager));
        let mut post =
            LegacySseEndpoint { client: build_client(&config.url)?.0, headers, access, url };
        let mut events = post.open_event_stream().await?;
        for _ in 0..PREFACE_MAX {
            let event = match events.next().await {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Err(McpFailure::Gone { reason: error.to_string() }),
                None => break,
            };
            if event.event.as_deref() == Some("endpoint") {
                post.url = resolve_endpoint(&post.url, event.data.as_deref().unwrap_or_default())?;
                return Ok(Self { endpoint: post, events, health });
            }
        }
        let reason = "it did not say where messages go; does it speak streamable HTTP instead \
                      (\"type\": \"http\")?";
        Err(McpFailure::ProtocolViolation { reason: reason.to_owned() })
    }
}

/// The address for messages. It must have the origin of the event stream, because our credentials
/// are sent to it.
fn resolve_endpoint(from: &Url, announced: &str) -> Result<Url, McpFailure> {
    let wrong = |why: String| McpFailure::ProtocolViolation {
        reason: format!("its address for messages {why}"),
    };
    let url = from.join(announced.trim()).map_err(|error| wrong(format!("is none: {error}")))?;
    match url.origin() == from.origin() {
        true => Ok(url),
        false => Err(wrong(format!("is at another place: {}", clean_excerpt(announced, 200)))),
    }
}

impl LegacySseEndpoint {
    async fn open_event_stream(
        &self,
    ) -> Result<BoxStream<'static, Result<Sse, Error>>, McpFailure> {
        let request = self.client.get(self.url.clone()).header(ACCEPT, EVENT_STREAM_TYPE);
        let response = self.send_request(request).await.map_err(|unsent| match unsent {
            MessageSendError::Challenged(wanted) => {
                McpFailure::NeedsLogin { challenge: wanted.www_authenticate_header }
            }
            MessageSendError::Failed(_) | MessageSendError::Refused(_) => {
                unreachable_failure(&unsent)
            }
        })?;
        Ok(stream_events(response, MESSAGE_BYTES_MAX))
    }

    async fn post_message(
        self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> Result<(), MessageSendError> {
        // The answer arrives over the stream; the body of this response is ignored.
        let request = self.client.post(self.url.clone()).timeout(POST_MAX).json(&message);
        self.send_request(request).await.map(drop)
    }

    async fn send_request(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<Response, MessageSendError> {
        let mut request = request.headers(self.headers.clone());
        if let Some(access) = &self.access {
            let token = access.get_access_token().await;
            let wanted = |_| MessageSendError::Challenged(AuthRequiredError::new(String::new()));
            request = request.bearer_auth(token.map_err(wanted)?);
        }
        let response = request.send().await.map_err(MessageSendError::Failed)?;
        match response.status() {
            status if status.is_success() => Ok(response),
            StatusCode::UNAUTHORIZED => {
                let challenge = response.headers().get(WWW_AUTHENTICATE);
                let challenge = challenge.and_then(|value| value.to_str().ok()).unwrap_or_default();
                Err(MessageSendError::Challenged(AuthRequiredError::new(challenge.to_owned())))
            }
            status => Err(MessageSendError::Refused(status)),
        }
    }
}

impl Transport<RoleClient> for LegacySseTransport {
    type Error = MessageSendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), MessageSendError>> + Send + 'static {
        self.endpoint.clone().post_message(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(error) => {
                    self.health.note_reason(&format!("its events ended: {error}"));
                    return None;
                }
            };
            // Other event types are not part of the protocol.
            if event.event.as_deref().is_some_and(|name| name != "message") {
                continue;
            }
            let Some(data) = event.data else { continue };
            match parse_message_bytes(data.as_bytes(), &self.health) {
                IncomingMessage::Message(message) => return Some(*message),
                IncomingMessage::Skip => {}
                IncomingMessage::GiveUp => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), MessageSendError> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) enum MessageSendError {
    Failed(reqwest::Error),
    /// The server rejects the message.
    Refused(StatusCode),
    /// The server requires a login.
    Challenged(AuthRequiredError),
}

impl std::fmt::Display for MessageSendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(_) => f.write_str("there was no answer"),
            Self::Refused(status) => write!(f, "HTTP {status}"),
            Self::Challenged(_) => f.write_str("it needs a login"),
        }
    }
}

impl std::error::Error for MessageSendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Refused(_) => None,
            Self::Challenged(wanted) => Some(wanted),
        }
    }
}

fn unreachable_failure(error: &(dyn std::error::Error + 'static)) -> McpFailure {
    McpFailure::Unreachable { reason: crate::connection::join_error_chain(error) }
}
