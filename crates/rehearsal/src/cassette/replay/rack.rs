//! Which exchange answers a request, and which have been used.
//!
//! The first in the order of the recording that is not used up and whose request is the same. So the
//! same request asked twice gets the first answer and then the second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::normal::Normal;
use crate::cassette::exchange::{Exchange, Request};
use crate::cassette::scrub::Scrubber;
use crate::cassette::shelf::Cassette;
use crate::serve;

/// The exchanges of a replay.
#[derive(Debug)]
pub(super) struct Rack {
    scrubber: Scrubber,
    exchanges: Vec<(Normal, Arc<Exchange>)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: Vec<bool>,
    requests: usize,
    refusals: Vec<String>,
}

impl Rack {
    /// Takes the exchanges in, with the local values of the stand-ins in their answers.
    pub(super) fn new(scrubber: Scrubber, cassette: Cassette) -> Self {
        let exchanges: Vec<_> = cassette
            .into_exchanges()
            .into_iter()
            .map(|exchange| {
                let normal = Normal::new(&scrubber, exchange.request.clone());
                (normal, Arc::new(scrubber.fill(exchange)))
            })
            .collect();
        let used = vec![false; exchanges.len()];
        let state = Mutex::new(State { used, ..State::default() });
        Self { scrubber, exchanges, state }
    }

    /// The exchange that answers a request, or why there is none.
    pub(super) fn choose(&self, request: serve::Request) -> Result<Arc<Exchange>, String> {
        let serve::Request { method, target: path, headers, body } = request;
        self.scrubber.learn(&headers, &path, &body);
        let got = Normal::new(&self.scrubber, Request { method, path, headers: Vec::new(), body });
        let mut state = self.state();
        state.requests += 1;
        let State { used, refusals, .. } = &mut *state;
        let mut unused = used.iter_mut().zip(&self.exchanges).filter(|(used, _)| !**used);
        if let Some((used, (_, exchange))) = unused.find(|(_, (normal, _))| *normal == got) {
            *used = true;
            return Ok(Arc::clone(exchange));
        }
        let why = self.refusal(used, &got);
        if refusals.len() < REFUSALS_MAX {
            refusals.push(why.clone());
        }
        Err(why)
    }

    /// Why no exchange answers this request: compared with the one that was due.
    fn refusal(&self, used: &[bool], got: &Normal) -> String {
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
                let difference = normal.difference(got);
                let words = difference.map(|difference| difference.to_string());
                format!(
                    "no recorded request is like this one; beside exchange {number}, {}",
                    words.unwrap_or_default()
                )
            }
            None => "every recorded answer has been used".to_owned(),
        }
    }

    /// The exchanges not used, described for people.
    pub(super) fn left(&self) -> Vec<String> {
        let state = self.state();
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

    pub(super) fn used(&self) -> usize {
        self.state().used.iter().filter(|used| **used).count()
    }

    pub(super) fn requests(&self) -> usize {
        self.state().requests
    }

    pub(super) fn refusals(&self) -> Vec<String> {
        self.state().refusals.clone()
    }

    /// The state is consistent after every statement, so a panic elsewhere cannot have spoilt it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const REFUSALS_MAX: usize = 100;
