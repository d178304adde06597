//! The second stage: what flags, environment, settings and `config.toml` say together about models,
//! limits and permissions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::ModelTimeouts;
use windlass_driver::engine_settings::{CircleGuard, Settings};
use windlass_permission::Policy;
use windlass_vocabulary::{ModelFacts, PermissionMode, ThinkingMode, Tokens, WireFormat};

use crate::date;
use crate::directories::working_directory;
use crate::environment_overrides::EnvironmentOverrides;
use crate::limits::build_engine_settings;
use crate::options::{HeadlessOptions, PermissionOptions, RunOptions, SettingsOptions};
use crate::settings::SettingsLayers;
use crate::tool_selection::parse_rules;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;
use windlass_host::regular_file::read_given_text;
use windlass_provider::config::Config;
use windlass_provider::model_choice;
use windlass_provider::model_choice::ModelChain;
use windlass_provider::model_options::ModelOptions;

/// Flags count before the environment, the environment before settings, settings before `config.toml`.
pub(crate) struct ResolvedOptions {
    pub(crate) cwd: PathBuf,
    pub(crate) layers: SettingsLayers,
    pub(crate) config: Config,
    pub(crate) model_options: ModelOptions,
    pub(crate) model_chain: ModelChain,
    /// With the policy of the flags and the settings.
    pub(crate) engine_settings: Settings,
    /// Additional working directories.
    pub(crate) directories: Vec<PathBuf>,
    /// How long a model server may keep us waiting.
    pub(crate) timeouts: ModelTimeouts,
    /// The model that all subagents ask.
    pub(crate) subagent_model: Option<String>,
    pub(crate) notes: Vec<String>,
}

impl ResolvedOptions {
    pub(crate) fn resolve(
        options: &RunOptions,
        cwd: PathBuf,
        mut layers: SettingsLayers,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        check_permission_prompt_tool(&options.headless)?;
        if options.loads_project_files() {
            layers.add_plugins(&options.headless, &cwd);
        }
        let mut config = Config::load(lookup)?;
        layers.apply_key_command(&mut config);
        add_beta_headers(&options.headless.betas, &mut config, lookup);
        let models = ResolvedModels::resolve(options, &config, &mut layers, lookup)?;
        let (mut engine_settings, notes) =
            build_engine_settings(&models.chain, &models.options, &options.limit)?;
        apply_thinking_limit(&mut engine_settings, models.thinking_limit, &models.chain);
        let mut overrides = EnvironmentOverrides::new(lookup);
        overrides.apply_limits(&mut engine_settings, &options.limit);
        overrides.apply_model_limits(&mut engine_settings);
        let timeouts = overrides.build_timeouts();
        overrides.trust_certificates();
        overrides.warn_of_unsupported();
        layers.extra_warnings.append(&mut overrides.warnings);
        let window = options.limit.compaction_window;
        layers.apply_compaction_limits(&mut engine_settings, window, lookup);
        if options.limit.no_circle_guard || layers.has_no_circle_guard() {
            engine_settings.switches.circle_guard = CircleGuard::Off;
        }
        let directories =
            layers.add_directories(canonicalize_directories(&options.permission.add_dir)?);
        engine_settings.prompt.system_prompt = build_system_prompt(options)?;
        // Also reports files changed by others, so it is always on.
        engine_settings.switches.prefetch = true;
        if options.loads_project_files() && !has_essential_traffic_only(lookup) {
            engine_settings.after = layers.after_run_options();
        }
        if let Some(on) = options.headless.stream.prompt_suggestions {
            engine_settings.after.suggestion = on;
        }
        engine_settings.prompt.system_context = build_system_context(&cwd);
        engine_settings.prompt.system_context.extend(layers.build_language_context());
        if let Some(tokens) = options.headless.task_budget {
            let budget = format!("about {tokens} tokens of output for the whole task");
            engine_settings.prompt.system_context.push(("Budget".to_owned(), budget));
        }
        engine_settings.policy = build_policy(&options.permission, &cwd, &directories)?;
        layers.apply_permissions(&mut engine_settings.policy, &options.permission)?;
        engine_settings.policy.can_ask = options.headless.can_prompt_for_permission();
        Ok(Self {
            cwd,
            layers,
            config,
            model_options: models.options,
            model_chain: models.chain,
            engine_settings,
            directories,
            timeouts,
            subagent_model: environment::read_variable(lookup, "CLAUDE_CODE_SUBAGENT_MODEL")
                .ok()
                .flatten(),
            notes,
        })
    }

