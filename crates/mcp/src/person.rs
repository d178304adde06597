//! Whoever sits in front of a session and can be asked what servers want to know.
//!
//! Servers are started before the front end stands, so there is a [`Seat`]: kept free from the
//! start, taken when somebody is there. Whether it is kept decides what servers are told of us, so it
//! cannot change later. How a question is shown is the front end's affair.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::connection::{Asking, Question, Reply};

/// A question that nobody answers is over after this long.
const ANSWER_MAX: Duration = Duration::from_secs(600);

/// Somebody who can be asked.
pub trait Person: Send + Sync {
    /// Asks. Dropped when the server no longer waits.
    fn ask(&self, question: Question) -> Asking;
}

/// What is said to a question at the door, if anything.
pub type Admitting = Pin<Box<dyn Future<Output = Option<Reply>> + Send>>;

/// Somebody at the door, who may answer for the person and looks at what the person said.
pub trait Doorman: Send + Sync {
    /// Before the person is asked: an answer, if nobody has to be.
    fn before(&self, question: &Question) -> Admitting;
    /// After: what this server gets.
    fn after(&self, server: &str, reply: Reply) -> Asking;
}

/// The place in front of a session. Clones are the same place.
#[derive(Clone, Default)]
pub struct Seat {
    taken: Option<Arc<OnceLock<Arc<dyn Person>>>>,
    doorman: Option<Arc<dyn Doorman>>,
}

impl Seat {
    /// One that somebody will take.
    #[must_use]
    pub fn kept() -> Self {
        Self { taken: Some(Arc::default()), doorman: None }
    }

    /// With somebody at the door, who is there even where nobody sits.
    #[must_use]
    pub fn with_doorman(mut self, doorman: Arc<dyn Doorman>) -> Self {
        self.doorman = Some(doorman);
        self
    }

    /// None: nobody can be asked.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Will somebody be there?
    pub(crate) fn is_kept(&self) -> bool {
        self.taken.is_some() || self.doorman.is_some()
    }

    /// Somebody takes it. Only the first counts.
    pub(crate) fn take(&self, person: Arc<dyn Person>) {
        if let Some(taken) = &self.taken {
            let _ = taken.set(person);
        }
    }

    /// Asks whoever is there; nobody says no.
    pub(crate) fn ask(&self, question: Question) -> Asking {
        let (seat, limit) = (self.clone(), ANSWER_MAX);
        Box::pin(async move {
            tokio::time::timeout(limit, seat.answered(question)).await.unwrap_or(Reply::Cancel)
        })
    }

    async fn answered(self, question: Question) -> Reply {
        let Some(doorman) = &self.doorman else { return self.said(question).await };
        let server = question.server.clone();
        let reply = match doorman.before(&question).await {
            Some(reply) => reply,
            None => self.said(question).await,
        };
        doorman.after(&server, reply).await
    }

    async fn said(&self, question: Question) -> Reply {
        match self.taken.as_ref().and_then(|taken| taken.get()) {
            Some(person) => person.ask(question).await,
            None => Reply::Decline,
        }
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Seat").field(&self.is_kept()).finish()
    }
}
