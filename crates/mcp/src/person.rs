//! Whoever sits in front of a session and can be asked what servers want to know.
//!
//! Servers are started before the front end stands, so there is a [`Seat`]: kept free from the
//! start, taken when somebody is there. Whether it is kept decides what servers are told of us, so it
//! cannot change later. How a question is shown is the front end's affair.

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

/// The place in front of a session. Clones are the same place.
#[derive(Clone, Default)]
pub struct Seat {
    taken: Option<Arc<OnceLock<Arc<dyn Person>>>>,
}

impl Seat {
    /// One that somebody will take.
    #[must_use]
    pub fn kept() -> Self {
        Self { taken: Some(Arc::default()) }
    }

    /// None: nobody can be asked.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Will somebody be there?
    pub(crate) fn is_kept(&self) -> bool {
        self.taken.is_some()
    }

    /// Somebody takes it. Only the first counts.
    pub(crate) fn take(&self, person: Arc<dyn Person>) {
        if let Some(taken) = &self.taken {
            let _ = taken.set(person);
        }
    }

    /// Asks whoever is there; nobody says no.
    pub(crate) fn ask(&self, question: Question) -> Asking {
        let person = self.taken.as_ref().and_then(|taken| taken.get());
        let Some(asking) = person.map(|person| person.ask(question)) else {
            return Box::pin(std::future::ready(Reply::Decline));
        };
        Box::pin(
            async move { tokio::time::timeout(ANSWER_MAX, asking).await.unwrap_or(Reply::Cancel) },
        )
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Seat").field(&self.is_kept()).finish()
    }
}
