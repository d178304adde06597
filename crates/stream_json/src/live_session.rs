//! A running session: everything that is replaced when a new conversation starts.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::mcp::{McpServerReport, McpServers};
use windlass_driver::{
    AgentDefinition, HookSet, Notices, Session, SessionBuilder, SessionEndReason,
    SessionSettingsView,
};
use windlass_permission::Rule;
use windlass_vocabulary::{ModelName, Notice, PermissionMode, ThinkingMode};

use crate::final_answer::FinalAnswer;
use crate::frame::InitFrame;
use crate::json_schema::CheckedSchema;
use crate::notice_to_frame::NoticeFrameBuilder;
use crate::structured_output::{
    self, StructuredOutput, StructuredOutputTracker, build_structured_output,
};
use crate::task_tracker::TaskTracker;
use crate::transcript_mirror::TranscriptMirror;
use windlass_assembly::PROTOCOL_VERSION;
use windlass_assembly::mcp;
use windlass_assembly::options::RunOptions;
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::retry_cutoff::RetryCutoff;
use windlass_assembly::session::cleanup::{RunningCleanup, SessionCleanup};
use windlass_assembly::session_overview::SessionOverview;
use windlass_assembly::session_plan::{SessionDescription, SessionPlan};
use windlass_assembly::settings::SettingsLayers;
use windlass_assembly::settings::reloader::SettingsReloader;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::{FrontEnd, OverviewSection};
use windlass_host::command_error::CommandError;
use windlass_provider::endpoint::EndpointDescriptions;

pub(crate) struct LiveSession {
    pub session: Session,
    notices: Notices,
    pub files: SessionFiles,
    pub frames: SessionFrames,
    pub provider: ProviderState,
    pub settings: SettingsInForce,
    setup: SessionSetup,
    /// Takes the object if the answer has to fit a schema.
    pub structured_output: Option<StructuredOutputTracker>,
    pub final_answer: FinalAnswer,
    pub mode: PermissionMode,
    /// A run began in this process, not in the one that is resumed.
    pub has_run_started: bool,
    pub expander: PromptExpander,
    pub mcp_servers: McpServers,
}

/// What the session is on disk.
pub(crate) struct SessionFiles {
    pub session_id: String,
    pub journal: Option<PathBuf>,
    /// A directory to remove at the end.
    scratch: Option<PathBuf>,
    /// The clean-up of old sessions that began with this one.
    pub cleanup: Option<RunningCleanup>,
}

/// What turns notices of the session into frames.
pub(crate) struct SessionFrames {
    pub builder: NoticeFrameBuilder,
    pub tasks: TaskTracker,
    pub transcript: TranscriptMirror,
}

/// The model in use, and the state of its server.
pub(crate) struct ProviderState {
    pub endpoints: EndpointDescriptions,
    /// The first model.
    pub model: String,
    /// The model the session began with.
    pub initial_model: String,
    /// The model of the last request, which may be a fallback.
    pub last_model: Option<ModelName>,
    pub retry_cutoff: RetryCutoff,
    /// Set once the server is not worth another try.
    pub retry_cutoff_message: Option<String>,
}

pub(crate) struct SettingsInForce {
    pub layers: SettingsLayers,
    /// Absent while it reads the files again.
    pub reloader: Option<SettingsReloader>,
}

/// What the session was started with.
struct SessionSetup {
    settings: SessionSettingsView,
    description: SessionDescription,
    /// `None` if sub-agents are disabled.
    agents: Option<Vec<AgentDefinition>>,
    betas: Vec<String>,
}

/// What a client wants of a session.
#[derive(Debug, Default)]
pub(crate) struct LiveSessionOptions {
    pub hooks: Option<HookSet>,
    pub schema: Option<CheckedSchema>,
    /// The agent whose prompt and tools the session takes.
    pub agent: Option<String>,
    pub mirrors_transcript: bool,
    pub includes_partial_messages: bool,
    pub includes_subagent_text: bool,
    pub hides_thinking: bool,
    pub betas: Vec<String>,
}

