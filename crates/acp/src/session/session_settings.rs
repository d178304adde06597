//! The choices of the person at the editor, and settings files that changed.

use serde_json::Value;
use windlass_assembly::model_selection::ModelSwitch;
use windlass_driver::SettingsChange;
use windlass_host::command_error::CommandError;
use windlass_vocabulary::PermissionMode;

use super::SessionTask;
use super::config_options::{self, EFFORT, MODE, MODEL};
use crate::rpc::RpcError;
use crate::schema::SessionUpdate;

impl SessionTask {
    pub(super) fn set_mode(&mut self, name: &str) -> Result<(), RpcError> {
        let mode = PermissionMode::from_name(name)
            .filter(|mode| self.choices.allows_mode(*mode))
            .ok_or_else(|| RpcError::invalid_params(format!("there is no mode `{name}`")))?;
        self.configure(SettingsChange::Mode(mode))?;
        self.tell_mode(mode);
        Ok(())
    }

    pub(super) async fn set_config_option(
        &mut self,
        option: &str,
        value: &Value,
    ) -> Result<(), RpcError> {
        let Some(value) = value.as_str() else {
            return Err(RpcError::invalid_params(format!("`{option}` takes a text")));
        };
        match option {
            MODE => self.set_mode(value),
            MODEL => self.set_model(value).await,
            EFFORT => {
                let effort = config_options::parse_effort(value)
                    .filter(|effort| self.choices.allows_effort(*effort))
                    .ok_or_else(|| {
                        let model = &self.choices.model;
                        RpcError::invalid_params(format!("{model} has no effort `{value}`"))
                    })?;
                self.configure(SettingsChange::Effort(effort))?;
                self.choices.effort = effort;
                Ok(())
            }
            other => Err(RpcError::invalid_params(format!("there is no option `{other}`"))),
        }
    }

    /// Both ways in which the protocol tells it.
    pub(super) fn tell_mode(&mut self, mode: PermissionMode) {
        self.choices.mode = mode;
        self.resources.settings.policy.mode = mode;
        self.send_update(&SessionUpdate::CurrentModeUpdate { current_mode_id: mode.name() });
        let config_options = self.choices.to_options();
        self.send_update(&SessionUpdate::ConfigOptionUpdate { config_options });
    }

    /// Adds the endpoint of the model if its provider is not the one in use.
    async fn set_model(&mut self, wanted: &str) -> Result<(), RpcError> {
        let refuse = |error: CommandError| RpcError::invalid_params(error.message());
        let switch = ModelSwitch::plan(
            wanted,
            &self.choices.model,
            &self.resources.layers,
            &self.resources.endpoints,
        );
        let switch = switch.map_err(refuse)?;
        let provider = switch.provider().to_owned();
        let resolved = switch.resolve_endpoint().await;
        let resolved = resolved.map_err(|error| RpcError::auth_required(error.message()))?;
        let applied = switch.apply(resolved, &self.session, &mut self.resources.endpoints);
        let facts = applied.map_err(|error| RpcError::internal(error.message()))?;
        self.updates.window = facts.window.0;
        self.choices.set_model(&provider, facts.name.as_str(), &self.resources.endpoints.config);
        // What the option says is what is asked for: an effort that the model lacks would be refused.
        if !self.choices.allows_effort(self.choices.effort) {
            self.configure(SettingsChange::Effort(None))?;
            self.choices.effort = None;
        }
        Ok(())
    }

    /// Applies settings files that changed since the last prompt.
    pub(super) async fn reload_settings(&mut self) {
        let reload = self.resources.reloader.reload_changed(&self.session, None).await;
        if let Some(change) = reload.change {
            change.apply(&mut self.resources.expander.tools.policy);
        }
        for line in reload.lines {
            self.session.warn(line);
        }
    }

    fn configure(&self, change: SettingsChange) -> Result<(), RpcError> {
        self.session.configure([change]).map_err(|error| RpcError::internal(error.to_string()))
    }
}
