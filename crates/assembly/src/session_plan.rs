//! The only place that wires concrete parts together: flags and environment in, sessions out.
//!
//! Everything is checked here before anything is begun: a mistake costs one line and nothing is
//! written. What is made here is run by the front ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::engine_settings::Settings;
use windlass_driver::mcp::McpServers;
use windlass_driver::{
    Durability, Endpoint, SessionBuilder, SubagentConfig, ToolRegistry, ToolSessionContext,
};
use windlass_permission::Policy;
use windlass_vocabulary::{ModelFacts, PermissionMode, WireFormat};

use crate::limits::build_model_requirements;
use crate::options::RunOptions;
use crate::prompt_expansion::{PromptExpander, PromptTools};
use crate::session;
use crate::session::SelectedSession;
use crate::settings::SettingsLayers;
use crate::settings::reloader::SettingsReloader;
use crate::slash_command::SlashCommand;
use crate::{mcp, sandbox, tool_selection};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::{random, user_directories};
use windlass_project::argument_substitution::ExpansionVariables;
use windlass_provider::config::Config;
use windlass_provider::config::model::ModelConfig;
use windlass_provider::model_choice;
use windlass_provider::model_choice::ModelChain;

use crate::directories::{
    build_read_rule, build_scratch_path, build_tool_context, clone_for_prompt_tools,
    prepare_tool_context, working_directory,
};
use crate::project_files::ProjectFiles;
use crate::prompt::{
    EndpointDescriptions, build_with_endpoints, check_session_for_command, expand_command,
    resolve_prompt_and_endpoints,
};
use crate::resolved::{ResolvedOptions, SYSTEM_PROMPT, build_system_context};

/// A run that only has to be started.
#[derive(Debug)]
pub struct SessionPlan {
    /// The session.
    pub builder: SessionBuilder,
    /// What is asked for; nothing yet, if prompts come later.
    pub first_command: Option<SlashCommand>,
    /// Nested sessions, if there may be any; not yet given to the builder.
    pub subagents: Option<SubagentConfig>,
    /// What people and clients are told of it.
    pub description: SessionDescription,
    /// What prompts that come later may stand for.
    pub expander: PromptExpander,
    /// Where each model lives, for words about it.
    pub endpoints: EndpointDescriptions,
    /// The session's name in the result.
    pub session_id: String,
    /// Where it is written down.
    pub journal: Option<PathBuf>,
    /// The session has a call that was put off.
    pub has_deferred_call: bool,
    /// A directory to remove when the session is over.
    pub scratch_directory: Option<PathBuf>,
    /// What people should know before it begins, if they want to know everything.
    pub notes: Vec<String>,
    /// The settings in force; what is wrong with them is told in any case.
    pub settings_layers: SettingsLayers,
    /// Looks after settings files.
    pub settings_reloader: SettingsReloader,
    /// The MCP servers, to be closed when the session is over.
    pub mcp_servers: McpServers,
}

/// What a session is made of, in names.
#[derive(Clone, Debug, Default)]
pub struct SessionDescription {
    /// Where it works.
    pub cwd: PathBuf,
    /// The tools on offer.
    pub tools: Vec<String>,
    /// Folders with skills.
    pub skill_folders: Vec<PathBuf>,
    /// Skills in them that the client does not want.
    pub hidden_skills: Vec<String>,
    /// The style of answers, by name.
    pub output_style: String,
    /// The styles there are.
    pub output_styles: Vec<String>,
}

/// A run that answers one prompt.
pub fn plan_print_run(
    args: &RunOptions,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    build_session_plan(args, lookup, true)
}

/// A session whose prompts come later.
pub fn plan_streaming_session(
    args: &RunOptions,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    build_session_plan(args, lookup, false)
}

/// A session with somebody in front of it.
pub fn plan_interactive_session(
    args: &RunOptions,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    let mut args = args.clone();
    // It is said once the session has begun.
    args.prompt = None;
    // Somebody is there to be asked, so what needs a person is offered.
    args.headless.is_attended = true;
    build_session_plan(&args, lookup, false)
}