impl LiveSession {
    pub(crate) fn start(
        plan: SessionPlan,
        options: LiveSessionOptions,
    ) -> Result<Self, CommandError> {
        let SessionPlan {
            mut builder,
            subagents,
            description,
            endpoints,
            session_id,
            journal,
            scratch_directory,
            mcp_servers,
            expander,
            settings_layers,
            settings_reloader,
            cleanup,
            ..
        } = plan;
        let agents = subagents.as_ref().map(|agents| agents.definitions.clone());
        if let Some(name) = &options.agent {
            builder = become_agent(builder, name, agents.as_deref().unwrap_or_default())?;
        }
        let denied = builder.settings().policy.rules.deny;
        let is_hidden =
            |name: &str| denied.iter().any(|rule| rule.content.is_none() && rule.tool == name);
        builder = builder.change_tools(|registry| {
            mcp_servers.register_known_tools(registry);
            registry.retain(|spec| !is_hidden(spec.name.as_str()));
        });
        let transcript = TranscriptMirror::default();
        builder =
            builder.transcript_listener(transcript.build_listener(options.mirrors_transcript));
        if let Some(hooks) = options.hooks {
            builder = builder.hooks(hooks);
        }
        let mut structured_output = None;
        if let Some(schema) = options.schema {
            let (tool, tracker) = build_structured_output(schema);
            builder = allow_structured_output(builder, tool);
            structured_output = Some(tracker);
        }
        // A client may ask about the conversation at any time.
        builder.enable_side_questions();
        let settings = builder.settings();
        let model = settings.model.name.as_str().to_owned();
        let mode = settings.policy.mode;
        if let Some(subagents) = subagents {
            builder = builder.subagents(subagents);
        }
        let (session, notices) = builder
            .separate_deltas(options.includes_partial_messages)
            .start()
            .map_err(|error| CommandError::failure(format!("{error}; correct it and try again")))?;
        mcp::warn_of_slow_servers(&mcp_servers, &session);
        Ok(Self {
            session,
            notices,
            files: SessionFiles {
                session_id,
                journal,
                scratch: scratch_directory,
                // Only now: the session's own journal is locked.
                cleanup: cleanup.map(SessionCleanup::spawn),
            },
            frames: SessionFrames {
                builder: NoticeFrameBuilder::new(model.clone(), options.includes_partial_messages)
                    .with_hidden_thinking(options.hides_thinking),
                tasks: TaskTracker::new(options.includes_subagent_text),
                transcript,
            },
            provider: ProviderState {
                retry_cutoff: RetryCutoff::new(&endpoints.primary.base_url),
                endpoints,
                initial_model: model.clone(),
                model,
                last_model: None,
                retry_cutoff_message: None,
            },
            settings: SettingsInForce {
                layers: settings_layers,
                reloader: Some(settings_reloader),
            },
            setup: SessionSetup { settings, description, agents, betas: options.betas },
            structured_output,
            final_answer: FinalAnswer::default(),
            mode,
            has_run_started: false,
            expander,
            mcp_servers,
        })
    }

    pub(crate) fn build_init(&self) -> InitFrame {
        InitFrame {
            cwd: self.setup.description.cwd.to_string_lossy().into_owned(),
            tools: self.tool_names(),
            mcp_servers: mcp_servers_to_json(&self.mcp_servers),
            model: self.provider.model.clone(),
            permission_mode: self.mode.name().to_owned(),
            slash_commands: self.command_names(),
            agents: self.agent_names(),
            skills: list_skill_names(&self.setup.description),
            plugins: plugins_to_json(&self.settings.layers),
            output_style: self.setup.description.output_style.clone(),
            api_key_source: "none".to_owned(),
            claude_code_version: PROTOCOL_VERSION.to_owned(),
            windlass_version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: Vec::new(),
            betas: self.setup.betas.clone(),
        }
    }

    fn tool_names(&self) -> Vec<String> {
        let mut names = self.setup.description.tools.clone();
        for tool in &*self.setup.settings.tools {
            if !names.iter().any(|name| name == tool.name.as_str()) {
                names.push(tool.name.as_str().to_owned());
            }
        }
        names
    }

    fn agent_names(&self) -> Vec<String> {
        let general = self.setup.agents.is_some().then(|| GENERAL_AGENT.to_owned());
        general.into_iter().chain(self.agents().iter().map(|agent| agent.name.clone())).collect()
    }

    fn command_names(&self) -> Vec<String> {
        let listed = self.expander.list_commands().into_iter().map(|listed| listed.name);
        let own = slash_command::list_available(FrontEnd::Headless).map(|one| one.name.to_owned());
        own.chain(listed).collect()
    }

    pub(crate) fn agents(&self) -> &[AgentDefinition] {
        self.setup.agents.as_deref().unwrap_or_default()
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.setup.description.cwd.clone()
    }

    pub(crate) fn directories(&self) -> &[String] {
        &self.setup.settings.policy.directories
    }

    pub(crate) fn initial_thinking(&self) -> ThinkingMode {
        self.setup.settings.thinking
    }

    pub(crate) fn set_output_style(&mut self, name: String) {
        self.setup.description.output_style = name;
    }

    pub(crate) fn output_styles(&self) -> &[String] {
        &self.setup.description.output_styles
    }

