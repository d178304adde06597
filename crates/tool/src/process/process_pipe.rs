//! One pipe of a process, and the bytes read from it.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::process_output::HeadAndTail;

const CHUNK_BYTES: usize = 32 * 1024;

pub(super) struct ProcessPipe<R> {
    pipe: Option<R>,
    pub(super) chunk: Vec<u8>,
    pub(super) captured: HeadAndTail,
}

impl<R: AsyncRead + Unpin> ProcessPipe<R> {
    pub(super) fn new(pipe: Option<R>, inline_max: usize) -> Self {
        Self { pipe, chunk: Vec::new(), captured: HeadAndTail::new(inline_max) }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Never ready once the pipe is closed.
    pub(super) async fn read(&mut self) -> io::Result<usize> {
        match &mut self.pipe {
            Some(pipe) => {
                self.chunk.clear();
                self.chunk.reserve(CHUNK_BYTES);
                pipe.read_buf(&mut self.chunk).await
            }
            None => std::future::pending().await,
        }
    }

    /// An error on our end only means that there is no more output.
    pub(super) fn accept_read(&mut self, read: &io::Result<usize>) {
        match read {
            Ok(0) | Err(_) => {
                self.pipe = None;
                self.chunk.clear();
            }
            Ok(_) => self.captured.push(&self.chunk),
        }
    }
}
