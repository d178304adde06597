//! The only place that wires concrete parts together: flags and environment in, sessions out.
//!
//! Everything is checked here before anything is begun: a mistake costs one line and nothing is
//! written. What is made here is run by the front ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::{Builder, Durability, Endpoint, Limits, Registry, Settings, Surroundings};
use windlass_permission::{Policy, Rule};
use windlass_vocabulary::{MicroUsd, Mode, ModelFacts, Wire};

use crate::args::{LimitArgs, ModelArgs, OutputFormat, PermissionArgs, PermissionMode, RunArgs};
use crate::environment::{self, Lookup};
use crate::model_facts::{self, DEFAULT_MODEL};
use crate::refusal::Refusal;
use crate::rules::listed;
use crate::{chance, date, prompt};

/// A run that only has to be started.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The session.
    pub(crate) builder: Builder,
    /// What to ask.
    pub(crate) prompt: String,
    /// Where the model server is, for words about it.
    pub(crate) base_url: String,
    /// What to print.
    pub(crate) format: OutputFormat,
    /// Tell what happens on the way.
    pub(crate) verbose: bool,
    /// The session's name in the result.
    pub(crate) session_id: String,
    /// A directory to remove when the session is over.
    pub(crate) scratch: Option<PathBuf>,
    /// What people should know before it begins, if they want to know everything.
    pub(crate) notes: Vec<String>,
}

/// A run that answers one prompt.
pub(crate) fn print(args: RunArgs, lookup: &impl Lookup) -> Result<Plan, Refusal> {
    let (mut settings, notes) = settings(&args.model, &args.limit, lookup)?;
    let cwd = working_directory()?;
    let directories = directories(&args.permission.add_dir)?;
    let (policy, hidden) = policy(&args.permission, &cwd, &directories)?;
    settings.policy = policy;
    settings.system_prompt = system_prompt(&args);
    settings.system_context = system_context(&cwd);
    // A slow pipe is worth waiting for only when the rest is right.
    let (asked, endpoint) = match prompt::on_command_line(&args)? {
        None => {
            let asked = prompt::from_stdin_alone()?;
            (asked, environment::endpoint(lookup)?)
        }
        Some(asked) => {
            let endpoint = environment::endpoint(lookup)?;
            (prompt::with_stdin(asked)?, endpoint)
        }
    };
    let base_url = endpoint.base_url.clone();
    let (surroundings, scratch) = surroundings(&cwd, args.journal.as_deref());
    for directory in directories {
        surroundings.add_directory(directory);
    }
    let mut registry = Registry::builtin();
    registry.retain(|spec| !hidden.iter().any(|name| name == spec.name.as_str()));
    let mut builder =
        Builder::new(settings, endpoint).registry(registry).surroundings(surroundings);
    if let Some(journal) = args.journal {
        builder = builder.journal(journal, Durability::Written);
    }
    Ok(Plan {
        builder,
        prompt: asked,
        base_url,
        format: args.output_format,
        verbose: args.verbose,
        session_id: chance::uuid(),
        scratch,
        notes,
    })
}

/// The demonstration: the same engine, tools and HTTP client, in a folder made for it, where
/// everything the script asks for may run.
pub(crate) fn demo(project: &Path, base_url: &str) -> (Builder, PathBuf) {
    let mut settings = Settings::new(model_facts::facts("rehearsed"));
    settings.policy = Policy {
        mode: Mode::BypassPermissions,
        directories: vec![project.to_string_lossy().into_owned()],
        ..Policy::default()
    };
    settings.system_prompt = Arc::from(SYSTEM_PROMPT);
    settings.system_context = system_context(project);
    settings.limits.turns_max = 20;
    settings.jitter_seed = chance::seed();
    let spill = scratch_directory();
    let builder = Builder::new(settings, Endpoint::new(Wire::AnthropicMessages, base_url))
        .registry(Registry::builtin())
        .surroundings(Surroundings::new(project, &spill));
    (builder, spill)
}

/// Models and limits, and what is worth knowing about them.
pub(crate) fn settings(
    model: &ModelArgs,
    limit: &LimitArgs,
    lookup: &impl Lookup,
) -> Result<(Settings, Vec<String>), Refusal> {
    let name = match &model.model {
        Some(name) => Some(name.trim().to_owned()),
        None => environment::model(lookup)?,
    };
    let name = name.as_deref().unwrap_or(DEFAULT_MODEL);
    if name.is_empty() {
        return Err(Refusal::usage("the model's name is empty; give one with --model"));
    }
    let mut settings = Settings::new(model_facts::facts(name));
    for fallback in model.fallback_model.iter().map(|name| name.trim()) {
        let facts = model_facts::facts(fallback);
        let is_new = facts.name != settings.model.name
            && !settings.fallbacks.iter().any(|known| known.name == facts.name);
        if !fallback.is_empty() && is_new {
            settings.fallbacks.push(facts);
        }
    }
    if settings.fallbacks.len() > FALLBACKS_MAX {
        return Err(Refusal::usage(format!(
            "--fallback-model takes at most {FALLBACKS_MAX} models; leave some out"
        )));
    }
    if let Some(prices) = model.price {
        settings.model.prices = prices;
        let unpriced = |facts: &&mut ModelFacts| !model_facts::has_price(facts);
        for facts in settings.fallbacks.iter_mut().filter(unpriced) {
            facts.prices = prices;
        }
    }
    settings.budget_max = budget(limit, &settings)?;
    settings.limits = Limits {
        turns_max: limit.max_turns.unwrap_or(settings.limits.turns_max),
        retries_max: limit.max_retries.unwrap_or(settings.limits.retries_max),
        ..settings.limits
    };
    settings.jitter_seed = chance::seed();
    let notes = notes(&settings);
    Ok((settings, notes))
}

