//! One attempt: encode, send, decode.
//!
//! The caller pulls pieces and may drop the attempt at any moment, which drops the connection with
//! it. Neighbouring pieces of text that came in one network read are joined, so that a fast stream
//! costs one event per read and not one per token. The last piece is always `Ended` or `Failed`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;
use windlass_dialect::{Decode, Decoded, Dialect, dialect};
use windlass_tool::Registry;
use windlass_vocabulary::{
    AttemptId, Delta, FailureKind, Inspection, ModelFailure, ModelRequest, ToolCall,
};

use super::http::{self, Http};
use super::watchdog::{Heard, Watchdog, seconds};
use super::{Endpoint, Timeouts};
use crate::clock;
use crate::error::StartError;
use crate::guard::caught_now;
use crate::notices::Teller;
use windlass_engine::Event;

/// Everything an attempt needs; shared by all attempts of a session.
pub(crate) struct ModelPort {
    dialect: &'static dyn Dialect,
    http: Http,
    timeouts: Timeouts,
    keeps_raw: bool,
    registry: Arc<Registry>,
    teller: Teller,
    /// Notes already told: the same history gives the same notes with every request.
    notes: Mutex<BTreeSet<String>>,
}

/// An answer under way.
pub(crate) struct Answering {
    response: Response,
    decoder: Box<dyn Decode + Send>,
    watchdog: Watchdog,
    request_id: Option<String>,
}

impl ModelPort {
    pub(crate) fn new(
        endpoint: &Endpoint,
        timeouts: Timeouts,
        keeps_raw: bool,
        registry: Arc<Registry>,
        teller: Teller,
    ) -> Result<Self, StartError> {
        let dialect = dialect(endpoint.wire).ok_or(StartError::Wire(endpoint.wire))?;
        let http = Http::new(endpoint, dialect, timeouts)?;
        let notes = Mutex::default();
        Ok(Self { dialect, http, timeouts, keeps_raw, registry, teller, notes })
    }

    /// Makes the attempt and turns every piece of the answer into an event.
    pub(crate) async fn attempt<S, F>(&self, request: &ModelRequest, mut report: S)
    where
        S: FnMut(Event) -> F,
        F: Future<Output = ()>,
    {
        let attempt = request.attempt;
        let mut answer = match self.open(request).await {
            Ok(answer) => answer,
            Err(failure) => return report(Event::ModelFailed { attempt, failure }).await,
        };
        loop {
            for piece in answer.next().await {
                let is_ended = matches!(piece, Decoded::Ended { .. });
                let is_failed = matches!(piece, Decoded::Failed(_));
                if let Some(event) = self.event(attempt, piece) {
                    report(event).await;
                }
                if is_ended {
                    return answer.drain(DRAIN_MAX).await;
                }
                if is_failed {
                    // Whatever the connection still carries is not worth keeping it for.
                    return;
                }
            }
        }
    }

    /// Sends the request and waits until the server begins to answer.
    pub(crate) async fn open(&self, request: &ModelRequest) -> Result<Answering, ModelFailure> {
        let encoded = self.dialect.encode(request, self.dialect.law());
        self.tell_notes(encoded.notes);
        if let Some(refusal) = encoded.refusal {
            return Err(refusal);
        }
        let path = self.dialect.path(&request.model);
        let post = self.http.post(&path, request.source, encoded.body);
        let response = timeout(self.timeouts.headers, post).await.map_err(|_| {
            let waited = seconds(self.timeouts.headers);
            silence(format!("the server did not begin to answer within {waited}"))
        })??;
        let headers = |name: &str| header(&response, name);
        let request_id = self.dialect.request_id(&headers);
        let content_type = headers("content-type").unwrap_or_default();
        let is_plain = headers("content-encoding").is_none_or(|coding| coding == "identity");
        if response.status().as_u16() != 200 || !self.dialect.accepts(&content_type) || !is_plain {
            return Err(named(self.refusal(response).await, request_id.as_deref()));
        }
        let mut decoder = self.dialect.decoder();
        if self.keeps_raw {
            decoder.keep_raw();
        }
        let watchdog = Watchdog::new(self.timeouts);
        Ok(Answering { response, decoder, watchdog, request_id })
    }

