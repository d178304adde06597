//! Maps names in a scenario to attempts and tickets.
//!
//! Requests, summaries and timers are counted from 1 in the order in which they were asked for;
//! errands about a call go by the call's id.

use std::collections::BTreeMap;

use windlass_engine::{Effect, HookSubject};
use windlass_vocabulary::{AttemptId, HookPoint, RequestSource, Ticket, ToolCallId};

#[derive(Debug, Default)]
pub(crate) struct TicketNames {
    pub(crate) requests: Vec<AttemptId>,
    pub(crate) summaries: Vec<(Ticket, AttemptId)>,
    pub(crate) labels: Vec<(Ticket, AttemptId)>,
    pub(crate) timers: Vec<Ticket>,
    pub(crate) stop_hooks: Vec<Ticket>,
    pub(crate) questions: BTreeMap<ToolCallId, Ticket>,
    pub(crate) running_tools: BTreeMap<ToolCallId, Ticket>,
    pub(crate) pre_tool_hooks: BTreeMap<ToolCallId, Ticket>,
    pub(crate) post_tool_hooks: BTreeMap<ToolCallId, Ticket>,
    calls: BTreeMap<Ticket, ToolCallId>,
}

impl TicketNames {
    pub(crate) fn record_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::CallModel(request) => self.requests.push(request.attempt),
            Effect::Summarize { ticket, request } => match request.source {
                RequestSource::ToolLabel => self.labels.push((*ticket, request.attempt)),
                RequestSource::Main
                | RequestSource::Compaction
                | RequestSource::Aside
                | RequestSource::Chore(_) => self.summaries.push((*ticket, request.attempt)),
            },
            Effect::SetTimer { ticket, .. } => self.timers.push(*ticket),
            Effect::StartTool { ticket, granted, .. } => {
                let call = granted.get().id.clone();
                self.running_tools.insert(call.clone(), *ticket);
                self.calls.insert(*ticket, call);
            }
            Effect::AskPermission { ticket, question } => {
                let call = question.call.id.clone();
                self.questions.insert(call.clone(), *ticket);
                self.calls.insert(*ticket, call);
            }
            Effect::RunHook { ticket: Some(ticket), point, subject } => {
                self.record_hook(*ticket, *point, subject);
            }
            Effect::CancelModel { .. }
            | Effect::CancelTool { .. }
            | Effect::RunHook { .. }
            | Effect::Spill { .. }
            | Effect::Keep { .. }
            | Effect::Prefetch { .. }
            | Effect::Tell(_)
            | Effect::Finish(_) => {}
        }
    }

    fn record_hook(&mut self, ticket: Ticket, point: HookPoint, subject: &HookSubject) {
        let call = match subject {
            HookSubject::Call(call) | HookSubject::Outcome(call, _) => call.id.clone(),
            HookSubject::Batch(_)
            | HookSubject::Stop { .. }
            | HookSubject::Failure { .. }
            | HookSubject::Compaction { .. }
            | HookSubject::Compacted { .. } => {
                self.stop_hooks.push(ticket);
                return;
            }
        };
        if point == HookPoint::PreToolUse {
            self.pre_tool_hooks.insert(call, ticket);
        } else {
            self.post_tool_hooks.insert(call, ticket);
        }
    }

    pub(crate) fn call_name(&self, ticket: Ticket) -> String {
        self.calls.get(&ticket).map_or_else(|| ticket.to_string(), ToString::to_string)
    }

    pub(crate) fn request_name(&self, attempt: AttemptId) -> String {
        let at = |all: &[(Ticket, AttemptId)]| all.iter().position(|(_, id)| *id == attempt);
        if let Some(index) = self.requests.iter().position(|id| *id == attempt) {
            format!("request {}", index + 1)
        } else if let Some(index) = at(&self.summaries) {
            format!("summary {}", index + 1)
        } else {
            "label".to_owned()
        }
    }
}