/// A money limit cannot be kept for a model without a price.
fn budget(limit: &LimitArgs, settings: &Settings) -> Result<Option<MicroUsd>, Refusal> {
    let unpriced = chain(settings).find(|facts| !model_facts::has_price(facts));
    match (limit.max_budget_usd, unpriced) {
        (Some(_), Some(facts)) => Err(Refusal::usage(format!(
            "no price is known for the model {}, so --max-budget-usd could not be kept; give its \
             price in dollars per million tokens: --price IN,OUT",
            facts.name
        ))),
        (limit, _) => Ok(limit),
    }
}

fn notes(settings: &Settings) -> Vec<String> {
    let unknown = chain(settings).filter(|facts| !model_facts::is_known(facts.name.as_str()));
    let note = |facts: &ModelFacts| {
        let price = if model_facts::has_price(facts) { "the price given" } else { "no price" };
        format!(
            "the model {} is not in the table: a window of {} tokens, at most {} of output and \
             {price} are assumed",
            facts.name, facts.window.0, facts.output_max.0
        )
    };
    unknown.map(note).collect()
}

fn chain(settings: &Settings) -> impl Iterator<Item = &ModelFacts> {
    std::iter::once(&settings.model).chain(&settings.fallbacks)
}

/// The policy, and the names of tools the model is not even told of.
fn policy(
    args: &PermissionArgs,
    cwd: &Path,
    more: &[PathBuf],
) -> Result<(Policy, Vec<String>), Refusal> {
    let mode = match args.permission_mode {
        _ if args.dangerously_skip_permissions => Mode::BypassPermissions,
        None | Some(PermissionMode::Default) => Mode::Default,
        Some(PermissionMode::AcceptEdits) => Mode::AcceptEdits,
        Some(PermissionMode::Plan) => Mode::Plan,
        Some(PermissionMode::DontAsk) => Mode::DontAsk,
        Some(PermissionMode::BypassPermissions) => Mode::BypassPermissions,
    };
    let mut policy = Policy { mode, ..Policy::default() };
    policy.rules.allow = rules(&args.allowed_tools)?;
    policy.rules.deny = rules(&args.disallowed_tools)?;
    let all = std::iter::once(cwd).chain(more.iter().map(PathBuf::as_path));
    policy.directories = all.map(|directory| directory.to_string_lossy().into_owned()).collect();
    let bare = policy.rules.deny.iter().filter(|rule| rule.content.is_none());
    let hidden = bare.map(|rule| rule.tool.clone()).collect();
    Ok((policy, hidden))
}

fn rules(values: &[String]) -> Result<Vec<Rule>, Refusal> {
    let parse = |text: &str| {
        Rule::parse(text).map_err(|error| {
            Refusal::usage(format!(
                "{error}; write `Tool` or `Tool(what)`, and the prompt right after -p"
            ))
        })
    };
    values.iter().flat_map(|value| listed(value)).map(parse).collect()
}

fn system_prompt(args: &RunArgs) -> Arc<str> {
    let base = args.system_prompt.as_deref().unwrap_or(SYSTEM_PROMPT);
    match &args.append_system_prompt {
        Some(more) => Arc::from(format!("{}\n\n{more}", base.trim_end())),
        None => Arc::from(base),
    }
}

/// Facts about the surroundings that the model cannot guess. Nothing here starts a process.
fn system_context(cwd: &Path) -> Vec<(String, String)> {
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    [
        ("Working directory", cwd.to_string_lossy().into_owned()),
        ("Platform", platform),
        ("Date", date::today()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

fn working_directory() -> Result<PathBuf, Refusal> {
    std::env::current_dir().map_err(|error| {
        Refusal::failed(format!(
            "the working directory cannot be used: {error}; change to one that exists"
        ))
    })
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

/// Long outputs are kept beside a journal, whose session may be continued, or else in a directory
/// of this run alone that is made when first needed and removed at the end.
fn surroundings(cwd: &Path, journal: Option<&Path>) -> (Surroundings, Option<PathBuf>) {
    match journal {
        Some(journal) => {
            let spill = cwd.join(journal).with_extension("spill");
            (Surroundings::new(cwd, spill), None)
        }
        None => {
            let spill = scratch_directory();
            (Surroundings::new(cwd, &spill), Some(spill))
        }
    }
}

/// A name nobody else can know beforehand, so nobody can have put something there.
fn scratch_directory() -> PathBuf {
    std::env::temp_dir().join(format!("windlass-{}", chance::name()))
}

const SYSTEM_PROMPT: &str = include_str!("text/system_prompt.md").trim_ascii_end();
/// Models asked after the first.
const FALLBACKS_MAX: usize = 3;
