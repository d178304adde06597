//! Turns observations of sessions into records.
//!
//! Keeps only what is open: a span is recorded when it ends. The current time is always passed in,
//! so that tests can control it.

mod agent_track;
mod attribution;
mod bodies;
mod calls;
mod edit_counts;
mod emission;
mod hooks;
mod mentions;
mod prompts;
mod requests;
mod subagents;
mod wiring;

use std::collections::HashMap;
use std::sync::Arc;

use windlass_driver::{Observation, ObservedSession, TracePosition};
use windlass_vocabulary::{AgentId, Notice};

use self::agent_track::{AgentTrack, RunTrack};
use self::emission::{Emission, EmissionState};
use self::wiring::WiringTrack;
use crate::config::TelemetryConfig;
use crate::record::{SpanContext, TelemetryRecord};
use crate::wiring_report::WiringReport;

/// The open spans of all observed sessions.
#[derive(Debug)]
pub(crate) struct SessionTracker {
    config: Arc<TelemetryConfig>,
    agents: HashMap<(String, AgentId), AgentTrack>,
    /// Numbers events, so that their order within a millisecond is known.
    sequence: u64,
    wiring: WiringTrack,
}

impl SessionTracker {
    pub(crate) fn new(config: Arc<TelemetryConfig>) -> Self {
        Self { config, agents: HashMap::new(), sequence: 0, wiring: WiringTrack::default() }
    }

    /// Returns the records for an observation.
    pub(crate) fn track(
        &mut self,
        session: &ObservedSession,
        observation: Observation<'_>,
        now: u64,
    ) -> Vec<TelemetryRecord> {
        if let Observation::Notice(Notice::SubagentNotice { .. }) = observation {
            // The nested session is observed itself.
            return Vec::new();
        }
        let mut session_agent = session.agent.clone();
        if let Observation::Notice(Notice::PermissionAsked { question, .. }) = observation
            && let Some(agent) = &question.agent
        {
            // Asked by the top-level session on behalf of a nested one.
            session_agent = agent.clone();
        }
        let key = (session.id.clone(), session_agent);
        let mut track = match self.agents.remove(&key) {
            Some(track) => track,
            None => self.begin_agent(session),
        };
        let config = Arc::clone(&self.config);
        let state = EmissionState { sequence: &mut self.sequence, wiring: &mut self.wiring };
        let mut emission = Emission::new(&config, session, &track, state, now);
        dispatch(&mut track, session, observation, &mut emission);
        if matches!(observation, Observation::SessionStarted { .. }) && session.started_by.is_none()
        {
            emission.wiring.main = Some(session.clone());
            for report in emission.wiring.take_early() {
                wiring::emit_report(&report, &mut emission);
            }
        }
        let records = emission.into_records();
        if !matches!(observation, Observation::SessionEnded) {
            self.agents.insert(key, track);
        }
        records
    }

    /// Returns the records for a report of the wiring, and the session that they belong to. Before it
    /// has started there are none; they come then.
    pub(crate) fn report(
        &mut self,
        report: WiringReport,
        now: u64,
    ) -> Option<(ObservedSession, Vec<TelemetryRecord>)> {
        self.wiring.remember(&report);
        let Some(session) = self.wiring.main.clone() else {
            self.wiring.defer(report);
            return None;
        };
        let key = (session.id.clone(), session.agent.clone());
        let none = AgentTrack::default();
        let track = self.agents.get(&key).unwrap_or(&none);
        let state = EmissionState { sequence: &mut self.sequence, wiring: &mut self.wiring };
        let mut emission = Emission::new(&self.config, &session, track, state, now);
        wiring::emit_report(&report, &mut emission);
        let records = emission.into_records();
        Some((session, records))
    }

    /// The span in which something is about to start.
    pub(crate) fn find_context(
        &self,
        session: &ObservedSession,
        position: TracePosition<'_>,
    ) -> Option<SpanContext> {
        let track = self.agents.get(&(session.id.clone(), session.agent.clone()))?;
        match position {
            TracePosition::Request { attempt, .. } => {
                track.requests.find_context(attempt).or_else(|| track.current_context())
            }
            TracePosition::Call(call) => {
                track.calls.find_context(call).or_else(|| track.current_context())
            }
            TracePosition::Session => track.current_context(),
        }
    }

