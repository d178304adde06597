//! Reads the terminal on a thread of its own. While it is paused it reads nothing, so that an editor
//! gets every key. It waits in `poll`, without a timeout.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError, mpsc as blocking};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) struct TerminalReader {
    bytes: mpsc::Receiver<Vec<u8>>,
    control_pipe: io::PipeWriter,
    /// The thread confirms a pause here.
    paused: blocking::Receiver<()>,
}

/// Bytes that a stopped reader had read but not used: keys typed during startup must not be lost
/// between two readers. A process has one terminal, so this is a static.
static UNREAD_BYTES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl TerminalReader {
    /// The thread ends when the terminal is closed or the receiver is dropped.
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, bytes) = mpsc::channel(CHUNKS_MAX);
        let unread =
            std::mem::take(&mut *UNREAD_BYTES.lock().unwrap_or_else(PoisonError::into_inner));
        if !unread.is_empty() {
            // Cannot fail: the channel is empty.
            let _ = sender.try_send(unread);
        }
        let (control, control_pipe) = io::pipe()?;
        let (pause_sender, paused) = blocking::sync_channel(1);
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || read_loop(&sender, control, &pause_sender))?;
        Ok(Self { bytes, control_pipe, paused })
    }

    /// `None` when the terminal was closed.
    pub(crate) async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        self.bytes.recv().await
    }

    /// Stops reading until [`resume`](Self::resume).
    pub(crate) fn pause(&mut self) -> io::Result<()> {
        self.control_pipe.write_all(PAUSE)?;
        // Times out only if the thread has ended, which reads nothing either.
        let _ = self.paused.recv_timeout(PAUSE_WAIT_MAX);
        Ok(())
    }

    /// Stops for good, and leaves the bytes that were not taken to the next reader.
    pub(crate) fn stop(mut self) {
        // Fails only if the thread has ended.
        let _ = self.pause();
        let mut unread = UNREAD_BYTES.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(bytes) = self.bytes.try_recv() {
            unread.extend_from_slice(&bytes);
        }
    }

    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.control_pipe.write_all(RESUME)
    }
}

fn read_loop(
    sender: &mpsc::Sender<Vec<u8>>,
    mut control: io::PipeReader,
    pause_sender: &blocking::SyncSender<()>,
) {
    let stdin = io::stdin();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let mut ready = [
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN),
        ];
        match poll(&mut ready, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        let [has_keys, has_control] = ready.map(|one| !one.revents().is_empty());
        if has_control {
            let mut command = [0; 1];
            if control.read_exact(&mut command).is_err() {
                return;
            }
            if command == *PAUSE {
                let _ = pause_sender.try_send(());
                // Blocks until the reader is resumed.
                if control.read_exact(&mut command).is_err() {
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

/// Commands on the control pipe.
const PAUSE: &[u8; 1] = b"h";
const RESUME: &[u8; 1] = b"g";
const CHUNK_BYTES: usize = 64 * 1024;
const CHUNKS_MAX: usize = 64;
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(1);
