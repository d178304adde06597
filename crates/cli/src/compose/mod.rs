//! The only place that wires concrete parts together: flags and environment in, sessions out.
//!
//! Everything is checked here before anything is begun: a mistake costs one line and nothing is
//! written. What is made here is run by the front ends.

mod asked;
mod bench;
mod decided;
mod found;
mod place;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::mcp::Servers;
use windlass_driver::{Builder, Durability, Endpoint, Registry, Settings, Subagents, Surroundings};
use windlass_permission::Policy;
use windlass_vocabulary::{Mode, ModelFacts, Wire};

use crate::args::RunArgs;
use crate::choice::Cast;
use crate::command::Order;
use crate::config::Config;
use crate::config::model::Model;
use crate::environment::Lookup;
use crate::expansion::{Expander, Hands, Names};
use crate::layers::Layers;
use crate::layers::live::Live;
use crate::refusal::Refusal;
use crate::session::{self, Kept};
use crate::settings::wishes;
use crate::{chance, choice, folder, offer, remote, sandbox};

pub(crate) use asked::Atlas;
use asked::{asked, casted, ordered, worded};
pub(crate) use bench::{Bench, bench};
use decided::{Decided, SYSTEM_PROMPT, system_context};
pub(crate) use decided::{policy_here, rules};
use found::Found;
pub(crate) use place::working_directory;
use place::{apart, prepared, reading_below, scratch_directory, surroundings};

/// A run that only has to be started.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The session.
    pub(crate) builder: Builder,
    /// What is asked for; nothing yet, if prompts come later.
    pub(crate) order: Option<Order>,
    /// Nested sessions, if there may be any; not yet given to the builder.
    pub(crate) agents: Option<Subagents>,
    /// What people and clients are told of it.
    pub(crate) portrait: Portrait,
    /// What prompts that come later may stand for.
    pub(crate) expander: Expander,
    /// Where each model lives, for words about it.
    pub(crate) atlas: Atlas,
    /// The session's name in the result.
    pub(crate) session_id: String,
    /// Where it is written down.
    pub(crate) journal: Option<PathBuf>,
    /// The session has a call that was put off.
    pub(crate) is_put_off: bool,
    /// A directory to remove when the session is over.
    pub(crate) scratch: Option<PathBuf>,
    /// What people should know before it begins, if they want to know everything.
    pub(crate) notes: Vec<String>,
    /// The settings in force; what is wrong with them is told in any case.
    pub(crate) layers: Layers,
    /// Looks after settings files.
    pub(crate) live: Live,
    /// The MCP servers, to be closed when the session is over.
    pub(crate) remote: Servers,
}

/// What a session is made of, in names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Portrait {
    /// Where it works.
    pub(crate) cwd: PathBuf,
    /// The tools on offer.
    pub(crate) tools: Vec<String>,
    /// Folders with skills.
    pub(crate) skills: Vec<PathBuf>,
    /// Skills in them that the client does not want.
    pub(crate) hidden_skills: Vec<String>,
    /// The style of answers, by name.
    pub(crate) output_style: String,
    /// The styles there are.
    pub(crate) output_styles: Vec<String>,
}

/// A run that answers one prompt.
pub(crate) fn print(args: &RunArgs, lookup: &impl Lookup) -> Result<Plan, Refusal> {
    composed(args, lookup, true)
}

/// A session whose prompts come later.
pub(crate) fn conversation(args: &RunArgs, lookup: &impl Lookup) -> Result<Plan, Refusal> {
    composed(args, lookup, false)
}

/// A session with somebody in front of it.
pub(crate) fn interactive(args: &RunArgs, lookup: &impl Lookup) -> Result<Plan, Refusal> {
    let mut args = args.clone();
    // It is said once the session has begun.
    args.prompt = None;
    // Somebody is there to be asked, so what needs a person is offered.
    args.headless.is_attended = true;
    composed(&args, lookup, false)
}

