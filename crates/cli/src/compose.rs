//! The only place that wires concrete parts together: flags and environment in, sessions out.
//!
//! Everything is checked here before anything is begun: a mistake costs one line and nothing is
//! written. What is made here is run by the front ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Handle;
use windlass_driver::mcp::Servers;
use windlass_driver::{
    AgentDefinition, Builder, Durability, Endpoint, NoteFolder, Registry, Settings, SkillFolders,
    Subagents, Surroundings,
};
use windlass_permission::check::NO_AUTO;
use windlass_permission::{Policy, Rule};
use windlass_vocabulary::{Mode, ModelName, Wire};

use crate::args::{ModelArgs, OutputFormat, PermissionArgs, PermissionMode, RunArgs, SettingsArgs};
use crate::choice::{self, Cast, Chosen};
use crate::command::{self, Order};
use crate::config::Config;
use crate::config::model::Model;
use crate::environment::Lookup;
use crate::expansion::{Expander, Hands, Names, Pages};
use crate::layers::Layers;
use crate::memory::NearbyFiles;
use crate::refusal::Refusal;
use crate::rules::listed;
use crate::sandbox;
use crate::server::{self, Place, Proofs, Server};
use crate::session::{self, Kept};
use crate::settings::{settings, wishes};
use crate::topic::InForce;
use crate::{
    agents, chance, date, expansion, folder, memory, offer, prompt, remote, skills, style,
};

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
    /// What to print.
    pub(crate) format: OutputFormat,
    /// Tell what happens on the way.
    pub(crate) verbose: bool,
    /// The session's name in the result.
    pub(crate) session_id: String,
    /// Where it is written down.
    pub(crate) journal: Option<PathBuf>,
    /// A directory to remove when the session is over.
    pub(crate) scratch: Option<PathBuf>,
    /// What people should know before it begins, if they want to know everything.
    pub(crate) notes: Vec<String>,
    /// The settings in force; what is wrong with them is told in any case.
    pub(crate) layers: Layers,
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
    /// The style of answers, by name.
    pub(crate) output_style: String,
    /// The styles there are.
    pub(crate) output_styles: Vec<String>,
}

/// Where each model of a session lives.
#[derive(Clone, Debug)]
pub(crate) struct Atlas {
    /// The table, for names that are near.
    pub(crate) config: Config,
    /// Whose a model without a place of its own is.
    pub(crate) first: Place,
    /// By the model's name.
    pub(crate) places: BTreeMap<ModelName, Place>,
}

impl Atlas {
    /// Where this model lives.
    pub(crate) fn place(&self, model: Option<&ModelName>) -> &Place {
        model.and_then(|model| self.places.get(model)).unwrap_or(&self.first)
    }
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
    let mut plan = composed(&args, lookup, false)?;
    plan.builder.settings_mut().policy.can_ask = true;
    Ok(plan)
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
        false => Found::look(&cwd, &config, &layers, &mut settings, lookup),
    };
    notes.append(&mut found.notes);
    let mut offer = offer::offer(&args.permission.tools, &settings.policy)?;
    choice::check(&cast, wishes(&model, &offer.registry))?;
    let (order, servers) = asked(args, has_prompt, &cast, &config, lookup)?;
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
    let names = names(&kept, &cwd);
    let beside = apart(&surroundings, &settings.policy);
    let hands = |surroundings| Hands {
        registry: offer.registry.clone(),
        surroundings: Arc::new(surroundings),
        policy: settings.policy.clone(),
        trusts_project: layers.trusts_project(),
    };
    let (pages, later) = (found.pages.clone(), hands(beside));
    let (order, surroundings) = worded(order, hands(surroundings), &found, &names, &mut settings)?;
    let expander = Expander { pages, names, hands: later };
    let (prices, durability) = (config.facts.clone().unwrap_or_default(), config.durability);
    let (mut builder, atlas) = casted(settings, servers, config)?;
    let portrait = Portrait {
        tools: offer.names(),
        skills: std::mem::take(&mut found.skill_folders),
        output_style: layers.output_style(),
        output_styles: std::mem::take(&mut found.styles),
        cwd,
    };
    let agents = offer.subagents(std::mem::take(&mut found.agents));
    builder = found.equip(builder).registry(offer.registry).web_search(offer.search);
    builder = builder.surroundings(surroundings).hooks(layers.hooks());
    builder = builder.continue_run(order == Some(Order::GoOn));
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
        format: args.output_format,
        verbose: args.verbose,
        session_id: kept.id,
        journal: kept.journal,
        scratch,
        notes,
        layers,
        remote,
    })
}

