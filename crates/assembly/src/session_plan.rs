//! The only place that wires concrete parts together: options and environment in, a session that is
//! ready to start out. The front ends start it.
//!
//! Every stage takes the results of the stages before it and checks its own part: a mistake costs one
//! line, and nothing is written before everything is checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::mcp::McpServers;
use windlass_driver::{Durability, PromptSubmission, SessionBuilder, SubagentConfig};
use windlass_vocabulary::{ContentBlock, ModelFacts, ModelName};

use crate::directories::working_directory;
use crate::limits::build_model_requirements;
use crate::options::RunOptions;
use crate::project_files::ProjectFiles;
use crate::prompt_expansion::PromptExpander;
use crate::prompt_plan::{PromptPlan, PromptSource, build_with_endpoints, expand_command};
use crate::resolved::ResolvedOptions;
use crate::session::cleanup::SessionCleanup;
use crate::session::snapshots::snapshot_config;
use crate::session::trials::{SHARED_BUDGET_VARIABLE, is_on_trial, report_session, trial_config};
use crate::session::{self, SelectedSession};
use crate::settings::SettingsLayers;
use crate::settings::reloader::SettingsReloader;
use crate::slash_command::{self, SlashCommand};
use crate::telemetry::{
    forward_connection_changes, report_first_command, report_setup, start_telemetry,
};
use crate::tool_selection;
use crate::tool_setup::ToolSetup;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_project::argument_substitution::ExpansionVariables;
use windlass_provider::config::Config;
use windlass_provider::endpoint::{EndpointDescriptions, ModelEndpoint};
use windlass_provider::model_choice;
use windlass_telemetry::TelemetryObserver;

#[derive(Debug)]
pub struct SessionPlan {
    pub builder: SessionBuilder,
    /// What the first prompt asks for; `None` if prompts come later.
    pub first_command: Option<SlashCommand>,
    /// Subagents, if they may be started; the builder does not have them yet.
    pub subagents: Option<SubagentConfig>,
    pub description: SessionDescription,
    /// Expands prompts that come later.
    pub expander: PromptExpander,
    /// Where each model is reached, for messages about it.
    pub endpoints: EndpointDescriptions,
    pub session_id: String,
    pub journal: Option<PathBuf>,
    /// The last run ended with a deferred call.
    pub has_deferred_call: bool,
    /// To be removed when the session is over.
    pub scratch_directory: Option<PathBuf>,
    /// For users who want to know everything; warnings of the settings are separate.
    pub notes: Vec<String>,
    pub settings_layers: SettingsLayers,
    pub settings_reloader: SettingsReloader,
    /// To be closed when the session is over.
    pub mcp_servers: McpServers,
    /// To be begun when the session is open.
    pub cleanup: Option<SessionCleanup>,
}

/// What a session is made of, in names.
#[derive(Clone, Debug, Default)]
pub struct SessionDescription {
    pub cwd: PathBuf,
    pub tools: Vec<String>,
    pub skill_folders: Vec<PathBuf>,
    /// Skills in those folders that the client does not want.
    pub hidden_skills: Vec<String>,
    pub output_style: String,
    pub output_styles: Vec<String>,
    /// Models that agents and single prompts may ask for.
    pub named_models: Vec<ModelFacts>,
    /// The transcript that other programs read, if the session is kept.
    pub transcript: Option<PathBuf>,
}

/// A run that answers one prompt.
pub fn plan_print_run(
    options: &RunOptions,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    plan_session(options, PromptSource::CommandLine, lookup)
}

/// A session whose prompts come later.
pub fn plan_streaming_session(
    options: &RunOptions,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    plan_session(options, PromptSource::Later, lookup)
}

/// A session with a person at a terminal.
pub fn plan_interactive_session(
    options: &RunOptions,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    let mut options = options.clone();
    // The front end submits it once the session runs.
    options.prompt = None;
    // Tools that ask the user are offered.
    options.headless.is_attended = true;
    plan_session(&options, PromptSource::Later, lookup)
}

/// A session of an editor, which may have many in one process, each in a directory of its own.
pub fn plan_editor_session(
    options: &RunOptions,
    cwd: PathBuf,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    let mut options = options.clone();
    // There is a person who answers questions.
    options.headless.is_attended = true;
    plan_session_in(cwd, &options, PromptSource::Later, lookup)
}

fn plan_session(
    options: &RunOptions,
    source: PromptSource,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    plan_session_in(working_directory()?, options, source, lookup)
}

fn plan_session_in(
    cwd: PathBuf,
    options: &RunOptions,
    source: PromptSource,
    lookup: &impl EnvLookup,
) -> Result<SessionPlan, CommandError> {
    let layers = SettingsLayers::load(&options.settings, options.bare, &cwd, lookup)?;
    let variables = layers.clone();
    let lookup = &variables.overlay_environment(lookup);
    SessionParts::check(options, source, cwd, layers, lookup)?.assemble(options, lookup)
}