fn composed(args: &RunArgs, lookup: &impl Lookup, has_prompt: bool) -> Result<Plan, Refusal> {
    let cwd = working_directory()?;
    let mut layers = Layers::read(&args.settings, args.bare, &cwd, lookup)?;
    let variables = layers.clone();
    let lookup = &variables.over(lookup);
    let decided = Decided::of(args, &cwd, &mut layers, lookup)?;
    let Decided { config, model, cast, mut settings, mut notes, directories } = decided;
    let mut kept = session::choose(&args.session, &cwd, &config, lookup)?;
    let mut found = match args.bare || args.settings.safe_mode {
        true => Found::default(),
        false => {
            let root = args.settings.root(&cwd);
            Found::look(&root, &config, &mut layers, &mut settings, lookup)
        }
    };
    notes.append(&mut found.notes);
    let mut offer = offer::offer(&args.permission.tools, &settings.policy)?;
    choice::check(&cast, wishes(&model, &offer.registry))?;
    let is_put_off = kept.is_put_off();
    let (order, servers) = asked(args, (has_prompt, is_put_off), &cast, &config, lookup)?;
    let order = order.map(|order| ordered(order, &mut kept)).transpose()?;
    let (surroundings, scratch) = surroundings(&cwd, kept.journal.as_deref());
    // The model is told to read long outputs back from there.
    settings.policy.rules.allow.push(reading_below(&surroundings.spill));
    settings.policy.rules.allow.extend(kept.inherited().iter().map(|place| reading_below(place)));
    let mut surroundings = prepared(surroundings, directories, &settings.policy, &config, &layers);
    let held = layers.sandbox(args.permission.sandbox, &args.permission.sandbox_allow_domain);
    notes.extend(sandbox::confine(&held, &mut surroundings, &mut settings.policy)?);
    let tools = offer.with_skills(&mut surroundings, &found.skill_folders);
    let remote = remote::session(args, &layers, (&surroundings, tools), &mut notes, lookup)?;
    let names = names(&kept, &cwd, &config, lookup);
    let models = by_name((&cast, &config), (&settings, &layers), (&found, &mut notes), lookup);
    let hands = |surroundings| Hands {
        registry: offer.registry.clone(),
        surroundings: Arc::new(surroundings),
        policy: settings.policy.clone(),
        remote: remote.clone(),
        trusts_project: layers.trusts_project(),
        runs_snippets: layers.loaded.settings.disable_skill_shell_execution != Some(true),
    };
    let (pages, later) = (found.pages.clone(), hands(apart(&surroundings, &settings.policy)));
    let (order, surroundings) =
        worded(order, hands(surroundings), (&found, &layers), &names, &settings)?;
    let expander = Expander { pages, names, hands: later };
    let (prices, durability) = (config.facts.clone().unwrap_or_default(), config.durability);
    let (mut builder, atlas) = casted(settings, servers, config)?;
    let portrait = portrait(offer.names(), &mut found, layers.output_style(), cwd);
    let agents = offer.subagents(std::mem::take(&mut found.agents));
    builder = found.equip(builder).registry(offer.registry).web_search(offer.search);
    let live = Live::new(args, &portrait.cwd, &mut layers, lookup);
    builder = builder.surroundings(surroundings).hooks(live.hooks.clone()).models(models);
    builder = builder.continue_run(order == Some(Order::GoOn)).keep_files(layers.keeps_files());
    builder = kept_in(builder, &kept, &portrait.cwd, (durability, prices));
    kept.make(layers.cleanup_days())?;
    notes.extend(kept.journal.is_some().then(|| format!("this is session {}", kept.id)));
    Ok(Plan {
        builder,
        order,
        agents,
        portrait,
        expander,
        atlas,
        session_id: kept.id,
        journal: kept.journal,
        is_put_off,
        scratch,
        notes,
        live,
        layers,
        remote,
    })
}

/// Models that may be asked for by name. Who asks for another one is told.
fn by_name(
    (cast, config): (&Cast, &Config),
    (settings, layers): (&Settings, &Layers),
    (found, notes): (&Found, &mut Vec<String>),
    lookup: &impl Lookup,
) -> Vec<(String, ModelFacts)> {
    let within = (settings, layers.available());
    let models = choice::others(cast, config, within, found.models(), lookup);
    notes.extend(found.missing(cast, &models));
    models
}

/// What is said of the session.
fn portrait(tools: Vec<String>, found: &mut Found, style: String, cwd: PathBuf) -> Portrait {
    Portrait {
        tools,
        skills: std::mem::take(&mut found.skill_folders),
        hidden_skills: Vec::new(),
        output_style: style,
        output_styles: std::mem::take(&mut found.styles),
        cwd,
    }
}

/// What pages may call the session and the project.
fn names(kept: &Kept, cwd: &Path, config: &Config, lookup: &impl Lookup) -> Names {
    let project = folder::project(cwd).to_string_lossy().into_owned();
    let full = |short: &String| Some((short.clone(), choice::choose(short, config, lookup).ok()?));
    let models = config.short.keys().filter_map(full);
    let models = models.map(|(short, chosen)| (short, chosen.full_name())).collect();
    Names { session_id: kept.id.clone(), project, models }
}

/// Tells a session who it is and where it is written down.
fn kept_in(
    builder: Builder,
    kept: &Kept,
    cwd: &Path,
    (durability, prices): (Durability, String),
) -> Builder {
    let builder = builder.identity(&*kept.id, Some(folder::project(cwd)));
    let mut builder = builder.transcript(kept.transcript());
    if kept.is_fork() {
        builder = builder.start_source("fork");
    }
    match &kept.journal {
        None => builder,
        Some(journal) => {
            builder.journal(journal, durability).journal_head(kept.head()).price_table(prices)
        }
    }
}

/// The demonstration: the same engine, tools and HTTP client, in a folder made for it, where
/// everything the script asks for may run.
pub(crate) fn demo(project: &Path, base_url: &str) -> (Builder, PathBuf) {
    let mut settings = Settings::new(Model::default().facts("rehearsed"));
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
