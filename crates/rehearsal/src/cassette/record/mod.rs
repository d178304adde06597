//! The recorder's handle: start, record, get the summary.
//!
//! A reverse proxy on 127.0.0.1 in front of one real server; the client uses its address instead of
//! the server's. `relay` forwards traffic, `exchange_recording` collects it, `exchange_writer`
//! scrubs and writes.

mod exchange_recording;
mod exchange_writer;
mod relay;
mod summary;
mod upstream;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cassette_file::list_recordings;
use super::scrub::{CassetteScrubber, ScrubOptions};
use crate::server::{ServerHandle, ServerStartError};
use exchange_writer::ExchangeWriter;
use upstream::Upstream;

pub use summary::{RecordSummary, UnrecordedExchange, UnrecordedReason};

/// Options of a recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// The real server: scheme, host, port and base path.
    pub upstream: String,
    /// The folder for the recording, with one file per exchange. Created if missing; must not
    /// contain a recording.
    pub out: PathBuf,
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// What to scrub, in addition to the defaults.
    pub scrub: ScrubOptions,
    /// Headers to keep, in addition to the defaults. Credentials are never kept.
    pub keep_headers: Vec<String>,
    /// A larger exchange is forwarded but not recorded.
    pub exchange_bytes_max: usize,
}

impl RecordOptions {
    /// Records traffic with this server into this folder.
    #[must_use]
    pub fn new(upstream: impl Into<String>, out: impl Into<PathBuf>) -> Self {
        Self {
            upstream: upstream.into(),
            out: out.into(),
            port: 0,
            scrub: ScrubOptions::default(),
            keep_headers: Vec::new(),
            exchange_bytes_max: EXCHANGE_BYTES_MAX,
        }
    }

    /// Sets further options for scrubbing.
    #[must_use]
    pub fn with_scrub(mut self, scrub: ScrubOptions) -> Self {
        self.scrub = scrub;
        self
    }
}

/// Why recording cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] ServerStartError),
    /// The address of the real server is invalid.
    #[error("the upstream address {url:?} cannot be used: {problem}")]
    Upstream {
        /// The address, without secrets.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The folder cannot be used.
    #[error("cannot record into {}: {source}", path.display())]
    Out { path: PathBuf, source: io::Error },
    /// The folder contains a recording.
    #[error("{} already holds a recording; choose another folder, or delete the files in it", path.display())]
    Occupied { path: PathBuf },
}

/// A running recorder. Dropping it stops it.
pub type Recorder = ServerHandle<RecordingResponder>;

/// Forwards and records traffic.
#[derive(Debug)]
pub struct RecordingResponder {
    upstream: Upstream,
    writer: Arc<ExchangeWriter>,
    exchange_bytes_max: usize,
    request_count: AtomicUsize,
}

impl Recorder {
    /// Starts the recorder as a task of the current runtime.
    ///
    /// # Errors
    ///
    /// The upstream address, the folder or the port cannot be used.
    // Async so that it can only be called inside of a runtime.
    #[expect(clippy::unused_async)]
    pub async fn start(options: RecordOptions) -> Result<Self, RecordError> {
        let port = options.port;
        Ok(Self::spawn(RecordingResponder::new(options)?, port)?)
    }

    /// Starts the recorder on a separate thread, for callers without a runtime.
    ///
    /// # Errors
    ///
    /// The upstream address, the folder, the port, a thread or a runtime is not available.
    pub fn start_blocking(options: RecordOptions) -> Result<Self, RecordError> {
        let port = options.port;
        Ok(Self::spawn_thread(RecordingResponder::new(options)?, port)?)
    }

    /// The summary so far, without open exchanges.
    #[must_use]
    pub fn summary(&self) -> RecordSummary {
        self.responder.writer.summary()
    }

    /// Stops, waits until every exchange is saved (a minute at most), and returns the summary. An
    /// unfinished answer is cut off and recorded as far as it arrived.
    pub async fn finish(mut self) -> RecordSummary {
        self.shut_down().await;
        self.summary()
    }

    /// As [`Recorder::finish`], for callers without a runtime. Does not wait for a recorder that
    /// was not started with [`Recorder::start_blocking`].
    pub fn finish_blocking(mut self) -> RecordSummary {
        self.shut_down_blocking();
        self.summary()
    }
}

impl RecordingResponder {
    fn new(options: RecordOptions) -> Result<Self, RecordError> {
        let RecordOptions { upstream, out, scrub, keep_headers, exchange_bytes_max, port: _ } =
            options;
        let upstream = Upstream::new(&upstream)?;
        let failed = |source| RecordError::Out { path: out.clone(), source };
        fs::create_dir_all(&out).map_err(failed)?;
        if !list_recordings(&out).map_err(failed)?.is_empty() {
            return Err(RecordError::Occupied { path: out });
        }
        let writer =
            Arc::new(ExchangeWriter::new(out, CassetteScrubber::new(&scrub), &keep_headers));
        let request_count = AtomicUsize::new(0);
        Ok(Self { upstream, writer, exchange_bytes_max, request_count })
    }

    /// The number of the next request, counted from 1.
    fn next_request_number(&self) -> usize {
        self.request_count.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Larger than any request a provider accepts.
const EXCHANGE_BYTES_MAX: usize = 64 * 1024 * 1024;
