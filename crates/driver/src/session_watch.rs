//! Reports to an observer what happens in a session.
//!
//! Events and effects are reported where they are decided, notices where they are sent. Without an
//! observer this costs one comparison.

use std::sync::Arc;
use std::time::Duration;

use windlass_engine::{Effect, Event, HookSubject, State};
use windlass_tool::TraceContext;
use windlass_vocabulary::{
    HookPoint, MicroUsd, ModelFailure, PermissionMode, RequestSource, Ticket, Usage,
};

use crate::observer::{Observation, ObservedSession, SessionObserver, TracePosition};

#[derive(Debug)]
pub(crate) struct SessionWatch {
    pub(crate) observer: Arc<dyn SessionObserver>,
    pub(crate) session: ObservedSession,
}

/// What is recorded before a step, for the report after it.
pub(crate) struct WatchedStep {
    side_request: Option<EndedSideRequest>,
    rows: usize,
    mode: PermissionMode,
    is_tool_end: bool,
}

struct EndedSideRequest {
    ticket: Ticket,
    failure: Option<ModelFailure>,
    usage: Usage,
}

impl SessionWatch {
    pub(crate) fn observe(&self, observation: Observation<'_>) {
        self.observer.observe(&self.session, observation);
    }

    pub(crate) fn trace_context(&self, position: TracePosition<'_>) -> Option<TraceContext> {
        self.observer.trace_context(&self.session, position)
    }

    /// Lets the observer send what it has, if no other session of the tree is open.
    pub(crate) async fn finish(&self) {
        self.observe(Observation::SessionEnded);
        if self.session.started_by.is_none() {
            let _ = tokio::time::timeout(self.finish_max(), self.observer.finish()).await;
        }
    }

    pub(crate) fn finish_max(&self) -> Duration {
        match self.session.started_by {
            None => self.observer.finish_max(),
            Some(_) => Duration::ZERO,
        }
    }

    /// Reports an event before it is decided.
    pub(crate) fn observe_event(&self, event: &Event, state: &State) -> WatchedStep {
        let mut side_request = None;
        match event {
            Event::UserSubmitted { content, .. } => {
                self.observe(Observation::PromptAccepted(content));
            }
            Event::CompactionAsked { .. } => self.observe(Observation::CompactionAsked),
            Event::ModelEnded { attempt, stop, usage: _ } => {
                self.observe(Observation::AnswerEnded { attempt: *attempt, stop: *stop });
            }
            Event::ModelFailed { attempt, failure } => {
                self.observe(Observation::RequestFailed { attempt: *attempt, failure });
            }
            Event::ToolEnded { ticket, outcome } => {
                self.observe(Observation::CallEnded { ticket: *ticket, outcome });
            }
            Event::PermissionAnswered { ticket, answer, .. } => {
                self.observe(Observation::QuestionAnswered { ticket: *ticket, answer });
            }
            Event::HookEnded { ticket, report } => {
                let verdict = &report.verdict;
                self.observe(Observation::HooksAnswered { ticket: *ticket, verdict });
            }
            Event::SummaryEnded { ticket, result, usage } => {
                let failure = result.as_ref().err().cloned();
                side_request = Some(EndedSideRequest { ticket: *ticket, failure, usage: *usage });
            }
            Event::Resumed
            | Event::QueueChanged { .. }
            | Event::Adopted { .. }
            | Event::Configured(_)
            | Event::ChoreAsked { .. }
            | Event::Interrupted(_)
            | Event::ModelStarted { .. }
            | Event::ModelDelta { .. }
            | Event::ToolProgressed { .. }
            | Event::AttachmentArrived { .. }
            | Event::TimerFired { .. } => {}
        }
        WatchedStep {
            side_request,
            rows: state.ledger.rows().len(),
            mode: state.tool_context.policy.mode,
            is_tool_end: matches!(event, Event::ToolEnded { .. }),
        }
    }

    /// Reports the effects of an event before any of them is performed, because what they start
    /// needs its trace context.
    pub(crate) fn observe_effects(&self, before: WatchedStep, state: &State, effects: &[Effect]) {
        if let Some(EndedSideRequest { ticket, failure, usage }) = before.side_request {
            let rows = state.ledger.rows().get(before.rows..).unwrap_or_default();
            let rows = rows.iter().filter(|row| row.source != RequestSource::Main);
            let cost = rows.fold(MicroUsd(0), |sum, row| sum + row.cost);
            let failure = failure.as_ref();
            self.observe(Observation::SideRequestEnded { ticket, failure, usage, cost });
        }
        let mode = state.tool_context.policy.mode;
        if mode != before.mode {
            let is_by_tool = before.is_tool_end;
            self.observe(Observation::ModeChanged { from: before.mode, to: mode, is_by_tool });
        }
        for effect in effects {
            self.observe_effect(effect);
        }
    }

    fn observe_effect(&self, effect: &Effect) {
        match effect {
            Effect::CallModel(request) => self.observe(Observation::RequestSent(request)),
            Effect::CancelModel { attempt } => {
                self.observe(Observation::RequestCancelled { attempt: *attempt });
            }
            Effect::Summarize { ticket, request } => {
                self.observe(Observation::SideRequestSent { ticket: *ticket, request });
            }
            Effect::StartTool { ticket, granted, .. } => {
                let call = granted.get();
                self.observe(Observation::CallStarted { ticket: *ticket, call });
            }
            Effect::AskPermission { ticket, question } => {
                let call = &question.call;
                self.observe(Observation::QuestionAsked { ticket: *ticket, call });
            }
            Effect::RunHook {
                ticket: Some(ticket),
                point: HookPoint::PreToolUse,
                subject: HookSubject::Call(call),
            } => self.observe(Observation::HooksAsked { ticket: *ticket, call }),
            // Notices are reported where they are sent, because some do not come from an event.
            Effect::Tell(_)
            | Effect::Finish(_)
            | Effect::RunHook { .. }
            | Effect::CancelTool { .. }
            | Effect::Spill { .. }
            | Effect::Keep { .. }
            | Effect::Prefetch { .. }
            | Effect::SetTimer { .. } => {}
        }
    }
}
