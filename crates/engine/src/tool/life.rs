//! The life of one call: valid input, pre-tool hooks, permission, run, post-tool hooks, result.

use alloc::string::String;
use alloc::vec;
use windlass_permission::{PermissionDecision, PriorDecision, build_loop_question, decide};
use windlass_vocabulary::{
    HookPoint, HookReport, HookVerdict, Json, MicroUsd, Notice, PermissionAnswer, RequestSource,
    Ticket, ToolCall, ToolInspection, ToolOutcome, ToolResultPart,
};

use super::circle::{CircleVerdict, GUARD};
use super::queue::{Entry, Stage};
use super::schedule::startable;
use crate::budget::usd;
use crate::cache::Forecast;
use crate::effect::{Effect, HookSubject};
use crate::ledger::{Account, Open};
use crate::settings::{CircleGuard, FREE};
use crate::state::State;
use crate::step::Loop;
use crate::text;

impl Loop<'_> {
    /// A call is complete: it joins the queue and, unless tools wait for the end of the answer,
    /// begins its life.
    pub(crate) fn receive(&mut self, mut call: ToolCall, inspection: ToolInspection) -> ToolCall {
        call.id = self.state.transcript.claim_call_id(call.id);
        self.state.queue.entries.push(Entry::new(call.clone(), inspection));
        self.release_deferred();
        if !self.settings.switches.batch_tools {
            self.begin(self.state.queue.entries.len() - 1);
            self.start_ready();
        }
        call
    }

    /// The answer is complete: calls that waited for it begin their lives.
    pub(crate) fn begin_waiting(&mut self) {
        for place in 0..self.state.queue.entries.len() {
            if self.entry(place).is_some_and(|entry| entry.stage == Stage::Received) {
                self.begin(place);
            }
        }
        self.start_ready();
    }

    pub(super) fn begin(&mut self, place: usize) {
        let Some(entry) = self.entry(place) else {
            return;
        };
        if let Some(problem) = entry.inspection.problem.clone() {
            self.done(place, ToolOutcome::failure(problem));
        } else if self.settings.hooks.pre_tool_use {
            let call = entry.call.clone();
            let ticket = self.state.next.ticket();
            self.set_stage(place, Stage::Hooked(ticket));
            self.effects.push(Effect::RunHook {
                ticket: Some(ticket),
                point: HookPoint::PreToolUse,
                subject: HookSubject::Call(call),
            });
        } else {
            self.judge(place, PriorDecision::None);
        }
    }

    /// Asks the policy. What it allows is asked about all the same when it goes in circles; what it
    /// denies stays denied.
    pub(super) fn judge(&mut self, place: usize, opinion: PriorDecision) {
        let Some(entry) = self.entry(place) else { return };
        let call = entry.call.clone();
        let inspection = entry.inspection.clone();
        let policy = &self.state.tool_context.policy;
        let guard = self.settings.switches.circle_guard;
        let circle = self.state.circle.count_before(&call, guard).filter(|_| policy.can_ask);
        match (decide(policy, call, &inspection, opinion), circle) {
            (PermissionDecision::Allow(granted), Some(count)) => {
                let call = granted.into_inner();
                self.ask(place, build_loop_question(call, text::circle_question(count)));
            }
            (PermissionDecision::Allow(granted), None) => {
                self.set_stage(place, Stage::Ready(granted));
            }
            (PermissionDecision::Ask(question), _) => self.ask(place, question),
            (PermissionDecision::Deny { call, why }, _) => self.deny(place, call, why),
        }
    }

    fn ask(&mut self, place: usize, question: windlass_permission::PendingPermissionQuestion) {
        let ticket = self.state.next.ticket();
        let view = question.view().clone();
        self.set_stage(place, Stage::Asked(ticket, question));
        self.effects.push(Effect::AskPermission { ticket, question: view });
    }

    fn deny(&mut self, place: usize, call: ToolCall, why: String) {
        self.tell(Notice::ToolDenied { call, why: why.clone() });
        self.done(place, ToolOutcome::failure(why));
    }

    /// Starts what the schedule allows. Called after every change of the queue.
    pub(crate) fn start_ready(&mut self) {
        for place in startable(&self.state.queue, self.limits.tools_parallel_max) {
            let ticket = self.state.next.ticket();
            let Some(entry) = self.state.queue.entries.get_mut(place) else {
                continue;
            };
            let spends = entry.inspection.spends;
            match core::mem::replace(&mut entry.stage, Stage::Running(ticket)) {
                Stage::Ready(granted) => {
                    entry.has_started = true;
                    let call = granted.get().clone();
                    let allowance = if spends { self.reserve_allowance(ticket) } else { None };
                    self.effects.push(Effect::StartTool { ticket, granted, allowance });
                    self.tell(Notice::ToolStarted(call));
                }
                stage @ (Stage::Received
                | Stage::Hooked(_)
                | Stage::Deferred
                | Stage::Asked(..)
                | Stage::Running(_)
                | Stage::Reviewed(..)
                | Stage::Done(_)) => entry.stage = stage,
            }
        }
    }

    fn reserve_allowance(&mut self, ticket: Ticket) -> Option<MicroUsd> {
        let allowance = usd::allowance(self.settings, &self.state.ledger);
        let open = Open {
            model: self.settings.model.name.clone(),
            prices: FREE,
            source: RequestSource::Main,
            predicted: windlass_vocabulary::Tokens(0),
            raw: 0,
            reserved: allowance.unwrap_or_default(),
            forecast: Forecast::default(),
        };
        self.state.ledger.reserve(Account::Nested(ticket), open);
        allowance
    }

    pub(crate) fn tool_ended(&mut self, place: usize, ticket: Ticket, outcome: ToolOutcome) {
        let Some(entry) = self.entry(place) else {
            return;
        };
        let call = entry.call.clone();
        let is_error = outcome.is_error;
        match (entry.inspection.spends, outcome.is_left) {
            (true, true) => self.state.ledger.leave(ticket),
            (true, false) => self.state.ledger.settle_nested(ticket, outcome.spent),
            (false, _) => {}
        }
        self.tell(Notice::ToolEnded { call: call.id.clone(), outcome: outcome.clone() });
        let (point, is_hooked) = match is_error {
            false => (HookPoint::PostToolUse, self.settings.hooks.post_tool_use),
            true => (HookPoint::PostToolUseFailure, self.settings.hooks.post_tool_use_failure),
        };
        if !is_hooked {
            return self.done(place, outcome);
        }
        let ticket = self.state.next.ticket();
        let subject = HookSubject::Outcome(call, outcome.clone());
        self.set_stage(place, Stage::Reviewed(ticket, outcome));
        self.effects.push(Effect::RunHook { ticket: Some(ticket), point, subject });
    }

    /// Hooks before or after a tool have answered.
    pub(crate) fn tool_hook_ended(&mut self, place: usize, report: HookReport) {
        let is_before = self.entry(place).is_some_and(|e| matches!(e.stage, Stage::Hooked(_)));
        if is_before && matches!(report.verdict, HookVerdict::Defer(_)) {
            return self.defer(place);
        }
        self.state.queue.remarks.extend(report.context);
        if let HookVerdict::Halt(why) = &report.verdict {
            self.state.queue.halt.get_or_insert((report.name.clone(), why.clone()));
        }
        if !is_before {
            return self.reviewed(place, &report.verdict, report.output);
        }
        if let Some((input, inspection)) = report.updated
            && let Some(problem) = self.replace_input(place, input, inspection)
        {
            return self.done(place, ToolOutcome::failure(problem));
        }
        match report.verdict {
            HookVerdict::Pass | HookVerdict::Defer(_) => self.judge(place, PriorDecision::None),
            HookVerdict::Allow => self.judge(place, PriorDecision::Allow),
            HookVerdict::Ask(why) => self.judge(place, PriorDecision::Ask(why)),
            HookVerdict::Block(why) | HookVerdict::Halt(why) => {
                let Some(call) = self.entry(place).map(|entry| entry.call.clone()) else {
                    return;
                };
                self.deny(place, call, why);
            }
        }
    }

    /// The result of the call is final; a later objection is passed on to the model.
    fn reviewed(&mut self, place: usize, verdict: &HookVerdict, output: Option<String>) {
        if let HookVerdict::Block(why) = verdict {
            self.state.queue.remarks.push(why.clone());
        }
        let Some(entry) = self.state.queue.entries.get_mut(place) else {
            return;
        };
        let stage = core::mem::replace(&mut entry.stage, Stage::Received);
        match stage {
            Stage::Reviewed(_, mut outcome) => {
                if let Some(text) = output {
                    outcome.content = vec![ToolResultPart::Text(text)];
                }
                self.done(place, outcome);
            }
            stage @ (Stage::Received
            | Stage::Hooked(_)
            | Stage::Deferred
            | Stage::Asked(..)
            | Stage::Ready(_)
            | Stage::Running(_)
            | Stage::Done(_)) => entry.stage = stage,
        }
    }

    pub(crate) fn permission_answered(
        &mut self,
        place: usize,
        answer: PermissionAnswer,
        inspection: Option<ToolInspection>,
    ) {
        let Some(entry) = self.state.queue.entries.get_mut(place) else {
            return;
        };
        let Stage::Asked(_, question) = core::mem::replace(&mut entry.stage, Stage::Received)
        else {
            return;
        };
        match answer {
            PermissionAnswer::Deny { message, interrupt: _ } => {
                let call = question.into_call();
                self.deny(place, call, message);
            }
            PermissionAnswer::Allow { updated_input: None, remember } => {
                self.remember(&remember);
                self.state.circle.forgive(&question.view().call);
                self.set_stage(place, Stage::Ready(question.allow()));
            }
            PermissionAnswer::Allow { updated_input: Some(input), remember } => {
                self.remember(&remember);
                // Also where the input is handed back as it was: nobody is asked the same twice.
                self.state.circle.forgive(&question.view().call);
                let inspection = inspection.unwrap_or(ToolInspection::EXCLUSIVE_EFFECT);
                match self.replace_input(place, input, inspection) {
                    Some(problem) => self.done(place, ToolOutcome::failure(problem)),
                    // The user who changed the input wants it to run; deny rules still hold.
                    None => self.judge(place, PriorDecision::Answered),
                }
            }
        }
    }

    /// The call runs with another input than the answer says. Returns what is wrong with it.
    fn replace_input(
        &mut self,
        place: usize,
        input: Json,
        inspection: ToolInspection,
    ) -> Option<String> {
        let entry = self.state.queue.entries.get_mut(place)?;
        entry.call.input = input;
        let problem = inspection.problem.clone();
        entry.inspection = inspection;
        problem
    }

    fn remember(&mut self, rules: &[String]) {
        for text in rules {
            match windlass_permission::Rule::parse(text) {
                Ok(rule) => self.state.tool_context.policy.rules.allow.push(rule),
                Err(error) => self.tell(Notice::Warning(alloc::format!("{error}"))),
            }
        }
    }

    /// The call has its result.
    pub(crate) fn done(&mut self, place: usize, mut outcome: ToolOutcome) {
        for path in core::mem::take(&mut outcome.files) {
            self.state.tool_context.hold(&path);
        }
        self.state.tool_context.updates.extend(outcome.update.take());
        self.set_stage(place, Stage::Done(outcome));
    }

    /// Looks at a whole batch once it is certain to stay: what is discarded counts in no circle.
    pub(crate) fn look_for_circles(&mut self) {
        let State { queue, circle, .. } = &mut self.state;
        let entries = core::mem::take(&mut queue.entries);
        match self.settings.switches.circle_guard {
            CircleGuard::Off => {}
            CircleGuard::Turns => {
                let verdict = circle.record_turn(&entries);
                let has_started = entries.iter().any(|entry| entry.has_started);
                self.act_on_circle(verdict, has_started);
            }
            CircleGuard::Calls => {
                for entry in &entries {
                    let Stage::Done(outcome) = &entry.stage else { continue };
                    let verdict = self.state.circle.record_call(entry, outcome);
                    self.act_on_circle(verdict, entry.has_started);
                }
            }
        }
        self.state.queue.entries = entries;
    }

    /// A call that cannot run at all is not worth a question; there the run ends.
    fn act_on_circle(&mut self, verdict: Option<CircleVerdict>, has_started: bool) {
        let can_ask = self.state.tool_context.policy.can_ask;
        let queue = &mut self.state.queue;
        if let Some(CircleVerdict::Hint(count) | CircleVerdict::Stop(count)) = verdict {
            queue.remarks.push(text::circle_hint(count));
        }
        if let Some(CircleVerdict::Stop(count)) = verdict
            && !(can_ask && has_started)
        {
            queue.halt.get_or_insert((String::from(GUARD), text::circle_stop(count)));
        }
    }

    pub(super) fn entry(&self, place: usize) -> Option<&Entry> {
        self.state.queue.entries.get(place)
    }

    pub(super) fn set_stage(&mut self, place: usize, stage: Stage) {
        if let Some(entry) = self.state.queue.entries.get_mut(place) {
            entry.stage = stage;
        }
    }
}
