//! Standard output as a queue of lines, written by a thread of its own. Queueing never blocks; a session
//! reads its notices only while there is room, so a slow editor slows down output, never input.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::{Notify, oneshot};

#[derive(Debug)]
pub(super) struct LineWriter {
    lines: Sender<String>,
    state: Arc<WriterState>,
}

#[derive(Debug, Default)]
struct WriterState {
    queued_bytes: AtomicUsize,
    is_closed: AtomicBool,
    room_changed: Notify,
}

impl LineWriter {
    /// The receiver is sent to when everything is written after the last sender is gone.
    pub(super) fn spawn() -> (Self, oneshot::Receiver<()>) {
        let (lines, inbox) = channel();
        let (finished, done) = oneshot::channel();
        let state = Arc::new(WriterState::default());
        let worker_state = Arc::clone(&state);
        let work = move || {
            write_lines(&inbox, &worker_state, io::stdout());
            worker_state.is_closed.store(true, Ordering::Release);
            worker_state.room_changed.notify_waiters();
            let _ = finished.send(());
        };
        if std::thread::Builder::new().name("frames".to_owned()).spawn(work).is_err() {
            state.is_closed.store(true, Ordering::Release);
        }
        (Self { lines, state }, done)
    }

    pub(super) fn write(&self, mut line: String) {
        line.push('\n');
        let length = line.len();
        self.state.queued_bytes.fetch_add(length, Ordering::AcqRel);
        if self.lines.send(line).is_err() {
            self.state.is_closed.store(true, Ordering::Release);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.is_closed.load(Ordering::Acquire)
    }

    /// Returns at once if there is room or the reader is gone.
    pub(super) async fn wait_for_room(&self) {
        loop {
            let changed = self.state.room_changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let queued = self.state.queued_bytes.load(Ordering::Acquire);
            if queued < QUEUED_BYTES_MAX || self.is_closed() {
                return;
            }
            changed.await;
        }
    }
}

fn write_lines(lines: &Receiver<String>, state: &WriterState, mut to: impl Write) {
    while let Ok(line) = lines.recv() {
        let written = to.write_all(line.as_bytes()).and_then(|()| to.flush());
        let before = state.queued_bytes.fetch_sub(line.len(), Ordering::AcqRel);
        if written.is_err() {
            return;
        }
        if before >= QUEUED_BYTES_MAX && before - line.len() < QUEUED_BYTES_MAX {
            state.room_changed.notify_waiters();
        }
    }
}

/// Bytes that may wait before sessions stop reading their notices.
const QUEUED_BYTES_MAX: usize = 4 << 20;