/// The same place for calls that are no part of the session.
fn apart(surroundings: &Surroundings, policy: &Policy) -> Surroundings {
    let mut beside = surroundings.for_another();
    beside.hidden = policy.rules.hidden(&policy.directories);
    beside
}

/// What pages may call the session and the project.
fn names(kept: &Kept, cwd: &Path) -> Names {
    let project = folder::project(cwd).to_string_lossy().into_owned();
    Names { session_id: kept.id.clone(), project }
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

/// What people keep in files for all their sessions.
#[derive(Default)]
struct Found {
    agents: Vec<AgentDefinition>,
    memory: Option<NoteFolder>,
    skills: Option<SkillFolders>,
    nearby: Option<Arc<NearbyFiles>>,
    pages: Pages,
    skill_folders: Vec<PathBuf>,
    /// Styles of answers, by name.
    styles: Vec<String>,
    /// What was left out, and why.
    notes: Vec<String>,
}

impl Found {
    /// Gives it to a session.
    fn equip(self, mut builder: Builder) -> Builder {
        if let Some(memory) = self.memory {
            builder = builder.memory(memory);
        }
        if let Some(nearby) = self.nearby {
            builder = builder.nearby(nearby);
        }
        if let Some(skills) = self.skills {
            builder = builder.skills(skills);
        }
        builder
    }

    /// Looks for it. A few small files: a first request must not wait for more.
    fn look(
        cwd: &Path,
        config: &Config,
        layers: &Layers,
        settings: &mut Settings,
        lookup: &impl Lookup,
    ) -> Self {
        // A byte for each token of the window: instructions fill about a quarter of it at most.
        let window = usize::try_from(settings.model.window.0).unwrap_or(usize::MAX);
        let wanted = memory::Wanted {
            user: layers.sources.user,
            project: layers.sources.project,
            local: layers.sources.local,
            excludes: layers.loaded.settings.claude_md_excludes.clone().unwrap_or_default(),
            bytes_max: window.min(INSTRUCTIONS_MAX),
        };
        let instructions = memory::load(cwd, &wanted, lookup);
        settings.user_context = instructions.text.map(Arc::from);
        let (agents, mut notes) = agents::definitions(cwd, config, layers.sources, lookup);
        notes.splice(0..0, instructions.notes);
        let memory = folder::config(lookup).map(|folder| folder.join("memory"));
        let memory = memory.filter(|folder| folder.is_dir()).map(NoteFolder::new);
        let folders = skills::folders(cwd, layers.sources, lookup);
        // The model is shown where a skill lies and reads it itself.
        settings.policy.rules.allow.extend(folders.iter().map(|folder| reading_below(folder)));
        let skill_folders = folders.clone();
        let skills = (!folders.is_empty()).then(|| SkillFolders::new(folders));
        let pages = Pages::find(cwd, layers.sources.user, layers.sources.project, lookup);
        let nearby = instructions.nearby;
        let styles = style::all(cwd, layers.sources.user, layers.sources.project, lookup);
        notes.extend(style::apply(&styles, &layers.output_style(), &mut settings.system_prompt));
        let styles = styles.into_iter().map(|style| style.name).collect();
        Self { agents, memory, skills, nearby, pages, skill_folders, styles, notes }
    }
}

/// What the flags, the environment, the settings and the table say together, in this order.
struct Decided {
    config: Config,
    model: ModelArgs,
    cast: Cast,
    settings: Settings,
    notes: Vec<String>,
    /// Where the session works besides.
    directories: Vec<PathBuf>,
}

impl Decided {
    fn of(
        args: &RunArgs,
        cwd: &Path,
        layers: &mut Layers,
        lookup: &impl Lookup,
    ) -> Result<Self, Refusal> {
        let mut config = Config::load(lookup)?;
        layers.amend_config(&mut config);
        let mut model = layers.model_args(&args.model, lookup);
        let cast = choice::cast(&model, &config, lookup)?;
        layers.fit(&args.model, &mut model, &cast);
        let (mut settings, notes) = settings(&cast, &model, &args.limit)?;
        layers.amend(&mut settings, lookup);
        let directories = layers.directories(directories(&args.permission.add_dir)?);
        settings.system_prompt = system_prompt(args)?;
        // Also tells which files changed behind the model's back, so it is on whatever else there is.
        settings.prefetch = true;
        settings.system_context = system_context(cwd);
        settings.policy = policy(&args.permission, cwd, &directories)?;
        layers.judge(&mut settings.policy, &args.permission)?;
        settings.policy.can_ask = args.headless.can_ask();
        Ok(Self { config, model, cast, settings, notes, directories })
    }
}

/// What is asked for, if that is known already, and the servers of everybody who may be asked.
type Asked = (Option<Order>, Vec<(ModelName, Server)>);

/// The prompt and whom to ask. A slow pipe is worth waiting for only when the rest is right.
fn asked(
    args: &RunArgs,
    has_prompt: bool,
    cast: &Cast,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Asked, Refusal> {
    if args.session.continue_run && has_prompt {
        return Ok((Some(Order::GoOn), servers(cast, config, lookup)?));
    }
    let asked = match prompt::on_command_line(args)? {
        Some(_) if !has_prompt => {
            return Err(Refusal::usage(
                "prompts come over standard input with --input-format stream-json; leave the one \
                 on the command line out",
            ));
        }
        None if !has_prompt => return Ok((None, servers(cast, config, lookup)?)),
        None => {
            let order = command::order(prompt::from_stdin_alone()?)?;
            return Ok((Some(order), servers(cast, config, lookup)?));
        }
        Some(asked) => asked,
    };
    if let Ok(order) = command::order(asked.clone())
        && order.asks_nobody()
    {
        // Whoever only looks needs no key.
        let servers = servers(cast, config, lookup);
        return Ok((Some(order), servers.unwrap_or_else(|_| nobody(cast))));
    }
    let servers = servers(cast, config, lookup)?;
    Ok((Some(command::order(prompt::with_stdin(asked)?)?), servers))
}

/// Servers that are never asked.
fn nobody(cast: &Cast) -> Vec<(ModelName, Server)> {
    let place = Place {
        provider: String::new(),
        base_url: NOWHERE.to_owned(),
        key_advice: String::new(),
        address_advice: String::new(),
    };
    let endpoint = || Endpoint::new(Wire::AnthropicMessages, NOWHERE);
    let server = |chosen: &Chosen| {
        let server = Server { endpoint: endpoint(), place: place.clone() };
        (ModelName::from(chosen.name.as_str()), server)
    };
    cast.all().map(server).collect()
}

/// What the prompt asks for. One that only looks at a session that is new leaves none behind.
fn ordered(order: Order, kept: &mut Kept) -> Result<Order, Refusal> {
    if order == Order::GoOn {
        kept.check_unfinished()?;
    }
    if order.needs_history() && !kept.is_continued {
        return Err(Refusal::usage(
            "nothing was said in a new session; go on with one: add -c, or -r and its id",
        ));
    }
    if order.only_looks() && !kept.is_continued {
        kept.journal = None;
    }
    Ok(order)
}

/// The order in the words it stands for: what a page says in the place of its name, and what is in
/// force for whoever asks. Commands of a page run now, on the runtime this was started from.
fn worded(
    order: Option<Order>,
    hands: Hands,
    found: &Found,
    names: &Names,
    settings: &mut Settings,
) -> Result<(Option<Order>, Surroundings), Refusal> {
    let surroundings = Arc::clone(&hands.surroundings);
    let order = match order {
        Some(Order::Show { topic, .. }) => {
            drop(hands);
            let in_force = InForce { settings, agents: &found.agents, pages: &found.pages };
            Some(Order::Show { topic, text: in_force.words(topic) })
        }
        Some(Order::Say(submission)) if !submission.pinned => {
            let expanding = expansion::submission(submission, &found.pages, names, hands);
            let (submission, allow) = Handle::current().block_on(expanding)?;
            settings.policy.rules.allow.extend(allow);
            Some(Order::Say(submission))
        }
        other => {
            drop(hands);
            other
        }
    };
    let surroundings = Arc::try_unwrap(surroundings).unwrap_or_else(|shared| shared.for_another());
    Ok((order, surroundings))
}

/// The server of everybody who may be asked. Each is looked for now: a fallback without a key would
/// only be found out when it is needed.
fn servers(
    cast: &Cast,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Vec<(ModelName, Server)>, Refusal> {
    let mut proofs = Proofs::default();
    let found = |chosen: &Chosen| {
        let server = server::server(chosen, config, &mut proofs, lookup)?;
        Ok((ModelName::from(chosen.name.as_str()), server))
    };
    cast.all().map(found).collect()
}

/// A session in which each model is asked at its own server.
fn casted(
    settings: Settings,
    servers: Vec<(ModelName, Server)>,
    config: Config,
) -> Result<(Builder, Atlas), Refusal> {
    let mut servers = servers.into_iter();
    let Some((name, first)) = servers.next() else {
        return Err(Refusal::usage("there is no model to ask; give one with --model"));
    };
    let mut atlas = Atlas { config, first: first.place.clone(), places: BTreeMap::new() };
    atlas.places.insert(name, first.place);
    let mut builder = Builder::new(settings, first.endpoint);
    for (name, Server { endpoint, place }) in servers {
        builder = builder.endpoint_for(name.clone(), endpoint);
        atlas.places.insert(name, place);
    }
    Ok((builder, atlas))
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

/// Lets everything below a directory be read. Two slashes mean the root.
fn reading_below(directory: &Path) -> Rule {
    let content = format!("/{}/**", directory.to_string_lossy());
    Rule { tool: "Read".to_owned(), content: Some(content) }
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

/// Where we are.
pub(crate) fn working_directory() -> Result<PathBuf, Refusal> {
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

/// With everything tools must know: where they may work, what they may not see, and an environment
/// without keys.
fn prepared(
    mut surroundings: Surroundings,
    directories: Vec<PathBuf>,
    policy: &Policy,
    config: &Config,
    layers: &Layers,
) -> Surroundings {
    layers.export(&mut surroundings);
    for directory in directories {
        surroundings.add_directory(directory);
    }
    surroundings.hidden = policy.rules.hidden(&policy.directories);
    let is_secret = |name: &str| server::key_variables(config).any(|secret| secret == name);
    surroundings.environment.retain(|(name, _)| !name.to_str().is_some_and(is_secret));
    surroundings
}

/// A name nobody else can know beforehand, so nobody can have put something there.
fn scratch_directory() -> PathBuf {
    std::env::temp_dir().join(format!("windlass-{}", chance::name()))
}

/// An address at which nobody is ever asked.
const NOWHERE: &str = "http://127.0.0.1:9";
/// Bytes of instructions.
const INSTRUCTIONS_MAX: usize = 256 * 1024;
const SYSTEM_PROMPT: &str = include_str!("text/system_prompt.md").trim_ascii_end();