/// The results of all stages: everything is checked, and nothing is written yet.
struct SessionParts {
    resolved: ResolvedOptions,
    session: SelectedSession,
    files: ProjectFiles,
    tools: ToolSetup,
    named_models: Vec<(String, ModelFacts)>,
    expander: PromptExpander,
    first_command: Option<SlashCommand>,
    endpoints: Vec<(ModelName, ModelEndpoint)>,
    has_deferred_call: bool,
}

impl SessionParts {
    fn check(
        options: &RunOptions,
        source: PromptSource,
        cwd: PathBuf,
        layers: SettingsLayers,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let resolved = ResolvedOptions::resolve(options, cwd, layers, lookup)?;
        let session =
            session::select_session(&options.session, &resolved.cwd, &resolved.config, lookup)?;
        let mut files = ProjectFiles::load(options, &resolved, lookup);
        let resolved = files.apply_to(resolved);
        let policy = &resolved.engine_settings.policy;
        let selection = tool_selection::select_tools(&options.permission.tools, policy)?;
        model_choice::check_capabilities(
            &resolved.model_chain,
            build_model_requirements(&resolved.model_options, &selection.registry),
        )?;
        let has_deferred_call = session.has_deferred_call();
        let prompt = PromptPlan::resolve(options, source, has_deferred_call, &resolved, lookup)?;
        let session = prompt.check_session(session)?;
        let mut tools = ToolSetup::build(options, &resolved, &session, &files, selection, lookup)?;
        let mut resolved = tools.apply_to(resolved);
        let named_models = list_named_models(&resolved, &files, lookup);
        resolved.notes.extend(files.describe_missing_models(&resolved.model_chain, &named_models));
        resolved.drop_unknown_subagent_model(&named_models);
        let expander = PromptExpander {
            custom_commands: files.custom_commands.clone(),
            variables: build_expansion_variables(&session, &resolved, lookup),
            tools: tools.later_prompt_tools(&resolved),
            telemetry: None,
        };
        if let Some(SlashCommand::SubmitPrompt(submission)) = &prompt.command {
            check_first_prompt(submission, &files)?;
        }
        let first_command = prompt.command.map(|command| {
            let tools = tools.first_prompt_tools(&resolved);
            let expander = PromptExpander { tools, ..expander.clone() };
            expand_command(command, prompt.piped_from, &resolved, &files, &expander)
        });
        let first_command = first_command.transpose()?;
        let endpoints = prompt.endpoints;
        Ok(Self {
            resolved,
            session,
            files,
            tools,
            named_models,
            expander,
            first_command,
            endpoints,
            has_deferred_call,
        })
    }

    /// Makes the session and, last of all, its files.
    fn assemble(
        self,
        options: &RunOptions,
        lookup: &impl EnvLookup,
    ) -> Result<SessionPlan, CommandError> {
        let Self { mut resolved, session, mut files, tools, first_command, .. } = self;
        let (builder, endpoints) =
            build_with_endpoints(resolved.engine_settings, self.endpoints, resolved.config)?;
        let description = SessionDescription {
            cwd: resolved.cwd,
            tools: tools.selection.tool_names(),
            skill_folders: std::mem::take(&mut files.skill_folders),
            hidden_skills: Vec::new(),
            output_style: resolved.layers.requested_output_style(),
            output_styles: std::mem::take(&mut files.output_styles),
            named_models: self.named_models.iter().map(|(_, facts)| facts.clone()).collect(),
            transcript: session.transcript_path(),
        };
        let subagents = tools.selection.build_subagents(std::mem::take(&mut files.agents));
        let subagents = subagents.map(|config| SubagentConfig {
            model_override: resolved.subagent_model.as_deref().map(ModelName::from),
            ..config
        });
        let settings_reloader =
            SettingsReloader::new(options, &description.cwd, &mut resolved.layers, lookup);
        let working_directories = tools.tool_context.files.working_directories();
        let added_directories = select_added_directories(&working_directories);
        // No prompt holds the context any more; if one did, the session would get its own.
        let tool_context =
            Arc::try_unwrap(tools.tool_context).unwrap_or_else(|shared| shared.for_subagent());
        let secrets = &tool_context.secrets;
        let layers = &mut resolved.layers;
        let telemetry = start_telemetry(options, &description.cwd, layers, secrets, lookup);
        if let Some(telemetry) = &telemetry {
            report_setup(telemetry, layers, &tools.mcp_servers);
            forward_connection_changes(telemetry, tools.connection_changes);
            report_first_command(telemetry, options, first_command.as_ref());
        }
        let builder = files
            .apply_to_builder(builder)
            .registry(tools.selection.registry)
            .web_search(tools.selection.may_search_web)
            .tool_context(tool_context)
            .hooks(settings_reloader.hooks.clone())
            .timeouts(resolved.timeouts)
            .named_models(self.named_models)
            .resume_run(first_command == Some(SlashCommand::ContinueRun))
            .keep_file_history(resolved.layers.has_file_checkpointing());
        let mut builder =
            set_identity_and_journal(builder, &session, &description.cwd, &endpoints.config)?;
        if let Some(telemetry) = &telemetry {
            builder = builder.observer(Arc::<TelemetryObserver>::clone(telemetry));
        }
        if let Some(mut config) = snapshot_config(&description.cwd, lookup) {
            resolved.layers.limit_snapshots(&mut config);
            builder = builder.snapshots(config);
            // On a trial they cannot be written.
            for root in added_directories.iter().filter(|_| !is_on_trial(lookup)) {
                if let Some(mut config) = snapshot_config(root, lookup) {
                    resolved.layers.limit_snapshots(&mut config);
                    builder = builder.added_snapshots(root, config);
                }
            }
        }
        if let Some(config) = trial_config(lookup) {
            builder = builder.trials(config);
        }
        if let Some(budget) = lookup(SHARED_BUDGET_VARIABLE).filter(|path| !path.is_empty()) {
            builder = builder.shared_budget(budget, session.id.as_str());
        }
        report_session(&session.id, lookup);
        let cleanup = session.create_files(resolved.layers.cleanup_days())?;
        // On a trial other sessions cannot be moved.
        let cleanup = cleanup.filter(|_| !is_on_trial(lookup));
        let cleanup = cleanup.map(|cleanup| cleanup.with_telemetry(telemetry.clone()));
        let mut notes = resolved.notes;
        notes.extend(session.journal.is_some().then(|| format!("this is session {}", session.id)));
        Ok(SessionPlan {
            builder,
            first_command,
            subagents,
            description,
            expander: PromptExpander { telemetry, ..self.expander },
            endpoints,
            session_id: session.id,
            journal: session.journal,
            has_deferred_call: self.has_deferred_call,
            scratch_directory: tools.scratch_directory,
            notes,
            settings_layers: resolved.layers,
            settings_reloader,
            mcp_servers: tools.mcp_servers,
            cleanup,
        })
    }
}

