//! What comes of the settings in force: models, limits, policy, directories, variables, the sandbox.
//! Flags go before the environment, the environment before settings, settings before `config.toml`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use windlass_driver::{After, Settings, ToolSessionContext};
use windlass_journal::project_key::project_key;
use windlass_permission::Policy;
use windlass_settings::settings::EffortLevel;
use windlass_vocabulary::{Effort, PermissionMode, ThinkingMode, Tokens};

use super::SettingsLayers;
use crate::options::{PermissionOptions, SandboxUse};
use crate::sandbox::SandboxConfig;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;
use windlass_provider::config::Config;
use windlass_provider::model_choice;
use windlass_provider::model_choice::{AvailableModels, ModelChain, ModelRequirements};
use windlass_provider::model_options::ModelOptions;

impl SettingsLayers {
    /// The flags about models, with what the settings say where neither they nor the environment do.
    pub fn merge_model_options(
        &self,
        args: &ModelOptions,
        lookup: &impl EnvLookup,
    ) -> ModelOptions {
        let settings = &self.loaded.settings;
        let is_set = |names: &[&str]| names.iter().any(|name| environment::is_set(lookup, name));
        let mut args = args.clone();
        if args.model.is_none() && !is_set(&["WINDLASS_MODEL", "ANTHROPIC_MODEL"]) {
            args.model = settings.model.clone().filter(|model| model != "default");
        }
        if args.fallback_model.is_empty()
            && let Some(fallback) = &settings.fallback_model
        {
            args.fallback_model = fallback.list().to_vec();
        }
        if args.effort.is_none() && !is_set(&["CLAUDE_CODE_EFFORT_LEVEL"]) {
            args.effort = settings.effort_level.map(|level| match level {
                EffortLevel::Low => Effort::Low,
                EffortLevel::Medium => Effort::Medium,
                EffortLevel::High => Effort::High,
                EffortLevel::Xhigh => Effort::Xhigh,
                EffortLevel::Max => Effort::Max,
            });
        }
        if args.thinking.is_none() && settings.always_thinking_enabled == Some(false) {
            args.thinking = Some(ThinkingMode::Disabled);
        }
        args
    }

