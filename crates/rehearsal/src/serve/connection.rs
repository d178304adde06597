//! One connection: request, response, request again, until one side has had enough.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::host::{After, Host, Line};
use super::http::{self, NoRequest};
use super::listen::stop;

/// One connection.
pub(super) struct Connection<H> {
    line: Line,
    host: Arc<H>,
}

impl<H: Host> Connection<H> {
    pub(super) fn new(stream: TcpStream, host: Arc<H>, stopped: watch::Receiver<bool>) -> Self {
        Self { line: Line { stream, buffer: Vec::new(), stopped }, host }
    }

    /// Serves it to its end.
    pub(super) async fn serve(mut self) {
        // A server that waits to fill packets would blur every pause. Failure costs only that.
        let _ = self.line.stream.set_nodelay(true);
        loop {
            let line = &mut self.line;
            let read = tokio::select! {
                read = http::read(&mut line.stream, &mut line.buffer) => read,
                () = stop(&mut line.stopped) => return,
            };
            let (after, wants_close) = match read {
                Ok(request) => {
                    let wants_close = request.wants_close();
                    (self.host.answer(request, line).await, wants_close)
                }
                Err(NoRequest::Gone) => return,
                Err(NoRequest::Refused(status, why)) => (self.refuse(status, why).await, true),
            };
            // An error means that the client left, which is its right.
            if wants_close || !matches!(after, Ok(After::Keep)) {
                return;
            }
        }
    }

    /// Says why and closes. What the client is still sending is taken in for a moment, because
    /// closing on it would destroy the explanation on its way.
    async fn refuse(&mut self, status: u16, why: &str) -> io::Result<After> {
        let body = format!("{}: {why}\n", H::NAME);
        let headers = [
            ("content-type".to_owned(), "text/plain".to_owned()),
            ("content-length".to_owned(), body.len().to_string()),
            ("connection".to_owned(), "close".to_owned()),
        ];
        let mut bytes = http::response_head(status, &headers);
        bytes.extend_from_slice(body.as_bytes());
        let stream = &mut self.line.stream;
        let said = async {
            stream.write_all(&bytes).await?;
            stream.shutdown().await?;
            let mut ignored = vec![0; 64 * 1024];
            while stream.read(&mut ignored).await? > 0 {}
            io::Result::Ok(())
        };
        let _ = timeout(FAREWELL, said).await;
        Ok(After::Close)
    }
}

const FAREWELL: Duration = Duration::from_secs(1);
