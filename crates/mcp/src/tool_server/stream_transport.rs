//! The server's side of a stream transport: one JSON document per line, of limited length. Invalid
//! input is answered with an error; too much of it closes the connection.

use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::connection::BAD_MAX;
use crate::transport::capped_lines::{CappedLine, CappedLines, send_line, write_lines};
use crate::transport::{MESSAGE_BYTES_MAX, PeerDisconnect};

/// Capacity of the output queue.
const OUTGOING_MAX: usize = 64;

/// Two streams with a client at the other end.
pub(super) struct ServerStreamTransport<R> {
    lines: CappedLines<R>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    writing: Option<JoinHandle<()>>,
    bad_messages: u32,
}

impl<R: AsyncRead + Send + Unpin> ServerStreamTransport<R> {
    pub(super) fn new(input: R, output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (outgoing, messages) = mpsc::channel(OUTGOING_MAX);
        let writing = Some(tokio::spawn(write_lines(output, messages)));
        let lines = CappedLines::new(input, MESSAGE_BYTES_MAX);
        Self { lines, outgoing: Some(outgoing), writing, bad_messages: 0 }
    }

    /// The message of a line, or the error response to it.
    fn parse_line(line: CappedLine) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Value> {
        let bytes = match line {
            CappedLine::Whole(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => {
                return Ok(None);
            }
            CappedLine::Whole(bytes) => bytes,
            CappedLine::TooLong(id) => {
                let id = id.and_then(|id| serde_json::from_str(&id).ok()).unwrap_or(Value::Null);
                let megabytes = MESSAGE_BYTES_MAX / (1024 * 1024);
                return Err(error_response(
                    &id,
                    -32_600,
                    &format!("a message over {megabytes} MiB"),
                ));
            }
        };
        let value: Value = serde_json::from_slice(&bytes).map_err(|problem| {
            error_response(&Value::Null, -32_700, &format!("not JSON: {problem}"))
        })?;
        let id = value.get("id").cloned().unwrap_or(Value::Null);
        serde_json::from_value(value)
            .map(Some)
            .map_err(|problem| error_response(&id, -32_600, &format!("not a request: {problem}")))
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for ServerStreamTransport<R> {
    type Error = PeerDisconnect;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), PeerDisconnect>> + Send + 'static {
        send_line(self.outgoing.clone(), message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match Self::parse_line(self.lines.next_line().await?) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(answer) => {
                    self.bad_messages += 1;
                    let line = format!("{answer}\n").into_bytes();
                    self.outgoing.as_ref()?.send(line).await.ok()?;
                    if self.bad_messages >= BAD_MAX {
                        return None;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), PeerDisconnect> {
        self.outgoing = None;
        if let Some(writing) = self.writing.take() {
            // Pending answers are still delivered, within a limit.
            let _ = tokio::time::timeout(CLOSE_MAX, writing).await;
        }
        Ok(())
    }
}

fn error_response(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

const CLOSE_MAX: std::time::Duration = std::time::Duration::from_secs(2);
