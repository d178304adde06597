//! What the flags, the environment, the settings and the table say together: whom to ask, within which
//! limits, and what may run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::engine_settings::Settings;
use windlass_permission::policy_check::NO_AUTO_MODE;
use windlass_permission::{Policy, Rule};
use windlass_vocabulary::{PermissionMode, ThinkingMode, Tokens, WireFormat};

use super::directories::working_directory;
use crate::args::{
    HeadlessArgs, ModelArgs, PermissionArgs, PermissionModeArg, RunArgs, SettingsArgs, ThinkingArg,
};
use crate::command_error::CommandError;
use crate::config::Config;
use crate::environment::{self, EnvLookup};
use crate::limits::build_engine_settings;
use crate::model_choice::{self, ModelChain};
use crate::rule_list::split_rules;
use crate::settings::SettingsLayers;
use crate::{date, tool_selection};

/// What the flags, the environment, the settings and the table say together, in this order.
pub(super) struct ResolvedOptions {
    pub(super) config: Config,
    pub(super) model_args: ModelArgs,
    pub(super) model_chain: ModelChain,
    pub(super) settings: Settings,
    pub(super) notes: Vec<String>,
    /// Where the session works besides.
    pub(super) directories: Vec<PathBuf>,
}

impl ResolvedOptions {
    pub(super) fn resolve(
        args: &RunArgs,
        cwd: &Path,
        layers: &mut SettingsLayers,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        check_permission_prompt_tool(&args.headless)?;
        if !args.bare && !args.settings.safe_mode {
            layers.add_plugins(&args.headless, cwd);
        }
        let mut config = Config::load(lookup)?;
        layers.apply_key_command(&mut config);
        add_beta_headers(&args.headless.betas, &mut config, lookup);
        let mut model = layers.merge_model_args(&args.model, lookup);
        let limit = model.thinking.is_none().then(|| read_thinking_limit(args, lookup)).flatten();
        model.thinking = model.thinking.or(limit.map(|tokens| match tokens {
            0 => ThinkingArg::Disabled,
            _ => ThinkingArg::Adaptive,
        }));
        layers.restrict_models(&args.model, &mut model, &config, lookup)?;
        let cast = model_choice::choose_model_chain(&model, &config, lookup)?;
        layers.drop_unsupported(&args.model, &mut model, &cast);
        let (mut settings, notes) = build_engine_settings(&cast, &model, &args.limit)?;
        apply_thinking_limit(&mut settings, limit, &cast);
        layers.apply_compaction_limits(&mut settings, lookup);
        let directories =
            layers.add_directories(canonicalize_directories(&args.permission.add_dir)?);
        settings.system_prompt = build_system_prompt(args)?;
        // Also tells which files changed behind the model's back, so it is on whatever else there is.
        settings.prefetch = true;
        settings.system_context = build_system_context(cwd);
        settings.system_context.extend(layers.build_language_context());
        if let Some(tokens) = args.headless.task_budget {
            let budget = format!("about {tokens} tokens of output for the whole task");
            settings.system_context.push(("Budget".to_owned(), budget));
        }
        settings.policy = build_policy(&args.permission, cwd, &directories)?;
        layers.apply_permissions(&mut settings.policy, &args.permission)?;
        settings.policy.can_ask = args.headless.can_prompt_for_permission();
        Ok(Self { config, model_args: model, model_chain: cast, settings, notes, directories })
    }
}

