//! Selects the exchange that answers a request, and tracks which were used.
//!
//! Selects the first unused exchange with an equal request. So the same request sent twice gets the
//! first answer and then the second one.

use std::sync::{Arc, Mutex};

use windlass_http_request::HttpRequest;

use super::normalized_request::NormalizedRequest;
use crate::cassette::cassette_file::Cassette;
use crate::cassette::exchange::{RecordedExchange, RecordedRequest};
use crate::cassette::scrub::CassetteScrubber;
use crate::lock::lock;

/// The exchanges of a replay.
#[derive(Debug)]
pub(super) struct ExchangeSelector {
    scrubber: CassetteScrubber,
    exchanges: Vec<(NormalizedRequest, Arc<RecordedExchange>)>,
    state: Mutex<ExchangeSelectorState>,
}

#[derive(Debug, Default)]
struct ExchangeSelectorState {
    used: Vec<bool>,
    requests: usize,
    refusals: Vec<String>,
}

impl ExchangeSelector {
    /// Prepares the exchanges, with the local values of stand-ins in their answers.
    pub(super) fn new(scrubber: CassetteScrubber, cassette: Cassette) -> Self {
        let exchanges: Vec<_> = cassette
            .into_exchanges()
            .into_iter()
            .map(|exchange| {
                let normal = NormalizedRequest::new(&scrubber, exchange.request.clone());
                (normal, Arc::new(scrubber.fill_stand_ins(exchange)))
            })
            .collect();
        let used = vec![false; exchanges.len()];
        let state = Mutex::new(ExchangeSelectorState { used, ..ExchangeSelectorState::default() });
        Self { scrubber, exchanges, state }
    }

    /// The exchange for a request, or why there is none.
    pub(super) fn select(&self, request: HttpRequest) -> Result<Arc<RecordedExchange>, String> {
        let HttpRequest { method, target: path, headers, body } = request;
        self.scrubber.learn(&headers, &path, &body);
        let got = NormalizedRequest::new(
            &self.scrubber,
            RecordedRequest { method, path, headers: Vec::new(), body },
        );
        let mut state = lock(&self.state);
        state.requests += 1;
        let ExchangeSelectorState { used, refusals, .. } = &mut *state;
        let mut unused = used.iter_mut().zip(&self.exchanges).filter(|(used, _)| !**used);
        if let Some((used, (_, exchange))) = unused.find(|(_, (normal, _))| *normal == got) {
            *used = true;
            return Ok(Arc::clone(exchange));
        }
        let why = self.describe_mismatch(used, &got);
        if refusals.len() < REFUSALS_MAX {
            refusals.push(why.clone());
        }
        Err(why)
    }

    /// Why no exchange matches this request, compared with the expected one.
    fn describe_mismatch(&self, used: &[bool], got: &NormalizedRequest) -> String {
        let numbered = (1..).zip(used.iter().zip(&self.exchanges));
        let alike = || numbered.clone().filter(|(_, (_, (normal, _)))| normal.path == got.path);
        let same = alike().filter(|(_, (_, (normal, _)))| normal == got).count();
        if same > 0 {
            return format!(
                "this request was recorded {same} times, and each answer has been used"
            );
        }
        let due = alike().find(|(_, (used, _))| !**used).or_else(|| alike().next());
        match due.or_else(|| numbered.clone().find(|(_, (used, _))| !**used)) {
            Some((number, (_, (normal, _)))) => {
                let difference = normal.find_difference(got);
                let words = difference.map(|difference| difference.to_string());
                format!(
                    "no recorded request matches this one; compared with exchange {number}, {}",
                    words.unwrap_or_default()
                )
            }
            None => "every recorded answer has been used".to_owned(),
        }
    }

    /// Describes the unused exchanges.
    pub(super) fn describe_unused(&self) -> Vec<String> {
        let state = lock(&self.state);
        let numbered = (1..).zip(state.used.iter().zip(&self.exchanges));
        numbered
            .filter(|(_, (used, _))| !**used)
            .map(|(number, (_, (normal, exchange)))| {
                let status = exchange.head.as_ref().map(|head| head.status);
                let answer =
                    status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
                format!("exchange {number}: {} {} -> {answer}", normal.method, normal.path)
            })
            .collect()
    }

    pub(super) fn used_count(&self) -> usize {
        lock(&self.state).used.iter().filter(|used| **used).count()
    }

    pub(super) fn request_count(&self) -> usize {
        lock(&self.state).requests
    }

    pub(super) fn refusals(&self) -> Vec<String> {
        lock(&self.state).refusals.clone()
    }
}

const REFUSALS_MAX: usize = 100;
