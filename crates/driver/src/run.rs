//! The async loop: event, journal, step, perform.
//!
//! One task owns the engine's state; nothing else ever sees it, so there is no lock. What front ends
//! ask for is served before what errands report, so an interrupt never queues behind a fast stream.
//! The loop ends when it is told to close, when every handle is gone, or when the journal cannot be
//! written: without it no further effect may start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout_at;
use windlass_engine::{Event, Interrupt, Settings, State, Step, step};
use windlass_vocabulary::{Answer, Ticket};

use crate::clock;
use crate::guard;
use crate::journal::Journal;
use crate::notices::Teller;
use crate::perform::Performer;
use crate::session::Submission;

/// What a handle may ask for.
#[derive(Debug)]
pub(crate) enum Command {
    /// A message came.
    Submit(Submission),
    /// A question was answered.
    Answer(Ticket, Answer),
    /// End what is going on.
    Interrupt(Interrupt),
    /// End the session.
    Close,
}

/// A session under way.
pub(crate) struct Run {
    pub(crate) state: State,
    pub(crate) settings: Arc<Settings>,
    pub(crate) journal: Journal,
    pub(crate) performer: Performer,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) events: mpsc::Receiver<Event>,
}

impl Run {
    /// Runs until told to close.
    async fn until_closed(mut self) {
        if self.journal.is_continued() {
            // Nothing of what the last process had under way is still there.
            self = self.take(Event::Interrupted(Interrupt::Shutdown)).await;
        }
        while !self.journal.is_broken()
            && let Some(event) = self.next_event().await
        {
            self = self.take(event).await;
        }
        self.close().await;
    }

    /// The next thing that happened; `None` when the session is to end.
    async fn next_event(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            command = self.commands.recv() => match command? {
                Command::Submit(Submission { content, pinned }) => {
                    Some(Event::UserSubmitted { content, pinned })
                }
                Command::Answer(ticket, answer) => Some(self.performer.answered(ticket, answer)),
                Command::Interrupt(why) => Some(Event::Interrupted(why)),
                Command::Close => None,
            },
            Some(event) = self.events.recv() => Some(event),
        }
    }

    /// One event: written down, decided, performed.
    async fn take(mut self, event: Event) -> Self {
        let (journal, event) = self.journal.record(event).await;
        self.journal = journal;
        if let Some(event) = event {
            return self.advance(event);
        }
        self.performer.warn(self.journal.complaint());
        self.advance(Event::Interrupted(Interrupt::Shutdown))
    }

    fn advance(mut self, event: Event) -> Self {
        let Step { state, effects } = step(self.state, event, &self.settings);
        self.state = state;
        for effect in effects {
            self.performer.perform(effect);
        }
        self
    }

    /// Ends whatever is under way and waits until the tools are gone, as long as they may take.
    async fn close(mut self) {
        self.commands.close();
        if !self.journal.is_broken() {
            self = self.take(Event::Interrupted(Interrupt::Shutdown)).await;
        }
        self.performer.cancel_all();
        let deadline = clock::now() + TOOLS_GONE_MAX;
        while self.performer.has_tools() {
            let event = tokio::select! {
                Some(event) = self.events.recv() => Some(event),
                () = self.performer.tool_gone() => None,
                () = tokio::time::sleep_until(deadline) => break,
            };
            if let Some(event) = event {
                self = self.take(event).await;
            }
        }
        while let Ok(event) = self.events.try_recv() {
            self = self.take(event).await;
        }
        let _ = timeout_at(deadline, self.journal.finish()).await;
    }
}

/// Runs a session in a task of its own and sees to it that its end is told, whatever it is.
pub(crate) async fn supervise(
    run: Run,
    teller: Teller,
    scratch: Option<PathBuf>,
    over: watch::Sender<bool>,
) {
    if let Err(error) = tokio::spawn(run.until_closed()).await {
        let words = match error.try_into_panic() {
            Ok(panic) => guard::words(&*panic),
            Err(_) => "the runtime is shutting down".to_owned(),
        };
        teller.fail(format!(
            "the session ended because of a fault inside Windlass: {words}"
        ));
    }
    if let Some(scratch) = scratch {
        // Best effort: it lies in the system's temporary directory and was ours alone.
        let _ = spawn_blocking(move || std::fs::remove_dir_all(scratch)).await;
    }
    teller.close();
    let _ = over.send(true);
}

/// Commands that may wait.
pub(crate) const COMMANDS_MAX: usize = 1_024;
/// Events that may wait; errands that report more wait themselves, down to the network.
pub(crate) const EVENTS_MAX: usize = 256;
/// How long tools get to be gone when a session closes.
const TOOLS_GONE_MAX: Duration = Duration::from_secs(3);
