//! From what was heard to a file: choose the headers, scrub, look again, write. In this order, and
//! nothing reaches the disk any other way.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::summary::{NotRecorded, Summary, Unrecorded};
use super::tape::Tape;
use crate::cassette::exchange::{Exchange, Request};
use crate::cassette::format;
use crate::cassette::scrub::{Scrubber, Unfit};
use crate::cassette::shelf::{BYTES_MAX, FILES_MAX, put};

/// Writes exchanges down.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) folder: PathBuf,
    pub(super) scrubber: Scrubber,
    /// Headers to keep besides those that always are; names in lower case.
    pub(super) headers: Vec<String>,
    summary: Mutex<Summary>,
    /// How many exchanges are begun and not yet written or given up.
    open: watch::Sender<usize>,
}

/// Counts one exchange as begun until it is dropped.
pub(super) struct Open(Arc<Keeper>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

impl Keeper {
    pub(super) fn new(folder: PathBuf, scrubber: Scrubber, headers: &[String]) -> Self {
        Self {
            folder,
            scrubber,
            headers: headers.iter().map(|name| name.to_ascii_lowercase()).collect(),
            summary: Mutex::default(),
            open: watch::Sender::new(0),
        }
    }

    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.open.send_modify(|open| *open += 1);
        Open(Arc::clone(self))
    }

    pub(super) fn opened(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    pub(super) fn summary(&self) -> Summary {
        self.state().clone()
    }

    /// Writes an exchange down, or notes why not. Takes as long as a disk takes.
    pub(super) fn keep(&self, tape: Tape) {
        let number = tape.number;
        let request = Request {
            method: tape.method().to_owned(),
            path: tape.path().to_owned(),
            ..Request::default()
        };
        if let Err(why) = self.try_keep(number, tape) {
            let (request, _) = self.scrubber.scrub_request(request);
            let request = format!("{} {}", request.method, request.path);
            self.state().add_unrecorded(Unrecorded { number, request, why });
        }
    }

    fn try_keep(&self, number: usize, tape: Tape) -> Result<(), NotRecorded> {
        let mut exchange = tape.exchange()?;
        self.scrubber.learn(
            &exchange.request.headers,
            &exchange.request.path,
            &exchange.request.body,
        );
        if let Some(head) = &exchange.head {
            self.scrubber.learn_headers(&head.headers);
        }
        self.choose_headers(&mut exchange);
        let (exchange, scrubbed) = self.scrubber.scrub(exchange);
        let text =
            format::write(&exchange).map_err(|error| NotRecorded::Disk(error.to_string()))?;
        self.scrubber.inspect(&exchange, &text).map_err(|unfit| match unfit {
            Unfit::Leaks => NotRecorded::StillSecret,
            Unfit::TooManySecrets => NotRecorded::TooManySecrets,
        })?;
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let has_room = self.state().bytes.saturating_add(bytes) <= BYTES_MAX;
        if number > FILES_MAX || !has_room {
            return Err(NotRecorded::Full);
        }
        put(&self.folder, number, &text).map_err(|error| NotRecorded::Disk(error.to_string()))?;
        let mut summary = self.state();
        summary.exchanges += 1;
        summary.bytes += bytes;
        summary.scrubbed += scrubbed;
        Ok(())
    }

    /// A header nobody thought of may hold anything, so only those thought of are kept.
    fn choose_headers(&self, exchange: &mut Exchange) {
        let asked = |name: &str| {
            self.headers.iter().any(|kept| kept == name) && !format::FRAMING.contains(&name)
        };
        let request = &mut exchange.request;
        request.headers.retain(|(name, _)| OF_REQUESTS.contains(&name.as_str()) || asked(name));
        if let Some(head) = &mut exchange.head {
            let is_kept = |name: &str| OF_ANSWERS.contains(&name) || name.contains("ratelimit");
            head.headers.retain(|(name, _)| is_kept(name) || asked(name));
        }
    }

    /// The summary is consistent after every statement, so a panic elsewhere cannot have spoilt it.
    fn state(&self) -> MutexGuard<'_, Summary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Headers of a request that say what kind of request it is.
const OF_REQUESTS: [&str; 6] = [
    "content-type",
    "accept",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "x-windlass-source",
];
/// Headers of an answer that a client acts on, besides the limits of its rate.
const OF_ANSWERS: [&str; 6] = [
    "content-type",
    "content-language",
    "cache-control",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];