    /// What a reply that is no stream means.
    async fn refusal(&self, mut response: Response) -> ModelFailure {
        let status = response.status();
        if status.is_redirection() {
            let to = header(&response, "location").unwrap_or_else(|| "another place".to_owned());
            return ModelFailure {
                status: Some(status.as_u16()),
                ..ModelFailure::new(
                    FailureKind::Misconfigured,
                    format!(
                        "the server redirects to {to}; redirects are not followed, because the \
                         credential belongs to the configured address alone. If the new address is \
                         right, configure it."
                    ),
                )
            };
        }
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() >= REFUSAL_BYTES_MAX {
                    break;
                }
            }
        };
        // What was read until then is enough to sort the refusal.
        let _ = timeout(REFUSAL_WAIT_MAX, read).await;
        body.truncate(REFUSAL_BYTES_MAX);
        let headers = |name: &str| header(&response, name);
        self.dialect.classify(status.as_u16(), &headers, &body, clock::unix_millis() / 1000)
    }

    fn event(&self, attempt: AttemptId, piece: Decoded) -> Option<Event> {
        let delta = match piece {
            Decoded::Started { .. } => return Some(Event::ModelStarted { attempt }),
            Decoded::Ended { stop, usage, detail: _ } => {
                return Some(Event::ModelEnded { attempt, stop, usage });
            }
            Decoded::Failed(failure) => return Some(Event::ModelFailed { attempt, failure }),
            Decoded::Ping => return None,
            Decoded::Text(text) => Delta::Text(text),
            Decoded::Thinking(text) => Delta::Thinking(text),
            Decoded::CallStarted { id, name } => Delta::CallStarted { id, name },
            Decoded::CallInput(text) => Delta::CallInput(text),
            Decoded::Block(block) => Delta::Block(block),
            Decoded::Call { call, problem } => {
                let inspection = match problem {
                    Some(problem) => Inspection::refused(problem),
                    None => inspect(&self.registry, &call),
                };
                Delta::Call { call, inspection }
            }
            Decoded::Usage(usage) => Delta::Usage(usage),
            Decoded::Raw(json) => Delta::Raw(json),
        };
        Some(Event::ModelDelta { attempt, delta })
    }

    fn tell_notes(&self, notes: Vec<String>) {
        let mut told = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes {
            if told.len() < NOTES_MAX && told.insert(note.clone()) {
                self.teller.warn(note);
            }
        }
    }
}

impl Answering {
    /// The next pieces, at least one.
    pub(crate) async fn next(&mut self) -> Vec<Decoded> {
        let mut out = Vec::new();
        while out.is_empty() {
            let read = tokio::time::timeout_at(self.watchdog.deadline(), self.response.chunk());
            match read.await {
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
        let heard = match out.as_slice() {
            [] => Heard::Bytes,
            pieces if pieces.iter().all(|piece| *piece == Decoded::Ping) => Heard::Ping,
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

/// Asks the registry; a tool that panics here is one that cannot run.
pub(crate) fn inspect(registry: &Registry, call: &ToolCall) -> Inspection {
    caught_now(|| registry.inspect(call.name.as_str(), &call.input)).unwrap_or_else(|words| {
        Inspection::refused(format!("The tool `{}` broke on this input: {words}", call.name))
    })
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

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn named(mut failure: ModelFailure, request_id: Option<&str>) -> ModelFailure {
    if failure.request_id.is_none() {
        failure.request_id = request_id.map(str::to_owned);
    }
    failure
}

fn silence(words: String) -> ModelFailure {
    ModelFailure::new(FailureKind::Transport, words)
}

/// Bytes read of a reply that is no stream.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// How long to wait for them.
const REFUSAL_WAIT_MAX: Duration = Duration::from_secs(10);
/// Before the end of an answer is reported: time for the end of its body to arrive.
const DRAIN_FIRST_MAX: Duration = Duration::from_millis(2);
/// After it was reported.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// Bytes read after the end of an answer before the connection is given up.
const DRAIN_BYTES_MAX: usize = 64 * 1024;
/// Notes remembered as told.
const NOTES_MAX: usize = 1_000;
