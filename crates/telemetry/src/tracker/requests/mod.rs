//! Model requests of the conversation, with all attempts in one span.

mod side_requests;

use std::collections::HashMap;

use windlass_driver::ObservedSession;
use windlass_vocabulary::{
    AnswerIds, AttemptId, Delta, FailureKind, MicroUsd, ModelFailure, ModelName, ModelRequest,
    ModelStopReason, RequestSource, Ticket, Usage, WireFormat,
};

pub(super) use self::side_requests::{
    EndedSideQuestion, side_question_ended, side_request_ended, side_request_sent,
};
use super::agent_track::AgentTrack;
use super::attribution::attribute_request;
use super::emission::{Emission, EndedSpan, OpenSpan, millis_between};
use super::subagents::agent_name;
use crate::names;
use crate::record::{Attributes, SpanContext, SpanEvent, SpanKind};

#[derive(Debug, Default)]
pub(super) struct RequestTrack {
    open: HashMap<AttemptId, OpenRequest>,
    /// The last request if it failed; a retry continues it.
    failed: Option<(AttemptId, OpenRequest)>,
    /// Requests that have ended, whose bill may still come: the next request of the same step is
    /// reported before it.
    unbilled: Vec<(AttemptId, OpenRequest)>,
    pub(super) retry_is_scheduled: bool,
    side: HashMap<Ticket, OpenRequest>,
    pub(super) last_request_id: Option<String>,
    pub(super) last_message_id: Option<String>,
    pub(super) last_stop_reason: Option<&'static str>,
    pub(super) last_provider: Option<&'static str>,
}

#[derive(Debug)]
struct OpenRequest {
    span: OpenSpan,
    facts: RequestFacts,
    attempts: u32,
    attempt_started: u64,
    events: Vec<SpanEvent>,
    first_piece: Option<u64>,
    request_id: Option<String>,
    has_calls: bool,
    stop: Option<ModelStopReason>,
    /// When the answer was complete.
    answered: Option<u64>,
    bill: Option<(Usage, MicroUsd)>,
    failure: Option<FailureFacts>,
}

/// What is known when a request is sent.
#[derive(Clone, Debug)]
struct RequestFacts {
    model: ModelName,
    provider: &'static str,
    server: Attributes,
    source: &'static str,
    effort: Option<&'static str>,
    output_max: u64,
    agent: Attributes,
    agent_name: Option<String>,
    /// Its agent, skill, plugin and MCP tool.
    attribution: Attributes,
    is_compaction: bool,
}

#[derive(Clone, Debug)]
struct FailureFacts {
    kind: String,
    message: String,
    status: Option<u16>,
    at: u64,
}

/// The failed attempts of the current request.
pub(super) struct FailedAttempts {
    pub(super) model: String,
    pub(super) count: u32,
    pub(super) since: u64,
}

impl RequestTrack {
    pub(super) fn find_context(&self, attempt: AttemptId) -> Option<SpanContext> {
        self.open.get(&attempt).map(|open| open.span.context)
    }

    pub(super) fn answer_started(&mut self, attempt: AttemptId, ids: &AnswerIds) {
        if let Some(open) = self.open.get_mut(&attempt) {
            open.request_id = Some(ids.request.to_string());
            self.last_request_id.clone_from(&open.request_id);
            self.last_message_id = Some(ids.message.to_string());
            self.last_stop_reason = None;
        }
    }

    pub(super) fn record_piece(&mut self, attempt: AttemptId, delta: &Delta, now: u64) {
        let Some(open) = self.open.get_mut(&attempt) else { return };
        match delta {
            Delta::CallStarted { .. } | Delta::Call { .. } => open.has_calls = true,
            Delta::Text(_) | Delta::Thinking(_) | Delta::CallInput(_) | Delta::Block(_) => {}
            Delta::Usage(_) | Delta::Cleared { .. } | Delta::Raw(_) => return,
        }
        open.first_piece.get_or_insert(now);
    }

    pub(super) fn answer_ended(&mut self, attempt: AttemptId, stop: ModelStopReason, now: u64) {
        if let Some(open) = self.open.get_mut(&attempt) {
            open.stop = Some(stop);
            open.answered = Some(now);
            self.last_stop_reason = Some(stop_reason(open.stop, open.has_calls));
        }
    }

    pub(super) fn failed_attempts(&self) -> Option<FailedAttempts> {
        self.failed.as_ref().map(|(_, open)| FailedAttempts {
            model: open.facts.model.as_str().to_owned(),
            count: open.attempts,
            since: open.span.start,
        })
    }
}

