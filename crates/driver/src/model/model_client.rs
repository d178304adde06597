//! One attempt: encodes, sends, and converts every delta of the answer to an event.
//!
//! The request goes to the endpoint of its model, over that endpoint's wire.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Response;
use tokio::time::timeout;
use windlass_dialect::web_search::add_search_tool;
use windlass_dialect::{DecodedEvent, WebSearchDomains, find_refused_item};
use windlass_vocabulary::{
    AttemptId, Delta, FailureKind, ModelFailure, ModelRequest, ToolInspection,
};

use super::ModelTimeouts;
use super::answer_ids::AnswerIdSource;
use super::answer_stream::{AnswerStream, StreamTail, build_timeout_failure, with_request_id};
use super::error_response::{header, is_stream, read_failure};
use super::model_routes::{EndpointRoute, ModelRoutes};
use super::watchdog::{ReplyWatchdog, StreamWatchdog, WatchdogVerdict};
use crate::call_inspector::CallInspector;
use crate::notices::NoticeSender;
use crate::observer::{Observation, TracePosition};
use crate::session_journal::durability::DurabilityGate;
use windlass_engine::Event;

/// Everything an attempt needs; shared by all attempts of a session.
pub(crate) struct ModelClient {
    pub(crate) routes: ModelRoutes,
    pub(crate) timeouts: ModelTimeouts,
    pub(crate) keeps_raw: bool,
    pub(crate) separate_deltas: bool,
    pub(crate) inspector: Arc<CallInspector>,
    pub(crate) notice_sender: NoticeSender,
    pub(crate) answer_ids: AnswerIdSource,
    /// Notes already sent as warnings: the same history produces the same notes with every request.
    pub(crate) warned_notes: Mutex<BTreeSet<String>>,
}

impl ModelClient {
    /// Makes the attempt, and converts every delta of the answer to an event.
    pub(crate) async fn run_attempt<S, F>(
        &self,
        request: &ModelRequest,
        gate: DurabilityGate,
        mut report: S,
    ) where
        S: FnMut(Event) -> F,
        F: Future<Output = ()>,
    {
        let attempt = request.attempt;
        let mut answer = match self.open_stream(request, gate).await {
            Ok(answer) => answer,
            Err(failure) => return report(Event::ModelFailed { attempt, failure }).await,
        };
        loop {
            for piece in answer.next().await {
                let is_ended = matches!(piece, DecodedEvent::Ended { .. });
                let is_failed = matches!(piece, DecodedEvent::Failed(_));
                if let Some(event) = self.to_event(attempt, answer.request_id.as_deref(), piece) {
                    report(event).await;
                }
                if is_ended {
                    return answer.drain_rest().await;
                }
                if is_failed {
                    // The rest of the body is not worth reading to reuse the connection.
                    return;
                }
            }
        }
    }

    /// Sends the request when the gate opens, and waits for the response headers.
    pub(crate) async fn open_stream(
        &self,
        request: &ModelRequest,
        gate: DurabilityGate,
    ) -> Result<AnswerStream, ModelFailure> {
        self.open_stream_with(request, None, gate).await
    }

    /// The same for a tool's question, optionally with the provider's search. Raw events are
    /// included then, because they contain the links.
    pub(crate) async fn open_side_question(
        &self,
        request: &ModelRequest,
        search: Option<&WebSearchDomains>,
    ) -> Result<AnswerStream, ModelFailure> {
        let tool = match search {
            Some(search) => {
                let tool = self.routes.route_for(&request.model).dialect.web_search_tool(search);
                let nobody =
                    || ModelFailure::new(FailureKind::Misconfigured, NO_SEARCH_MESSAGE.to_owned());
                Some(tool.ok_or_else(nobody)?)
            }
            None => None,
        };
        // The intent of a tool call was on disk before the call started, so there is nothing to
        // wait for.
        let gate = DurabilityGate::open();
        let mut answer = self.open_stream_with(request, tool.as_deref(), gate).await?;
        if search.is_some() {
            answer.decoder.emit_raw_events();
        }
        Ok(answer)
    }

    async fn open_stream_with(
        &self,
        request: &ModelRequest,
        tool: Option<&str>,
        gate: DurabilityGate,
    ) -> Result<AnswerStream, ModelFailure> {
        let route = &*self.routes.route_for(&request.model);
        let request = &*route
            .image_fitter
            .fit_request(request, route.provider_rules(), &self.notice_sender)
            .await;
        let mut encoded = route.encode(request);
        self.warn_notes_once(encoded.notes);
        if let Some(refusal) = encoded.refusal {
            return Err(refusal);
        }
        if let Some(tool) = tool {
            encoded.body = add_search_tool(encoded.body, tool);
        }
        // Waits only now, so that the disk write runs while the request is built.
        if !gate.wait().await {
            let words = "the journal could not be kept, so nothing was sent";
            return Err(ModelFailure::new(FailureKind::Misconfigured, words));
        }
        let sent = self.send_with_renewal(route, request, encoded.body).await;
        sent.map_err(|failure| ModelFailure {
            offender: find_refused_item(route.dialect.wire(), &failure.message)
                .and_then(|named| encoded.origins.find(&named).first().map(|place| place.message)),
            ..failure
        })
    }

