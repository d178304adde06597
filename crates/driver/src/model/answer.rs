//! An answer under way: read, decode, watch the clock.
//!
//! The caller pulls pieces and may drop the answer at any moment, which drops the connection with
//! it. Neighbouring pieces of text that came in one network read are joined, so that a fast stream
//! costs one event per read and not one per token. The last piece is always `Ended` or `Failed`.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{timeout, timeout_at};
use windlass_dialect::{Decode, Decoded};
use windlass_vocabulary::{FailureKind, ModelFailure};

use super::http;
use super::watchdog::{Heard, Watchdog};
use crate::clock;
use crate::notices::Teller;

/// An answer under way.
pub(crate) struct Answering {
    pub(crate) response: Response,
    pub(crate) decoder: Box<dyn Decode + Send>,
    pub(crate) watchdog: Watchdog,
    pub(crate) request_id: Option<String>,
    pub(crate) teller: Teller,
    pub(crate) tail: Tail,
}

/// The last bytes of a stream, enough to see whether an event is half-said.
#[derive(Debug, Default)]
pub(crate) struct Tail([u8; 4]);

impl Tail {
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

impl Answering {
    /// The next pieces, at least one.
    pub(crate) async fn next(&mut self) -> Vec<Decoded> {
        let mut out = Vec::new();
        while out.is_empty() {
            let until = self.watchdog.deadline().min(self.watchdog.alarm.at());
            match timeout_at(until, self.response.chunk()).await {
                Err(_) if clock::now() < self.watchdog.deadline() => {
                    self.teller.warn(self.watchdog.alarm.ring());
                }
                Err(_) => out.push(Decoded::Failed(silence(self.watchdog.verdict()))),
                Ok(Ok(Some(bytes))) => self.push(&bytes, &mut out),
                Ok(Ok(None)) => self.decoder.finish(&mut out),
                Ok(Err(error)) => self.cut(&error, &mut out),
            }
        }
        if let Some(Decoded::Failed(failure)) = out.last_mut() {
            *failure = named(failure.clone(), self.request_id.as_deref());
        } else if let Some(Decoded::Ended { .. }) = out.last() {
            // With the end of the body read, the connection is free for the next request.
            self.drain(DRAIN_FIRST_MAX).await;
        }
        joined(out)
    }

    fn push(&mut self, bytes: &[u8], out: &mut Vec<Decoded>) {
        self.decoder.push(bytes, out);
        self.tail.push(bytes);
        let is_life = |piece: &Decoded| matches!(piece, Decoded::Ping | Decoded::Raw(_));
        let heard = match out.as_slice() {
            // A comment, an event nobody knows: nothing is left half-said.
            [] if self.tail.is_blank_line() => Heard::Ping,
            [] => Heard::Bytes,
            pieces if pieces.iter().all(is_life) => Heard::Ping,
            _ => Heard::Progress,
        };
        self.watchdog.heard(heard);
    }

    /// The connection broke. If the answer was already whole, that does not matter.
    fn cut(&mut self, error: &reqwest::Error, out: &mut Vec<Decoded>) {
        self.decoder.finish(out);
        if let Some(Decoded::Failed(failure)) = out.last_mut() {
            *failure = http::transport(error);
        }
    }

    /// Lets the end of the answer go by, after it was reported.
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

/// Joins neighbouring pieces of the same text.
fn joined(pieces: Vec<Decoded>) -> Vec<Decoded> {
    let mut out: Vec<Decoded> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (out.last_mut(), piece) {
            (Some(Decoded::Text(tail)), Decoded::Text(text))
            | (Some(Decoded::Thinking(tail)), Decoded::Thinking(text))
            | (Some(Decoded::CallInput(tail)), Decoded::CallInput(text)) => tail.push_str(&text),
            (_, piece) => out.push(piece),
        }
    }
    out
}

/// Adds the provider's name for the request, which people need when they complain.
pub(crate) fn named(mut failure: ModelFailure, request_id: Option<&str>) -> ModelFailure {
    if failure.request_id.is_none() {
        failure.request_id = request_id.map(str::to_owned);
    }
    failure
}

/// A server that keeps us waiting too long.
pub(crate) fn silence(words: String) -> ModelFailure {
    ModelFailure::new(FailureKind::Transport, words)
}

/// Before the end of an answer is reported: time for the end of its body to arrive.
const DRAIN_FIRST_MAX: Duration = Duration::from_millis(2);
/// After it was reported.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// Bytes read after the end of an answer before the connection is given up.
const DRAIN_BYTES_MAX: usize = 64 * 1024;