pub(super) fn request_sent(
    track: &mut AgentTrack,
    session: &ObservedSession,
    request: &ModelRequest,
    emission: &mut Emission<'_>,
) {
    end_unbilled(track, emission);
    set_answered_aside(track);
    let is_retry = std::mem::take(&mut track.requests.retry_is_scheduled);
    let mut facts = gather_facts(session, request, query_source(session), emission);
    facts.attribution = attribute_request(track, session, emission);
    track.requests.last_provider = Some(facts.provider);
    request.model.as_str().clone_into(&mut track.run.model);
    let mut open = match track.requests.failed.take() {
        Some((_, mut failed)) if is_retry => {
            facts.attribution = std::mem::take(&mut failed.facts.attribution);
            failed.attempts += 1;
            failed.events.push(describe_attempt(&failed, emission.now));
            OpenRequest { facts, failure: None, request_id: None, ..failed }
        }
        failed => {
            track.requests.unbilled.extend(failed);
            begin_request(track, facts, emission)
        }
    };
    open.attempt_started = emission.now;
    track.requests.open.insert(request.attempt, open);
}

fn begin_request(track: &AgentTrack, facts: RequestFacts, emission: &Emission<'_>) -> OpenRequest {
    OpenRequest {
        span: emission.begin_span(track.current_context()),
        facts,
        attempts: 1,
        attempt_started: emission.now,
        events: Vec::new(),
        first_piece: None,
        request_id: None,
        has_calls: false,
        stop: None,
        answered: None,
        bill: None,
        failure: None,
    }
}

fn describe_attempt(open: &OpenRequest, now: u64) -> SpanEvent {
    let status = open.failure.as_ref().and_then(|failure| failure.status);
    let kind = open.failure.as_ref().map(|failure| failure.kind.clone());
    let mut attributes = Attributes::default()
        .count("attempt", u64::from(open.attempts))
        .optional_text("error", kind);
    if let Some(status) = status {
        attributes = attributes.count("status_code", u64::from(status));
    }
    SpanEvent { name: names::REQUEST_ATTEMPT, time: now, attributes }
}

pub(super) fn request_failed(
    track: &mut AgentTrack,
    attempt: AttemptId,
    failure: &ModelFailure,
    emission: &mut Emission<'_>,
) {
    let Some(mut open) = track.requests.open.remove(&attempt) else { return };
    let facts = read_failure(failure, emission);
    let mut attributes = describe_request(&open.facts)
        .text("error", &facts.message)
        .count("attempt", u64::from(open.attempts))
        .count("duration_ms", millis_between(open.attempt_started, emission.now))
        .optional_text("request_id", failure.request_id.clone().or(open.request_id.clone()));
    if let Some(status) = facts.status {
        attributes = attributes.count("status_code", u64::from(status));
    }
    emission.event(names::API_ERROR, attributes);
    open.failure = Some(facts);
    track.requests.failed = Some((attempt, open));
}

/// What was answered until then is billed in the same step, after this.
pub(super) fn request_cancelled(track: &mut AgentTrack, attempt: AttemptId, now: u64) {
    let is_answered = |open: &OpenRequest| open.stop.is_some();
    if track.requests.open.get(&attempt).is_none_or(is_answered) {
        return;
    }
    if let Some(mut open) = track.requests.open.remove(&attempt) {
        open.abort(now);
        track.requests.unbilled.push((attempt, open));
    }
}

/// Counts the billed usage, and ends the span if the answer is complete.
pub(super) fn record_billing(
    track: &mut AgentTrack,
    attempt: AttemptId,
    usage: Usage,
    cost: MicroUsd,
    emission: &mut Emission<'_>,
) {
    track.run.last_tokens = usage.input_total().0 + usage.output.0;
    if let Some((_, failed)) = track.requests.failed.as_mut().filter(|(id, _)| *id == attempt) {
        failed.bill = Some((usage, cost));
        count_bill(&failed.facts.clone(), usage, cost, emission);
        return;
    }
    let requests = &mut track.requests;
    let is_billed = |(own, _): &(AttemptId, OpenRequest)| *own == attempt;
    let unbilled = requests.unbilled.iter().position(is_billed);
    let unbilled = unbilled.map(|position| requests.unbilled.remove(position).1);
    let Some(mut open) = unbilled.or_else(|| requests.open.remove(&attempt)) else { return };
    count_bill(&open.facts, usage, cost, emission);
    open.bill = Some((usage, cost));
    match open.has_ended() {
        true => end_request(track, open, emission),
        false => {
            track.requests.open.insert(attempt, open);
        }
    }
}

/// Ends the spans of requests that were abandoned.
pub(super) fn abandon_all(track: &mut AgentTrack, emission: &mut Emission<'_>) {
    set_answered_aside(track);
    end_unbilled(track, emission);
    if let Some((_, failed)) = track.requests.failed.take() {
        end_request(track, failed, emission);
    }
    for (_, mut open) in std::mem::take(&mut track.requests.open) {
        open.abort(emission.now);
        end_request(track, open, emission);
    }
}

