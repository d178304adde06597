//! Writes a recorded exchange: filters the headers, scrubs, checks for leaks, writes. Always in
//! this order, and nothing else writes to disk.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::exchange_recording::ExchangeRecording;
use super::summary::{RecordSummary, UnrecordedExchange, UnrecordedReason};
use crate::cassette::cassette_file::{BYTES_MAX, FILES_MAX, write_recording};
use crate::cassette::exchange::{RecordedExchange, RecordedRequest};
use crate::cassette::format;
use crate::cassette::scrub::{CassetteScrubber, ScrubFailure};
use crate::lock::lock;

#[derive(Debug)]
pub(super) struct ExchangeWriter {
    pub(super) folder: PathBuf,
    pub(super) scrubber: CassetteScrubber,
    /// Further headers to keep; names in lower case.
    pub(super) extra_headers: Vec<String>,
    summary: Mutex<RecordSummary>,
    /// The number of exchanges that are neither written nor abandoned yet.
    open_exchanges: watch::Sender<usize>,
}

/// Counts one exchange as open until it is dropped.
pub(super) struct OpenExchangeGuard(Arc<ExchangeWriter>);

impl Drop for OpenExchangeGuard {
    fn drop(&mut self) {
        self.0.open_exchanges.send_modify(|open| *open -= 1);
    }
}

impl ExchangeWriter {
    pub(super) fn new(folder: PathBuf, scrubber: CassetteScrubber, headers: &[String]) -> Self {
        Self {
            folder,
            scrubber,
            extra_headers: headers.iter().map(|name| name.to_ascii_lowercase()).collect(),
            summary: Mutex::default(),
            open_exchanges: watch::Sender::new(0),
        }
    }

    pub(super) fn begin_exchange(self: &Arc<Self>) -> OpenExchangeGuard {
        self.open_exchanges.send_modify(|open| *open += 1);
        OpenExchangeGuard(Arc::clone(self))
    }

    pub(super) fn watch_open_exchanges(&self) -> watch::Receiver<usize> {
        self.open_exchanges.subscribe()
    }

    pub(super) fn summary(&self) -> RecordSummary {
        lock(&self.summary).clone()
    }

    /// Writes an exchange, or records why not. Blocks on the disk.
    pub(super) fn save(&self, recording: ExchangeRecording) {
        let number = recording.number;
        let request = RecordedRequest {
            method: recording.method().to_owned(),
            path: recording.path().to_owned(),
            ..RecordedRequest::default()
        };
        if let Err(why) = self.try_save(number, recording) {
            let (request, _) = self.scrubber.scrub_request(request);
            let request = format!("{} {}", request.method, request.path);
            lock(&self.summary).add_unrecorded(UnrecordedExchange { number, request, reason: why });
        }
    }

    fn try_save(
        &self,
        number: usize,
        recording: ExchangeRecording,
    ) -> Result<(), UnrecordedReason> {
        let mut exchange = recording.into_exchange()?;
        self.scrubber.learn(
            &exchange.request.headers,
            &exchange.request.path,
            &exchange.request.body,
        );
        if let Some(head) = &exchange.head {
            self.scrubber.learn_headers(&head.headers);
        }
        self.filter_headers(&mut exchange);
        let (exchange, scrubbed) = self.scrubber.scrub(exchange);
        let text = format::serialize_exchange(&exchange)
            .map_err(|error| UnrecordedReason::Disk(error.to_string()))?;
        self.scrubber.check_clean(&exchange, &text).map_err(|unfit| match unfit {
            ScrubFailure::Leaks => UnrecordedReason::StillSecret,
            ScrubFailure::TooManySecrets => UnrecordedReason::TooManySecrets,
        })?;
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let has_room = lock(&self.summary).bytes.saturating_add(bytes) <= BYTES_MAX;
        if number > FILES_MAX || !has_room {
            return Err(UnrecordedReason::Full);
        }
        write_recording(&self.folder, number, &text)
            .map_err(|error| UnrecordedReason::Disk(error.to_string()))?;
        let mut summary = lock(&self.summary);
        summary.exchanges += 1;
        summary.bytes += bytes;
        summary.scrubbed += scrubbed;
        Ok(())
    }

    /// Only known headers are kept, because others may contain secrets.
    fn filter_headers(&self, exchange: &mut RecordedExchange) {
        let is_extra = |name: &str| {
            self.extra_headers.iter().any(|kept| kept == name)
                && !format::FRAMING_HEADERS.contains(&name)
        };
        let request = &mut exchange.request;
        request.headers.retain(|(name, _)| {
            RECORDED_REQUEST_HEADERS.contains(&name.as_str()) || is_extra(name)
        });
        if let Some(head) = &mut exchange.head {
            let is_kept = |name: &str| {
                RECORDED_RESPONSE_HEADERS.contains(&name) || name.contains("ratelimit")
            };
            head.headers.retain(|(name, _)| is_kept(name) || is_extra(name));
        }
    }
}

/// Request headers that describe the kind of request.
const RECORDED_REQUEST_HEADERS: [&str; 6] = [
    "content-type",
    "accept",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "x-windlass-source",
];
/// Response headers that clients use, in addition to rate limits.
const RECORDED_RESPONSE_HEADERS: [&str; 6] = [
    "content-type",
    "content-language",
    "cache-control",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];
