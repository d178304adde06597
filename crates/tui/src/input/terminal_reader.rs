//! Reads the terminal on a thread of its own, and lets go of it while somebody else reads.
//!
//! The thread waits for bytes without waking up for nothing. While it is held it reads nothing, so
//! that an editor gets every key.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError, mpsc as blocking};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::mpsc;

/// The thread, and what it has read.
#[derive(Debug)]
pub(crate) struct TerminalReader {
    bytes: mpsc::Receiver<Vec<u8>>,
    control_pipe: io::PipeWriter,
    /// The thread says here that it holds still.
    paused: blocking::Receiver<()>,
}

/// What was read for somebody who is gone. There is one terminal, so there is one place for it: who
/// reads next begins with this.
static UNREAD_BYTES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl TerminalReader {
    /// Begins to read. The thread ends with the process or with the terminal.
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, bytes) = mpsc::channel(CHUNKS_MAX);
        let unread =
            std::mem::take(&mut *UNREAD_BYTES.lock().unwrap_or_else(PoisonError::into_inner));
        if !unread.is_empty() {
            // The channel is empty, so there is room.
            let _ = sender.try_send(unread);
        }
        let (listener, bell) = io::pipe()?;
        let (holds, still) = blocking::sync_channel(1);
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || read_loop(&sender, listener, &holds))?;
        Ok(Self { bytes, control_pipe: bell, paused: still })
    }

    /// The next bytes; nothing when the terminal is gone.
    pub(crate) async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        self.bytes.recv().await
    }

    /// Holds still until [`go_on`](Self::go_on).
    pub(crate) fn pause(&mut self) -> io::Result<()> {
        self.control_pipe.write_all(b"h")?;
        // A thread that is gone reads nothing either.
        let _ = self.paused.recv_timeout(PAUSE_WAIT_MAX);
        Ok(())
    }

    /// Reads no more, and leaves what was not taken to whoever reads next.
    pub(crate) fn stop(mut self) {
        // A thread that is gone reads nothing either.
        let _ = self.pause();
        let mut unread = UNREAD_BYTES.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(bytes) = self.bytes.try_recv() {
            unread.extend_from_slice(&bytes);
        }
    }

    /// Reads on.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.control_pipe.write_all(b"g")
    }
}

fn read_loop(
    sender: &mpsc::Sender<Vec<u8>>,
    mut listener: io::PipeReader,
    holds: &blocking::SyncSender<()>,
) {
    let stdin = io::stdin();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let mut ready = [
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
        ];
        match poll(&mut ready, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        let [has_keys, is_called] = ready.map(|one| !one.revents().is_empty());
        if is_called {
            let mut word = [0; 1];
            if listener.read_exact(&mut word).is_err() {
                return;
            }
            if word == *b"h" {
                let _ = holds.try_send(());
                if listener.read_exact(&mut word).is_err() {
                    return;
                }
            }
            continue;
        }
        if !has_keys {
            continue;
        }
        let count = match rustix::io::read(stdin.as_fd(), &mut chunk[..]) {
            Ok(0) => return,
            Ok(count) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
            Err(_) => return,
        };
        let bytes = chunk.get(..count).unwrap_or_default().to_vec();
        if sender.blocking_send(bytes).is_err() {
            return;
        }
    }
}

const CHUNK_BYTES: usize = 64 * 1024;
const CHUNKS_MAX: usize = 64;
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(1);
