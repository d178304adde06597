//! Collects one exchange while it passes through the recorder, up to a limit.
//!
//! Keeps everything in memory until the end of the exchange, because a secret may be split at any
//! boundary, and only the complete data can be scrubbed. Does not scrub or write itself.

use std::time::Instant;

use windlass_http_request::HttpRequest;

use super::summary::UnrecordedReason;
use crate::cassette::exchange::{
    ExchangeEnd, RecordedChunk, RecordedExchange, RecordedRequest, RecordedResponseHead,
};

/// One exchange in progress.
pub(super) struct ExchangeRecording {
    pub(super) number: usize,
    exchange: RecordedExchange,
    began: Instant,
    is_ended: bool,
    /// The remaining size limit.
    bytes_left: usize,
    /// Why it will not be recorded.
    refusal: Option<UnrecordedReason>,
}

impl ExchangeRecording {
    pub(super) fn new(number: usize, request: &HttpRequest, bytes_max: usize) -> Self {
        let mut recording = Self {
            number,
            exchange: RecordedExchange {
                request: RecordedRequest {
                    method: request.method.clone(),
                    path: request.target.clone(),
                    ..RecordedRequest::default()
                },
                head: None,
                chunks: Vec::new(),
                end: ExchangeEnd::Unfinished,
                end_millis: 0,
            },
            began: Instant::now(),
            is_ended: false,
            bytes_left: bytes_max,
            refusal: None,
        };
        if is_compressed(&request.headers) {
            recording.refuse(UnrecordedReason::Compressed);
        }
        if recording.reserve_bytes(request.body.len()) {
            recording.exchange.request.headers = request.headers.clone();
            recording.exchange.request.body = request.body.clone();
        }
        recording
    }

    /// The head of the answer has arrived.
    pub(super) fn record_head(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        length: Option<u64>,
    ) {
        if is_compressed(headers) {
            self.refuse(UnrecordedReason::Compressed);
        }
        let millis = self.elapsed_millis();
        let headers = headers.to_vec();
        self.exchange.head = Some(RecordedResponseHead { status, headers, length, millis });
    }

    /// A chunk of the answer has arrived.
    pub(super) fn record_chunk(&mut self, bytes: &[u8]) {
        if self.reserve_bytes(bytes.len()) {
            let millis = self.elapsed_millis();
            self.exchange.chunks.push(RecordedChunk { millis, bytes: bytes.to_vec() });
        }
    }

    pub(super) fn record_end(&mut self, end: ExchangeEnd) {
        self.exchange.end = end;
        self.exchange.end_millis = self.elapsed_millis();
        self.is_ended = true;
    }

    /// Stops recording this exchange, and frees its memory.
    pub(super) fn refuse(&mut self, why: UnrecordedReason) {
        self.refusal.get_or_insert(why);
        self.exchange.chunks = Vec::new();
        self.exchange.request.body = Vec::new();
        self.bytes_left = 0;
    }

    pub(super) fn path(&self) -> &str {
        &self.exchange.request.path
    }

    pub(super) fn method(&self) -> &str {
        &self.exchange.request.method
    }

    /// The exchange is over. An answer that has not ended was abandoned by one side.
    pub(super) fn finish(&mut self) {
        if !self.is_ended {
            self.record_end(ExchangeEnd::Unfinished);
        }
    }

    /// The exchange, or why it is not recorded.
    pub(super) fn into_exchange(self) -> Result<RecordedExchange, UnrecordedReason> {
        match self.refusal {
            Some(why) => Err(why),
            None => Ok(self.exchange),
        }
    }

    fn reserve_bytes(&mut self, bytes: usize) -> bool {
        if self.refusal.is_some() {
            return false;
        }
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => self.bytes_left = left,
            None => self.refuse(UnrecordedReason::TooLarge),
        }
        self.refusal.is_none()
    }

    fn elapsed_millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn is_compressed(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("content-encoding")
            && !value.trim().eq_ignore_ascii_case("identity")
    })
}
