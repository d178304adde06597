//! One signal: its waiting records, the batch in flight, and when to send next.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Client;
use tokio::time::Instant;

use super::console;
use super::http_client::OutgoingRequest;
use super::send_result::SendResult;
use crate::config::{OtlpProtocol, OtlpTarget, SignalConfig, TelemetryConfig, TelemetrySignal};
use crate::metric_table::{MetricTable, Temporality};
use crate::record::{EventRecord, SpanRecord, TelemetryRecord};
use crate::standard_attributes::StandardAttributes;
use crate::wire::otlp_messages::{build_log_request, build_metric_request, build_trace_request};
use crate::wire::{WireMessage, json, protobuf};

pub(super) struct SignalWorker {
    pub(super) signal: TelemetrySignal,
    target: Option<Arc<OtlpTarget>>,
    has_console: bool,
    interval: Duration,
    temporality: Temporality,
    standard: Arc<StandardAttributes>,
    client: Arc<OnceLock<Result<Client, String>>>,
    waiting: WaitingRecords,
    batch: BatchState,
    due: Instant,
    /// The wait after the next failure; doubles with each one.
    pause: Duration,
    has_failed: bool,
    is_flushing: bool,
}

#[derive(Default)]
struct WaitingRecords {
    events: Vec<EventRecord>,
    spans: Vec<SpanRecord>,
    bytes: usize,
}

/// The batch taken from the waiting records.
enum BatchState {
    None,
    UnderWay {
        body: Vec<u8>,
        records: u64,
        tries: u8,
    },
    /// Waits for a retry.
    Kept {
        body: Vec<u8>,
        records: u64,
        tries: u8,
    },
}

impl SignalWorker {
    /// `None` if this signal is not sent.
    pub(super) fn new(
        signal: TelemetrySignal,
        config: &TelemetryConfig,
        standard: &Arc<StandardAttributes>,
        now: Instant,
    ) -> Option<Self> {
        let SignalConfig { otlp, has_console, interval, scraped_at: _ } = match signal {
            TelemetrySignal::Metrics => &config.metrics,
            TelemetrySignal::Logs => &config.logs,
            TelemetrySignal::Traces => &config.traces,
        };
        if otlp.is_none() && !has_console {
            return None;
        }
        Some(Self {
            signal,
            target: otlp.clone().map(Arc::new),
            has_console: *has_console,
            interval: *interval,
            temporality: config.temporality,
            standard: Arc::clone(standard),
            client: Arc::default(),
            waiting: WaitingRecords::default(),
            batch: BatchState::None,
            due: now + *interval,
            pause: PAUSE_MIN,
            has_failed: false,
            is_flushing: false,
        })
    }

    /// Takes a record of this signal. Returns the number of dropped records.
    pub(super) fn take_record(&mut self, record: TelemetryRecord) -> u64 {
        let bytes = record.bytes();
        if self.waiting.bytes + bytes > WAITING_BYTES_MAX
            || self.waiting.events.len() + self.waiting.spans.len() >= WAITING_MAX
        {
            return 1;
        }
        self.waiting.bytes += bytes;
        match record {
            TelemetryRecord::Event(event) => self.waiting.events.push(event),
            TelemetryRecord::Span(span) => self.waiting.spans.push(*span),
            TelemetryRecord::Increment(_) => {}
        }
        0
    }

    /// Sends everything without waiting, until it is sent or fails.
    pub(super) fn flush(&mut self) {
        self.is_flushing = true;
    }

    pub(super) fn is_flushed(&self) -> bool {
        !self.is_flushing
    }

    /// When there may be something to send; `None` while a request is in flight.
    pub(super) fn next_due(&self) -> Option<Instant> {
        match self.batch {
            BatchState::UnderWay { .. } => None,
            BatchState::None | BatchState::Kept { .. } => Some(self.due),
        }
    }

    /// The next request, if one is due.
    pub(super) fn start_if_due(
        &mut self,
        metrics: &Mutex<MetricTable>,
        now: Instant,
    ) -> Option<OutgoingRequest> {
        let is_due = now >= self.due || self.is_flushing;
        let is_long =
            self.waiting.events.len() + self.waiting.spans.len() >= BATCH_MAX && !self.has_failed;
        match &mut self.batch {
            BatchState::UnderWay { .. } => return None,
            BatchState::Kept { .. } | BatchState::None if !is_due && !is_long => return None,
            BatchState::Kept { body, records, tries } => {
                let (body, records, tries) = (std::mem::take(body), *records, *tries);
                self.batch = BatchState::UnderWay { body, records, tries: tries + 1 };
            }
            BatchState::None => {
                let Some((body, records)) = self.take_batch(metrics) else {
                    self.due = now + self.interval;
                    self.is_flushing = false;
                    return None;
                };
                if self.target.is_none() {
                    // Written to the console only. While flushing, more records may be waiting.
                    self.due = if self.is_flushing { now } else { now + self.interval };
                    return None;
                }
                self.batch = BatchState::UnderWay { body, records, tries: 1 };
            }
        }
        let (BatchState::UnderWay { body, .. }, Some(target)) = (&self.batch, &self.target) else {
            return None;
        };
        Some(OutgoingRequest {
            target: Arc::clone(target),
            client: Arc::clone(&self.client),
            body: body.clone(),
        })
    }

