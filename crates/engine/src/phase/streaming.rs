//! The model answers; tools may start before it is done.

use alloc::format;
use alloc::vec::Vec;
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, Message, MessageOrigin, MicroUsd, ModelFailure,
    ModelStopReason, Notice, RecoveryAction, Role, Tokens, Usage,
};

use crate::context::estimate;
use crate::facts;
use crate::ledger::{Account, Ledger, is_absurd};
use crate::revival;
use crate::signal::{AnswerEnd, Fault, Signal};
use crate::state::{Answer, State};
use crate::step::Loop;

impl Loop<'_> {
    /// A piece of the answer. Only whole blocks count; everything else is for showing.
    pub(crate) fn streamed(&mut self, attempt: AttemptId, delta: Delta) {
        let answer = &mut self.state.answer;
        answer.has_started = true;
        answer.is_shown |=
            !matches!(delta, Delta::Usage(_) | Delta::Raw(_) | Delta::Cleared { .. });
        match &delta {
            Delta::Text(text) => {
                answer.partial.push_str(text);
                answer.streamed += estimate::weight(text);
            }
            Delta::Thinking(text) | Delta::CallInput(text) => {
                answer.streamed += estimate::weight(text);
            }
            Delta::CallStarted { .. } | Delta::Raw(_) => {}
            Delta::Block(block) => {
                answer.partial.clear();
                answer.blocks.push(block.clone());
            }
            Delta::Call { call, inspection } => {
                answer.partial.clear();
                let call = self.receive(call.clone(), inspection.clone());
                self.state.answer.blocks.push(ContentBlock::ToolUse(call));
            }
            Delta::Usage(usage) => {
                answer.usage = answer.usage.max(usage);
                return;
            }
            Delta::Cleared { results, tokens } => {
                answer.cleared = (*results, *tokens);
                return;
            }
        }
        self.tell(Notice::Streamed { attempt, delta });
    }

    /// The answer is complete.
    pub(crate) fn answered(&mut self, stop: ModelStopReason, usage: Usage) {
        self.state.answer.usage = self.state.answer.usage.max(&usage);
        self.settle_whole();
        if matches!(stop, ModelStopReason::OutputLimit | ModelStopReason::WindowFull) {
            self.drop_half_call();
        }
        let end = facts::answer_end(&self.state, self.settings, stop);
        self.state.recovery.withheld = None;
        self.state.recovery.refusals = 0;
        match end {
            AnswerEnd::Calls
            | AnswerEnd::Text { .. }
            | AnswerEnd::Empty { .. }
            | AnswerEnd::Pause => self.commit_answer(),
            AnswerEnd::Refusal => self.commit_refusal(),
            AnswerEnd::WindowFull { .. } => {
                self.withhold_window_full();
                self.retract("the window is full");
            }
            // Retracted if the limit can be raised, kept if not: the transition decides.
            AnswerEnd::OutputLimit { .. } => self.withhold_output_limit(),
        }
        self.drive(Signal::Answered(end));
    }

    /// A call that the limit cut in the middle was never asked for: it cannot run and gets no result.
    fn drop_half_call(&mut self) {
        let State { answer, queue, transcript, .. } = &mut self.state;
        let is_half = queue.entries.last().is_some_and(|entry| entry.is_broken);
        if let Some(ContentBlock::ToolUse(call)) = answer.blocks.last()
            && is_half
        {
            transcript.release_call_id(&call.id);
            answer.blocks.pop();
            queue.entries.pop();
        }
    }

    /// The call failed. If a tool had started the answer is sealed at its last whole block and goes
    /// on from there; otherwise nothing of it remains.
    pub(crate) fn failed(&mut self, failure: ModelFailure) {
        let fault = facts::fault(&self.state, self.settings, &failure);
        match self.state.answer.has_started {
            _ if revival::is_of_the_dead(&failure) => self.abandon_cut(),
            true => self.settle_cut(),
            false => self.release(),
        }
        if fault == Fault::Sealed {
            if let Some(attempt) = self.state.answer.attempt {
                self.tell(Notice::Sealed { attempt });
            }
            self.state.recovery.withheld = None;
            self.commit_answer();
        } else {
            // A failure that shrinking may cure is withheld, so its words must not slip out here.
            match failure.kind.recovery_action() {
                RecoveryAction::Shrink => self.retract("the request has to be made smaller"),
                RecoveryAction::Wait
                | RecoveryAction::Switch
                | RecoveryAction::Repair
                | RecoveryAction::Stop => self.retract(&failure.message),
            }
            self.state.recovery.withheld = Some(failure);
        }
        self.drive(Signal::Failed(fault));
    }

    /// Writes the whole blocks of the answer into the transcript, once.
    pub(crate) fn commit_answer(&mut self) {
        let is_worth_keeping = !facts::is_empty(&self.state);
        let answer = &mut self.state.answer;
        let blocks: Vec<ContentBlock> = core::mem::take(&mut answer.blocks);
        answer.partial.clear();
        if answer.is_committed || !is_worth_keeping {
            return;
        }
        answer.is_committed = true;
        self.add_answer(blocks, MessageOrigin::Model);
    }

    /// A refusal is shown to people and not sent back: providers ask for that.
    fn commit_refusal(&mut self) {
        let blocks = core::mem::take(&mut self.state.answer.blocks);
        if !blocks.is_empty() {
            self.add_answer(blocks, MessageOrigin::Display);
        }
    }

    /// Keeps what was shown of an interrupted answer.
    pub(crate) fn commit_partial(&mut self) {
        let partial = core::mem::take(&mut self.state.answer.partial);
        if !partial.trim().is_empty() {
            self.state.answer.blocks.push(ContentBlock::Text(partial));
        }
        self.commit_answer();
    }

    fn add_answer(&mut self, content: Vec<ContentBlock>, origin: MessageOrigin) {
        let model = self.settings.model_at(self.state.control.model).name.clone();
        self.add(Message {
            id: self.state.transcript.next_id(),
            role: Role::Assistant,
            origin,
            content,
            model: Some(model),
            pinned: false,
        });
    }

    /// Takes back everything shown of the answer: a tombstone, and nothing in the transcript.
    pub(crate) fn retract(&mut self, why: &str) {
        self.discard_calls();
        let answer = core::mem::take(&mut self.state.answer);
        if let (Some(attempt), true) = (answer.attempt, answer.is_shown) {
            self.tell(Notice::Retracted { attempt, why: why.into() });
        }
        // The attempt stays known: the wait before the next try is derived from it.
        self.state.answer = Answer { attempt: answer.attempt, ..Answer::default() };
    }

    /// Pays for a whole answer. Output that the provider forgot to count is counted by us.
    fn settle_whole(&mut self) {
        let answer = &mut self.state.answer;
        let seen = Tokens(estimate::tokens(answer.streamed)).min(answer.output_max);
        if is_absurd(answer.usage.output, seen) {
            answer.usage.output = seen;
        }
        self.settle();
    }

    /// Pays for an answer that broke off. Its last figures never came, but what was put out is
    /// billed: the larger of what was said and what was seen counts.
    pub(crate) fn settle_cut(&mut self) {
        self.count_seen();
        self.settle();
    }

    /// Pays for an answer that broke off with its process: more may have come than was seen.
    pub(crate) fn abandon_cut(&mut self) {
        self.count_seen();
        self.book(Ledger::abandon);
    }

    fn count_seen(&mut self) {
        let answer = &mut self.state.answer;
        let seen = estimate::worst_case(estimate::tokens(answer.streamed));
        let seen = Tokens(seen).min(answer.output_max);
        answer.usage.output = answer.usage.output.max(seen);
    }

    /// Pays for the request.
    fn settle(&mut self) {
        self.book(Ledger::settle);
    }

    fn book(&mut self, how: impl FnOnce(&mut Ledger, Account, Usage) -> Option<MicroUsd>) {
        let Some(attempt) = self.state.answer.attempt else {
            return;
        };
        let usage = self.state.answer.usage;
        let cleared = self.state.answer.cleared;
        if cleared.0 > 0 {
            self.cleared_by_provider(cleared);
        }
        if let Some(cost) = how(&mut self.state.ledger, Account::Attempt(attempt), usage) {
            if let Some(prefix) = &mut self.state.request.prefix {
                prefix.billed(&usage);
            }
            let total = self.state.ledger.spent();
            self.tell(Notice::Billed { attempt, usage, cost, total });
        }
    }

    /// Level 3 was done on the provider's side; its own figure is reported.
    fn cleared_by_provider(&mut self, (results, freed): (u64, Tokens)) {
        let words = format!("the output of {results} old tool calls, on the provider's side");
        self.state.ledger.clear_forecast(&words);
        self.told_shrunk(3, freed, alloc::vec![words]);
    }

    /// The request was refused before it cost anything.
    fn release(&mut self) {
        if let Some(attempt) = self.state.answer.attempt {
            self.state.ledger.release(Account::Attempt(attempt));
        }
    }
}
