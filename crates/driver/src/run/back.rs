//! Going back to an earlier prompt while the session is open.
//!
//! What is going on is ended first. Then the journal begins the file in which the conversation goes
//! on, and the session is what it would be had it been opened there: its state is the fold of what is
//! left, nothing that was begun before is heard of any more, and files must be read again. What is
//! allowed stays allowed, and what was spent stays spent.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use windlass_engine::{Event, Interrupt};

use super::{EVENTS_MAX, Run};
use crate::clock;
use crate::journal::Earlier;
use crate::run::command::Change;
use crate::session::beside;
use crate::undo::{Part, RewindError, Rewound, Undo, Wish};

/// Somebody wants to go back.
#[derive(Debug)]
pub(crate) struct GoingBack {
    message: String,
    part: Part,
    wish: Wish,
    reply: oneshot::Sender<Result<Rewound, RewindError>>,
    /// What is going on must have ended by then.
    until: Option<Instant>,
}

impl GoingBack {
    pub(crate) fn new(
        message: String,
        part: Part,
        wish: Wish,
        reply: oneshot::Sender<Result<Rewound, RewindError>>,
    ) -> Self {
        Self { message, part, wish, reply, until: None }
    }
}

impl Run {
    /// Ends what is going on, so that the session can go back.
    pub(super) fn prepare_back(&mut self, mut back: GoingBack) -> Option<Event> {
        self.door.interrupt(self.standing());
        back.until = Some(clock::now() + ENDED_MAX);
        if let Some(earlier) = self.back.replace(back) {
            // Nobody waits for it any more if this fails.
            let _ = earlier.reply.send(Err(RewindError::StillRunning));
        }
        let is_running = self.state.control.phase.is_running();
        is_running.then_some(Event::Interrupted(Interrupt::User))
    }

    /// The wish to go back, once nothing is going on any more, or that took too long.
    pub(super) fn ready_back(&mut self) -> Option<GoingBack> {
        let is_over = !self.state.control.phase.is_running() && !self.performer.is_busy();
        self.back.take_if(|back| is_over || back.until.is_none_or(|until| until <= clock::now()))
    }

    /// Until when what is going on must have ended, if somebody wants to go back.
    pub(super) fn back_until(&self) -> Option<Instant> {
        self.back.as_ref().and_then(|back| back.until)
    }

    /// Goes back, and answers.
    pub(super) async fn go_back(mut self, back: GoingBack) -> Self {
        let GoingBack { message, part, wish, reply, .. } = back;
        let gone;
        (self, gone) = self.gone_back(message, part, wish).await;
        // Nobody waits for it any more if this fails.
        let _ = reply.send(gone);
        self
    }

    async fn gone_back(
        self,
        message: String,
        part: Part,
        wish: Wish,
    ) -> (Self, Result<Rewound, RewindError>) {
        let Some(undo) = self.undo.clone() else { return (self, Err(RewindError::NotKept)) };
        if self.state.control.phase.is_running() {
            return (self, Err(RewindError::StillRunning));
        }
        let kept = Arc::clone(&undo);
        let files = beside(move || {
            let (before, prompt) = kept.find(&message)?;
            let files = if part.files { kept.rewind_to(before, wish)? } else { Vec::new() };
            Ok((before, Rewound { prompt, files }))
        });
        match files.await {
            Ok((before, rewound)) if part.conversation => {
                let (run, done) = self.take_back(before, undo).await;
                (run, done.map(|()| rewound))
            }
            Ok((_, rewound)) => (self, Ok(rewound)),
            Err(error) => (self, Err(error)),
        }
    }

    /// The conversation goes back to this record.
    async fn take_back(mut self, to: u64, undo: Arc<Undo>) -> (Self, Result<(), RewindError>) {
        // What was left in the background is nothing the conversation knows of any more.
        let surroundings = self.performer.surroundings();
        let _ = timeout_at(clock::now() + ENDED_MAX, surroundings.background().close()).await;
        let (report, events) = mpsc::channel(EVENTS_MAX);
        self.performer.begin_anew(report);
        self.events = events;
        self.ready.clear();
        let (policy, tools) = {
            let context = &self.state.tool_context;
            (context.policy.clone(), context.tools.clone())
        };
        let (teller, pen) = (self.performer.teller().clone(), self.pen.anew());
        let done;
        (self.journal, done) = self.journal.go_back(to, undo, &self.settings, &teller, pen).await;
        let spent = match done {
            Ok(Some(Earlier { state, pen, spent })) => {
                (self.state, self.pen) = (state, pen);
                spent
            }
            Ok(None) if self.journal.has_failed() => {
                return (self.stop_short(Vec::new()).await, Err(RewindError::Closed));
            }
            Ok(None) => return (self, Ok(())),
            Err(error) => return (self, Err(error.into())),
        };
        let event = self.configured(Change(Box::new(move |settings| {
            (settings.policy, settings.tools) = (policy, tools);
            settings.budget_max = settings.budget_max.map(|limit| limit.less(spent));
        })));
        self = self.take(event).await;
        if self.state.control.phase.is_running() {
            // The prompt came in the middle of a run, which has lost what it had under way.
            self = self.take(Event::Interrupted(Interrupt::Crashed)).await;
        }
        (self, Ok(()))
    }
}

/// How long what is going on may take to end: as long as tools get to be gone.
const ENDED_MAX: Duration = Duration::from_secs(4);
