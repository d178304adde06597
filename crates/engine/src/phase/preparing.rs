//! Make the projection, see how it fits and what it would cost; then, if the rules say so, send it.

use alloc::string::{String, ToString};
use windlass_vocabulary::{Message, MetaKind, Notice, Origin, Source, Tokens, Transition};

use crate::budget::{tokens, usd};
use crate::cache::Prefix;
use crate::context::level_5_autocompact;
use crate::context::{self, Memory, Projection, Report, Room, View, estimate};
use crate::decide::Because;
use crate::effect::Effect;
use crate::facts;
use crate::ledger::{Account, Open};
use crate::request::{self, Order};
use crate::signal::{Funds, Signal};
use crate::state::{Answer, State};
use crate::step::Loop;
use crate::text;
use crate::transcript::Transcript;

impl Loop<'_> {
    /// Runs context levels 1 to 4 and reads off what the rules need.
    pub(crate) fn prepare(&mut self, because: Because) -> Signal {
        self.enter(because);
        let mut memory = core::mem::take(&mut self.state.context);
        let report = self.with_view(|view| context::prepare(&mut memory, view));
        self.state.context = memory;
        self.report(report);
        let tokens = self.with_view(|view| view.tokens(&self.state.context));
        let model = self.settings.model_at(self.state.control.model);
        let room = Room::new(self.settings, self.state.control.model);
        let wanted = facts::output_cap(&self.state, self.settings);
        let input = Tokens(estimate::worst_case(tokens.0));
        let grant = usd::grant(self.settings, &self.state.ledger, model, input, wanted);
        let can_drop = || {
            self.with_view(|view| level_5_autocompact::plan(&self.state.context, view)).is_some()
        };
        Signal::Prepared {
            size: facts::size(tokens, room, can_drop),
            staged: facts::is_staged(&self.state),
            funds: if grant.is_some() { Funds::Enough } else { Funds::Short },
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
                let State { context, transcript, .. } = &mut self.state;
                context::level_4_context_collapse::drain(context, transcript, &mut report);
                self.report(report);
            }
            Transition::MaxOutputTokensEscalate => {
                self.retract("cut at the output limit; asked again with a higher one");
            }
            Transition::MaxOutputTokensRecovery => {
                self.commit_answer();
                let id = self.state.transcript.next_id();
                self.add(Message::user_text(id, Origin::Meta(MetaKind::Resume), text::RESUME));
            }
            Transition::StopHookBlocking => {
                let objection = self.state.objection.as_ref().map(|(_, words)| words.clone());
                let words = objection.unwrap_or_default();
                self.add(Message::user_text(id, Origin::Hook, words));
            }
            Transition::TokenBudgetContinuation => {
                let spent = self.state.ledger.run_usage().output;
                let budget = self.settings.token_budget.unwrap_or_default();
                let words = text::nudge(tokens::percent(spent, budget));
                self.add(Message::user_text(id, Origin::Meta(MetaKind::Nudge), words));
            }
        }
    }

    /// The label of the last batch of tools is told if it is there, and never waited for.
    fn tell_label(&mut self) {
        let is_ready = self.state.pending_tool_summary.as_ref().is_some_and(|l| l.text.is_some());
        if is_ready {
            let label = self.state.pending_tool_summary.take().and_then(|label| label.text);
            self.tell(Notice::ToolsLabelled(label.unwrap_or_default()));
        }
    }

    /// Sends the prepared request.
    pub(crate) fn call(&mut self) {
        let projection = Projection::new(&self.state.context, &self.state.transcript);
        let raw = self.overhead() + projection.raw;
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
            messages: projection.messages,
            output_max: grant.output,
            source: Source::Main,
        };
        let request = request::build(&self.state, self.settings, order);
        let forecast = self.state.prefix.as_ref().map(|p| p.forecast(&request)).unwrap_or_default();
        self.state.prefix = Some(Prefix::of(&request));
        let open = Open {
            model: model.name.clone(),
            prices: model.prices,
            source: Source::Main,
            predicted,
            raw,
            reserved: grant.reserved,
            forecast,
        };
        self.state.ledger.reserve(Account::Attempt(attempt), open);
        self.state.answer = Answer { attempt: Some(attempt), ..Answer::default() };
        self.tell(Notice::RequestStarted {
            attempt,
            model: model.name.clone(),
            turn: self.state.control.turn,
            input_estimate: predicted,
        });
        self.effects.push(Effect::CallModel(request));
    }

    /// Raw estimate of what goes with every request: system prompt and tools.
    pub(crate) fn overhead(&self) -> u64 {
        let system: u64 =
            request::system(self.settings).iter().map(|piece| estimate::text(piece)).sum();
        system + estimate::tools(&self.state.tool_context.tools)
    }

    pub(crate) fn with_view<T>(&self, see: impl FnOnce(&View<'_>) -> T) -> T {
        let ledger = &self.state.ledger;
        let estimate = |raw| ledger.estimate(raw);
        see(&View {
            transcript: &self.state.transcript,
            settings: self.settings,
            tools: &self.state.tool_context.tools,
            room: Room::new(self.settings, self.state.control.model),
            estimate: &estimate,
            overhead: self.overhead(),
        })
    }

    /// Tokens of a projection that is only being considered.
    pub(crate) fn tokens_of(&self) -> impl Fn(&Memory, &Transcript) -> Tokens + use<> {
        let ledger = self.state.ledger.clone();
        let overhead = self.overhead();
        move |memory, transcript| ledger.estimate(overhead + Projection::raw(memory, transcript))
    }

    /// Tells what the levels did and has full texts kept.
    pub(crate) fn report(&mut self, report: Report) {
        for (name, text) in report.spills {
            self.effects.push(Effect::Spill { name, text });
        }
        for shrink in report.shrunk {
            let freed = self.state.ledger.estimate(shrink.freed);
            let (level, losses) = (shrink.level, shrink.losses);
            self.tell(Notice::ContextShrunk { level, freed, losses });
        }
    }

    pub(crate) fn warn(&mut self, words: &str) {
        let words: String = words.to_string();
        self.tell(Notice::Warning(words));
    }
}
