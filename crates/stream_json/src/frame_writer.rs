//! Frames to standard output, one a line, each under the limit that clients have.
//!
//! Writing one never blocks; the event loop reads notices only while [`FrameWriter::has_room`].

use std::io;

use serde::Serialize;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::line_limit;
use windlass_host::line_streams::StdoutLines;

#[derive(Debug)]
pub(crate) struct FrameWriter {
    /// `None` if every frame is dropped.
    lines: Option<StdoutLines>,
    done: Option<oneshot::Receiver<()>>,
    pub last_written: Instant,
}

impl FrameWriter {
    pub(crate) fn spawn() -> Self {
        let (lines, done) = StdoutLines::spawn();
        Self { lines: Some(lines), done: Some(done), last_written: Instant::now() }
    }

    /// Drops every frame: only the result is wanted, which `Printer` prints.
    pub(crate) fn without_output() -> Self {
        Self { lines: None, done: None, last_written: Instant::now() }
    }

    pub(crate) fn write_frame(&mut self, frame: &impl Serialize) {
        self.last_written = Instant::now();
        let Some(lines) = &self.lines else { return };
        if let Some(line) = line_limit::to_limited_line(frame, LINE_BYTES_MAX) {
            lines.write(line);
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.lines.as_ref().is_none_or(StdoutLines::has_room)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.as_ref().is_none_or(StdoutLines::is_empty)
    }

    /// Is the reader gone?
    pub(crate) fn is_closed(&self) -> bool {
        self.lines.as_ref().is_some_and(StdoutLines::is_closed)
    }

    /// Why lines were lost, unless the reader closed the pipe.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.lines.as_ref().and_then(StdoutLines::failure)
    }

    /// Waits until lines can be written again or the reader closed the pipe; forever if they can be
    /// written now.
    pub(crate) async fn wait_for_change(&self) {
        match &self.lines {
            Some(lines) => lines.wait_for_change().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until everything is written, however slow the reader is.
    pub(crate) async fn finish(&mut self) {
        if let Some(lines) = &mut self.lines {
            lines.end();
        }
        if let Some(done) = self.done.take() {
            let _ = done.await;
        }
    }
}

/// Limit on a line; clients accept up to 1 MiB.
pub(crate) const LINE_BYTES_MAX: usize = 1_000_000;
