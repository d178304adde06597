//! One attempt: encode, send, and turn every piece of the answer into an event.
//!
//! The request goes to the endpoint where its model lives, over that endpoint's wire.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Response;
use tokio::time::timeout_at;
use windlass_dialect::search::with_search;
use windlass_dialect::{Decoded, Search, offender};
use windlass_vocabulary::{AttemptId, Delta, FailureKind, Inspection, ModelFailure, ModelRequest};

use super::Timeouts;
use super::answer::{Answering, Tail, named, silence};
use super::refusal::{header, is_stream, refusal};
use super::route::{Route, Routes};
use super::watchdog::{Alarm, Watchdog, seconds};
use crate::clock;
use crate::inspect::Inspector;
use crate::keeper::Gate;
use crate::notices::Teller;
use windlass_engine::Event;

/// Everything an attempt needs; shared by all attempts of a session.
pub(crate) struct ModelPort {
    pub(crate) routes: Routes,
    pub(crate) timeouts: Timeouts,
    pub(crate) keeps_raw: bool,
    pub(crate) inspector: Arc<Inspector>,
    pub(crate) teller: Teller,
    /// Notes already told: the same history gives the same notes with every request.
    pub(crate) notes: Mutex<BTreeSet<String>>,
}

impl ModelPort {
    /// Makes the attempt and turns every piece of the answer into an event.
    pub(crate) async fn attempt<S, F>(&self, request: &ModelRequest, gate: Gate, mut report: S)
    where
        S: FnMut(Event) -> F,
        F: Future<Output = ()>,
    {
        let attempt = request.attempt;
        let mut answer = match self.open(request, gate).await {
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
                    return answer.drain_rest().await;
                }
                if is_failed {
                    // Whatever the connection still carries is not worth keeping it for.
                    return;
                }
            }
        }
    }

    /// Sends the request, when the gate is open, and waits until the server begins to answer.
    pub(crate) async fn open(
        &self,
        request: &ModelRequest,
        gate: Gate,
    ) -> Result<Answering, ModelFailure> {
        self.open_with(request, None, gate).await
    }

    /// The same for a question of a tool, perhaps with the provider's own search. Then the answer
    /// comes with its raw events, where the links are.
    pub(crate) async fn open_aside(
        &self,
        request: &ModelRequest,
        search: Option<&Search>,
    ) -> Result<Answering, ModelFailure> {
        let tool = match search {
            Some(search) => {
                let tool = self.routes.to(&request.model).dialect.search_tool(search);
                let nobody = || ModelFailure::new(FailureKind::Misconfigured, NO_SEARCH.to_owned());
                Some(tool.ok_or_else(nobody)?)
            }
            None => None,
        };
        // A tool that asks was started when its intent was safe.
        let gate = Gate::open();
        let mut answer = self.open_with(request, tool.as_deref(), gate).await?;
        if search.is_some() {
            answer.decoder.keep_raw();
        }
        Ok(answer)
    }

    async fn open_with(
        &self,
        request: &ModelRequest,
        tool: Option<&str>,
        gate: Gate,
    ) -> Result<Answering, ModelFailure> {
        let route = &*self.routes.to(&request.model);
        let request = &*route.darkroom.fitted(request, route.law(), &self.teller).await;
        let mut encoded = route.encode(request);
        self.tell_notes(encoded.notes);
        if let Some(refusal) = encoded.refusal {
            return Err(refusal);
        }
        if let Some(tool) = tool {
            encoded.body = with_search(encoded.body, tool);
        }
        // The disk had time while the request was made.
        if !gate.passed().await {
            let words = "the journal could not be kept, so nothing was sent";
            return Err(ModelFailure::new(FailureKind::Misconfigured, words));
        }
        let sent = self.send_renewed(route, request, encoded.body).await;
        sent.map_err(|failure| ModelFailure {
            offender: offender(route.dialect.wire(), &failure.message)
                .and_then(|named| encoded.origins.find(&named).first().map(|place| place.message)),
            ..failure
        })
    }

    /// Sends the request; a credential that has run out is renewed once.
    async fn send_renewed(
        &self,
        route: &Route,
        request: &ModelRequest,
        body: Vec<u8>,
    ) -> Result<Answering, ModelFailure> {
        let Some(credential) = route.http.renewable() else {
            return self.send(route, request, body).await;
        };
        match self.send(route, request, body.clone()).await {
            Err(failure)
                if failure.kind == FailureKind::Unauthorised
                    && route.http.renew(&credential, route.dialect).await =>
            {
                self.send(route, request, body).await
            }
            result => result,
        }
    }

    async fn send(
        &self,
        route: &Route,
        request: &ModelRequest,
        body: Vec<u8>,
    ) -> Result<Answering, ModelFailure> {
        let response = self.reply(route, request, body).await?;
        let request_id = route.dialect.request_id(&|name: &str| header(&response, name));
        if !is_stream(&response, route.dialect) {
            let failure = refusal(response, route.dialect).await;
            return Err(named(failure, request_id.as_deref()));
        }
        let mut decoder = route.dialect.decoder();
        decoder.for_attempt(request.attempt);
        if self.keeps_raw {
            decoder.keep_raw();
        }
        let (watchdog, teller) = (Watchdog::new(self.timeouts), self.teller.clone());
        Ok(Answering { response, decoder, watchdog, request_id, teller, tail: Tail::default() })
    }

    /// The head of the reply. A server that keeps us waiting is told of before it is given up.
    async fn reply(
        &self,
        route: &Route,
        request: &ModelRequest,
        body: Vec<u8>,
    ) -> Result<Response, ModelFailure> {
        let path = route.dialect.path(&request.model);
        let mut post =
            pin!(route.http.post(&path, route.dialect.headers_of(request), request.source, body));
        let deadline = clock::later(clock::now(), self.timeouts.headers);
        let mut alarm = Alarm::new(self.timeouts.quiet);
        loop {
            if let Ok(reply) = timeout_at(deadline.min(alarm.at()), &mut post).await {
                return reply;
            }
            if clock::now() >= deadline {
                let waited = seconds(self.timeouts.headers);
                return Err(silence(format!("the server did not begin to answer within {waited}")));
            }
            self.teller.warn(alarm.ring());
        }
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
                    None => self.inspector.inspect(&call),
                };
                Delta::Call { call, inspection }
            }
            Decoded::Usage(usage) => Delta::Usage(usage),
            Decoded::Cleared { results, tokens } => Delta::Cleared { results, tokens },
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

/// The wire of the model has no word for searching.
const NO_SEARCH: &str = "its provider does not search the web.";
/// Notes remembered as told.
const NOTES_MAX: usize = 1_000;
