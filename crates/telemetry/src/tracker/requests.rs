//! Model requests: of the conversation, with all attempts in one span, and side requests.

use std::collections::HashMap;

use windlass_driver::ObservedSession;
use windlass_vocabulary::{
    AnswerIds, AttemptId, Delta, FailureKind, MicroUsd, Millis, ModelFailure, ModelName,
    ModelRequest, ModelStopReason, RequestSource, Ticket, Usage, WireFormat,
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

/// The outcome of a side question.
pub(super) struct EndedSideQuestion<'a> {
    pub(super) model: &'a ModelName,
    pub(super) usage: Usage,
    pub(super) cost: MicroUsd,
    pub(super) took: Millis,
    pub(super) is_answered: bool,
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

    pub(super) fn answer_ended(&mut self, attempt: AttemptId, stop: ModelStopReason) {
        if let Some(open) = self.open.get_mut(&attempt) {
            open.stop = Some(stop);
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
    end_answered(track, emission);
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
            if let Some((_, failed)) = failed {
                end_request(track, failed, emission);
            }
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

pub(super) fn request_cancelled(
    track: &mut AgentTrack,
    attempt: AttemptId,
    emission: &mut Emission<'_>,
) {
    // If it was answered, it is billed in the same step.
    if track.requests.open.get(&attempt).is_some_and(|open| open.stop.is_none()) {
        abandon(track, attempt, emission);
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
    let Some(mut open) = track.requests.open.remove(&attempt) else { return };
    count_bill(&open.facts, usage, cost, emission);
    open.bill = Some((usage, cost));
    match open.stop {
        Some(_) => end_request(track, open, emission),
        None => {
            track.requests.open.insert(attempt, open);
        }
    }
}

pub(super) fn side_request_sent(
    track: &mut AgentTrack,
    session: &ObservedSession,
    ticket: Ticket,
    request: &ModelRequest,
    emission: &mut Emission<'_>,
) {
    let facts = gather_facts(session, request, AUXILIARY, emission);
    let open = begin_request(track, facts, emission);
    track.requests.side.insert(ticket, open);
}

pub(super) fn side_request_ended(
    track: &mut AgentTrack,
    ticket: Ticket,
    failure: Option<&ModelFailure>,
    (usage, cost): (Usage, MicroUsd),
    emission: &mut Emission<'_>,
) {
    let Some(mut open) = track.requests.side.remove(&ticket) else { return };
    if open.facts.is_compaction {
        let by_hand = std::mem::take(&mut track.compaction_is_by_hand);
        let attributes = Attributes::default()
            .text("trigger", if by_hand { "manual" } else { "auto" })
            .text("success", failure.is_none().to_string())
            .count("duration_ms", millis_between(open.span.start, emission.now))
            .count("pre_tokens", usage.input_total().0)
            .count("post_tokens", usage.output.0);
        emission.event(names::COMPACTION, attributes);
    }
    count_bill(&open.facts, usage, cost, emission);
    open.bill = Some((usage, cost));
    match failure {
        Some(failure) => open.failure = Some(read_failure(failure, emission)),
        None => open.stop = Some(ModelStopReason::EndTurn),
    }
    end_request(track, open, emission);
}

pub(super) fn side_question_ended(
    track: &AgentTrack,
    session: &ObservedSession,
    question: &EndedSideQuestion<'_>,
    emission: &mut Emission<'_>,
) {
    let server = session.server_of(question.model);
    let facts = RequestFacts {
        model: question.model.clone(),
        provider: provider_name(server.wire),
        server: describe_server(&server.base_url),
        source: AUXILIARY,
        effort: None,
        output_max: 0,
        agent: Attributes::default(),
        attribution: attribute_agent(session, emission),
        agent_name: agent_name(session, emission.config.content.tool_details),
        is_compaction: false,
    };
    count_bill(&facts, question.usage, question.cost, emission);
    let mut open = begin_request(track, facts, emission);
    open.span.start = emission.now.saturating_sub(question.took.0.saturating_mul(1_000_000));
    open.bill = Some((question.usage, question.cost));
    match question.is_answered {
        true => open.stop = Some(ModelStopReason::EndTurn),
        false => {
            let kind = "side_question_failed".to_owned();
            let message = kind.clone();
            open.failure = Some(FailureFacts { kind, message, status: None, at: emission.now });
        }
    }
    end_request(track, open, emission);
}

/// Ends the spans of requests that were abandoned.
pub(super) fn abandon_all(track: &mut AgentTrack, emission: &mut Emission<'_>) {
    end_answered(track, emission);
    if let Some((_, failed)) = track.requests.failed.take() {
        end_request(track, failed, emission);
    }
    let open: Vec<AttemptId> = track.requests.open.keys().copied().collect();
    for attempt in open {
        abandon(track, attempt, emission);
    }
}

fn abandon(track: &mut AgentTrack, attempt: AttemptId, emission: &mut Emission<'_>) {
    let Some(mut open) = track.requests.open.remove(&attempt) else { return };
    let kind = "aborted".to_owned();
    let message = kind.clone();
    open.failure = Some(FailureFacts { kind, message, status: None, at: emission.now });
    end_request(track, open, emission);
}

/// Ends the spans of complete answers that were not billed.
fn end_answered(track: &mut AgentTrack, emission: &mut Emission<'_>) {
    let answered = track.requests.open.iter().filter(|(_, open)| open.stop.is_some());
    let answered: Vec<AttemptId> = answered.map(|(attempt, _)| *attempt).collect();
    for attempt in answered {
        if let Some(open) = track.requests.open.remove(&attempt) {
            end_request(track, open, emission);
        }
    }
}

fn end_request(track: &AgentTrack, open: OpenRequest, emission: &mut Emission<'_>) {
    let end = open.failure.as_ref().map_or(emission.now, |failure| failure.at);
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
