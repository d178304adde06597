//! Performs a plan on a socket, in order. Decides nothing but when to give up.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::host::{After, Line};
use super::listen::stop;
use crate::plan::Act;

/// One answer being sent.
pub(crate) struct Performer<'a> {
    line: &'a mut Line,
    /// Sent together as long as nothing demands a pause.
    unsent: Vec<u8>,
}

impl<'a> Performer<'a> {
    pub(crate) fn new(line: &'a mut Line, head: Vec<u8>) -> Self {
        Self { line, unsent: head }
    }

    /// Performs everything.
    pub(crate) async fn perform(mut self, acts: Vec<Act>) -> io::Result<After> {
        for act in acts {
            match act {
                Act::Send(bytes) => {
                    self.begin(bytes.len(), &bytes);
                    self.unsent.extend_from_slice(b"\r\n");
                }
                Act::Bare(bytes) => self.unsent.extend_from_slice(&bytes),
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
                        self.line.stream.set_zero_linger()?;
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
            () = stop(&mut self.line.stopped) => Err(io::ErrorKind::Interrupted.into()),
        }
    }

    /// Until the client leaves or the server stops.
    async fn stall(&mut self, ping: Option<(Vec<u8>, Duration)>) -> io::Result<()> {
        let mut ignored = [0; 1024];
        // Without a ping: one that would come long after the silence has ended.
        let (ping, every) = ping.unwrap_or((Vec::new(), STALL_MAX.saturating_mul(2)));
        loop {
            tokio::select! {
                () = stop(&mut self.line.stopped) => return Ok(()),
                read = self.line.stream.read(&mut ignored) => {
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
        let sent = timeout(WRITE_MAX, self.line.stream.write_all(&self.unsent)).await;
        self.unsent.clear();
        sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

const FLUSH_AT: usize = 64 * 1024;
/// A client that reads nothing for this long is gone.
const WRITE_MAX: Duration = Duration::from_secs(60);
/// The longest silence.
const STALL_MAX: Duration = Duration::from_secs(600);