impl OpenRequest {
    fn abort(&mut self, now: u64) {
        let kind = "aborted".to_owned();
        let message = kind.clone();
        self.failure = Some(FailureFacts { kind, message, status: None, at: now });
    }

    fn has_ended(&self) -> bool {
        self.stop.is_some() || self.failure.is_some()
    }
}

/// Lets complete answers wait for their bill beside the request that follows them.
fn set_answered_aside(track: &mut AgentTrack) {
    let requests = &mut track.requests;
    let answered = requests.open.extract_if(|_, open| open.stop.is_some());
    requests.unbilled.extend(answered);
}

/// Ends the spans of requests of an earlier step, for which no bill came.
fn end_unbilled(track: &mut AgentTrack, emission: &mut Emission<'_>) {
    for (_, open) in std::mem::take(&mut track.requests.unbilled) {
        end_request(track, open, emission);
    }
}

fn end_request(track: &AgentTrack, open: OpenRequest, emission: &mut Emission<'_>) {
    let answered = open.answered.unwrap_or(emission.now);
    let end = open.failure.as_ref().map_or(answered, |failure| failure.at);
    if open.failure.is_none() {
        let (usage, cost) = open.bill.unwrap_or_default();
        let attributes = describe_request(&open.facts)
            .double("cost_usd", cost.0 as f64 / 1_000_000.0)
            .count("cost_usd_micros", cost.0)
            .count("duration_ms", millis_between(open.attempt_started, end))
            .join(describe_usage(usage))
            .optional_text("request_id", open.request_id.clone());
        emission.event(names::API_REQUEST, attributes);
        if open.stop == Some(ModelStopReason::Refusal) {
            let attributes = describe_request(&open.facts).flag("has_category", false);
            emission.event(names::API_REFUSAL, attributes);
        }
    }
    let attributes = describe_span(track, &open, end, emission);
    let error = open.failure.as_ref().map(|failure| failure.kind.clone());
    emission.end_span(EndedSpan {
        span: open.span,
        name: names::LLM_REQUEST_SPAN,
        kind: SpanKind::Client,
        end,
        attributes,
        events: open.events,
        error,
    });
}

/// Uses the attributes of both the reference CLI and the `gen_ai` conventions.
fn describe_span(
    track: &AgentTrack,
    open: &OpenRequest,
    end: u64,
    emission: &Emission<'_>,
) -> Attributes {
    let facts = &open.facts;
    let (usage, _) = open.bill.unwrap_or_default();
    let cache_written = match emission.config.trace.uses_latest_names {
        true => "gen_ai.usage.cache_write.input_tokens",
        false => "gen_ai.usage.cache_creation.input_tokens",
    };
    let mut attributes = Attributes::default()
        .text("model", facts.model.as_str())
        .text("gen_ai.system", facts.provider)
        .text("gen_ai.provider.name", facts.provider)
        .text("gen_ai.operation.name", "chat")
        .text("gen_ai.request.model", facts.model.as_str())
        .text("gen_ai.conversation.id", emission.session_id())
        .flag("gen_ai.request.stream", true)
        .join(facts.server.clone())
        .join(facts.agent.clone())
        .text("query_source", facts.source)
        .count("duration_ms", millis_between(open.span.start, end))
        .join(describe_usage(usage))
        .count("gen_ai.usage.input_tokens", usage.input_total().0)
        .count("gen_ai.usage.output_tokens", usage.output.0)
        .count("gen_ai.usage.cache_read.input_tokens", usage.cache_read.0)
        .count(cache_written, usage.cache_write.0)
        .count("attempt", u64::from(open.attempts))
        .flag("success", open.failure.is_none())
        .optional_text("request_id", open.request_id.clone())
        .optional_text("gen_ai.response.id", open.request_id.clone());
    if facts.output_max > 0 {
        attributes = attributes.count("gen_ai.request.max_tokens", facts.output_max);
    }
    if let Some(first) = open.first_piece {
        let waited = first.saturating_sub(open.attempt_started);
        attributes = attributes
            .count("ttft_ms", waited / 1_000_000)
            .double("gen_ai.response.time_to_first_chunk", waited as f64 / 1e9);
    }
    match (&open.failure, open.stop) {
        (Some(failure), _) => {
            attributes = attributes.text("error", &failure.kind).text("error.type", &failure.kind);
            if let Some(status) = failure.status {
                attributes = attributes.count("status_code", u64::from(status));
            }
            attributes.text_list("gen_ai.response.finish_reasons", vec!["error".to_owned()])
        }
        (None, stop) => {
            let reason = stop_reason(stop, open.has_calls);
            attributes
                .text("gen_ai.response.model", facts.model.as_str())
                .text("stop_reason", reason)
                .text_list("gen_ai.response.finish_reasons", vec![reason.to_owned()])
        }
    }
    .join(match track.base.is_some() {
        true => Attributes::default().optional_text("gen_ai.agent.name", facts.agent_name.clone()),
        false => Attributes::default(),
    })
}

