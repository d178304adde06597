//! Standard output as a queue of lines, written by a thread of its own.
//!
//! No line is dropped and writing one never blocks; instead the event loop reads notices only while
//! [`FrameWriter::has_room`]. So a slow reader slows down the output, never the input. Every line stays
//! under the limit that clients have.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::line_limit;
use windlass_host::standard_streams::StandardOutput;

#[derive(Debug)]
pub(crate) struct FrameWriter {
    lines: Option<Sender<String>>,
    shared: Arc<FrameWriterState>,
    done: Option<oneshot::Receiver<()>>,
    pub last_written: Instant,
}

#[derive(Debug, Default)]
struct FrameWriterState {
    queued_bytes: AtomicUsize,
    is_closed: AtomicBool,
    /// Why nothing more can be written, unless the reader is gone.
    failure: OnceLock<io::Error>,
    /// Notified when there is room again, or the reader is gone.
    room_changed: Notify,
}

impl FrameWriter {
    pub(crate) fn spawn() -> Self {
        let (lines, inbox) = channel();
        let (finished, done) = oneshot::channel();
        let shared = Arc::new(FrameWriterState::default());
        let worker_state = Arc::clone(&shared);
        let work = move || {
            write_lines(&inbox, &worker_state, StandardOutput::Stdout);
            let _ = finished.send(());
        };
        // Without a thread nothing is written, as behind a closed pipe.
        if std::thread::Builder::new().name("frames".to_owned()).spawn(work).is_err() {
            shared.is_closed.store(true, Ordering::Release);
        }
        Self { lines: Some(lines), shared, done: Some(done), last_written: Instant::now() }
    }

    /// Drops every frame: only the result is wanted, which `Printer` prints.
    pub(crate) fn disabled() -> Self {
        Self { lines: None, shared: Arc::default(), done: None, last_written: Instant::now() }
    }

    pub(crate) fn write_frame(&mut self, frame: &impl Serialize) {
        self.last_written = Instant::now();
        let Some(lines) = &self.lines else {
            return;
        };
        let Some(mut line) = line_limit::to_limited_line(frame, LINE_BYTES_MAX) else {
            return;
        };
        line.push('\n');
        self.shared.queued_bytes.fetch_add(line.len(), Ordering::AcqRel);
        if lines.send(line).is_err() {
            self.shared.is_closed.store(true, Ordering::Release);
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.shared.queued_bytes.load(Ordering::Acquire) < QUEUED_BYTES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shared.queued_bytes.load(Ordering::Acquire) == 0
    }

    /// Is the reader gone?
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed.load(Ordering::Acquire)
    }

    /// Why lines were lost, unless the reader is gone.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.shared.failure.get()
    }

    /// Waits until there is room again, or the reader is gone.
    pub(crate) async fn wait_for_room(&self) {
        self.shared.room_changed.notified().await;
    }

    /// Waits until everything is written, however slow the reader is.
    pub(crate) async fn finish(&mut self) {
        self.lines = None;
        if let Some(done) = self.done.take() {
            let _ = done.await;
        }
    }
}

fn write_lines(lines: &Receiver<String>, shared: &FrameWriterState, mut to: impl Write) {
    while let Ok(line) = lines.recv() {
        let written = to.write_all(line.as_bytes()).and_then(|()| to.flush());
        let left = shared.queued_bytes.fetch_sub(line.len(), Ordering::AcqRel) - line.len();
        if let Err(error) = written {
            // What clients do not read they do not want; everything else is a loss to tell.
            if error.kind() != io::ErrorKind::BrokenPipe {
                let _ = shared.failure.set(error);
            }
            shared.is_closed.store(true, Ordering::Release);
            shared.room_changed.notify_one();
            return;
        }
        if left < QUEUED_BYTES_MAX && left + line.len() >= QUEUED_BYTES_MAX {
            shared.room_changed.notify_one();
        }
    }
}

/// Bytes of a line; clients give up at 1 MiB.
pub(crate) const LINE_BYTES_MAX: usize = 1_000_000;
/// Bytes that may wait before no more notices are read.
const QUEUED_BYTES_MAX: usize = 4 << 20;