    /// Starts tracking a session. A nested one belongs to the span of the call that started it.
    fn begin_agent(&self, session: &ObservedSession) -> AgentTrack {
        let Some((agent, call)) = &session.started_by else { return AgentTrack::default() };
        let Some(parent) = self.agents.get(&(session.id.clone(), agent.clone())) else {
            return AgentTrack::default();
        };
        AgentTrack {
            base: parent
                .calls
                .find_call_context(call.as_str())
                .or_else(|| parent.current_context()),
            prompt_id: parent.prompt_id.clone(),
            is_async: parent.calls.asks_for_background(call.as_str()),
            run: RunTrack { skill: parent.run.skill.clone(), ..RunTrack::default() },
            ..AgentTrack::default()
        }
    }
}

fn dispatch(
    track: &mut AgentTrack,
    session: &ObservedSession,
    observation: Observation<'_>,
    emission: &mut Emission<'_>,
) {
    match observation {
        Observation::SessionStarted { source } => {
            prompts::session_started(session, source, emission);
        }
        Observation::SessionEnded => track.end_everything(emission),
        Observation::PromptAccepted(content) => {
            prompts::prompt_accepted(track, session, content, emission);
        }
        Observation::CompactionAsked => track.compaction_is_by_hand = true,
        Observation::RequestSent(request) => {
            requests::request_sent(track, session, request, emission);
        }
        Observation::BodySent { request, body } => {
            bodies::request_body(
                request,
                body,
                requests::source_of_body(session, request),
                emission,
            );
        }
        Observation::AnswerEnded { attempt, stop } => {
            track.requests.answer_ended(attempt, stop, emission.now);
        }
        Observation::RequestFailed { attempt, failure } => {
            requests::request_failed(track, attempt, failure, emission);
        }
        Observation::RequestCancelled { attempt } => {
            requests::request_cancelled(track, attempt, emission.now);
        }
        Observation::SideRequestSent { ticket, request } => {
            requests::side_request_sent(track, session, ticket, request, emission);
        }
        Observation::SideRequestEnded { ticket, failure, usage, cost } => {
            requests::side_request_ended(track, ticket, failure, (usage, cost), emission);
        }
        Observation::SideQuestionEnded { model, usage, cost, took, is_answered } => {
            let answer = requests::EndedSideQuestion { model, usage, cost, took, is_answered };
            requests::side_question_ended(track, session, &answer, emission);
        }
        Observation::HooksAsked { ticket, call } => {
            track.open_call(call, emission);
            track.calls.expect_answer(ticket, call);
        }
        Observation::HooksAnswered { ticket, verdict } => {
            track.calls.hooks_answered(ticket, verdict);
        }
        Observation::QuestionAsked { ticket, call } => {
            track.open_call(call, emission);
            track.calls.expect_answer(ticket, call);
        }
        Observation::QuestionAnswered { ticket, answer } => {
            calls::question_answered(track, ticket, answer, emission);
        }
        Observation::CallStarted { ticket, call } => {
            calls::call_started(track, ticket, call, emission);
        }
        Observation::CallEnded { ticket, outcome } => {
            calls::call_ended(track, ticket, outcome, emission);
        }
        Observation::HooksStarted { event, target, count } => {
            hooks::hooks_started(event, target, count, emission);
        }
        Observation::HooksEnded(result) => hooks::hooks_ended(track, result, emission),
        Observation::ModeChanged { from, to, is_by_tool } => {
            prompts::mode_changed(from, to, is_by_tool, emission);
        }
        Observation::Notice(notice) => on_notice(track, session, notice, emission),
    }
}

