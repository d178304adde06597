//! Turns observations of sessions into records.
//!
//! Keeps only what is open: a span is recorded when it ends. The current time is always passed in,
//! so that tests can control it.

mod agent_track;
mod calls;
mod edit_counts;
mod emission;
mod hooks;
mod prompts;
mod requests;
mod subagents;

use std::collections::HashMap;
use std::sync::Arc;

use windlass_driver::{Observation, ObservedSession, TracePosition};
use windlass_vocabulary::{AgentId, Notice};

use self::agent_track::AgentTrack;
use self::emission::Emission;
use crate::config::TelemetryConfig;
use crate::record::{SpanContext, TelemetryRecord};

/// The open spans of all observed sessions.
#[derive(Debug)]
pub(crate) struct SessionTracker {
    config: Arc<TelemetryConfig>,
    agents: HashMap<(String, AgentId), AgentTrack>,
    /// Numbers events, so that their order within a millisecond is known.
    sequence: u64,
}

impl SessionTracker {
    pub(crate) fn new(config: Arc<TelemetryConfig>) -> Self {
        Self { config, agents: HashMap::new(), sequence: 0 }
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
        let mut emission = Emission::new(&config, session, &track, &mut self.sequence, now);
        dispatch(&mut track, session, observation, &mut emission);
        let records = emission.into_records();
        if !matches!(observation, Observation::SessionEnded) {
            self.agents.insert(key, track);
        }
        records
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
        Observation::AnswerEnded { attempt, stop } => track.requests.answer_ended(attempt, stop),
        Observation::RequestFailed { attempt, failure } => {
            requests::request_failed(track, attempt, failure, emission);
        }
        Observation::RequestCancelled { attempt } => {
            requests::request_cancelled(track, attempt, emission);
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
        Observation::HooksEnded(result) => hooks::hooks_ended(result, emission),
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
