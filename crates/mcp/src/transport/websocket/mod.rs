//! WebSocket: every message is a text frame of its own, both ways, over one connection.
//!
//! Not part of the protocol's revisions, but spoken by servers of editors. A broken connection cannot
//! be resumed: pending calls are lost and the server is reconnected.

mod frame;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::header::{
    AUTHORIZATION, CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Response, StatusCode};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom, SystemRandom};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::frame::{FrameError, FrameKind, MessageReader, ReceivedMessage, encode_frame};
use super::capped_lines::write_lines;
use super::http::{HttpServerConfig, build_upgrade_client, parse_headers};
use super::{IncomingMessage, MESSAGE_BYTES_MAX, PeerDisconnect, parse_message_bytes};
use crate::connection::{ConnectionHealth, join_error_chain};
use crate::failure::McpFailure;
use crate::login::OauthAccess;

/// Is this the address of a WebSocket?
pub(crate) fn is_websocket(url: &str) -> bool {
    ["ws://", "wss://"].iter().any(|scheme| url.starts_with(scheme))
}

pub(crate) struct WebSocketTransport {
    messages: mpsc::Receiver<Vec<u8>>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    /// Reads and writes; both end with this.
    tasks: JoinSet<()>,
    health: Arc<ConnectionHealth>,
}

impl WebSocketTransport {
    pub(crate) async fn open(
        config: &HttpServerConfig,
        access: Option<OauthAccess>,
        health: Arc<ConnectionHealth>,
    ) -> Result<Self, McpFailure> {
        let mut headers: HeaderMap = parse_headers(config)?.into_iter().collect();
        if let Some(access) = access {
            let token = access.manager.get_access_token().await;
            let token = token.map_err(|_| McpFailure::NeedsLogin { challenge: String::new() })?;
            let value = HeaderValue::from_str(&format!("Bearer {token}"));
            headers.insert(AUTHORIZATION, value.map_err(|_| fail("its token cannot be sent"))?);
        }
        let stream = shake_hands(config, headers).await?;
        let stream = stream.upgrade().await.map_err(|error| fail(&join_error_chain(&error)))?;
        let (reader, writer) = tokio::io::split(stream);
        let (outgoing, frames) = mpsc::channel(OUTGOING_MAX);
        let (incoming, messages) = mpsc::channel(INCOMING_MAX);
        let mut tasks = JoinSet::new();
        tasks.spawn(write_lines(writer, frames));
        tasks.spawn(read_messages(reader, incoming, outgoing.clone(), Arc::clone(&health)));
        Ok(Self { messages, outgoing: Some(outgoing), tasks, health })
    }
}

/// Asks the server to speak frames from here on.
async fn shake_hands(
    config: &HttpServerConfig,
    mut headers: HeaderMap,
) -> Result<Response, McpFailure> {
    // `ws` is `http` until the handshake is over.
    let url = config.url.replacen("ws", "http", 1);
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).map_err(|_| fail("there are no random numbers"))?;
    let key = BASE64.encode(random);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    let value = HeaderValue::from_str(&key).map_err(|_| fail("its key cannot be sent"))?;
    headers.insert(SEC_WEBSOCKET_KEY, value);
    let request = build_upgrade_client(&url)?.get(&url).headers(headers);
    let response = request.send().await.map_err(|error| fail(&join_error_chain(&error)))?;
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {}
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Err(fail("it wants a key; put one into `headers` of its entry"));
        }
        status => {
            return Err(fail(&format!(
                "it answered HTTP {} instead of opening a WebSocket; is it \"type\": \"http\"?",
                status.as_u16()
            )));
        }
    }
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    match accepted.is_some_and(|value| value.as_bytes() == expect_accept(&key).as_bytes()) {
        true => Ok(response),
        false => Err(McpFailure::ProtocolViolation {
            reason: "its answer to the WebSocket handshake is not for this request".to_owned(),
        }),
    }
}

/// What proves that a server has read the key, and is no cache.
fn expect_accept(key: &str) -> String {
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{ACCEPT_SUFFIX}").as_bytes());
    BASE64.encode(digest)
}

async fn read_messages(
    stream: impl AsyncRead + Unpin,
    incoming: mpsc::Sender<Vec<u8>>,
    outgoing: mpsc::Sender<Vec<u8>>,
    health: Arc<ConnectionHealth>,
) {
    let mut reader = MessageReader::new(stream, MESSAGE_BYTES_MAX);
    loop {
        match reader.next().await {
            Ok(ReceivedMessage::Data(message)) => {
                if incoming.send(message).await.is_err() {
                    return;
                }
            }
            Ok(ReceivedMessage::Ping(bytes)) => {
                let Some(pong) = encode_frame(FrameKind::Pong, &bytes) else { return };
                // A server that pings and does not read needs no answer.
                let _ = outgoing.try_send(pong);
            }
            Ok(ReceivedMessage::Close) => return health.note_reason("it closed the connection"),
            Err(FrameError::Gone) => return health.note_reason("its connection broke"),
            Err(FrameError::TooLong) => {
                let megabytes = MESSAGE_BYTES_MAX / (1024 * 1024);
                return health.note_reason(&format!("it sent a message over {megabytes} MiB"));
            }
            Err(FrameError::Violation(why)) => {
                return health.note_reason(&format!("it is no WebSocket: {why}"));
            }
        }
    }
}

impl Transport<RoleClient> for WebSocketTransport {
    type Error = PeerDisconnect;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), PeerDisconnect>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let message = serde_json::to_vec(&message).map_err(|_| PeerDisconnect)?;
            let frame = encode_frame(FrameKind::Text, &message).ok_or(PeerDisconnect)?;
            outgoing.ok_or(PeerDisconnect)?.send(frame).await.map_err(|_| PeerDisconnect)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.messages.recv().await?;
            match parse_message_bytes(&message, &self.health) {
                IncomingMessage::Message(message) => return Some(*message),
                IncomingMessage::Skip => {}
                IncomingMessage::GiveUp => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), PeerDisconnect> {
        if let Some(outgoing) = self.outgoing.take()
            && let Some(frame) = encode_frame(FrameKind::Close, &[])
        {
            // The server answers by closing, which ends the reader.
            let _ = outgoing.try_send(frame);
        }
        self.messages.close();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, ended).await;
        self.tasks.abort_all();
        Ok(())
    }
}

fn fail(reason: &str) -> McpFailure {
    McpFailure::Unreachable { reason: reason.to_owned() }
}

/// Of the standard.
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const OUTGOING_MAX: usize = 64;
/// Whole messages that wait to be understood.
const INCOMING_MAX: usize = 1;
const GRACE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_standard_has_the_answer_of_the_standard() {
        assert_eq!(expect_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
