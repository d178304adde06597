//! Runs granted calls, each as a task of its own.
//!
//! A call ends in exactly one `ToolEnded`, whatever happens inside: see `execute`; one that leaves a
//! session in the background sends another with its bill. Which calls may
//! run together, and in which order their results are shown, is the engine's to say. A nested
//! session is a tool like any other: see `subagent`.

pub(crate) mod confine;
mod context;
mod execute;
pub(crate) mod subagent;

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use windlass_engine::Event;
use windlass_permission::Granted;
use windlass_tool::aside::Aside;
use windlass_tool::{Bill, Job, Progress, Registry, Surroundings, Terms};
use windlass_vocabulary::{Ticket, ToolCall, ToolOutcome};

use self::context::Told;
use crate::attachment::nearby::Neighbours;
use crate::clock;
use crate::hook::SessionHooks;
use crate::keeper::Gate;

/// The calls under way.
pub(crate) struct Tools {
    registry: Arc<Registry>,
    surroundings: Arc<Surroundings>,
    events: mpsc::Sender<Event>,
    cancels: HashMap<Ticket, CancellationToken>,
    running: JoinSet<Ticket>,
    told: Arc<Told>,
    neighbours: Arc<Neighbours>,
    aside: Arc<dyn Aside>,
    hooks: Arc<SessionHooks>,
}

impl Tools {
    pub(crate) fn new(
        registry: Arc<Registry>,
        surroundings: Arc<Surroundings>,
        neighbours: Arc<Neighbours>,
        aside: Arc<dyn Aside>,
        (hooks, events): (Arc<SessionHooks>, mpsc::Sender<Event>),
    ) -> Self {
        let (cancels, running) = (HashMap::new(), JoinSet::new());
        let told = Arc::default();
        Self { registry, surroundings, events, cancels, running, told, neighbours, aside, hooks }
    }

    /// Starts a call, when the gate is open. One that never opens ends it without a word: nobody is
    /// there to hear it.
    pub(crate) fn start(
        &mut self,
        ticket: Ticket,
        granted: Granted<ToolCall>,
        terms: Terms,
        gate: Gate,
    ) {
        while let Some(gone) = self.running.try_join_next() {
            self.forget(gone.ok());
        }
        let cancel = CancellationToken::new();
        self.cancels.insert(ticket, cancel.clone());
        let (progress, said) = mpsc::channel(PROGRESS_MAX);
        let (bill, mut billed) = mpsc::channel(1);
        let job = Job {
            surroundings: Arc::clone(&self.surroundings),
            cancel,
            progress: Progress::into_channel(progress),
            terms,
            bill: Bill::into_channel(bill),
            aside: Some(Arc::clone(&self.aside)),
        };
        let (registry, events) = (Arc::clone(&self.registry), self.events.clone());
        let (told, surroundings) = (Arc::clone(&self.told), Arc::clone(&self.surroundings));
        let (neighbours, hooks) = (Arc::clone(&self.neighbours), Arc::clone(&self.hooks));
        let (mode, called_off) = (job.terms.policy.mode, job.cancel.clone());
        self.running.spawn(async move {
            if !gate.passed().await {
                return ticket;
            }
            let begun = clock::now();
            let lists = hooks.lists_before(&surroundings);
            let mut outcome =
                execute::execute(&registry, ticket, granted, job, said, &events).await;
            outcome.took = clock::since(begun);
            if let Some(before) = lists {
                let terms = (mode, called_off);
                hooks.review_lists(before, &surroundings, terms, &mut outcome).await;
            }
            told.add(&surroundings, &mut outcome);
            neighbours.add(&mut outcome).await;
            let is_left = outcome.is_left;
            let _ = events.send(Event::ToolEnded { ticket, outcome }).await;
            // What runs on can be cancelled under its ticket until it has sent its bill.
            if is_left && let Some(spent) = billed.recv().await {
                let outcome = ToolOutcome { spent, ..ToolOutcome::text("") };
                let _ = events.send(Event::ToolEnded { ticket, outcome }).await;
            }
            ticket
        });
    }

    /// Calls that start from now on report there.
    pub(crate) fn report_to(&mut self, events: mpsc::Sender<Event>) {
        self.events = events;
        self.told = Arc::default();
    }

    /// Asks a call to end, with everything it started.
    pub(crate) fn cancel(&self, ticket: Ticket) {
        if let Some(cancel) = self.cancels.get(&ticket) {
            cancel.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        for cancel in self.cancels.values() {
            cancel.cancel();
        }
    }

    pub(crate) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Waits for the end of any call; at once if none is under way.
    pub(crate) async fn one_gone(&mut self) {
        if let Some(gone) = self.running.join_next().await {
            self.forget(gone.ok());
        }
    }

    fn forget(&mut self, ticket: Option<Ticket>) {
        if let Some(ticket) = ticket {
            self.cancels.remove(&ticket);
        }
    }
}

/// Words of progress that may wait; more are dropped, as progress is decoration.
const PROGRESS_MAX: usize = 16;
