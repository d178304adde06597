//! Performs a plan on a socket, in order. Only decides when to give up.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::loopback_server::wait_for_stop;
use super::request_responder::{ClientSocket, ConnectionDisposition};
use crate::socket_plan::SocketAction;

pub(crate) struct SocketPlanRunner<'a> {
    socket: &'a mut ClientSocket,
    /// Collected until there is a pause.
    unsent: Vec<u8>,
}

impl<'a> SocketPlanRunner<'a> {
    pub(crate) fn new(socket: &'a mut ClientSocket, head: Vec<u8>) -> Self {
        Self { socket, unsent: head }
    }

    pub(crate) async fn run(
        mut self,
        acts: Vec<SocketAction>,
    ) -> io::Result<ConnectionDisposition> {
        for act in acts {
            match act {
                SocketAction::Send(bytes) => {
                    self.push_chunk_start(bytes.len(), &bytes);
                    self.unsent.extend_from_slice(b"\r\n");
                }
                SocketAction::SendUnframed(bytes) => self.unsent.extend_from_slice(&bytes),
                SocketAction::SendPartialChunk { announced, bytes } => {
                    self.push_chunk_start(announced, &bytes);
                }
                SocketAction::Trickle(bytes, pause) => self.trickle(&bytes, pause).await?,
                SocketAction::Pause(pause) => self.pause(pause).await?,
                SocketAction::Stall { ping } => {
                    self.flush().await?;
                    // However the silence ends, the answer stays incomplete.
                    let _ = timeout(STALL_MAX, self.stall(ping)).await;
                    return Ok(ConnectionDisposition::Close);
                }
                SocketAction::Cut { reset } => {
                    self.flush().await?;
                    if reset {
                        self.socket.stream.set_zero_linger()?;
                    }
                    return Ok(ConnectionDisposition::Close);
                }
                SocketAction::End => self.unsent.extend_from_slice(b"0\r\n\r\n"),
            }
            if self.unsent.len() >= FLUSH_AT {
                self.flush().await?;
            }
        }
        self.flush().await?;
        Ok(ConnectionDisposition::KeepOpen)
    }

    fn push_chunk_start(&mut self, announced: usize, bytes: &[u8]) {
        self.unsent.extend_from_slice(format!("{announced:x}\r\n").as_bytes());
        self.unsent.extend_from_slice(bytes);
    }

    async fn trickle(&mut self, bytes: &[u8], pause: Duration) -> io::Result<()> {
        self.push_chunk_start(bytes.len(), &[]);
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
            () = wait_for_stop(&mut self.socket.stopped) => Err(io::ErrorKind::Interrupted.into()),
        }
    }

    /// Until the client disconnects or the server stops.
    async fn stall(&mut self, ping: Option<(Vec<u8>, Duration)>) -> io::Result<()> {
        let mut ignored = [0; 1024];
        // Without pings, use an interval longer than the silence.
        let (ping, every) = ping.unwrap_or((Vec::new(), STALL_MAX.saturating_mul(2)));
        loop {
            tokio::select! {
                () = wait_for_stop(&mut self.socket.stopped) => return Ok(()),
                read = self.socket.stream.read(&mut ignored) => {
                    if read? == 0 {
                        return Ok(());
                    }
                }
                () = sleep(every) => {
                    self.push_chunk_start(ping.len(), &ping);
                    self.unsent.extend_from_slice(b"\r\n");
                    self.flush().await?;
                }
            }
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let sent = timeout(WRITE_MAX, self.socket.stream.write_all(&self.unsent)).await;
        self.unsent.clear();
        sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

const FLUSH_AT: usize = 64 * 1024;
/// A client that reads nothing for this long counts as disconnected.
const WRITE_MAX: Duration = Duration::from_secs(60);
const STALL_MAX: Duration = Duration::from_secs(600);
