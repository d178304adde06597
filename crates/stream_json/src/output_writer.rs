//! Writes standard output and standard error on a thread.
//!
//! A reader that does not read must not keep signals from being handled, so nothing here waits except
//! [`OutputWriter::finish`], which callers race against the signals. Standard error is not waited for
//! beyond a bound: nobody has to read it. The thread starts with the first piece. When the other end is
//! closed, the rest is dropped quietly.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use windlass_host::standard_streams::StandardOutput;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputTarget {
    Stdout,
    Stderr,
    File,
}

/// The reader has closed the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputClosed;

#[derive(Debug)]
pub struct OutputWriter {
    target: OutputTarget,
    file: Option<File>,
    writer: Option<WriterThread>,
}

#[derive(Debug)]
struct WriterThread {
    pieces: mpsc::Sender<String>,
    done: oneshot::Receiver<Option<io::Error>>,
    written_pieces: Arc<AtomicUsize>,
}

impl OutputWriter {
    pub fn new(target: OutputTarget) -> Self {
        Self { target, file: None, writer: None }
    }

    pub fn from_file(file: File) -> Self {
        Self { target: OutputTarget::File, file: Some(file), writer: None }
    }

    /// Writes a piece soon. Behind a reader that has fallen far back it is dropped.
    pub fn write(&mut self, piece: impl Into<String>) -> Result<(), OutputClosed> {
        let Self { target, file, writer } = self;
        let writer = writer.get_or_insert_with(|| WriterThread::start(*target, file.take()));
        match writer.pieces.try_send(piece.into()) {
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(OutputClosed),
        }
    }

    /// Waits until everything is written, however slow the reader is; on standard error only while
    /// it is being read. Returns the error; a closed pipe is none.
    pub async fn finish(&mut self) -> Option<io::Error> {
        let WriterThread { pieces, mut done, written_pieces } = self.writer.take()?;
        drop(pieces);
        if self.target != OutputTarget::Stderr {
            return done.await.ok().flatten();
        }
        loop {
            let before = written_pieces.load(Ordering::Acquire);
            match tokio::time::timeout(STDERR_STALL_MAX, &mut done).await {
                Ok(written) => return written.ok().flatten(),
                Err(_) if written_pieces.load(Ordering::Acquire) == before => return None,
                Err(_) => {}
            }
        }
    }
}

impl WriterThread {
    fn start(target: OutputTarget, file: Option<File>) -> Self {
        let (pieces, inbox) = mpsc::channel(QUEUED_PIECES_MAX);
        let (finished, done) = oneshot::channel();
        let written_pieces = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&written_pieces);
        let work = move || {
            let problem = match target {
                OutputTarget::Stdout => write_pieces(inbox, StandardOutput::Stdout, &written),
                OutputTarget::Stderr => write_pieces(inbox, StandardOutput::Stderr, &written),
                OutputTarget::File => file.and_then(|file| write_pieces(inbox, file, &written)),
            };
            let _ = finished.send(problem);
        };
        // Without a thread the pieces are dropped with the inbox, as behind a closed pipe.
        let _ = std::thread::Builder::new().name("output".to_owned()).spawn(work);
        Self { pieces, done, written_pieces }
    }
}

/// Ends when the queue is closed, or the reader closes the pipe, which is not an error.
fn write_pieces(
    mut pieces: mpsc::Receiver<String>,
    mut to: impl Write,
    written: &AtomicUsize,
) -> Option<io::Error> {
    while let Some(piece) = pieces.blocking_recv() {
        if let Err(error) = to.write_all(piece.as_bytes()).and_then(|()| to.flush()) {
            return Some(error).filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        }
        written.fetch_add(1, Ordering::AcqRel);
    }
    None
}

/// How long standard error may take nothing before the rest is dropped.
const STDERR_STALL_MAX: Duration = Duration::from_secs(1);
/// Pieces that may wait for a slow reader.
const QUEUED_PIECES_MAX: usize = 16_384;
