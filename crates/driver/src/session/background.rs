//! Session methods outside of the conversation: settings, background tasks, and endpoints for
//! further models.
//!
//! The handle holds weak references only, so that a closed session can be dropped.

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

/// Weak references to parts of a session.
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
    /// The current settings; `None` when the session is closed.
    pub async fn settings(&self) -> Option<SessionSettingsView> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::GetSettings(reply)).await.ok()?;
        answer.await.ok().map(|settings| *settings)
    }

    /// Background commands and agents, in the order they were started.
    #[must_use]
    pub fn background_tasks(&self) -> Vec<BackgroundTask> {
        let tool_context = self.resources.tool_context.upgrade();
        tool_context.map(|it| it.background.list_tasks()).unwrap_or_default()
    }

    /// Stops a background task and everything it started, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// There is no such task, or it does not end. The error is a message for the user.
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

    /// Waits until the number of ended background tasks differs from `known`. May never return.
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
    /// The file cannot be read as text. The error is a message for the user.
    pub fn mark_file_read(&self, path: &Path) -> Result<(), String> {
        let tool_context = self.resources.tool_context.upgrade();
        let tool_context = tool_context.ok_or("The session is over.")?;
        windlass_tool::reread_file(&tool_context, path, usize::MAX).map(drop)
    }

    /// Uses this endpoint for a model from now on, like
    /// [`SessionBuilder::endpoint_for`](crate::SessionBuilder::endpoint_for). Nested sessions do
    /// not get it.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be used.
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