    /// Agents use the session's model if their own is not available.
    pub(crate) fn drop_unknown_subagent_model(&mut self, named_models: &[(String, ModelFacts)]) {
        let Some(wanted) = self.subagent_model.take() else { return };
        if self.model_chain.all().any(|one| one.name == wanted)
            || named_models.iter().any(|(name, _)| *name == wanted)
        {
            self.subagent_model = Some(wanted);
            return;
        }
        self.layers.warn(format!(
            "CLAUDE_CODE_SUBAGENT_MODEL={wanted} has no effect: it is not available here; agents \
             use the model of the session"
        ));
    }
}

struct ResolvedModels {
    options: ModelOptions,
    chain: ModelChain,
    thinking_limit: Option<u64>,
}

impl ResolvedModels {
    fn resolve(
        run: &RunOptions,
        config: &Config,
        layers: &mut SettingsLayers,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let mut options = layers.merge_model_options(&run.model, lookup);
        let thinking_limit =
            options.thinking.is_none().then(|| read_thinking_limit(run, lookup)).flatten();
        options.thinking = options.thinking.or(thinking_limit.map(|tokens| match tokens {
            0 => ThinkingMode::Disabled,
            _ => ThinkingMode::Adaptive,
        }));
        layers.restrict_models(&run.model, &mut options, config, lookup)?;
        let chain = model_choice::choose_model_chain(&options, config, lookup)?;
        layers.drop_unsupported(&run.model, &mut options, &chain);
        Ok(Self { options, chain, thinking_limit })
    }
}

/// Refuses a permission prompt tool that could never answer.
fn check_permission_prompt_tool(options: &HeadlessOptions) -> Result<(), CommandError> {
    match options.permission_prompt_tool.as_deref() {
        None | Some("stdio") => Ok(()),
        Some(_) if options.permission_prompt_mcp_tool().is_some() => Ok(()),
        Some(other) => Err(CommandError::usage(format!(
            "--permission-prompt-tool {other}: give `stdio`, or a tool as mcp__server__tool"
        ))),
    }
}

/// Asks providers of the messages wire for betas.
fn add_beta_headers(betas: &[String], config: &mut Config, lookup: &impl EnvLookup) {
    let given =
        environment::read_variable(lookup, "ANTHROPIC_BETAS").ok().flatten().unwrap_or_default();
    let given = given.split(',').map(str::trim).filter(|beta| !beta.is_empty());
    let all: Vec<&str> = betas.iter().map(String::as_str).chain(given).collect();
    if all.is_empty() {
        return;
    }
    for provider in config.providers.values_mut() {
        if matches!(provider.wire, None | Some(WireFormat::AnthropicMessages)) {
            provider.headers.push(("anthropic-beta".to_owned(), all.join(",")));
        }
    }
}

/// Models of that wire that do not decide by themselves how much is right take a number instead.
fn apply_thinking_limit(settings: &mut Settings, limit: Option<u64>, model_chain: &ModelChain) {
    let Some(tokens) = limit.filter(|tokens| *tokens > 0) else { return };
    if settings.reasoning.thinking.is_on()
        || model_chain.all().all(|one| one.provider == "anthropic")
    {
        settings.reasoning.thinking = ThinkingMode::Budget(Tokens(tokens));
    }
}

