//! What the flags, the environment, the settings and the table say together: whom to ask, within which
//! limits, and what may run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::Settings;
use windlass_permission::check::NO_AUTO;
use windlass_permission::{Policy, Rule};
use windlass_vocabulary::{Mode, ThinkingMode, Tokens, Wire};

use super::place::working_directory;
use crate::args::{
    HeadlessArgs, ModelArgs, PermissionArgs, PermissionMode, RunArgs, SettingsArgs, ThinkingArg,
};
use crate::choice::{self, Cast};
use crate::config::Config;
use crate::environment::{self, Lookup};
use crate::layers::Layers;
use crate::refusal::Refusal;
use crate::rules::listed;
use crate::settings::settings;
use crate::{date, offer};

/// What the flags, the environment, the settings and the table say together, in this order.
pub(super) struct Decided {
    pub(super) config: Config,
    pub(super) model: ModelArgs,
    pub(super) cast: Cast,
    pub(super) settings: Settings,
    pub(super) notes: Vec<String>,
    /// Where the session works besides.
    pub(super) directories: Vec<PathBuf>,
}

impl Decided {
    pub(super) fn of(
        args: &RunArgs,
        cwd: &Path,
        layers: &mut Layers,
        lookup: &impl Lookup,
    ) -> Result<Self, Refusal> {
        check_asked(&args.headless)?;
        if !args.bare && !args.settings.safe_mode {
            layers.add_plugins(&args.headless, cwd);
        }
        let mut config = Config::load(lookup)?;
        layers.amend_config(&mut config);
        want_betas(&args.headless.betas, &mut config, lookup);
        let mut model = layers.model_args(&args.model, lookup);
        let limit = model.thinking.is_none().then(|| thinking_limit(args, lookup)).flatten();
        model.thinking = model.thinking.or(limit.map(|tokens| match tokens {
            0 => ThinkingArg::Disabled,
            _ => ThinkingArg::Adaptive,
        }));
        layers.restrict(&args.model, &mut model, &config, lookup)?;
        let cast = choice::cast(&model, &config, lookup)?;
        layers.fit(&args.model, &mut model, &cast);
        let (mut settings, notes) = settings(&cast, &model, &args.limit)?;
        limit_thinking(&mut settings, limit, &cast);
        layers.amend(&mut settings, lookup);
        let directories = layers.directories(directories(&args.permission.add_dir)?);
        settings.system_prompt = system_prompt(args)?;
        // Also tells which files changed behind the model's back, so it is on whatever else there is.
        settings.prefetch = true;
        settings.system_context = system_context(cwd);
        settings.system_context.extend(layers.language());
        if let Some(tokens) = args.headless.task_budget {
            let budget = format!("about {tokens} tokens of output for the whole task");
            settings.system_context.push(("Budget".to_owned(), budget));
        }
        settings.policy = policy(&args.permission, cwd, &directories)?;
        layers.judge(&mut settings.policy, &args.permission)?;
        settings.policy.can_ask = args.headless.can_ask();
        Ok(Self { config, model, cast, settings, notes, directories })
    }
}

/// Somebody who cannot be asked must not be named.
fn check_asked(args: &HeadlessArgs) -> Result<(), Refusal> {
    match args.permission_prompt_tool.as_deref() {
        None | Some("stdio") => Ok(()),
        Some(_) if args.asked_tool().is_some() => Ok(()),
        Some(other) => Err(Refusal::usage(format!(
            "--permission-prompt-tool {other}: give `stdio`, or a tool as mcp__server__tool"
        ))),
    }
}

/// Asks providers of the messages wire for betas.
fn want_betas(betas: &[String], config: &mut Config, lookup: &impl Lookup) {
    let given = environment::text(lookup, "ANTHROPIC_BETAS").ok().flatten().unwrap_or_default();
    let given = given.split(',').map(str::trim).filter(|beta| !beta.is_empty());
    let all: Vec<&str> = betas.iter().map(String::as_str).chain(given).collect();
    if all.is_empty() {
        return;
    }
    for provider in config.providers.values_mut() {
        if matches!(provider.wire, None | Some(Wire::AnthropicMessages)) {
            provider.headers.push(("anthropic-beta".to_owned(), all.join(",")));
        }
    }
}