/// Somebody who cannot be asked must not be named.
fn check_permission_prompt_tool(args: &HeadlessArgs) -> Result<(), CommandError> {
    match args.permission_prompt_tool.as_deref() {
        None | Some("stdio") => Ok(()),
        Some(_) if args.permission_prompt_mcp_tool().is_some() => Ok(()),
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
fn apply_thinking_limit(settings: &mut Settings, limit: Option<u64>, cast: &ModelChain) {
    let Some(tokens) = limit.filter(|tokens| *tokens > 0) else { return };
    if settings.thinking.is_on() || cast.all().all(|one| one.provider == "anthropic") {
        settings.thinking = ThinkingMode::Budget(Tokens(tokens));
    }
}

/// How many tokens may be thought; none is not to think at all.
fn read_thinking_limit(args: &RunArgs, lookup: &impl EnvLookup) -> Option<u64> {
    let given =
        || environment::read_variable(lookup, "MAX_THINKING_TOKENS").ok().flatten()?.parse().ok();
    args.headless.max_thinking_tokens.or_else(given)
}

/// What may run here, by these flags and the settings in force.
pub(crate) fn load_policy(
    args: &PermissionArgs,
    settings: &SettingsArgs,
    lookup: &impl EnvLookup,
) -> Result<(Policy, SettingsLayers), CommandError> {
    let cwd = working_directory()?;
    let mut layers = SettingsLayers::load(settings, false, &cwd, lookup)?;
    let directories = layers.add_directories(canonicalize_directories(&args.add_dir)?);
    let mut policy = build_policy(args, &cwd, &directories)?;
    layers.apply_permissions(&mut policy, args)?;
    Ok((policy, layers))
}

/// What may run.
fn build_policy(
    args: &PermissionArgs,
    cwd: &Path,
    more: &[PathBuf],
) -> Result<Policy, CommandError> {
    let mode = match args.permission_mode {
        _ if args.dangerously_skip_permissions => PermissionMode::BypassPermissions,
        None | Some(PermissionModeArg::Default) => PermissionMode::Default,
        Some(PermissionModeArg::AcceptEdits) => PermissionMode::AcceptEdits,
        Some(PermissionModeArg::Plan) => PermissionMode::Plan,
        Some(PermissionModeArg::DontAsk) => PermissionMode::DontAsk,
        Some(PermissionModeArg::BypassPermissions) => PermissionMode::BypassPermissions,
        Some(PermissionModeArg::Auto) => return Err(CommandError::usage(NO_AUTO_MODE)),
    };
    let mut policy = Policy { mode, ..Policy::default() };
    policy.rules.allow = parse_rules(&args.allowed_tools)?;
    policy.rules.deny = parse_rules(&args.disallowed_tools)?;
    let all = std::iter::once(cwd).chain(more.iter().map(PathBuf::as_path));
    policy.directories = all.map(|directory| directory.to_string_lossy().into_owned()).collect();
    Ok(policy)
}

/// The rules in these values.
pub(crate) fn parse_rules(values: &[String]) -> Result<Vec<Rule>, CommandError> {
    let parse = |text: &str| {
        Rule::parse(text).map_err(|error| {
            CommandError::usage(format!(
                "{error}; write `Tool` or `Tool(what)`, and the prompt right after -p"
            ))
        })
    };
    let rules = values.iter().flat_map(|value| split_rules(value)).map(parse);
    let rules: Vec<Rule> = rules.collect::<Result<_, CommandError>>()?;
    tool_selection::check_tool_names(&rules)?;
    Ok(rules)
}

fn build_system_prompt(args: &RunArgs) -> Result<Arc<str>, CommandError> {
    let file = args.headless.system_prompt_file.as_deref().map(|path| {
        std::fs::read_to_string(path).map_err(|error| {
            CommandError::usage(format!(
                "--system-prompt-file {}: {error}; give a file with text",
                path.display()
            ))
        })
    });
    let file = file.transpose()?;
    let base = args.system_prompt.as_deref().or(file.as_deref()).unwrap_or(SYSTEM_PROMPT);
    Ok(match &args.append_system_prompt {
        Some(more) => Arc::from(format!("{}\n\n{more}", base.trim_end())),
        None => Arc::from(base),
    })
}

/// Facts about the surroundings that the model cannot guess. Nothing here starts a process.
pub(super) fn build_system_context(cwd: &Path) -> Vec<(String, String)> {
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

pub(super) const SYSTEM_PROMPT: &str = include_str!("../text/system_prompt.md").trim_ascii_end();