/// How many tokens may be thought; none is not to think at all.
fn read_thinking_limit(options: &RunOptions, lookup: &impl EnvLookup) -> Option<u64> {
    let given =
        || environment::read_variable(lookup, "MAX_THINKING_TOKENS").ok().flatten()?.parse().ok();
    options.headless.max_thinking_tokens.or_else(given)
}

/// Does the user want only essential requests? Then nothing runs after a run.
fn has_essential_traffic_only(lookup: &impl EnvLookup) -> bool {
    environment::is_switched_on(lookup, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
}

/// What may run here, by these flags and the settings in force.
pub fn load_policy(
    options: &PermissionOptions,
    settings: &SettingsOptions,
    lookup: &impl EnvLookup,
) -> Result<(Policy, SettingsLayers), CommandError> {
    let cwd = working_directory()?;
    let mut layers = SettingsLayers::load(settings, false, &cwd, lookup)?;
    let directories = layers.add_directories(canonicalize_directories(&options.add_dir)?);
    let mut policy = build_policy(options, &cwd, &directories)?;
    layers.apply_permissions(&mut policy, options)?;
    policy.cell = crate::cell::find_support();
    Ok((policy, layers))
}

fn build_policy(
    options: &PermissionOptions,
    cwd: &Path,
    more: &[PathBuf],
) -> Result<Policy, CommandError> {
    let mode = match options.permission_mode {
        _ if options.dangerously_skip_permissions => PermissionMode::BypassPermissions,
        mode => mode.unwrap_or_default(),
    };
    let mut policy = Policy { mode, ..Policy::default() };
    policy.rules.allow = parse_rules(&options.allowed_tools)?;
    policy.rules.deny = parse_rules(&options.disallowed_tools)?;
    let all = std::iter::once(cwd).chain(more.iter().map(PathBuf::as_path));
    policy.directories = all.map(|directory| directory.to_string_lossy().into_owned()).collect();
    Ok(policy)
}

/// Bytes of a file with a system prompt.
const SYSTEM_PROMPT_BYTES_MAX: u64 = 10 * 1024 * 1024;

fn build_system_prompt(options: &RunOptions) -> Result<Arc<str>, CommandError> {
    let files = &options.headless.prompt_files;
    let read = |flag: &str, path: &Option<PathBuf>| {
        let Some(path) = path else { return Ok(None) };
        read_given_text(path, SYSTEM_PROMPT_BYTES_MAX).map(Some).map_err(|error| {
            CommandError::usage(format!(
                "{flag} {}: {error}; give a file with text",
                path.display()
            ))
        })
    };
    let file = read("--system-prompt-file", &files.system_prompt)?;
    let more = read("--append-system-prompt-file", &files.append_system_prompt)?;
    let base = options.system_prompt.as_deref().or(file.as_deref()).unwrap_or(SYSTEM_PROMPT);
    Ok(match options.append_system_prompt.as_deref().or(more.as_deref()) {
        Some(more) => Arc::from(format!("{}\n\n{}", base.trim_end(), more.trim_end())),
        None => Arc::from(base),
    })
}

/// Facts that the model cannot guess. Nothing here starts a process.
pub(crate) fn build_system_context(cwd: &Path) -> Vec<(String, String)> {
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    [
        ("Working directory", cwd.to_string_lossy().into_owned()),
        ("Platform", platform),
        ("Date", date::today()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

fn canonicalize_directories(given: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let checked = |path: &PathBuf| {
        let refuse = |problem: &str| {
            CommandError::usage(format!(
                "--add-dir {}: {problem}; give a directory that exists",
                path.display()
            ))
        };
        let found = path.canonicalize().map_err(|error| refuse(&error.to_string()))?;
        if !found.is_dir() {
            return Err(refuse("it is not a directory"));
        }
        Ok(found)
    };
    given.iter().map(checked).collect()
}

pub(crate) const SYSTEM_PROMPT: &str = include_str!("text/system_prompt.md").trim_ascii_end();