    /// Handles a result. Returns the number of records given up.
    pub(super) fn take_result(&mut self, result: &SendResult, now: Instant) -> u64 {
        let BatchState::UnderWay { body, records, tries } =
            std::mem::replace(&mut self.batch, BatchState::None)
        else {
            return 0;
        };
        match result {
            SendResult::Accepted => {
                self.pause = PAUSE_MIN;
                self.has_failed = false;
                self.due = now + self.interval;
                0
            }
            SendResult::TryAgain { after, .. } => {
                let wait = after.unwrap_or_default().max(self.pause).min(PAUSE_MAX);
                self.wait_after_failure(wait, now);
                if tries >= TRIES_MAX {
                    return records;
                }
                self.batch = BatchState::Kept { body, records, tries };
                0
            }
            SendResult::Refused { .. } => {
                self.wait_after_failure(self.pause.max(self.interval).min(PAUSE_MAX), now);
                records
            }
        }
    }

    /// Describes the first of a series of failures; `None` for the following ones.
    pub(super) fn describe_new_failure(&mut self, result: &SendResult) -> Option<String> {
        match result {
            SendResult::Accepted => None,
            SendResult::TryAgain { why, .. } | SendResult::Refused { why } => {
                let is_new = !std::mem::replace(&mut self.has_failed, true);
                is_new.then(|| format!("{} not sent: {why}", self.name()))
            }
        }
    }

    fn wait_after_failure(&mut self, wait: Duration, now: Instant) {
        self.due = now + wait;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        // The attempt counts as the flush: a process that ends does not wait for a retry.
        self.is_flushing = false;
    }

    fn name(&self) -> &'static str {
        match self.signal {
            TelemetrySignal::Metrics => "metrics were",
            TelemetrySignal::Logs => "events were",
            TelemetrySignal::Traces => "spans were",
        }
    }

    /// Encodes a batch of waiting records, and writes it to the console if configured.
    fn take_batch(&mut self, metrics: &Mutex<MetricTable>) -> Option<(Vec<u8>, u64)> {
        let standard = Arc::clone(&self.standard);
        let head = &standard.head;
        match self.signal {
            TelemetrySignal::Metrics => {
                let points = {
                    let mut table = metrics.lock().unwrap_or_else(PoisonError::into_inner);
                    table.take_points(self.temporality, unix_nanos())
                };
                let count: usize = points.iter().map(|(_, points)| points.len()).sum();
                let message =
                    build_metric_request(head, &standard.of_metrics, &points, self.temporality);
                (count > 0).then(|| (self.encode(&message), count as u64))
            }
            TelemetrySignal::Logs => {
                let kept = self.waiting.events.len().min(BATCH_MAX);
                let events: Vec<EventRecord> = self.waiting.events.drain(..kept).collect();
                self.count_waiting(kept);
                let message = build_log_request(head, &standard.of_events, &events);
                (!events.is_empty()).then(|| (self.encode(&message), events.len() as u64))
            }
            TelemetrySignal::Traces => {
                let kept = self.waiting.spans.len().min(BATCH_MAX);
                let spans: Vec<SpanRecord> = self.waiting.spans.drain(..kept).collect();
                self.count_waiting(kept);
                let message = build_trace_request(head, &standard.of_events, &spans);
                (!spans.is_empty()).then(|| (self.encode(&message), spans.len() as u64))
            }
        }
    }

    /// Reduces the byte count by the share of records taken, as if all had the same size.
    fn count_waiting(&mut self, taken: usize) {
        let left = self.waiting.events.len() + self.waiting.spans.len();
        self.waiting.bytes = self.waiting.bytes * left / (left + taken).max(1);
    }

    fn encode(&self, message: &WireMessage<'_>) -> Vec<u8> {
        if self.has_console {
            console::show(message);
        }
        match self.target.as_ref().map(|target| target.protocol) {
            None => Vec::new(),
            Some(OtlpProtocol::HttpJson) => json::encode(message),
            Some(OtlpProtocol::Grpc | OtlpProtocol::HttpProtobuf) => protobuf::encode(message),
        }
    }
}

pub(crate) fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Limit on records of one request.
const BATCH_MAX: usize = 512;
/// Limit on records that wait for a request.
const WAITING_MAX: usize = 2_048;
const WAITING_BYTES_MAX: usize = 8 << 20;
/// Limit on attempts to send a batch.
const TRIES_MAX: u8 = 5;
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
