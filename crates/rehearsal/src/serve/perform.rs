//! Performs a plan on a socket, in order. Decides nothing but when to give up.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::listen::stop;
use crate::plan::Act;

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The answer is complete; the next request may come.
    Keep,
    /// Nothing more can be said on it.
    Close,
}

/// One answer being sent.
pub(super) struct Performer<'a> {
    stream: &'a mut TcpStream,
    stopped: &'a mut watch::Receiver<bool>,
    /// Sent together as long as nothing demands a pause.
    unsent: Vec<u8>,
}

impl<'a> Performer<'a> {
    pub(super) fn new(
        stream: &'a mut TcpStream,
        stopped: &'a mut watch::Receiver<bool>,
        head: Vec<u8>,
    ) -> Self {
        Self { stream, stopped, unsent: head }
    }

    /// Performs everything.
    pub(super) async fn perform(mut self, acts: Vec<Act>) -> io::Result<After> {
        for act in acts {
            match act {
                Act::Send(bytes) => {
                    self.begin(bytes.len(), &bytes);
                    self.unsent.extend_from_slice(b"\r\n");
                }
                Act::Begin { announced, bytes } => self.begin(announced, &bytes),
                Act::Trickle(bytes, pause) => self.trickle(&bytes, pause).await?,
                Act::Pause(pause) => self.pause(pause).await?,
                Act::Stall { ping } => {
                    self.flush().await?;
                    // However the silence ends, the answer is not complete.
                    let _ = timeout(STALL_MAX, self.stall(ping)).await;
                    return Ok(After::Close);
                }
                Act::Cut { reset } => {
                    self.flush().await?;
                    if reset {
                        self.stream.set_zero_linger()?;
                    }
                    return Ok(After::Close);
                }
                Act::End => self.unsent.extend_from_slice(b"0\r\n\r\n"),
            }
            if self.unsent.len() >= FLUSH_AT {
                self.flush().await?;
            }
        }
        self.flush().await?;
        Ok(After::Keep)
    }

    fn begin(&mut self, announced: usize, bytes: &[u8]) {
        self.unsent.extend_from_slice(format!("{announced:x}\r\n").as_bytes());
        self.unsent.extend_from_slice(bytes);
    }

    async fn trickle(&mut self, bytes: &[u8], pause: Duration) -> io::Result<()> {
        self.begin(bytes.len(), &[]);
        for byte in bytes {
            self.pause(pause).await?;
            self.unsent.push(*byte);
        }
        self.unsent.extend_from_slice(b"\r\n");
        self.flush().await
    }

    async fn pause(&mut self, pause: Duration) -> io::Result<()> {
        self.flush().await?;
        tokio::select! {
            () = sleep(pause) => Ok(()),
            () = stop(self.stopped) => Err(io::ErrorKind::Interrupted.into()),
        }
    }

    /// Until the client leaves or the server stops.
    async fn stall(&mut self, ping: Option<(Vec<u8>, Duration)>) -> io::Result<()> {
        let mut ignored = [0; 1024];
        // Without a ping: one that would come long after the silence has ended.
        let (ping, every) = ping.unwrap_or((Vec::new(), STALL_MAX.saturating_mul(2)));
        loop {
            tokio::select! {
                () = stop(self.stopped) => return Ok(()),
                read = self.stream.read(&mut ignored) => {
                    if read? == 0 {
                        return Ok(());
                    }
                }
                () = sleep(every) => {
                    self.begin(ping.len(), &ping);
                    self.unsent.extend_from_slice(b"\r\n");
                    self.flush().await?;
                }
            }
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let sent = timeout(WRITE_MAX, self.stream.write_all(&self.unsent)).await;
        self.unsent.clear();
        sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

const FLUSH_AT: usize = 64 * 1024;
/// A client that reads nothing for this long is gone.
const WRITE_MAX: Duration = Duration::from_secs(60);
/// The longest silence.
const STALL_MAX: Duration = Duration::from_secs(600);
