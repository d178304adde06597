//! Models and their limits: flags count before the environment, the environment before settings,
//! settings before `config.toml`.

use windlass_driver::engine_settings::Settings;
use windlass_settings::settings::EffortLevel;
use windlass_vocabulary::{Effort, ThinkingMode, Tokens};

use super::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_provider::config::provider::KeyProgram;
use windlass_provider::model_choice;
use windlass_provider::model_choice::{AvailableModels, ModelChain, ModelRequirements};
use windlass_provider::model_options::ModelOptions;

impl SettingsLayers {
    /// The model flags, filled up from the settings where neither they nor the environment say anything.
    pub fn merge_model_options(
        &self,
        options: &ModelOptions,
        lookup: &impl EnvLookup,
    ) -> ModelOptions {
        let settings = &self.loaded.settings;
        let is_set = |names: &[&str]| names.iter().any(|name| environment::is_set(lookup, name));
        let mut options = options.clone();
        if options.model.is_none() && !is_set(&["WINDLASS_MODEL", "ANTHROPIC_MODEL"]) {
            options.model = settings.models.model.clone().filter(|model| model != "default");
        }
        if options.fallback_model.is_empty()
            && let Some(fallback) = &settings.models.fallback_model
        {
            options.fallback_model = fallback.list().to_vec();
        }
        if options.effort.is_none() {
            let given =
                environment::read_variable(lookup, "CLAUDE_CODE_EFFORT_LEVEL").ok().flatten();
            options.effort = given.and_then(|given| parse_effort(&given));
        }
        if options.effort.is_none() && !is_set(&["CLAUDE_CODE_EFFORT_LEVEL"]) {
            options.effort = settings.models.effort_level.map(|level| match level {
                EffortLevel::Low => Effort::Low,
                EffortLevel::Medium => Effort::Medium,
                EffortLevel::High => Effort::High,
                EffortLevel::Xhigh => Effort::Xhigh,
                EffortLevel::Max => Effort::Max,
            });
        }
        if options.thinking.is_none() && settings.models.always_thinking_enabled == Some(false) {
            options.thinking = Some(ThinkingMode::Disabled);
        }
        options
    }

    pub fn available_models(&self) -> AvailableModels<'_> {
        AvailableModels(self.loaded.settings.models.available_models.as_deref())
    }

    /// Applies `availableModels`: another model in a flag is an error, and one in a settings file
    /// is ignored with a warning. The built-in default is always allowed.
    pub(crate) fn restrict_models(
        &mut self,
        given: &ModelOptions,
        options: &mut ModelOptions,
        config: &Config,
        lookup: &impl EnvLookup,
    ) -> Result<(), CommandError> {
        if self.available_models().0.is_none() {
            return Ok(());
        }
        let chosen = |name: &str| model_choice::choose_model(name, config, lookup);
        let variable =
            environment::read_first_variable(lookup, &["WINDLASS_MODEL", "ANTHROPIC_MODEL"])?;
        let usual = Config::load_built_in()?.default_model;
        let own = config.default_model.clone().filter(|name| Some(name) != usual.as_ref());
        let first = given.model.clone().or(variable);
        let first = first.or_else(|| own.filter(|_| options.model.is_none()));
        for name in first.iter().chain(&given.fallback_model) {
            self.available_models().check(&chosen(name)?, config, lookup)?;
        }
        let mut left_out = Vec::new();
        let mut stays = |name: &String| {
            let stays =
                chosen(name).is_ok_and(|one| self.available_models().allows(&one, config, lookup));
            if !stays {
                left_out.push(name.clone());
            }
            stays
        };
        if first.is_none() {
            options.model = options.model.take().filter(&mut stays);
        }
        options.fallback_model.retain(stays);
        let words = self.available_models().describe();
        let warning =
            |name: String| format!("availableModels does not include the model {name}; {words}");
        self.extra_warnings.extend(left_out.into_iter().map(warning));
        Ok(())
    }

    /// Drops settings that the chosen models do not support. A flag stays, and fails later: settings are
    /// for all models, a flag is for this one.
    pub(crate) fn drop_unsupported(
        &mut self,
        given: &ModelOptions,
        options: &mut ModelOptions,
        model_chain: &ModelChain,
    ) {
        let can = |thinking, effort| {
            model_choice::check_capabilities(
                model_chain,
                ModelRequirements { tools: false, thinking, effort },
            )
        };
        if given.effort.is_none() && can(None, options.effort).is_err() {
            options.effort = None;
            self.extra_warnings.push(format!(
                "effortLevel is ignored: {} does not support it",
                model_chain.primary.name
            ));
        }
        if given.thinking.is_none() && can(options.thinking, None).is_err() {
            options.thinking = None;
        }
    }

    /// `apiKeyHelper`, unless the user's `config.toml` names a source of the key.
    pub fn apply_key_command(&self, config: &mut Config) {
        let Some(helper) = &self.loaded.settings.secret_programs.api_key_helper else { return };
        if let Some(provider) = config.providers.get_mut("anthropic")
            && provider.key_command.is_empty()
            && provider.key_file.is_none()
        {
            provider.key_command = KeyProgram {
                words: ["/bin/sh", "-c", helper].map(str::to_owned).into(),
                written: self.guard_command_line("apiKeyHelper", helper),
            };
        }
    }

    /// Whether the guard against circles is off.
    pub(crate) fn has_no_circle_guard(&self) -> bool {
        self.loaded.settings.run_limits.circle_guard == Some(false)
    }

    /// Sets when the conversation is compacted automatically.
    pub(crate) fn apply_compaction_limits(
        &mut self,
        settings: &mut Settings,
        window: Option<u64>,
        lookup: &impl EnvLookup,
    ) {
        let own = &self.loaded.settings;
        let is_off = environment::is_set(lookup, "DISABLE_AUTO_COMPACT");
        if is_off || own.run_limits.auto_compact_enabled == Some(false) {
            settings.limits.auto_compact = false;
        }
        let given =
            environment::read_variable(lookup, "CLAUDE_CODE_AUTO_COMPACT_WINDOW").ok().flatten();
        let given = given.and_then(|text| text.parse().ok());
        let window = window.or(given).or(own.run_limits.auto_compact_window);
        let percent = read_compaction_percent(lookup);
        let models = std::iter::once(&mut settings.model).chain(&mut settings.fallbacks);
        for model in models {
            // A share of the window makes an absolute number smaller, never larger.
            let window = window.unwrap_or(model.window.0).min(model.window.0);
            let window = window.saturating_mul(percent) / 100;
            if window >= model.window.0 {
                continue;
            }
            // An answer and a summary must still fit.
            match window > model.output_max.0.saturating_add(WINDOW_MIN) {
                true => model.window = Tokens(window),
                false => self.extra_warnings.push(format!(
                    "autoCompactWindow {window} leaves no room for an answer of {}, and is left out",
                    model.name
                )),
            }
        }
    }
}

fn parse_effort(name: &str) -> Option<Effort> {
    Some(match name.to_ascii_lowercase().as_str() {
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::Xhigh,
        "max" => Effort::Max,
        _ => return None,
    })
}

/// At which share of the window history is made shorter; 100 if nothing sensible is said.
fn read_compaction_percent(lookup: &impl EnvLookup) -> u64 {
    let text = environment::read_variable(lookup, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE").ok().flatten();
    let percent = text.and_then(|text| text.parse().ok());
    percent.filter(|percent| (1..=100).contains(percent)).unwrap_or(100)
}

/// The minimal window that must be left besides the answer.
const WINDOW_MIN: u64 = 8_000;
