//! The answer is complete; its calls are not.

use alloc::string::String;
use windlass_vocabulary::{Notice, Ticket};

use crate::control::Phase;
use crate::signal::Signal;
use crate::step::Loop;

impl Loop<'_> {
    /// Lets calls begin that waited for the end of the answer.
    pub(crate) fn await_tools(&mut self) -> Option<Signal> {
        self.begin_waiting();
        self.tools_done()
    }

    /// A call moved on: others may start, and perhaps all are done.
    pub(crate) fn tools_moved(&mut self) {
        self.start_ready();
        if self.state.control.phase == Phase::RunningTools
            && let Some(signal) = self.tools_done()
        {
            self.drive(signal);
        }
    }

    fn tools_done(&mut self) -> Option<Signal> {
        if !self.state.queue.is_done() {
            return None;
        }
        self.look_for_circles();
        let halt = self.state.queue.halt.take();
        let stop = halt.is_some();
        self.state.objection = halt.or(self.state.objection.take());
        self.commit_results();
        Some(Signal::ToolsDone { stop })
    }

    pub(crate) fn tool_progressed(&mut self, ticket: Ticket, text: String) {
        let place = self.state.queue.position(ticket);
        if let Some(entry) = place.and_then(|place| self.state.queue.entries.get(place)) {
            let call = entry.call.id.clone();
            self.tell(Notice::ToolProgressed { call, text });
        }
    }
}
