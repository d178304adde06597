//! One connection: request, response, request again, until one side has had enough.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::http::{self, NoRequest, Request};
use super::listen::stop;
use super::perform::{After, Performer};
use super::respond::{Response, respond};
use super::stage::Stage;

/// One connection.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    stage: Arc<Stage>,
    stopped: watch::Receiver<bool>,
}

impl Connection {
    pub(super) fn new(
        stream: TcpStream,
        stage: Arc<Stage>,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self { stream, buffer: Vec::new(), stage, stopped }
    }

    /// Serves it to its end.
    pub(super) async fn serve(mut self) {
        // A server that waits to fill packets would blur every pause. Failure costs only that.
        let _ = self.stream.set_nodelay(true);
        loop {
            let read = tokio::select! {
                read = http::read(&mut self.stream, &mut self.buffer) => read,
                () = stop(&mut self.stopped) => return,
            };
            let after = match read {
                Ok(request) => self.answer(&request).await,
                Err(NoRequest::Gone) => return,
                Err(NoRequest::Refused(status, why)) => self.refuse(status, why).await,
            };
            // An error means that the client left, which is its right.
            if !matches!(after, Ok(After::Keep)) {
                return;
            }
        }
    }

    async fn answer(&mut self, request: &Request) -> io::Result<After> {
        let wanted = if request.wants_close() { After::Close } else { After::Keep };
        let done = match respond(&self.stage, request) {
            Response::Whole { status, mut headers, body } => {
                headers.push(("content-length".to_owned(), body.len().to_string()));
                let mut bytes = http::response_head(status, &headers);
                bytes.extend_from_slice(&body);
                Performer::new(&mut self.stream, &mut self.stopped, bytes)
                    .perform(Vec::new())
                    .await?
            }
            Response::Acts { mut headers, acts } => {
                headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
                let head = http::response_head(200, &headers);
                Performer::new(&mut self.stream, &mut self.stopped, head).perform(acts).await?
            }
            Response::Drop { reset } => {
                if reset {
                    self.stream.set_zero_linger()?;
                }
                After::Close
            }
        };
        Ok(if done == After::Keep { wanted } else { After::Close })
    }

    /// Says why and closes. What the client is still sending is taken in for a moment, because
    /// closing on it would destroy the explanation on its way.
    async fn refuse(&mut self, status: u16, why: &str) -> io::Result<After> {
        let body = format!("rehearsal: {why}\n");
        let headers = [
            ("content-type".to_owned(), "text/plain".to_owned()),
            ("content-length".to_owned(), body.len().to_string()),
            ("connection".to_owned(), "close".to_owned()),
        ];
        let mut bytes = http::response_head(status, &headers);
        bytes.extend_from_slice(body.as_bytes());
        let said = async {
            self.stream.write_all(&bytes).await?;
            self.stream.shutdown().await?;
            let mut ignored = vec![0; 64 * 1024];
            while self.stream.read(&mut ignored).await? > 0 {}
            io::Result::Ok(())
        };
        let _ = timeout(FAREWELL, said).await;
        Ok(After::Close)
    }
}

const FAREWELL: Duration = Duration::from_secs(1);
