//! Make the projection, see how it fits and what it would cost; then, if the rules say so, send it.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::context_usage::ContextLoss;
use windlass_vocabulary::{
    AttachmentKind, Message, MessageId, MessageOrigin, MetaKind, Notice, RequestSource, Tokens,
    Transition,
};

use crate::budget::{tokens, usd};
use crate::cache::Prefix;
use crate::context::{self, Memory, Report, Room, View, estimate};
use crate::context::{level_3_microcompact, level_5_autocompact};
use crate::decide::Because;
use crate::effect::Effect;
use crate::facts;
use crate::ledger::{Account, Open};
use crate::request::{self, Order};
use crate::signal::{Funds, Signal};
use crate::state::{Answer, State};
use crate::step::Loop;
use crate::text;

impl Loop<'_> {
    /// Runs context levels 1 to 4 and reads off what the rules need.
    pub(crate) fn prepare(&mut self, because: Because) -> Signal {
        self.enter(because);
        // Another try sends what the last one sent: only a new iteration makes room.
        let makes_room = match because {
            Because::Started | Because::Continued(_) | Because::Compacted | Because::Switched => {
                true
            }
            Because::Retried | Because::Repaired | Because::Resumed => false,
        };
        if makes_room {
            self.look_for_changes();
        }
        let (report, tokens) = self.with_context(|memory, view| {
            let report = context::prepare(memory, view, makes_room);
            (report, view.tokens(memory))
        });
        self.report(report);
        let model = self.settings.model_at(self.state.control.model);
        let room = Room::new(self.settings, self.state.control.model);
        let wanted = facts::output_cap(&self.state, self.settings);
        let input = Tokens(estimate::worst_case(tokens.0));
        let grant = usd::grant(self.settings, &self.state.ledger, model, input, wanted);
        let funds = if grant.is_some() { Funds::Enough } else { Funds::Short };
        let can_drop = || self.with_context(level_5_autocompact::plan).is_some();
        let size = facts::size(tokens, room, can_drop);
        Signal::Prepared { size, staged: facts::is_staged(&self.state), funds }
    }

    /// Has the files in hand, and what runs in the background, looked at beside the call: what changed
    /// behind the model's back is told at the next tool boundary.
    fn look_for_changes(&mut self) {
        let files = &self.state.tool_context.files;
        if self.settings.switches.prefetch {
            let about = files.join("\n");
            self.effects.push(Effect::Prefetch { kind: AttachmentKind::ChangedFiles, about });
        }
    }

    /// What a new iteration or attempt owes the transcript before it is prepared.
    fn enter(&mut self, because: Because) {
        match because {
            Because::Continued(transition) => {
                self.continue_with(transition);
                let turn = self.state.control.turn;
                self.tell(Notice::Continued { transition, turn });
                self.tell_label();
                if transition == Transition::NextTurn {
                    self.ask_for_label();
                }
            }
            Because::Switched => self.switched(),
            Because::Repaired => self.repaired(),
            Because::Started | Because::Retried | Because::Resumed | Because::Compacted => {}
        }
    }

    /// What each transition changes besides the counters.
    fn continue_with(&mut self, transition: Transition) {
        let id = self.state.transcript.next_id();
        match transition {
            Transition::NextTurn | Transition::ReactiveCompactRetry => {}
            Transition::CollapseDrainRetry => {
                let mut report = Report::default();
                let State { compaction, transcript, .. } = &mut self.state;
                context::level_4_context_collapse::drain(
                    &mut compaction.context,
                    transcript,
                    &mut report,
                );
                self.report(report);
            }
            Transition::MaxOutputTokensEscalate => {
                self.retract("cut at the output limit; asked again with a higher one");
            }
            Transition::MaxOutputTokensRecovery => {
                self.commit_answer();
                let id = self.state.transcript.next_id();
                self.add(Message::user_text(
                    id,
                    MessageOrigin::Meta(MetaKind::Resume),
                    text::RESUME,
                ));
            }
            Transition::StopHookBlocking => {
                let objection =
                    self.state.recovery.objection.as_ref().map(|(_, words)| words.clone());
                let words = objection.unwrap_or_default();
                self.add(Message::user_text(id, MessageOrigin::Hook, words));
            }
            Transition::TokenBudgetContinuation => {
                let spent = self.state.ledger.run_usage().output;
                let budget = self.settings.budget.token_budget.unwrap_or_default();
                let words = text::nudge(tokens::percent(spent, budget));
                self.add(Message::user_text(id, MessageOrigin::Meta(MetaKind::Nudge), words));
            }
        }
    }

    /// The label of the last batch of tools is reported if it is there, and never waited for.
    fn tell_label(&mut self) {
        let is_ready =
            self.state.side_work.pending_tool_summary.as_ref().is_some_and(|l| l.text.is_some());
        if is_ready {
            let label =
                self.state.side_work.pending_tool_summary.take().and_then(|label| label.text);
            self.tell(Notice::ToolsLabelled(label.unwrap_or_default()));
        }
    }

    /// Sends the prepared request.
    pub(crate) fn call(&mut self) {
        let overhead = self.overhead();
        let projection = self.state.compaction.context.projection(&self.state.transcript);
        let raw = overhead + projection.raw;
        let messages = projection.messages.clone();
        let predicted = self.state.ledger.estimate(raw);
        let model = self.settings.model_at(self.state.control.model);
        let wanted = facts::output_cap(&self.state, self.settings);
        let input = Tokens(estimate::worst_case(predicted.0));
        let grant = usd::grant(self.settings, &self.state.ledger, model, input, wanted)
            .unwrap_or(usd::Grant { output: wanted, reserved: windlass_vocabulary::MicroUsd(0) });
        let attempt = self.state.next.attempt();
        let order = Order {
            attempt,
            model: model.name.clone(),
            messages,
            output_max: grant.output,
            source: RequestSource::Main,
        };
        let request = request::build(&self.state, self.settings, order);
        let forecast =
            self.state.request.prefix.as_ref().map(|p| p.forecast(&request)).unwrap_or_default();
        self.state.request.prefix = Some(Prefix::of(&request));
        let open = Open {
            model: model.name.clone(),
            prices: model.prices,
            source: RequestSource::Main,
            predicted,
            raw,
            reserved: grant.reserved,
            forecast,
        };
        self.state.ledger.reserve(Account::Attempt(attempt), open);
        let output_max = grant.output;
        self.state.answer = Answer { attempt: Some(attempt), output_max, ..Answer::default() };
        self.tell(Notice::RequestStarted {
            attempt,
            model: model.name.clone(),
            turn: self.state.control.turn,
            input_estimate: predicted,
        });
        self.effects.push(Effect::CallModel(request));
    }

    /// Raw estimate of what goes with every request: system prompt and tools. Counted once for as
    /// long as both stay the same.
    pub(crate) fn overhead(&mut self) -> u64 {
        let tools = &self.state.tool_context.tools;
        if let Some((counted, raw)) = &self.state.request.overhead
            && Arc::ptr_eq(counted, tools)
        {
            return *raw;
        }
        let system = request::system(self.settings);
        let raw = system.iter().map(|piece| estimate::text(piece)).sum::<u64>();
        let raw = raw + estimate::tools(tools);
        self.state.request.overhead = Some((tools.clone(), raw));
        raw
    }

    /// Lends what the levels remember together with all they look at.
    pub(crate) fn with_context<T>(&mut self, see: impl FnOnce(&mut Memory, &View<'_>) -> T) -> T {
        let overhead = self.overhead();
        let clearing =
            level_3_microcompact::clearing(&self.state, self.settings, RequestSource::Main);
        let State { compaction, transcript, ledger, tool_context, control, .. } = &mut self.state;
        let estimate = |raw| ledger.estimate(raw);
        let view = View {
            transcript,
            settings: self.settings,
            tools: &tool_context.tools,
            room: Room::new(self.settings, control.model),
            is_cleared_by_provider: clearing.is_some(),
            estimate: &estimate,
            overhead,
        };
        see(&mut compaction.context, &view)
    }

    /// Tells what the levels did and has full texts kept.
    pub(crate) fn report(&mut self, report: Report) {
        for (name, text) in report.spills {
            self.effects.push(Effect::Spill { name, text });
        }
        for shrink in report.shrunk {
            let freed = self.state.ledger.estimate(shrink.freed);
            self.told_shrunk(shrink.level, freed, shrink.losses);
        }
    }

    /// Puts down what a level did, and tells of it.
    pub(crate) fn told_shrunk(&mut self, level: u8, freed: Tokens, losses: Vec<String>) {
        let at = MessageId(self.state.transcript.next_id().0.saturating_sub(1));
        self.state.compaction.losses.add(ContextLoss { level, freed, what: losses.clone(), at });
        self.tell(Notice::ContextShrunk { level, freed, losses });
    }

    pub(crate) fn warn(&mut self, words: &str) {
        let words: String = words.to_string();
        self.tell(Notice::Warning(words));
    }
}