/// The attributes of a request on events and counters.
fn describe_request(facts: &RequestFacts) -> Attributes {
    Attributes::default()
        .text("model", facts.model.as_str())
        .text("query_source", facts.source)
        .text("speed", "normal")
        .optional_text("effort", facts.effort)
        .join(facts.attribution.clone())
}

fn describe_usage(usage: Usage) -> Attributes {
    Attributes::default()
        .count("input_tokens", usage.input.0)
        .count("output_tokens", usage.output.0)
        .count("cache_read_tokens", usage.cache_read.0)
        .count("cache_creation_tokens", usage.cache_write.0)
}

fn count_bill(facts: &RequestFacts, usage: Usage, cost: MicroUsd, emission: &mut Emission<'_>) {
    let labels = describe_request(facts);
    emission.count(&names::COST, cost.0 as f64 / 1_000_000.0, labels.clone());
    for (kind, tokens) in [
        ("input", usage.input),
        ("output", usage.output),
        ("cacheRead", usage.cache_read),
        ("cacheCreation", usage.cache_write),
    ] {
        emission.count(&names::TOKENS, tokens.0 as f64, labels.clone().text("type", kind));
    }
}

fn gather_facts(
    session: &ObservedSession,
    request: &ModelRequest,
    source: &'static str,
    emission: &Emission<'_>,
) -> RequestFacts {
    let server = session.server_of(&request.model);
    let parent = session.started_by.as_ref().map(|(agent, _)| agent.as_str());
    let own = parent.map(|_| session.agent.as_str());
    RequestFacts {
        model: request.model.clone(),
        provider: provider_name(server.wire),
        server: describe_server(&server.base_url),
        source,
        effort: request.effort.map(|effort| effort.name()),
        output_max: request.output_max.0,
        agent: Attributes::default()
            .optional_text("agent_id", own)
            .optional_text("parent_agent_id", parent),
        attribution: attribute_agent(session, emission),
        agent_name: agent_name(session, emission.config.content.tool_details),
        is_compaction: request.source == RequestSource::Compaction,
    }
}

/// Of a request beside the conversation only the agent is known.
fn attribute_agent(session: &ObservedSession, emission: &Emission<'_>) -> Attributes {
    let name = agent_name(session, emission.config.content.tool_details);
    Attributes::default().optional_text("agent.name", name)
}

pub(super) fn source_of_body(session: &ObservedSession, request: &ModelRequest) -> &'static str {
    match request.source {
        RequestSource::Main => query_source(session),
        RequestSource::Compaction
        | RequestSource::ToolLabel
        | RequestSource::Aside
        | RequestSource::Chore(_) => AUXILIARY,
    }
}

pub(super) fn query_source(session: &ObservedSession) -> &'static str {
    if session.started_by.is_some() { "subagent" } else { "main" }
}

/// The provider name in the `gen_ai` conventions for a wire; gateways count as the provider they
/// imitate.
fn provider_name(wire: WireFormat) -> &'static str {
    match wire {
        WireFormat::AnthropicMessages => "anthropic",
        WireFormat::OpenaiResponses | WireFormat::OpenaiChat => "openai",
        WireFormat::Gemini => "gcp.gemini",
    }
}

fn describe_server(base_url: &str) -> Attributes {
    let Ok(url) = reqwest::Url::parse(base_url) else { return Attributes::default() };
    let attributes = Attributes::default().optional_text("server.address", url.host_str());
    match url.port_or_known_default() {
        Some(port) => attributes.count("server.port", u64::from(port)),
        None => attributes,
    }
}

fn stop_reason(stop: Option<ModelStopReason>, has_calls: bool) -> &'static str {
    match stop {
        Some(ModelStopReason::EndTurn) if has_calls => "tool_use",
        Some(ModelStopReason::EndTurn) | None => "end_turn",
        Some(ModelStopReason::OutputLimit) => "max_tokens",
        Some(ModelStopReason::WindowFull) => "model_context_window_exceeded",
        Some(ModelStopReason::Pause) => "pause_turn",
        Some(ModelStopReason::Refusal) => "refusal",
    }
}

fn read_failure(failure: &ModelFailure, emission: &Emission<'_>) -> FailureFacts {
    FailureFacts {
        kind: failure_name(failure.kind),
        message: emission.cut(&failure.message, ERROR_LENGTH_MAX),
        status: failure.status,
        at: emission.now,
    }
}

/// The serialised name, as in journals and hooks.
fn failure_name(kind: FailureKind) -> String {
    let name = serde_json::to_value(kind).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

const AUXILIARY: &str = "auxiliary";
/// For a provider's error message.
const ERROR_LENGTH_MAX: usize = 1_000;