    /// The models that may be chosen.
    pub fn available_models(&self) -> AvailableModels<'_> {
        AvailableModels(self.loaded.settings.available_models.as_deref())
    }

    /// Keeps to the models that may be chosen: who names another is refused, and what a settings file
    /// names is left out. The usual one may always be asked.
    pub fn restrict_models(
        &mut self,
        given: &ModelOptions,
        args: &mut ModelOptions,
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
        let first = first.or_else(|| own.filter(|_| args.model.is_none()));
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
            args.model = args.model.take().filter(&mut stays);
        }
        args.fallback_model.retain(stays);
        let words = self.available_models().describe();
        let told = |name: String| format!("availableModels leave out the model {name}; {words}");
        self.extra_warnings.extend(left_out.into_iter().map(told));
        Ok(())
    }

    /// Leaves out what the models chosen cannot do: settings are for all models, a flag is for this one.
    pub fn drop_unsupported(
        &mut self,
        given: &ModelOptions,
        args: &mut ModelOptions,
        cast: &ModelChain,
    ) {
        let can = |thinking, effort| {
            model_choice::check_capabilities(
                cast,
                ModelRequirements { tools: false, thinking, effort },
            )
        };
        if given.effort.is_none() && can(None, args.effort).is_err() {
            args.effort = None;
            self.extra_warnings
                .push(format!("effortLevel is left out: {} does not know it", cast.primary.name));
        }
        if given.thinking.is_none() && can(args.thinking, None).is_err() {
            args.thinking = None;
        }
    }

    /// A program of the settings gives the key where the user's own file names nothing.
    pub fn apply_key_command(&self, config: &mut Config) {
        let Some(helper) = &self.loaded.settings.api_key_helper else { return };
        if let Some(provider) = config.providers.get_mut("anthropic")
            && provider.key_command.is_empty()
            && provider.key_file.is_none()
        {
            let command = ["/bin/sh", "-c", helper].map(str::to_owned);
            provider.key_command = command.into();
        }
    }

    /// Limits of the loop.
    pub fn apply_compaction_limits(&mut self, settings: &mut Settings, lookup: &impl EnvLookup) {
        let own = &self.loaded.settings;
        let is_off = environment::is_set(lookup, "DISABLE_AUTO_COMPACT");
        if is_off || own.auto_compact_enabled == Some(false) {
            settings.limits.auto_compact = false;
        }
        let given =
            environment::read_variable(lookup, "CLAUDE_CODE_AUTO_COMPACT_WINDOW").ok().flatten();
        let given = given.and_then(|text| text.parse().ok());
        let Some(window) = given.or(own.auto_compact_window) else { return };
        let models = std::iter::once(&mut settings.model).chain(&mut settings.fallbacks);
        for model in models.filter(|model| window < model.window.0) {
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

    /// Directories that exist. One that does not is told, and left out.
    pub fn add_directories(&mut self, mut given: Vec<PathBuf>) -> Vec<PathBuf> {
        for one in &self.loaded.directories {
            match one.value.canonicalize().ok().filter(|path| path.is_dir()) {
                Some(path) if given.contains(&path) => {}
                Some(path) => given.push(path),
                None => self.extra_warnings.push(format!(
                    "{}: the directory {} is not there, and is left out",
                    one.name,
                    one.value.display()
                )),
            }
        }
        given
    }

    /// The rules and the mode, over those of the flags.
    pub fn apply_permissions(
        &self,
        policy: &mut Policy,
        args: &PermissionOptions,
    ) -> Result<(), CommandError> {
        let loaded = &self.loaded;
        let is_said = args.permission_mode.is_some() || args.dangerously_skip_permissions;
        if let Some(mode) = loaded.mode.filter(|_| !is_said) {
            policy.mode = mode;
        }
        if loaded.forbids_bypass && policy.mode == PermissionMode::BypassPermissions {
            let place =
                loaded.files.iter().rfind(|file| file.keys.iter().any(|k| k == "permissions"));
            let place = place.map_or("settings", |file| file.name.as_str());
            return Err(CommandError::usage(format!(
                "{place} does not let everything run (disableBypassPermissionsMode); choose another \
                 --permission-mode, and allow what you need with --allowedTools"
            )));
        }
        policy.rules.deny.extend(loaded.rules.deny.iter().cloned());
        policy.rules.ask.extend(loaded.rules.ask.iter().cloned());
        policy.rules.allow.extend(loaded.rules.allow.iter().cloned());
        Ok(())
    }

    /// Puts back what nobody may take away: rules of the administrator's, and a mode that is forbidden.
    pub fn enforce_managed_rules(&self, policy: &mut Policy, mode_before: PermissionMode) {
        let managed = &self.loaded.managed;
        for (list, held) in
            [(&mut policy.rules.deny, &managed.deny), (&mut policy.rules.ask, &managed.ask)]
        {
            let missing = held.iter().filter(|rule| !list.contains(rule));
            let missing: Vec<_> = missing.cloned().collect();
            list.extend(missing);
        }
        if self.loaded.forbids_bypass && policy.mode == PermissionMode::BypassPermissions {
            policy.mode = mode_before;
        }
    }

    /// Sets the variables for tools. Those that hold keys are taken out by whoever knows them.
    pub fn export_variables(&self, surroundings: &mut ToolSessionContext) {
        for (name, value) in self.loaded.variables() {
            surroundings.environment.retain(|(known, _)| known != name);
            surroundings.environment.push((OsString::from(name), OsString::from(value)));
        }
    }

    /// The sandbox of the session: the flags, or what the settings say.
    pub fn resolve_sandbox(&self, flag: Option<SandboxUse>, hosts: &[String]) -> SandboxConfig {
        let settings = self.loaded.settings.sandbox.clone().unwrap_or_default();
        let managed = self.loaded.is_managed("sandbox.enabled") && settings.enabled == Some(true);
        let when = flag.filter(|_| !managed).unwrap_or(
            match (settings.enabled, settings.fail_if_unavailable) {
                (Some(true), Some(true)) => SandboxUse::Required,
                (Some(true), _) => SandboxUse::Auto,
                _ => SandboxUse::Off,
            },
        );
        let written = serde_json::to_value(&settings).unwrap_or_default();
        let mut wishes = SandboxConfig::from_settings(&written).with_flags(when, hosts);
        // A model that could leave what the user insists on would be held by nothing.
        wishes.allow_unsandboxed_commands &= flag != Some(SandboxUse::Required);
        wishes
    }

    /// What is seen to when a run is over: only what somebody asks for costs anything.
    pub fn after_run_options(&self) -> After {
        let settings = &self.loaded.settings;
        let after = settings.after_run.clone().unwrap_or_default();
        let memory = settings.auto_memory_enabled.unwrap_or(after.memory == Some(true));
        After {
            title: after.title == Some(true),
            suggestion: after.suggestion == Some(true),
            memory,
            consolidation: memory && after.consolidation != Some(false),
            questions: after.questions != Some(false),
        }
    }

    /// The file with notes of earlier conversations in this project, unless nobody wants them.
    pub fn auto_memory_file(&self, project: &Path, lookup: &impl EnvLookup) -> Option<PathBuf> {
        let settings = &self.loaded.settings;
        if settings.auto_memory_enabled == Some(false) {
            return None;
        }
        let folder = match &settings.auto_memory_directory {
            Some(given) => match given.strip_prefix("~/") {
                Some(rest) => user_directories::home_directory(lookup)?.join(rest),
                None => PathBuf::from(given),
            },
            None => user_directories::claude_directory(lookup)?
                .join("projects")
                .join(project_key(project))
                .join("memory"),
        };
        folder.is_absolute().then(|| folder.join("MEMORY.md"))
    }

    /// Is what edits replace kept?
    pub fn has_file_checkpointing(&self) -> bool {
        self.loaded.settings.file_checkpointing_enabled != Some(false)
    }

    /// The language of answers, as the model is told.
    pub fn build_language_context(&self) -> Option<(String, String)> {
        let named = self.loaded.settings.language.as_deref().map(str::trim)?;
        let language: String = named.chars().filter(|letter| !letter.is_control()).collect();
        let asked = format!("answer in {language}, whatever language the question is in");
        (!language.is_empty()).then(|| ("Language".to_owned(), asked))
    }

    /// The style of answers, by the name it was given.
    pub fn output_style(&self) -> String {
        self.loaded.settings.output_style.clone().unwrap_or_else(|| "default".to_owned())
    }

    /// Days after which sessions are removed, if somebody says.
    pub fn cleanup_days(&self) -> Option<u32> {
        self.loaded.settings.cleanup_period_days.map(NonZeroU32::get)
    }

    /// Does the user trust what the project brings along?
    pub fn trusts_project(&self) -> bool {
        self.loaded.trust.is_given()
    }
}

/// Tokens that must be left beside an answer.
const WINDOW_MIN: u64 = 8_000;