fn build_session_plan(
    args: &RunOptions,
    lookup: &impl EnvLookup,
    has_prompt: bool,
) -> Result<SessionPlan, CommandError> {
    let cwd = working_directory()?;
    let mut layers = SettingsLayers::load(&args.settings, args.bare, &cwd, lookup)?;
    let variables = layers.clone();
    let lookup = &variables.overlay_environment(lookup);
    let decided = ResolvedOptions::resolve(args, &cwd, &mut layers, lookup)?;
    let ResolvedOptions {
        config,
        model_args: model,
        model_chain: cast,
        mut settings,
        mut notes,
        directories,
    } = decided;
    let mut kept = session::select_session(&args.session, &cwd, &config, lookup)?;
    let mut found = match args.bare || args.settings.safe_mode {
        true => ProjectFiles::default(),
        false => {
            let root = args.settings.resolve_project_root(&cwd);
            ProjectFiles::load(&root, &config, &mut layers, &mut settings, lookup)
        }
    };
    notes.append(&mut found.notes);
    let mut offer = tool_selection::select_tools(&args.permission.tools, &settings.policy)?;
    model_choice::check_capabilities(&cast, build_model_requirements(&model, &offer.registry))?;
    let is_put_off = kept.has_deferred_call();
    let (order, servers) =
        resolve_prompt_and_endpoints(args, (has_prompt, is_put_off), &cast, &config, lookup)?;
    let order = order.map(|order| check_session_for_command(order, &mut kept)).transpose()?;
    let (surroundings, scratch) = build_tool_context(&cwd, kept.journal.as_deref());
    // The model is told to read long outputs back from there.
    settings.policy.rules.allow.push(build_read_rule(&surroundings.processes.spill_directory));
    settings
        .policy
        .rules
        .allow
        .extend(kept.inherited_spills().iter().map(|place| build_read_rule(place)));
    let mut surroundings =
        prepare_tool_context(surroundings, directories, &settings.policy, &config, &layers);
    let held =
        layers.resolve_sandbox(args.permission.sandbox, &args.permission.sandbox_allow_domain);
    notes.extend(sandbox::confine_commands(&held, &mut surroundings, &mut settings.policy)?);
    let tools = offer.add_skill_tool(&mut surroundings, &found.skill_folders);
    let remote =
        mcp::start_session_servers(args, &layers, (&surroundings, tools), &mut notes, lookup)?;
    let names = build_expansion_variables(&kept, &cwd, &config, lookup);
    let models =
        resolve_named_models((&cast, &config), (&settings, &layers), (&found, &mut notes), lookup);
    let hands = |surroundings| PromptTools {
        registry: offer.registry.clone(),
        tool_context: Arc::new(surroundings),
        policy: settings.policy.clone(),
        mcp_servers: remote.clone(),
        trusts_project: layers.trusts_project(),
        may_run_snippets: layers.loaded.settings.disable_skill_shell_execution != Some(true),
    };
    let (pages, later) = (
        found.custom_commands.clone(),
        hands(clone_for_prompt_tools(&surroundings, &settings.policy)),
    );
    let (order, surroundings) =
        expand_command(order, hands(surroundings), (&found, &layers), &names, &settings)?;
    let expander = PromptExpander { custom_commands: pages, variables: names, tools: later };
    let (prices, durability) = (config.facts_date.clone().unwrap_or_default(), config.durability);
    let (mut builder, atlas) = build_with_endpoints(settings, servers, config)?;
    let portrait = describe_session(offer.tool_names(), &mut found, layers.output_style(), cwd);
    let agents = offer.build_subagents(std::mem::take(&mut found.agents));
    builder =
        found.apply_to_builder(builder).registry(offer.registry).web_search(offer.may_search_web);
    let live = SettingsReloader::new(args, &portrait.cwd, &mut layers, lookup);
    builder = builder.tool_context(surroundings).hooks(live.hooks.clone()).named_models(models);
    builder = builder
        .resume_run(order == Some(SlashCommand::ContinueRun))
        .keep_file_history(layers.has_file_checkpointing());
    builder = set_identity_and_journal(builder, &kept, &portrait.cwd, (durability, prices));
    kept.create_files(layers.cleanup_days())?;
    notes.extend(kept.journal.is_some().then(|| format!("this is session {}", kept.id)));
    Ok(SessionPlan {
        builder,
        first_command: order,
        subagents: agents,
        description: portrait,
        expander,
        endpoints: atlas,
        session_id: kept.id,
        journal: kept.journal,
        has_deferred_call: is_put_off,
        scratch_directory: scratch,
        notes,
        settings_reloader: live,
        settings_layers: layers,
        mcp_servers: remote,
    })
}

