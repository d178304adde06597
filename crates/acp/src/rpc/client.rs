//! The client's side of the connection: answers, notifications, and requests that we make.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use windlass_host::line_streams::StdoutLines;

use super::RpcError;

/// Used by the server and all its sessions.
#[derive(Clone, Debug)]
pub(crate) struct ClientConnection {
    shared: Arc<RpcClientState>,
}

#[derive(Debug)]
struct RpcClientState {
    writer: StdoutLines,
    pending: Mutex<PendingRequests>,
}

#[derive(Debug, Default)]
struct PendingRequests {
    last_id: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    is_over: bool,
}

impl ClientConnection {
    /// The receiver is sent to when the last line is written after every clone is dropped.
    pub(crate) fn open() -> (Self, oneshot::Receiver<()>) {
        let (writer, done) = StdoutLines::spawn();
        (Self { shared: Arc::new(RpcClientState { writer, pending: Mutex::default() }) }, done)
    }

    pub(crate) fn respond(&self, id: &Value, outcome: Result<Value, RpcError>) {
        self.write(&match outcome {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        });
    }

    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Asks the client. When the caller stops waiting, the request is cancelled at the client too.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        timeout: Duration,
    ) -> Result<Value, RpcError> {
        let (answer, reply) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            if pending.is_over {
                return Err(RpcError::internal("the client is gone"));
            }
            pending.last_id += 1;
            let id = pending.last_id;
            pending.waiting.insert(id, answer);
            id
        };
        let mut guard = CancelOnDrop { connection: self, id, is_answered: false };
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        match tokio::time::timeout(timeout, reply).await {
            Ok(outcome) => {
                guard.is_answered = true;
                outcome.unwrap_or_else(|_| Err(RpcError::internal("the client is gone")))
            }
            Err(_) => Err(RpcError::internal("the client did not answer in time")),
        }
    }

    /// Returns false for an answer to nothing: it came late, or twice.
    pub(crate) fn take_response(&self, id: &Value, outcome: Result<Value, RpcError>) -> bool {
        let waiter = id.as_u64().and_then(|id| self.pending().waiting.remove(&id));
        // The caller may have stopped waiting just now.
        waiter.is_some_and(|waiter| waiter.send(outcome).is_ok())
    }

    /// The input is over: nothing that was asked will be answered.
    pub(crate) fn end_requests(&self) {
        let mut pending = self.pending();
        pending.is_over = true;
        pending.waiting.clear();
    }

    pub(crate) async fn wait_for_room(&self) {
        self.shared.writer.wait_for_room().await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.writer.is_closed()
    }

    fn write(&self, message: &Value) {
        self.shared.writer.write(message.to_string());
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, PendingRequests> {
        self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct CancelOnDrop<'a> {
    connection: &'a ClientConnection,
    id: u64,
    is_answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let was_waiting = self.connection.pending().waiting.remove(&self.id).is_some();
        if was_waiting && !self.is_answered {
            self.connection.notify("$/cancel_request", &json!({ "requestId": self.id }));
        }
    }
}
