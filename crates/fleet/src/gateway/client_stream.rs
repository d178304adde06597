//! The byte stream of a client's connection, plain or with TLS. A client that does not take what is
//! written to it for a while loses its connection, so that slow readers cannot hold all of them.

use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

pub(crate) struct ClientStream<S> {
    stream: S,
    stall_limit: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> ClientStream<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, stall_limit: STALL_LIMIT, stalled: None }
    }

    /// Fails when a write is pending for too long.
    fn limit<T>(&mut self, written: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.stall_limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Error::from(ErrorKind::TimedOut))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.limit(written, context)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        this.limit(flushed, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        let ended = Pin::new(&mut this.stream).poll_shutdown(context);
        this.limit(ended, context)
    }
}

/// Longer than a busy network pauses.
const STALL_LIMIT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let (server, mut client) = tokio::io::duplex(64);
        let stall_limit = Duration::from_millis(50);
        let mut stream = ClientStream { stream: server, stall_limit, stalled: None };
        // As long as it reads, it may be slow.
        let text = vec![b'x'; 1000];
        let writing = stream.write_all(&text);
        let reading = async {
            let mut left = 1000;
            while left > 0 {
                left -= client.read(&mut [0; 10]).await.unwrap();
            }
        };
        tokio::join!(async { writing.await.unwrap() }, reading);
        let stalled = stream.write_all(&text).await.unwrap_err();
        assert_eq!(stalled.kind(), ErrorKind::TimedOut);
    }
}
