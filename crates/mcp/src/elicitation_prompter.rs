//! Whoever sits in front of a session and can be asked what servers want to know.
//!
//! Servers are started before the front end stands, so there is a [`Seat`]: kept free from the
//! start, taken when somebody is there. Whether it is kept decides what servers are told of us, so it
//! cannot change later. How a question is shown is the front end's affair.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::connection::{ElicitationFuture, ElicitationReply, ElicitationRequest};

/// A question that nobody answers is over after this long.
const ANSWER_MAX: Duration = Duration::from_secs(600);

/// Somebody who can be asked.
pub trait ElicitationPrompter: Send + Sync {
    /// Asks. Dropped when the server no longer waits.
    fn prompt(&self, question: ElicitationRequest) -> ElicitationFuture;
}

/// What is said to a question at the door, if anything.
pub type InterceptFuture = Pin<Box<dyn Future<Output = Option<ElicitationReply>> + Send>>;

/// Somebody at the door, who may answer for the person and looks at what the person said.
pub trait ElicitationInterceptor: Send + Sync {
    /// Before the person is asked: an answer, if nobody has to be.
    fn before_prompt(&self, question: &ElicitationRequest) -> InterceptFuture;
    /// After: what this server gets.
    fn after_reply(&self, server: &str, reply: ElicitationReply) -> ElicitationFuture;
}

/// The place in front of a session. Clones are the same place.
#[derive(Clone, Default)]
pub struct PrompterSlot {
    prompter: Option<Arc<OnceLock<Arc<dyn ElicitationPrompter>>>>,
    interceptor: Option<Arc<dyn ElicitationInterceptor>>,
}

impl PrompterSlot {
    /// One that somebody will take.
    #[must_use]
    pub fn reserve() -> Self {
        Self { prompter: Some(Arc::default()), interceptor: None }
    }

    /// With somebody at the door, who is there even where nobody sits.
    #[must_use]
    pub fn with_interceptor(mut self, doorman: Arc<dyn ElicitationInterceptor>) -> Self {
        self.interceptor = Some(doorman);
        self
    }

    /// None: nobody can be asked.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    pub(crate) fn is_available(&self) -> bool {
        self.prompter.is_some() || self.interceptor.is_some()
    }

    /// Somebody takes it. Only the first counts.
    pub(crate) fn set_prompter(&self, person: Arc<dyn ElicitationPrompter>) {
        if let Some(taken) = &self.prompter {
            let _ = taken.set(person);
        }
    }

    /// Asks whoever is there; nobody says no.
    pub(crate) fn elicit(&self, question: ElicitationRequest) -> ElicitationFuture {
        let (prompter, limit) = (self.clone(), ANSWER_MAX);
        Box::pin(async move {
            tokio::time::timeout(limit, prompter.elicit_intercepted(question))
                .await
                .unwrap_or(ElicitationReply::Cancel)
        })
    }

    async fn elicit_intercepted(self, question: ElicitationRequest) -> ElicitationReply {
        let Some(doorman) = &self.interceptor else { return self.prompt_user(question).await };
        let server = question.server.clone();
        let reply = match doorman.before_prompt(&question).await {
            Some(reply) => reply,
            None => self.prompt_user(question).await,
        };
        doorman.after_reply(&server, reply).await
    }

    async fn prompt_user(&self, question: ElicitationRequest) -> ElicitationReply {
        match self.prompter.as_ref().and_then(|taken| taken.get()) {
            Some(person) => person.prompt(question).await,
            None => ElicitationReply::Decline,
        }
    }
}

impl std::fmt::Debug for PrompterSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Seat").field(&self.is_available()).finish()
    }
}
