//! The choices of the person at the editor, and settings files that changed.

use serde_json::Value;
use windlass_driver::SettingsChange;
use windlass_provider::endpoint::{self, CredentialCache, ModelEndpoint};
use windlass_provider::model_choice;
use windlass_vocabulary::{ModelName, PermissionMode};

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
                let effort = config_options::parse_effort(value).ok_or_else(|| {
                    RpcError::invalid_params(format!("there is no effort `{value}`"))
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
        let layers = self.resources.layers.clone();
        let config = self.resources.endpoints.config.clone();
        let environment = |name: &str| std::env::var_os(name);
        let refuse = |error: windlass_host::command_error::CommandError| {
            RpcError::invalid_params(error.message())
        };
        let lookup = layers.overlay_environment(&environment);
        let chosen = model_choice::choose_model(wanted, &config, &lookup).map_err(refuse)?;
        let name = ModelName::from(chosen.name.as_str());
        if wanted != self.choices.model {
            layers.available_models().check(&chosen, &config, &lookup).map_err(refuse)?;
        }
        let facts = chosen.facts();
        let provider = chosen.provider.clone();
        if self.resources.endpoints.for_model(Some(&name)).provider != provider {
            // Finding a key may ask the key ring, which blocks.
            let resolve_layers = layers.clone();
            let resolve_config = config.clone();
            let resolved = tokio::task::spawn_blocking(move || {
                let environment = |name: &str| std::env::var_os(name);
                let lookup = resolve_layers.overlay_environment(&environment);
                let mut cache = CredentialCache::default();
                endpoint::resolve_endpoint(&chosen, &resolve_config, &mut cache, &lookup)
            });
            let resolved = resolved.await.map_err(|error| RpcError::internal(error.to_string()))?;
            let ModelEndpoint { endpoint, description } =
                resolved.map_err(|error| RpcError::auth_required(error.message()))?;
            let added = self.session.add_endpoint(name.clone(), endpoint);
            added.map_err(|error| RpcError::internal(error.to_string()))?;
            self.resources.endpoints.by_model.insert(name.clone(), description);
        }
        self.updates.window = facts.window.0;
        self.configure(SettingsChange::Model(facts))?;
        self.choices.set_model(&provider, name.as_str(), &config);
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
