//! What a session can be asked and given while it runs, beside the conversation: its settings, its
//! background tasks, and endpoints for more models.
//!
//! The handle holds weak references only, so that a session that is over can be dropped.

use std::path::Path;
use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use windlass_tool::{BackgroundTask, ToolSessionContext};
use windlass_vocabulary::ModelName;

use super::Session;
use crate::error::SessionStartError;
use crate::model::{Endpoint, ModelClient};
use crate::session_command::SessionCommand;
use crate::session_settings::SessionSettingsView;

/// The ways to what a session is made of.
#[derive(Clone, Debug)]
pub(crate) struct WeakSessionResources {
    model_client: Weak<ModelClient>,
    tool_context: Weak<ToolSessionContext>,
}

impl WeakSessionResources {
    pub(crate) fn new(model: &Arc<ModelClient>, tool_context: &Arc<ToolSessionContext>) -> Self {
        Self { model_client: Arc::downgrade(model), tool_context: Arc::downgrade(tool_context) }
    }
}

impl Session {
    /// The settings of this moment; `None` when the session is over.
    pub async fn settings(&self) -> Option<SessionSettingsView> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::GetSettings(reply)).await.ok()?;
        answer.await.ok().map(|settings| *settings)
    }

    /// Commands and agents in the background, in the order they were started.
    #[must_use]
    pub fn background_tasks(&self) -> Vec<BackgroundTask> {
        let tool_context = self.resources.tool_context.upgrade();
        tool_context.map(|it| it.background.list_tasks()).unwrap_or_default()
    }

    /// Stops a background task with everything it started, and waits until it is gone.
    ///
    /// # Errors
    ///
    /// When there is none of this name, or it does not go; in words.
    pub async fn stop_background_task(&self, id: &str) -> Result<BackgroundTask, String> {
        let tool_context = self.resources.tool_context.upgrade();
        let tool_context = tool_context.ok_or("The session is over.")?;
        tool_context.background.stop(id).await.map(|stopped| stopped.task)
    }

    /// Stops the agent of this name that a call waits for. Returns whether there is one.
    #[must_use]
    pub fn stop_awaited_agent(&self, id: &str) -> bool {
        let tool_context = self.resources.tool_context.upgrade();
        tool_context.is_some_and(|it| it.background.stop_foreground_agent(id))
    }

    /// Moves agents and commands that calls wait for into the background: that of one call, or all of them.
    /// Returns whether there is one.
    #[must_use]
    pub fn move_awaited_to_background(&self, call: Option<&str>) -> bool {
        let tool_context = self.resources.tool_context.upgrade();
        tool_context.is_some_and(|it| it.background.move_to_background(call))
    }

    /// Waits until the number of ended background tasks differs from `known`; for ever if it never does.
    pub async fn wait_for_background_end(&self, known: usize) {
        match self.resources.tool_context.upgrade() {
            Some(tool_context) => {
                tool_context.background.wait_until_ended_count_changes(known).await;
            }
            None => std::future::pending().await,
        }
    }

    /// Marks this file as known to the model, because the client showed it: it may be edited without
    /// being read first.
    ///
    /// # Errors
    ///
    /// When it cannot be read as text; in words.
    pub fn mark_file_read(&self, path: &Path) -> Result<(), String> {
        let tool_context = self.resources.tool_context.upgrade();
        let tool_context = tool_context.ok_or("The session is over.")?;
        windlass_tool::reread_file(&tool_context, path, usize::MAX).map(drop)
    }

    /// Asks this model there from now on, as [`SessionBuilder::endpoint_for`](crate::SessionBuilder::endpoint_for)
    /// does from the start. Nested sessions do not know of it.
    ///
    /// # Errors
    ///
    /// When the endpoint cannot be used.
    pub fn add_endpoint(
        &self,
        model: ModelName,
        endpoint: Endpoint,
    ) -> Result<(), SessionStartError> {
        let (Some(port), Some(tool_context)) =
            (self.resources.model_client.upgrade(), self.resources.tool_context.upgrade())
        else {
            return Ok(());
        };
        port.routes.add(model, &endpoint.with_registered_secrets(&tool_context.secrets))
    }
}
