//! Reads and decodes an answer, and watches for timeouts.
//!
//! The caller pulls deltas and may drop the stream at any moment, which closes the connection.
//! Adjacent pieces of text from one network read are joined, so that a fast stream costs one event
//! per read and not one per token. The last delta is always `Ended` or `Failed`.

use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;
use windlass_dialect::{DecodedEvent, ResponseDecoder};
use windlass_vocabulary::{FailureKind, ModelFailure};

use super::http_endpoint;
use super::watchdog::{StreamActivity, StreamWatchdog, WatchdogVerdict};
use crate::notices::NoticeSender;

pub(crate) struct AnswerStream {
    pub(crate) response: Response,
    pub(crate) decoder: Box<dyn ResponseDecoder + Send>,
    pub(crate) watchdog: StreamWatchdog,
    pub(crate) request_id: Option<String>,
    /// Keep deltas as the server sent them.
    pub(crate) separate_deltas: bool,
    pub(crate) notice_sender: NoticeSender,
    pub(crate) tail: StreamTail,
}

/// The last bytes of a stream, enough to tell whether an event is incomplete.
#[derive(Debug, Default)]
pub(crate) struct StreamTail([u8; 4]);

impl StreamTail {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().rev().take(self.0.len()).rev() {
            self.0.rotate_left(1);
            if let Some(last) = self.0.last_mut() {
                *last = *byte;
            }
        }
    }

    fn is_blank_line(&self) -> bool {
        [&b"\n\n"[..], b"\r\r", b"\r\n\r\n"].iter().any(|end| self.0.ends_with(end))
    }
}

impl AnswerStream {
    pub(crate) async fn next(&mut self) -> Vec<DecodedEvent> {
        let mut out = Vec::new();
        while out.is_empty() {
            match timeout(self.watchdog.next_wait(), self.response.chunk()).await {
                Err(_) => match self.watchdog.check() {
                    WatchdogVerdict::Patience => {}
                    WatchdogVerdict::Warn(words) => self.notice_sender.warn(words),
                    WatchdogVerdict::TimedOut(words) => {
                        out.push(DecodedEvent::Failed(build_timeout_failure(words)));
                    }
                },
                Ok(Ok(Some(bytes))) => self.push(&bytes, &mut out),
                Ok(Ok(None)) => self.decoder.finish(&mut out),
                Ok(Err(error)) => self.finish_after_disconnect(&error, &mut out),
            }
        }
        if let Some(DecodedEvent::Failed(failure)) = out.last_mut() {
            *failure = with_request_id(failure.clone(), self.request_id.as_deref());
        } else if let Some(DecodedEvent::Ended { .. }) = out.last() {
            // Once the body has been read to its end, the connection can be reused for the next
            // request.
            self.drain(DRAIN_FIRST_MAX).await;
        }
        if self.separate_deltas { out } else { join_text_pieces(out) }
    }

    fn push(&mut self, bytes: &[u8], out: &mut Vec<DecodedEvent>) {
        self.decoder.push(bytes, out);
        self.tail.push(bytes);
        let is_life =
            |piece: &DecodedEvent| matches!(piece, DecodedEvent::Ping | DecodedEvent::Raw(_));
        let activity = match out.as_slice() {
            // A comment or an unknown event: nothing is incomplete.
            [] if self.tail.is_blank_line() => StreamActivity::Ping,
            [] => StreamActivity::Bytes,
            pieces if pieces.iter().all(is_life) => StreamActivity::Ping,
            _ => StreamActivity::Progress,
        };
        self.watchdog.record_activity(activity);
    }

    /// The connection broke. If the answer was already complete, that does not matter.
    fn finish_after_disconnect(&mut self, error: &reqwest::Error, out: &mut Vec<DecodedEvent>) {
        self.decoder.finish(out);
        if let Some(DecodedEvent::Failed(failure)) = out.last_mut() {
            *failure = http_endpoint::classify_transport_error(error);
        }
    }

    /// Reads the rest of the body after the end of the answer was reported.
    pub(crate) async fn drain_rest(&mut self) {
        self.drain(DRAIN_MAX).await;
    }

    async fn drain(&mut self, wait: Duration) {
        let rest = async {
            let mut left = DRAIN_BYTES_MAX;
            while let Ok(Some(bytes)) = self.response.chunk().await {
                left = left.saturating_sub(bytes.len());
                if left == 0 {
                    break;
                }
            }
        };
        let _ = timeout(wait, rest).await;
    }
}

fn join_text_pieces(pieces: Vec<DecodedEvent>) -> Vec<DecodedEvent> {
    let mut out: Vec<DecodedEvent> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (out.last_mut(), piece) {
            (Some(DecodedEvent::Text(tail)), DecodedEvent::Text(text))
            | (Some(DecodedEvent::Thinking(tail)), DecodedEvent::Thinking(text))
            | (Some(DecodedEvent::CallInput(tail)), DecodedEvent::CallInput(text)) => {
                tail.push_str(&text);
            }
            (_, piece) => out.push(piece),
        }
    }
    out
}

/// Adds the provider's request id, which users need for support.
pub(crate) fn with_request_id(mut failure: ModelFailure, request_id: Option<&str>) -> ModelFailure {
    if failure.request_id.is_none() {
        failure.request_id = request_id.map(str::to_owned);
    }
    failure
}

/// The failure for a server that exceeded a timeout.
pub(crate) fn build_timeout_failure(words: String) -> ModelFailure {
    ModelFailure::new(FailureKind::Transport, words)
}

/// Before the end of an answer is reported: time for the end of the body to arrive.
const DRAIN_FIRST_MAX: Duration = Duration::from_millis(2);
/// The same after it was reported.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// Limit on the bytes read after the end of an answer, before the connection is closed.
const DRAIN_BYTES_MAX: usize = 64 * 1024;
