//! The model is done; the stop hooks have the next word.

use windlass_vocabulary::{HookPoint, HookReport, HookVerdict, Notice, Role, Ticket};

use crate::effect::{Effect, HookSubject};
use crate::facts;
use crate::signal::{Signal, StopVerdict};
use crate::state::Errand;
use crate::step::Loop;

impl Loop<'_> {
    pub(crate) fn run_stop_hooks(&mut self) {
        let ticket = self.state.next.ticket();
        self.state.errand = Some(Errand { ticket, attempt: None, tries: 0 });
        self.ask_stop_hooks(Some(ticket));
    }

    /// Asks them; without a ticket they are only told that they were overridden.
    pub(crate) fn ask_stop_hooks(&mut self, ticket: Option<Ticket>) {
        let hook = self.state.control.stop_hook;
        let last = self.state.transcript.messages().next_back();
        let answer = last.filter(|message| message.role == Role::Assistant).map(|m| m.text());
        self.effects.push(Effect::RunHook {
            ticket,
            point: self.stop_point(),
            subject: HookSubject::Stop {
                is_retry: hook.is_retry,
                blocks: hook.blocks,
                blocks_max: self.limits.stop_blocks_max,
                answer: answer.unwrap_or_default(),
                is_overridden: ticket.is_none(),
            },
        });
    }

    /// A sub-agent has a stop hook of its own.
    fn stop_point(&self) -> HookPoint {
        match self.settings.agent.is_subagent {
            true => HookPoint::SubagentStop,
            false => HookPoint::Stop,
        }
    }

    pub(crate) fn stop_hooks_ended(&mut self, report: HookReport) {
        self.state.errand = None;
        let HookReport { verdict, name, .. } = report;
        let verdict = match verdict {
            HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask(_)
            | HookVerdict::Defer(_) => StopVerdict::Pass,
            HookVerdict::Halt(why) => {
                self.state.recovery.objection = Some((name, why));
                StopVerdict::Prevent
            }
            HookVerdict::Block(why) => {
                let last = self.state.recovery.objection.as_ref().map(|(_, words)| words);
                let is_same = last == Some(&why);
                let point = self.stop_point();
                let text = why.clone();
                self.tell(Notice::HookMessage { point, name: name.clone(), text });
                self.state.recovery.objection = Some((name, why));
                StopVerdict::Object { is_same }
            }
        };
        let budget = facts::budget(&self.state, self.settings);
        let is_empty = !self.state.answer.is_committed;
        self.drive(Signal::HooksEnded { verdict, budget, is_empty });
    }
}