    /// Sends the request. An expired credential is renewed once.
    async fn send_with_renewal(
        &self,
        route: &EndpointRoute,
        request: &ModelRequest,
        body: Vec<u8>,
    ) -> Result<AnswerStream, ModelFailure> {
        let Some(credential) = route.http.renewable_credential() else {
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
        route: &EndpointRoute,
        request: &ModelRequest,
        body: Vec<u8>,
    ) -> Result<AnswerStream, ModelFailure> {
        let response = self.receive_reply_head(route, request, body).await?;
        let request_id = route.dialect.request_id(&|name: &str| header(&response, name));
        if !is_stream(&response, route.dialect) {
            let failure = read_failure(response, route.dialect).await;
            return Err(with_request_id(failure, request_id.as_deref()));
        }
        let mut decoder = route.dialect.new_decoder();
        decoder.set_attempt(request.attempt);
        if self.keeps_raw {
            decoder.emit_raw_events();
        }
        let watchdog = StreamWatchdog::new(self.timeouts);
        let notice_sender = self.notice_sender.clone();
        Ok(AnswerStream {
            response,
            decoder,
            watchdog,
            request_id,
            separate_deltas: self.separate_deltas,
            notice_sender,
            tail: StreamTail::default(),
        })
    }

    /// Waits for the response headers. The user is warned of a slow server before the timeout.
    async fn receive_reply_head(
        &self,
        route: &EndpointRoute,
        request: &ModelRequest,
        body: Vec<u8>,
    ) -> Result<Response, ModelFailure> {
        let path = route.dialect.path(&request.model);
        self.notice_sender.observe(Observation::BodySent { request, body: &body });
        let trace_context = self.notice_sender.watch().and_then(|watch| {
            let base_url = route.http.base_url();
            watch.trace_context(TracePosition::Request { attempt: request.attempt, base_url })
        });
        let mut headers: Vec<(&str, &str)> = route.dialect.extra_headers(request).to_vec();
        if let Some(trace) = &trace_context {
            headers.push(("traceparent", &trace.traceparent));
            headers.extend(trace.tracestate.as_deref().map(|state| ("tracestate", state)));
        }
        let mut post = pin!(route.http.post(&path, &headers, request.source, body));
        let mut watchdog = ReplyWatchdog::new(self.timeouts);
        loop {
            if let Ok(reply) = timeout(watchdog.next_wait(), &mut post).await {
                return reply;
            }
            match watchdog.check() {
                WatchdogVerdict::Patience => {}
                WatchdogVerdict::Warn(words) => self.notice_sender.warn(words),
                WatchdogVerdict::TimedOut(words) => return Err(build_timeout_failure(words)),
            }
        }
    }

    fn to_event(
        &self,
        attempt: AttemptId,
        request_id: Option<&str>,
        piece: DecodedEvent,
    ) -> Option<Event> {
        let delta = match piece {
            DecodedEvent::Started { message_id, .. } => {
                let ids = self.answer_ids.identify(message_id.as_deref(), request_id);
                return Some(Event::ModelStarted { attempt, ids: Some(ids) });
            }
            DecodedEvent::Ended { stop, usage, detail: _ } => {
                return Some(Event::ModelEnded { attempt, stop, usage });
            }
            DecodedEvent::Failed(failure) => return Some(Event::ModelFailed { attempt, failure }),
            DecodedEvent::Ping => return None,
            DecodedEvent::Text(text) => Delta::Text(text),
            DecodedEvent::Thinking(text) => Delta::Thinking(text),
            DecodedEvent::CallStarted { id, name } => Delta::CallStarted { id, name },
            DecodedEvent::CallInput(text) => Delta::CallInput(text),
            DecodedEvent::Block(block) => Delta::Block(block),
            DecodedEvent::Call { call, problem } => {
                let inspection = match problem {
                    Some(problem) => ToolInspection::from_problem(problem),
                    None => self.inspector.inspect(&call),
                };
                Delta::Call { call, inspection }
            }
            DecodedEvent::Usage(usage) => Delta::Usage(usage),
            DecodedEvent::ToolResultsCleared { results, tokens } => {
                Delta::Cleared { results, tokens }
            }
            DecodedEvent::Raw(json) => Delta::Raw(json),
        };
        Some(Event::ModelDelta { attempt, delta })
    }

    fn warn_notes_once(&self, notes: Vec<String>) {
        let mut warned = self.warned_notes.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes {
            if warned.len() < NOTES_MAX && warned.insert(note.clone()) {
                self.notice_sender.warn(note);
            }
        }
    }
}

/// The wire of the model does not support search.
const NO_SEARCH_MESSAGE: &str = "its provider does not search the web.";
/// Limit on remembered notes.
const NOTES_MAX: usize = 1_000;
