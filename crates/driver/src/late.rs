//! What a session can be asked and given once it has begun, beside the conversation: its commands in
//! the background, and models that live elsewhere.
//!
//! The handle holds nothing of the session alive by this: what is over has nothing to say.

use std::path::Path;
use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use windlass_engine::Settings;
use windlass_tool::{BackgroundTask, Surroundings};
use windlass_vocabulary::ModelName;

use crate::error::StartError;
use crate::model::{Endpoint, ModelPort};
use crate::run::Command;
use crate::session::Session;

/// The ways to what a session is made of.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    model: Weak<ModelPort>,
    surroundings: Weak<Surroundings>,
}

impl Late {
    pub(crate) fn new(model: &Arc<ModelPort>, surroundings: &Arc<Surroundings>) -> Self {
        Self { model: Arc::downgrade(model), surroundings: Arc::downgrade(surroundings) }
    }
}

impl Session {
    /// What is set now, with everything that was allowed on the way; `None` when the session is over.
    pub async fn settings(&self) -> Option<Settings> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Settings(reply)).await.ok()?;
        answer.await.ok().map(|settings| *settings)
    }

    /// Commands and agents in the background, in the order they were started.
    #[must_use]
    pub fn background(&self) -> Vec<BackgroundTask> {
        let surroundings = self.late.surroundings.upgrade();
        surroundings.map(|it| it.background().tasks()).unwrap_or_default()
    }

    /// Ends one of them with everything it started, and waits until it is gone.
    ///
    /// # Errors
    ///
    /// When there is none of this name, or it does not go; in words.
    pub async fn stop_background(&self, id: &str) -> Result<BackgroundTask, String> {
        let surroundings = self.late.surroundings.upgrade();
        let surroundings = surroundings.ok_or("The session is over.")?;
        surroundings.background().stop(id).await.map(|(task, _)| task)
    }

    /// Ends the agent of this name that a call waits for. Says whether there is one.
    #[must_use]
    pub fn stop_waited(&self, id: &str) -> bool {
        let surroundings = self.late.surroundings.upgrade();
        surroundings.is_some_and(|it| it.background().stop_waited(id))
    }

    /// Sends agents that calls wait for into the background: that of one call, or all of them. Says
    /// whether there is one. Commands stay where they are.
    #[must_use]
    pub fn leave_waited(&self, call: Option<&str>) -> bool {
        let surroundings = self.late.surroundings.upgrade();
        surroundings.is_some_and(|it| it.background().leave_waited(call))
    }

    /// Waits until not so many of them have ended any more, but more; for ever if that never comes.
    pub async fn background_ended(&self, known: usize) {
        match self.late.surroundings.upgrade() {
            Some(surroundings) => surroundings.background().ended_beyond(known).await,
            None => std::future::pending().await,
        }
    }

    /// The model knows this file already, as somebody else showed it: it may be changed without being
    /// read again.
    ///
    /// # Errors
    ///
    /// When it cannot be read as text; in words.
    pub fn knows_file(&self, path: &Path) -> Result<(), String> {
        let surroundings = self.late.surroundings.upgrade();
        let surroundings = surroundings.ok_or("The session is over.")?;
        surroundings.reread(path, usize::MAX).map(drop)
    }

    /// Asks this model there from now on, as [`Builder::endpoint_for`](crate::Builder::endpoint_for)
    /// does from the start. Nested sessions do not know of it.
    ///
    /// # Errors
    ///
    /// When the endpoint cannot be used.
    pub fn add_endpoint(&self, model: ModelName, endpoint: Endpoint) -> Result<(), StartError> {
        let (Some(port), Some(surroundings)) =
            (self.late.model.upgrade(), self.late.surroundings.upgrade())
        else {
            return Ok(());
        };
        port.routes.add(model, &endpoint.telling(&surroundings.secrets))
    }
}
