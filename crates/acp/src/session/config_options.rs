//! Options that the user can change during a session: the permission mode, the model, the effort.
//! The protocol requires the mode to be sent twice, as a mode and as an option, always with the
//! same value.

use windlass_assembly::model_selection::{find_allowed_model, find_ready_providers};
use windlass_assembly::settings::SettingsLayers;
use windlass_driver::SessionSettingsView;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_vocabulary::{Effort, PermissionMode};

use crate::schema::{ConfigChoice, ConfigOption, ModeList, SessionMode};

pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
pub(super) const EFFORT: &str = "effort";

/// What is chosen now, and what there is to choose from.
#[derive(Clone, Debug)]
pub(crate) struct SessionChoices {
    pub mode: PermissionMode,
    /// `provider/name`.
    pub model: String,
    pub effort: Option<Effort>,
    may_bypass: bool,
    models: Vec<ConfigChoice>,
    /// The efforts of the model in use, if they are known.
    efforts: Option<Vec<Effort>>,
}

impl SessionChoices {
    pub(super) fn new(
        settings: &SessionSettingsView,
        provider: &str,
        config: &Config,
        layers: &SettingsLayers,
        may_bypass: bool,
        lookup: &impl EnvLookup,
    ) -> Self {
        let name = settings.model.name.as_str();
        let model = format!("{provider}/{name}");
        let mode = settings.policy.mode;
        Self {
            mode,
            models: list_models(&model, config, layers, lookup),
            efforts: list_efforts(provider, name, config),
            effort: settings.effort,
            may_bypass: (may_bypass || mode == PermissionMode::BypassPermissions)
                && !layers.loaded.forbids_bypass,
            model,
        }
    }

    pub(super) fn allows_mode(&self, mode: PermissionMode) -> bool {
        mode != PermissionMode::BypassPermissions || self.may_bypass
    }

    /// Whether the model in use has this effort; its own default it always has.
    pub(super) fn allows_effort(&self, effort: Option<Effort>) -> bool {
        let Some((effort, efforts)) = effort.zip(self.efforts.as_ref()) else { return true };
        efforts.contains(&effort)
    }

    pub(super) fn set_model(&mut self, provider: &str, name: &str, config: &Config) {
        self.model = format!("{provider}/{name}");
        self.efforts = list_efforts(provider, name, config);
        if !self.models.iter().any(|choice| choice.value == self.model) {
            let value = self.model.clone();
            self.models.insert(0, ConfigChoice { name: value.clone(), value, description: None });
        }
    }

    pub(crate) fn to_modes(&self) -> ModeList {
        let available_modes = self.modes().map(describe_mode).collect();
        ModeList { current_mode_id: self.mode.name(), available_modes }
    }

    pub(crate) fn to_options(&self) -> Vec<ConfigOption> {
        let to_choice = |mode| {
            let SessionMode { id, name, description } = describe_mode(mode);
            ConfigChoice {
                value: id.to_owned(),
                name: name.to_owned(),
                description: Some(description.to_owned()),
            }
        };
        let select = |id, name, category, current_value: String, options| ConfigOption {
            id,
            name,
            category,
            kind: "select",
            current_value,
            options,
        };
        let mode = self.mode.name().to_owned();
        let mut options = vec![
            select(MODE, "Mode", "mode", mode, self.modes().map(to_choice).collect()),
            select(MODEL, "Model", "model", self.model.clone(), self.models.clone()),
        ];
        let efforts = self.efforts.as_deref().unwrap_or_default();
        if !efforts.is_empty() {
            let current = self.effort.map_or(DEFAULT_EFFORT, Effort::name).to_owned();
            let plain = |value: &str, name: &str| ConfigChoice {
                value: value.to_owned(),
                name: name.to_owned(),
                description: None,
            };
            let mut choices = vec![plain(DEFAULT_EFFORT, "Default")];
            let named = efforts.iter().map(|effort| plain(effort.name(), effort_label(*effort)));
            choices.extend(named);
            options.push(select(EFFORT, "Effort", "thought_level", current, choices));
        }
        options
    }

    fn modes(&self) -> impl Iterator<Item = PermissionMode> {
        let all = [
            PermissionMode::Default,
            PermissionMode::AcceptEdits,
            PermissionMode::Plan,
            PermissionMode::DontAsk,
            PermissionMode::BypassPermissions,
        ];
        all.into_iter().filter(|mode| self.allows_mode(*mode))
    }
}

/// `None` in the result is the model's own default.
pub(super) fn parse_effort(value: &str) -> Option<Option<Effort>> {
    match value {
        DEFAULT_EFFORT => Some(None),
        name => Effort::ALL.iter().find(|effort| effort.name() == name).map(|effort| Some(*effort)),
    }
}

fn describe_mode(mode: PermissionMode) -> SessionMode {
    let (name, description) = match mode {
        PermissionMode::Default => ("Ask", "Asks before it changes or runs anything"),
        PermissionMode::AcceptEdits => {
            ("Accept edits", "Edits files in the project without asking")
        }
        PermissionMode::Plan => ("Plan", "Reads and plans, changes nothing"),
        PermissionMode::DontAsk => ("Don't ask", "Denies whatever it would have to ask about"),
        PermissionMode::BypassPermissions => ("Bypass", "Runs everything without asking"),
    };
    SessionMode { id: mode.name(), name, description }
}

/// The model in use first; then every model of a provider that has a key, or needs none.
fn list_models(
    current: &str,
    config: &Config,
    layers: &SettingsLayers,
    lookup: &impl EnvLookup,
) -> Vec<ConfigChoice> {
    let choice = |full: &str| ConfigChoice {
        value: full.to_owned(),
        name: full.to_owned(),
        description: None,
    };
    let mut choices = vec![choice(current)];
    for provider in find_ready_providers(config, &layers.overlay_environment(lookup)) {
        let listed = config.listed_models(&provider).map(|model| format!("{provider}/{model}"));
        let others = listed.filter(|full| {
            full != current && find_allowed_model(full, config, layers, lookup).is_some()
        });
        choices.extend(others.map(|full| choice(&full)));
    }
    choices.truncate(MODELS_MAX);
    choices
}

fn list_efforts(provider: &str, model: &str, config: &Config) -> Option<Vec<Effort>> {
    config.resolve_model(provider, model).model.effort
}

fn effort_label(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "Low",
        Effort::Medium => "Medium",
        Effort::High => "High",
        Effort::Xhigh => "Extra high",
        Effort::Max => "Maximum",
    }
}

const DEFAULT_EFFORT: &str = "default";
const MODELS_MAX: usize = 200;
