//! The answer is complete; its calls are not, or hooks still look at all of them together.

use alloc::string::String;
use windlass_vocabulary::{HookPoint, HookReport, HookVerdict, Notice, Ticket};

use crate::control::Phase;
use crate::effect::{Effect, HookSubject};
use crate::signal::Signal;
use crate::step::Loop;
use crate::tool::queue::Batch;

impl Loop<'_> {
    /// Lets calls begin that waited for the end of the answer.
    pub(crate) fn await_tools(&mut self) -> Option<Signal> {
        self.begin_waiting();
        self.tools_done()
    }

    /// A call moved on: others may start, and perhaps all are done.
    pub(crate) fn tools_moved(&mut self) {
        self.start_ready();
        if matches!(self.state.control.phase, Phase::RunningTools | Phase::Settling(_))
            && let Some(signal) = self.tools_done()
        {
            self.drive(signal);
        }
    }

    pub(crate) fn tools_done(&mut self) -> Option<Signal> {
        if self.state.queue.is_deferred() {
            return Some(Signal::Deferred);
        }
        if !self.state.queue.is_done() || self.await_batch_hooks() {
            return None;
        }
        self.look_for_circles();
        let halt = self.state.queue.halt.take();
        let stop = halt.is_some();
        self.state.recovery.objection = halt.or(self.state.recovery.objection.take());
        self.commit_results();
        if matches!(self.state.control.phase, Phase::Settling(_)) {
            // The run begins only now, so what was said goes with the results.
            self.apply_updates();
            self.take_in_prompts();
        }
        Some(Signal::ToolsDone { stop })
    }

    /// Has the hooks look at the whole batch, once. Says whether they are waited for.
    fn await_batch_hooks(&mut self) -> bool {
        let is_hooked = self.settings.hooks.post_tool_batch;
        match self.state.queue.batch {
            Batch::Asked(_) => true,
            Batch::Unasked if is_hooked => {
                let ticket = self.state.next.ticket();
                self.state.queue.batch = Batch::Asked(ticket);
                self.effects.push(Effect::RunHook {
                    ticket: Some(ticket),
                    point: HookPoint::PostToolBatch,
                    subject: HookSubject::Batch(self.state.queue.results()),
                });
                true
            }
            Batch::Unasked | Batch::Heard => false,
        }
    }

    /// The hooks have answered: what they add goes to the model with the results, and an objection ends
    /// the run.
    pub(crate) fn batch_hooks_ended(&mut self, report: HookReport) {
        let HookReport { verdict, name, context, .. } = report;
        let queue = &mut self.state.queue;
        queue.batch = Batch::Heard;
        queue.remarks.extend(context);
        if let HookVerdict::Block(why) | HookVerdict::Halt(why) = verdict {
            queue.halt.get_or_insert((name, why));
        }
        self.tools_moved();
    }

    pub(crate) fn tool_progressed(&mut self, ticket: Ticket, text: String) {
        let place = self.state.queue.position(ticket);
        if let Some(entry) = place.and_then(|place| self.state.queue.entries.get(place)) {
            let call = entry.call.id.clone();
            self.tell(Notice::ToolProgressed { call, text });
        }
    }
}