/// Models of that wire that do not decide by themselves how much is right take a number instead.
fn limit_thinking(settings: &mut Settings, limit: Option<u64>, cast: &Cast) {
    let Some(tokens) = limit.filter(|tokens| *tokens > 0) else { return };
    if settings.thinking.is_on() || cast.all().all(|one| one.provider == "anthropic") {
        settings.thinking = ThinkingMode::Budget(Tokens(tokens));
    }
}

/// How many tokens may be thought; none is not to think at all.
fn thinking_limit(args: &RunArgs, lookup: &impl Lookup) -> Option<u64> {
    let given = || environment::text(lookup, "MAX_THINKING_TOKENS").ok().flatten()?.parse().ok();
    args.headless.max_thinking_tokens.or_else(given)
}

/// What may run here, by these flags and the settings in force.
pub(crate) fn policy_here(
    args: &PermissionArgs,
    settings: &SettingsArgs,
    lookup: &impl Lookup,
) -> Result<(Policy, Layers), Refusal> {
    let cwd = working_directory()?;
    let mut layers = Layers::read(settings, false, &cwd, lookup)?;
    let directories = layers.directories(directories(&args.add_dir)?);
    let mut policy = policy(args, &cwd, &directories)?;
    layers.judge(&mut policy, args)?;
    Ok((policy, layers))
}

/// What may run.
fn policy(args: &PermissionArgs, cwd: &Path, more: &[PathBuf]) -> Result<Policy, Refusal> {
    let mode = match args.permission_mode {
        _ if args.dangerously_skip_permissions => Mode::BypassPermissions,
        None | Some(PermissionMode::Default) => Mode::Default,
        Some(PermissionMode::AcceptEdits) => Mode::AcceptEdits,
        Some(PermissionMode::Plan) => Mode::Plan,
        Some(PermissionMode::DontAsk) => Mode::DontAsk,
        Some(PermissionMode::BypassPermissions) => Mode::BypassPermissions,
        Some(PermissionMode::Auto) => return Err(Refusal::usage(NO_AUTO)),
    };
    let mut policy = Policy { mode, ..Policy::default() };
    policy.rules.allow = rules(&args.allowed_tools)?;
    policy.rules.deny = rules(&args.disallowed_tools)?;
    let all = std::iter::once(cwd).chain(more.iter().map(PathBuf::as_path));
    policy.directories = all.map(|directory| directory.to_string_lossy().into_owned()).collect();
    Ok(policy)
}

/// The rules in these values.
pub(crate) fn rules(values: &[String]) -> Result<Vec<Rule>, Refusal> {
    let parse = |text: &str| {
        Rule::parse(text).map_err(|error| {
            Refusal::usage(format!(
                "{error}; write `Tool` or `Tool(what)`, and the prompt right after -p"
            ))
        })
    };
    let rules = values.iter().flat_map(|value| listed(value)).map(parse);
    let rules: Vec<Rule> = rules.collect::<Result<_, Refusal>>()?;
    offer::check_names(&rules)?;
    Ok(rules)
}

fn system_prompt(args: &RunArgs) -> Result<Arc<str>, Refusal> {
    let file = args.headless.system_prompt_file.as_deref().map(|path| {
        std::fs::read_to_string(path).map_err(|error| {
            Refusal::usage(format!(
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
pub(super) fn system_context(cwd: &Path) -> Vec<(String, String)> {
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    [
        ("Working directory", cwd.to_string_lossy().into_owned()),
        ("Platform", platform),
        ("Date", date::today()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

fn directories(given: &[PathBuf]) -> Result<Vec<PathBuf>, Refusal> {
    let checked = |path: &PathBuf| {
        let refuse = |problem: &str| {
            Refusal::usage(format!(
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