/// Refuses a mistyped command before it costs a request. Prompts of MCP servers are not known yet: their
/// servers may still be connecting.
fn check_first_prompt(
    submission: &PromptSubmission,
    files: &ProjectFiles,
) -> Result<(), CommandError> {
    let [ContentBlock::Text(text)] = submission.content.as_slice() else { return Ok(()) };
    let is_custom = files.custom_commands.find_invoked(text).is_some();
    if submission.pinned || is_custom || text.starts_with("/mcp__") {
        return Ok(());
    }
    let custom: Vec<&str> = files.custom_commands.iter().map(|page| page.name.as_str()).collect();
    slash_command::check_command_name(text, &custom).map_or(Ok(()), Err)
}

/// Models that agents and commands may ask for by name.
fn list_named_models(
    resolved: &ResolvedOptions,
    files: &ProjectFiles,
    lookup: &impl EnvLookup,
) -> Vec<(String, ModelFacts)> {
    model_choice::list_named_models(
        &resolved.model_chain,
        &resolved.config,
        &resolved.engine_settings,
        resolved.layers.available_models(),
        files.agent_models().chain(resolved.subagent_model.as_deref()),
        lookup,
    )
}

/// What custom commands may call the session, the project and the models.
fn build_expansion_variables(
    session: &SelectedSession,
    resolved: &ResolvedOptions,
    lookup: &impl EnvLookup,
) -> ExpansionVariables {
    let config = &resolved.config;
    let project = windlass_settings::find_project_root(&resolved.cwd);
    let full_name = |alias: &String| {
        let model = model_choice::choose_model(alias, config, lookup).ok()?;
        Some((alias.clone(), model.full_name()))
    };
    ExpansionVariables {
        session_id: session.id.clone(),
        project_directory: project.to_string_lossy().into_owned(),
        model_aliases: config.aliases.keys().filter_map(full_name).collect(),
    }
}

fn set_identity_and_journal(
    builder: SessionBuilder,
    session: &SelectedSession,
    cwd: &Path,
    config: &Config,
) -> Result<SessionBuilder, CommandError> {
    let builder = builder.identity(&*session.id, Some(windlass_settings::find_project_root(cwd)));
    let mut builder = builder.transcript(session.build_transcript());
    if session.is_fork() {
        builder = builder.start_source("fork");
    }
    let Some(journal) = &session.journal else { return Ok(builder) };
    let relay = session.connect_relay()?;
    // An unacknowledged record must not be acted on, so the relay overrides the configuration.
    let durability = if relay.is_some() { Durability::Synced } else { config.durability };
    let builder = builder
        .journal(journal, durability)
        // A session to be resumed must exist.
        .journal_must_exist(session.is_continued)
        .journal_head(session.build_journal_head())
        .price_table(config.facts_date.clone().unwrap_or_default());
    Ok(match relay {
        Some(relay) => builder.journal_disk(Arc::new(relay)),
        None => builder,
    })
}

/// Additional directories that are neither inside of another nor contain one, so that nothing is
/// snapshotted twice.
fn select_added_directories(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut chosen: Vec<&PathBuf> = Vec::new();
    for directory in directories {
        let overlaps =
            |known: &&PathBuf| directory.starts_with(known) || known.starts_with(directory);
        if !chosen.iter().any(overlaps) {
            chosen.push(directory);
        }
    }
    chosen.into_iter().skip(1).take(ADDED_DIRECTORIES_MAX).cloned().collect()
}

/// More are worked in without snapshots.
const ADDED_DIRECTORIES_MAX: usize = 8;