/// Models that may be asked for by name. Who asks for another one is told.
fn resolve_named_models(
    (cast, config): (&ModelChain, &Config),
    (settings, layers): (&Settings, &SettingsLayers),
    (found, notes): (&ProjectFiles, &mut Vec<String>),
    lookup: &impl EnvLookup,
) -> Vec<(String, ModelFacts)> {
    let within = (settings, layers.available_models());
    let models =
        model_choice::list_named_models(cast, config, within, found.agent_models(), lookup);
    notes.extend(found.describe_missing_models(cast, &models));
    models
}

/// What is said of the session.
fn describe_session(
    tools: Vec<String>,
    found: &mut ProjectFiles,
    style: String,
    cwd: PathBuf,
) -> SessionDescription {
    SessionDescription {
        tools,
        skill_folders: std::mem::take(&mut found.skill_folders),
        hidden_skills: Vec::new(),
        output_style: style,
        output_styles: std::mem::take(&mut found.styles),
        cwd,
    }
}

/// What pages may call the session and the project.
fn build_expansion_variables(
    kept: &SelectedSession,
    cwd: &Path,
    config: &Config,
    lookup: &impl EnvLookup,
) -> ExpansionVariables {
    let project = user_directories::find_project_root(cwd).to_string_lossy().into_owned();
    let full = |short: &String| {
        Some((short.clone(), model_choice::choose_model(short, config, lookup).ok()?))
    };
    let models = config.aliases.keys().filter_map(full);
    let models = models.map(|(short, chosen)| (short, chosen.full_name())).collect();
    ExpansionVariables {
        session_id: kept.id.clone(),
        project_directory: project,
        model_aliases: models,
    }
}

/// Tells a session who it is and where it is written down.
fn set_identity_and_journal(
    builder: SessionBuilder,
    kept: &SelectedSession,
    cwd: &Path,
    (durability, prices): (Durability, String),
) -> SessionBuilder {
    let builder = builder.identity(&*kept.id, Some(user_directories::find_project_root(cwd)));
    let mut builder = builder.transcript(kept.build_transcript());
    if kept.is_fork() {
        builder = builder.start_source("fork");
    }
    match &kept.journal {
        None => builder,
        Some(journal) => builder
            .journal(journal, durability)
            .journal_head(kept.build_journal_head())
            .price_table(prices),
    }
}

/// The demonstration: the same engine, tools and HTTP client, in a folder made for it, where
/// everything the script asks for may run.
pub fn build_demo_session(project: &Path, base_url: &str) -> (SessionBuilder, PathBuf) {
    let mut settings = Settings::new(ModelConfig::default().to_model_facts("rehearsed"));
    settings.policy = Policy {
        mode: PermissionMode::BypassPermissions,
        directories: vec![project.to_string_lossy().into_owned()],
        ..Policy::default()
    };
    settings.system_prompt = Arc::from(SYSTEM_PROMPT);
    settings.system_context = build_system_context(project);
    settings.limits.turns_max = 20;
    settings.jitter_seed = random::generate_seed();
    let spill = build_scratch_path();
    let builder =
        SessionBuilder::new(settings, Endpoint::new(WireFormat::AnthropicMessages, base_url))
            .registry(ToolRegistry::with_builtin_tools())
            .tool_context(ToolSessionContext::new(project, &spill));
    (builder, spill)
}
