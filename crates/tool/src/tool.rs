//! The trait every tool obeys, and what one call is given to work with.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_permission::{Granted, Policy};
use windlass_vocabulary::{Inspection, Json, MicroUsd, ToolCall, ToolOutcome, ToolSpec};

use crate::action::Done;
use crate::aside::Aside;
use crate::surroundings::Surroundings;

/// A call under way. Dropping it ends whatever it started.
pub type Running<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

/// Something a model may call.
pub trait Tool: Send + Sync {
    /// What the model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// Looks at an input without acting on it.
    fn inspect(&self, input: &Json) -> Inspection;

    /// Does it. A failure is content for the model, so there is no error to return.
    fn run<'a>(&'a self, call: Granted<ToolCall>, job: Job) -> Running<'a>;
}

/// What one call is given.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it shares with the other calls of its session.
    pub surroundings: Arc<Surroundings>,
    /// Ends the call early; what it has so far is its outcome.
    pub cancel: CancellationToken,
    /// Where it may say how far it is.
    pub progress: Progress,
    /// On which terms it may start a session of its own.
    pub terms: Terms,
    /// Where a session that it leaves in the background says what it spent.
    pub bill: Bill,
    /// Whom it may ask beside the conversation, if anybody.
    pub aside: Option<Arc<dyn Aside>>,
}

/// Where a session that was left in the background says what it spent, once.
#[derive(Clone, Debug, Default)]
pub struct Bill(Option<mpsc::Sender<MicroUsd>>);

impl Bill {
    /// Says it into this channel.
    #[must_use]
    pub fn into_channel(sender: mpsc::Sender<MicroUsd>) -> Self {
        Self(Some(sender))
    }

    /// Says what was spent.
    pub fn settle(self, spent: MicroUsd) {
        if let Some(sender) = self.0 {
            // Nobody listens when the session is gone; then nobody counts either.
            let _ = sender.try_send(spent);
        }
    }
}

/// What a session that a call starts may do and spend.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// No more than this is allowed: what its parent may do at this moment.
    pub policy: Policy,
    /// What is set aside for it, where money is limited.
    pub allowance: Option<MicroUsd>,
}

impl Job {
    /// A job that nobody cancels and nobody watches.
    #[must_use]
    pub fn new(surroundings: Arc<Surroundings>) -> Self {
        Self {
            surroundings,
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            terms: Terms::default(),
            bill: Bill::default(),
            aside: None,
        }
    }
}

/// Words on how far a call is. Never waits: what cannot be taken at once is dropped.
#[derive(Clone, Debug, Default)]
pub struct Progress(Option<mpsc::Sender<String>>);

impl Progress {
    /// Says it into this channel.
    #[must_use]
    pub fn into_channel(sender: mpsc::Sender<String>) -> Self {
        Self(Some(sender))
    }

    /// Says how far the call is.
    pub fn say(&self, text: impl FnOnce() -> String) {
        if let Some(sender) = &self.0
            && let Ok(permit) = sender.try_reserve()
        {
            permit.send(text());
        }
    }
}

/// Runs file work where it may block. A cancelled call ends at once; what is still under way is
/// told to stop by the same token and its result is dropped, so only reading may use this.
pub(crate) async fn blocking(job: Job, work: impl FnOnce(Job) -> Done + Send + 'static) -> Done {
    let cancel = job.cancel.clone();
    let worker = tokio::task::spawn_blocking(move || work(job));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err("Interrupted before it ended.".to_owned()),
        ended = worker => joined(ended),
    }
}

/// Runs file work that changes something: once begun it is waited for, cancelled or not, so that
/// what is told is what happened.
pub(crate) async fn finished(job: Job, work: impl FnOnce(Job) -> Done + Send + 'static) -> Done {
    if job.cancel.is_cancelled() {
        return Err("Interrupted before it began.".to_owned());
    }
    joined(tokio::task::spawn_blocking(move || work(job)).await)
}

/// A panic goes on to whoever runs the tool, who turns it into an error result.
fn joined(ended: Result<Done, tokio::task::JoinError>) -> Done {
    match ended {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err("The program is shutting down; the call was dropped.".to_owned()),
        },
    }
}
