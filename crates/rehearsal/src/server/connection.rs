//! Serves one connection: request, response, next request, until either side closes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use windlass_http_request::{RequestReadError, read_request};

use super::http::{self, REQUEST_LIMITS};
use super::loopback_server::wait_for_stop;
use super::request_responder::{ClientSocket, ConnectionDisposition, RequestResponder};

pub(super) struct LoopbackConnection<H> {
    socket: ClientSocket,
    responder: Arc<H>,
}

impl<H: RequestResponder> LoopbackConnection<H> {
    pub(super) fn new(
        stream: TcpStream,
        responder: Arc<H>,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self { socket: ClientSocket { stream, buffer: Vec::new(), stopped }, responder }
    }

    /// Serves it to its end.
    pub(super) async fn serve(mut self) {
        // Delayed packets would blur the pauses of a script. If this fails, only that is lost.
        let _ = self.socket.stream.set_nodelay(true);
        loop {
            let socket = &mut self.socket;
            let read = tokio::select! {
                read = read_request(&mut socket.stream, &mut socket.buffer, &REQUEST_LIMITS) => read,
                () = wait_for_stop(&mut socket.stopped) => return,
            };
            let (after, wants_close) = match read {
                Ok(request) if H::IS_GUARDED && !http::is_from_this_machine(&request) => {
                    (self.refuse(403, FOREIGN_REQUEST).await, true)
                }
                Ok(request) => {
                    let wants_close = request.wants_close();
                    (self.responder.answer_request(request, socket).await, wants_close)
                }
                Err(RequestReadError::Gone | RequestReadError::Late) => return,
                Err(RequestReadError::Refused(status, why)) => {
                    (self.refuse(status, &why).await, true)
                }
            };
            // An error means that the client disconnected, which is not a problem.
            if wants_close || !matches!(after, Ok(ConnectionDisposition::KeepOpen)) {
                return;
            }
        }
    }

    /// Sends an error and closes. Reads what the client is still sending for a moment, because
    /// closing immediately would discard the error message.
    async fn refuse(&mut self, status: u16, why: &str) -> io::Result<ConnectionDisposition> {
        let body = format!("{}: {why}\n", H::NAME);
        let headers = [
            ("content-type".to_owned(), "text/plain".to_owned()),
            ("content-length".to_owned(), body.len().to_string()),
            ("connection".to_owned(), "close".to_owned()),
        ];
        let mut bytes = http::encode_response_head(status, &headers);
        bytes.extend_from_slice(body.as_bytes());
        let stream = &mut self.socket.stream;
        let refusal = async {
            stream.write_all(&bytes).await?;
            stream.shutdown().await?;
            let mut ignored = vec![0; 64 * 1024];
            while stream.read(&mut ignored).await? > 0 {}
            io::Result::Ok(())
        };
        let _ = timeout(LINGER_TIMEOUT, refusal).await;
        Ok(ConnectionDisposition::Close)
    }
}

const FOREIGN_REQUEST: &str =
    "only requests to 127.0.0.1 that do not come from a web page are accepted";

const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