    pub(crate) fn set_skills_and_styles(&mut self, skills: Vec<PathBuf>, styles: Vec<String>) {
        self.setup.description.skill_folders = skills;
        self.setup.description.output_styles = styles;
    }

    pub(crate) fn render_overview(&self, section: OverviewSection) -> String {
        SessionOverview {
            settings: &self.setup.settings,
            agents: self.agents(),
            custom_commands: &self.expander.custom_commands,
            layers: &self.settings.layers,
            mcp_servers: &self.mcp_servers,
        }
        .render(section)
    }

    /// Another model may have another endpoint, which gets a retry cutoff of its own.
    pub(crate) fn on_model_requested(&mut self, model: &ModelName) {
        let ProviderState { endpoints, last_model, retry_cutoff, .. } = &mut self.provider;
        if last_model.as_ref() == Some(model) {
            return;
        }
        let before = last_model.replace(model.clone());
        let endpoint = endpoints.for_model(Some(model));
        if endpoints.for_model(before.as_ref()) != endpoint {
            *retry_cutoff = RetryCutoff::new(&endpoint.base_url);
        }
    }

    /// Why the session can no longer be stored.
    pub(crate) fn storage_failure(&self) -> Option<String> {
        self.notices.storage_failure()
    }

    pub(crate) async fn next_notice(&mut self) -> Option<Notice> {
        self.notices.next().await
    }

    pub(crate) async fn close(&self, why: SessionEndReason) {
        self.session.close_with_reason(why).await;
        self.mcp_servers.close().await;
        if let Some(scratch) = &self.files.scratch {
            // Perhaps it was never made.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}

fn mcp_servers_to_json(servers: &McpServers) -> Vec<Value> {
    let status = servers.server_reports();
    let one = |one: &McpServerReport| json!({ "name": one.name, "status": one.status.as_str() });
    status.iter().map(one).collect()
}

/// Refuses an unknown `--agent`. Not for clients, whose `initialize` may define the agent.
pub(crate) fn check_agent_exists(
    args: &RunOptions,
    plan: &SessionPlan,
) -> Result<(), CommandError> {
    let known = plan.subagents.as_ref().map(|agents| agents.definitions.as_slice());
    match &args.headless.agent {
        Some(name) => find_agent(name, known.unwrap_or_default()).map(drop),
        None => Ok(()),
    }
}

/// `None` for the general agent, which is what a session is anyway.
fn find_agent<'a>(
    name: &str,
    known: &'a [AgentDefinition],
) -> Result<Option<&'a AgentDefinition>, CommandError> {
    let found = known.iter().find(|agent| agent.name == name);
    if found.is_some() || name == GENERAL_AGENT {
        return Ok(found);
    }
    let names = known.iter().map(|agent| agent.name.as_str());
    let names: Vec<&str> = std::iter::once(GENERAL_AGENT).chain(names).collect();
    let names = names.join(", ");
    Err(CommandError::usage(format!("--agent {name}: there is no such agent; there are {names}")))
}

fn allow_structured_output(mut builder: SessionBuilder, tool: StructuredOutput) -> SessionBuilder {
    let rule = Rule { tool: structured_output::TOOL_NAME.to_owned(), content: None };
    builder.policy_mut().rules.allow.push(rule);
    builder.change_tools(|registry| drop(registry.insert(Arc::new(tool))))
}

/// Gives the session the prompt and the tools of an agent.
fn become_agent(
    mut builder: SessionBuilder,
    name: &str,
    known: &[AgentDefinition],
) -> Result<SessionBuilder, CommandError> {
    let Some(agent) = find_agent(name, known)? else { return Ok(builder) };
    if let Some(prompt) = &agent.prompt {
        builder.set_system_prompt(prompt.as_str());
    }
    Ok(match &agent.tools {
        Some(tools) => builder.change_tools(|registry| {
            registry.retain(|spec| tools.contains(&spec.name));
        }),
        None => builder,
    })
}

fn plugins_to_json(layers: &SettingsLayers) -> Vec<Value> {
    let all = layers.plugins.iter();
    all.map(|plugin| json!({ "name": plugin.name, "path": plugin.root })).collect()
}

pub(crate) fn list_skill_names(description: &SessionDescription) -> Vec<String> {
    let known = windlass_driver::load_skills(&description.skill_folders, |_| false);
    let names = known.into_iter().map(|skill| skill.name);
    let mut names: Vec<String> =
        names.filter(|name| !description.hidden_skills.contains(name)).collect();
    names.sort();
    names
}

const GENERAL_AGENT: &str = "general-purpose";