fn on_notice(
    track: &mut AgentTrack,
    session: &ObservedSession,
    notice: &Notice,
    emission: &mut Emission<'_>,
) {
    match notice {
        Notice::RunStarted => prompts::run_started(track, session, emission),
        Notice::AnswerStarted { attempt, ids } => track.requests.answer_started(*attempt, ids),
        Notice::Streamed { attempt, delta } => {
            track.requests.record_piece(*attempt, delta, emission.now);
        }
        Notice::RetryScheduled { .. } => track.requests.retry_is_scheduled = true,
        Notice::Billed { attempt, usage, cost, .. } => {
            requests::record_billing(track, *attempt, *usage, *cost, emission);
        }
        Notice::MessageAdded(message) => prompts::message_added(track, message, emission),
        Notice::PermissionAsked { question, .. } => {
            track.calls.user_is_asked(question.call.id.as_str(), emission.now);
        }
        Notice::ToolDenied { call, .. } => calls::call_denied(track, call, emission),
        Notice::RunEnded(ending) => prompts::run_ended(track, session, ending, emission),
        Notice::RequestStarted { .. }
        | Notice::Retracted { .. }
        | Notice::Sealed { .. }
        | Notice::ToolStarted(_)
        | Notice::ToolProgressed { .. }
        | Notice::ToolEnded { .. }
        | Notice::PermissionWithdrawn(_)
        | Notice::ModelSwitched { .. }
        | Notice::Repaired { .. }
        | Notice::ContextShrunk { .. }
        | Notice::Continued { .. }
        | Notice::HookMessage { .. }
        | Notice::Hook(_)
        | Notice::FilesChanged { .. }
        | Notice::ToolsLabelled(_)
        | Notice::SessionTitled(_)
        | Notice::PromptSuggested(_)
        | Notice::SideQuestionAnswered(_)
        | Notice::InputQueued(_)
        | Notice::Warning(_)
        | Notice::MaxTurnsReached { .. }
        | Notice::SubagentNotice { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use windlass_driver::ModelServer;
    use windlass_driver::tool_types::Secrets;
    use windlass_vocabulary::notice::RunEnding;
    use windlass_vocabulary::{
        AttemptId, FailureKind, Json, Messages, MicroUsd, ModelFailure, ModelRequest,
        ModelStopReason, RequestSource, Terminal, ThinkingMode, Ticket, Tokens, ToolCall,
        ToolCallId, Usage, WireFormat,
    };

    use super::*;
    use crate::config::{ProcessFacts, read_config};
    use crate::record::{AttributeValue, Attributes};

    fn tracker() -> SessionTracker {
        let variables = [
            ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
            ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"),
            ("OTEL_METRICS_EXPORTER", "otlp"),
            ("OTEL_LOGS_EXPORTER", "otlp"),
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ];
        let lookup = |name: &str| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value))
        };
        let (config, _) = read_config(&lookup, &|_| false, ProcessFacts::default());
        SessionTracker::new(Arc::new(config.expect("telemetry is on")))
    }

    fn session(agent: &str, started_by: Option<(AgentId, ToolCallId)>) -> ObservedSession {
        ObservedSession {
            id: "s".to_owned(),
            agent: AgentId::from(agent),
            agent_kind: started_by.as_ref().map(|_| "general-purpose".to_owned()),
            started_by,
            secrets: Secrets::default(),
            server: ModelServer {
                wire: WireFormat::AnthropicMessages,
                base_url: "http://localhost".to_owned(),
            },
            other_servers: Vec::new(),
        }
    }

    fn ended() -> Notice {
        Notice::RunEnded(RunEnding {
            terminal: Terminal::ModelError,
            outcome: None,
            why: String::new(),
            failure: None,
            turns: 0,
            usage: Usage::default(),
            cost: MicroUsd(0),
            deferred: None,
        })
    }

    fn find_event(records: &[TelemetryRecord], name: &str) -> Attributes {
        let found = records.iter().find_map(|record| match record {
            TelemetryRecord::Event(event) if event.name == name => Some(event.attributes.clone()),
            TelemetryRecord::Event(_) | TelemetryRecord::Span(_) => None,
            TelemetryRecord::Increment(_) => None,
        });
        found.unwrap_or_else(|| panic!("no {name} in {records:?}"))
    }

    #[test]
    fn an_agent_that_was_started_in_the_background_says_so() {
        for (input, is_async) in [(r#"{"run_in_background":true}"#, true), ("{}", false)] {
            let mut tracker = tracker();
            let main = session("main", None);
            let call = ToolCall {
                id: ToolCallId::from("c1"),
                name: "Agent".into(),
                input: Json::from_checked(input),
                signature: None,
            };
            let started = Observation::CallStarted { ticket: Ticket(1), call: &call };
            tracker.track(&main, started, 1);
            let nested = session("a1", Some((main.agent.clone(), call.id.clone())));
            tracker.track(&nested, Observation::Notice(&Notice::RunStarted), 2);
            let records = tracker.track(&nested, Observation::Notice(&ended()), 3);
            let event = find_event(&records, crate::names::SUBAGENT_COMPLETED);
            let flag = event.0.iter().find(|(name, _)| name == "is_async");
            assert_eq!(flag.map(|(_, value)| value), Some(&AttributeValue::Flag(is_async)));
        }
    }

    fn request(attempt: u64) -> ModelRequest {
        ModelRequest {
            attempt: AttemptId(attempt),
            model: "model".into(),
            system: Vec::new(),
            tools: Arc::from([]),
            messages: Messages::default(),
            output_max: Tokens(100),
            thinking: ThinkingMode::Unset,
            effort: None,
            source: RequestSource::Main,
            agent: AgentId::from("main"),
            clear_results: None,
            without_reasoning: false,
        }
    }

    fn find_int(attributes: &Attributes, name: &str) -> i64 {
        match attributes.0.iter().find(|(own, _)| own == name) {
            Some((_, AttributeValue::Int(value))) => *value,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The next request is reported before the notices of its step, of which the bill is one.
    #[test]
    fn a_bill_that_comes_after_the_next_request_is_not_lost() {
        let usage = Usage { input: Tokens(70), output: Tokens(7), ..Usage::default() };
        let billed = Notice::Billed {
            attempt: AttemptId(1),
            usage,
            cost: MicroUsd(500),
            total: MicroUsd(500),
        };
        let failure = ModelFailure::new(FailureKind::Overloaded, "busy");
        let (attempt, stop) = (AttemptId(1), ModelStopReason::EndTurn);
        let cases = [
            (Observation::AnswerEnded { attempt, stop }, Some(request(2)), true),
            (Observation::RequestFailed { attempt, failure: &failure }, Some(request(2)), false),
            (Observation::RequestCancelled { attempt }, None, false),
        ];
        for (end, next, is_answered) in cases {
            let mut tracker = tracker();
            let main = session("main", None);
            tracker.track(&main, Observation::Notice(&Notice::RunStarted), 1);
            tracker.track(&main, Observation::RequestSent(&request(1)), 2_000_000);
            let mut records = tracker.track(&main, end, 5_000_000);
            if let Some(next) = &next {
                records.extend(tracker.track(&main, Observation::RequestSent(next), 6_000_000));
            }
            records.extend(tracker.track(&main, Observation::Notice(&billed), 7_000_000));
            let counted = |name: &str| -> f64 {
                let increments = records.iter().filter_map(|record| match record {
                    TelemetryRecord::Increment(one) if one.metric.name == name => Some(one.amount),
                    TelemetryRecord::Increment(_) => None,
                    TelemetryRecord::Event(_) | TelemetryRecord::Span(_) => None,
                });
                increments.sum()
            };
            assert_eq!(counted("claude_code.cost.usage"), 0.0005, "{end:?}");
            assert_eq!(counted("claude_code.token.usage"), 77.0, "{end:?}");
            let span = records.iter().find_map(|record| match record {
                TelemetryRecord::Span(span) if span.name == crate::names::LLM_REQUEST_SPAN => {
                    Some(span)
                }
                TelemetryRecord::Span(_) => None,
                TelemetryRecord::Event(_) | TelemetryRecord::Increment(_) => None,
            });
            let span = span.unwrap_or_else(|| panic!("{end:?}: no span"));
            assert_eq!((span.start, span.end), (2_000_000, 5_000_000), "{end:?}");
            assert_eq!(find_int(&span.attributes, "output_tokens"), 7, "{end:?}");
            if is_answered {
                let event = find_event(&records, crate::names::API_REQUEST);
                assert_eq!(find_int(&event, "cost_usd_micros"), 500);
                assert_eq!(find_int(&event, "input_tokens"), 70);
                assert_eq!(find_int(&event, "duration_ms"), 3);
            }
        }
    }

    #[test]
    fn a_failed_call_of_a_server_says_so_on_its_span() {
        for (name, method) in [("mcp__box__place", Some("tools/call")), ("Bash", None)] {
            let mut tracker = tracker();
            let main = session("main", None);
            let call = ToolCall {
                id: ToolCallId::from("c1"),
                name: name.into(),
                input: Json::from_checked("{}"),
                signature: None,
            };
            let ticket = Ticket(1);
            tracker.track(&main, Observation::CallStarted { ticket, call: &call }, 1);
            let outcome = windlass_vocabulary::ToolOutcome::failure("no");
            let ended = Observation::CallEnded { ticket, outcome: &outcome };
            let records = tracker.track(&main, ended, 2);
            let span = records.iter().find_map(|record| match record {
                TelemetryRecord::Span(span) if span.name == crate::names::TOOL_SPAN => Some(span),
                TelemetryRecord::Span(_) => None,
                TelemetryRecord::Event(_) | TelemetryRecord::Increment(_) => None,
            });
            let attributes = &span.unwrap_or_else(|| panic!("no span in {records:?}")).attributes;
            let text = |name: &str| match attributes.0.iter().find(|(own, _)| own == name) {
                Some((_, AttributeValue::Text(text))) => Some(text.as_str()),
                _ => None,
            };
            assert_eq!(text("error.type"), Some("tool_error"));
            assert_eq!(text("mcp.method.name"), method);
            // What was said stays here.
            assert_eq!(text("gen_ai.tool.call.result"), None);
        }
    }

    #[test]
    fn a_run_that_ends_by_a_panic_is_an_internal_error() {
        let mut tracker = tracker();
        let main = session("main", None);
        tracker.track(&main, Observation::Notice(&Notice::RunStarted), 1);
        let records = tracker.track(&main, Observation::Notice(&ended()), 2);
        find_event(&records, crate::names::INTERNAL_ERROR);
    }
}
