//! The front end's part of an elicitation: shows the user what a server asks.
//!
//! Servers are started before the front end, so there is a [`PrompterSlot`]: reserved at the start,
//! filled when the front end is ready. Whether it is reserved decides which capabilities servers
//! see, so it cannot change later. How a question is shown is up to the front end.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::connection::{ElicitationFuture, ElicitationReply, ElicitationRequest};

/// An unanswered question is cancelled after this time.
const ANSWER_MAX: Duration = Duration::from_secs(600);

/// Shows a server's questions to the user.
pub trait ElicitationPrompter: Send + Sync {
    /// The future is dropped when the server no longer waits.
    fn prompt(&self, question: ElicitationRequest) -> ElicitationFuture;

    /// The user has finished what a question asked them to do at a URL.
    fn complete(&self, id: &str) {
        let _ = id;
    }
}

/// The interceptor's answer to a question, if it has one.
pub type InterceptFuture = Pin<Box<dyn Future<Output = Option<ElicitationReply>> + Send>>;

/// May answer instead of the user, and may change the user's answer. Used for hooks.
pub trait ElicitationInterceptor: Send + Sync {
    /// Called before the user is asked. If it returns an answer, the user is not asked.
    fn before_prompt(&self, question: &ElicitationRequest) -> InterceptFuture;
    /// Called after the user answered. Returns what the server receives.
    fn after_reply(&self, server: &str, reply: ElicitationReply) -> ElicitationFuture;
}

/// Holds the prompter of a session. Clones share it.
#[derive(Clone, Default)]
pub struct PrompterSlot {
    prompter: Option<Arc<OnceLock<Arc<dyn ElicitationPrompter>>>>,
    interceptor: Option<Arc<dyn ElicitationInterceptor>>,
}

impl PrompterSlot {
    /// A slot that the front end will fill.
    #[must_use]
    pub fn reserve() -> Self {
        Self { prompter: Some(Arc::default()), interceptor: None }
    }

    /// With an interceptor, which works even without a prompter.
    #[must_use]
    pub fn with_interceptor(mut self, interceptor: Arc<dyn ElicitationInterceptor>) -> Self {
        self.interceptor = Some(interceptor);
        self
    }

    /// Servers cannot ask anything.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    pub(crate) fn is_available(&self) -> bool {
        self.prompter.is_some() || self.interceptor.is_some()
    }

    /// Only the first prompter counts, and only in a reserved slot.
    pub(crate) fn set_prompter(&self, prompter: Arc<dyn ElicitationPrompter>) {
        if let Some(slot) = &self.prompter {
            let _ = slot.set(prompter);
        }
    }

    pub(crate) fn complete(&self, id: &str) {
        if let Some(prompter) = self.prompter.as_ref().and_then(|slot| slot.get()) {
            prompter.complete(id);
        }
    }

    /// Asks the interceptor and the user. Declines if there is neither.
    pub(crate) fn elicit(&self, question: ElicitationRequest) -> ElicitationFuture {
        let slot = self.clone();
        Box::pin(async move {
            windlass_tool::running_time::timeout(ANSWER_MAX, slot.elicit_intercepted(question))
                .await
                .unwrap_or(ElicitationReply::Cancel)
        })
    }

    async fn elicit_intercepted(self, question: ElicitationRequest) -> ElicitationReply {
        let Some(interceptor) = &self.interceptor else { return self.prompt_user(question).await };
        let server = question.server.clone();
        let reply = match interceptor.before_prompt(&question).await {
            Some(reply) => reply,
            None => self.prompt_user(question).await,
        };
        interceptor.after_reply(&server, reply).await
    }

    async fn prompt_user(&self, question: ElicitationRequest) -> ElicitationReply {
        match self.prompter.as_ref().and_then(|slot| slot.get()) {
            Some(prompter) => prompter.prompt(question).await,
            None => ElicitationReply::Decline,
        }
    }
}

impl std::fmt::Debug for PrompterSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PrompterSlot").field(&self.is_available()).finish()
    }
}
