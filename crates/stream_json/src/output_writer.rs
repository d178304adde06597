//! Standard output and standard error, written by a thread of their own.
//!
//! A reader that does not read must not keep signals from being handled, so nothing here waits except
//! [`OutputWriter::finish`], which callers race against the signals. The thread starts with the first
//! piece. When the other end is closed, the rest is dropped quietly.

use std::fs::File;
use std::io::{self, Write};

use tokio::sync::{mpsc, oneshot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputTarget {
    Stdout,
    Stderr,
    File,
}

/// The reader is gone.
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

    /// Waits until everything is written, however slow the reader is. Returns what went wrong; a reader
    /// that is gone is no error.
    pub async fn finish(&mut self) -> Option<io::Error> {
        let WriterThread { pieces, done } = self.writer.take()?;
        drop(pieces);
        done.await.ok().flatten()
    }
}

impl WriterThread {
    fn start(target: OutputTarget, file: Option<File>) -> Self {
        let (pieces, inbox) = mpsc::channel(QUEUED_PIECES_MAX);
        let (finished, done) = oneshot::channel();
        let work = move || {
            let problem = match target {
                OutputTarget::Stdout => write_pieces(inbox, io::stdout()),
                OutputTarget::Stderr => write_pieces(inbox, io::stderr()),
                OutputTarget::File => file.and_then(|file| write_pieces(inbox, file)),
            };
            let _ = finished.send(problem);
        };
        // Without a thread the pieces are dropped with the inbox, as behind a closed pipe.
        let _ = std::thread::Builder::new().name("output".to_owned()).spawn(work);
        Self { pieces, done }
    }
}

/// Ends with the pieces, or when the reader is gone. A closed pipe is no error.
fn write_pieces(mut pieces: mpsc::Receiver<String>, mut to: impl Write) -> Option<io::Error> {
    while let Some(piece) = pieces.blocking_recv() {
        if let Err(error) = to.write_all(piece.as_bytes()).and_then(|()| to.flush()) {
            return Some(error).filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        }
    }
    None
}

/// Pieces that may wait for a slow reader.
const QUEUED_PIECES_MAX: usize = 16_384;
