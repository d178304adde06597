//! The session on show: everything that is thrown away when a conversation begins anew.

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

use super::frame::InitFrame;
use super::notice_to_frame::NoticeFrameBuilder;
use super::structured_output::{self, StructuredOutputTracker, build_structured_output};
use super::task_tracker::TaskTracker;
use super::transcript_mirror::TranscriptMirror;
use crate::final_answer::FinalAnswer;
use crate::json_schema::CheckedSchema;
use windlass_assembly::PROTOCOL_VERSION;
use windlass_assembly::options::RunOptions;
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::retry_cutoff::RetryCutoff;
use windlass_assembly::session_overview::SessionOverview;
use windlass_assembly::session_plan::{SessionDescription, SessionPlan};
use windlass_assembly::settings::SettingsLayers;
use windlass_assembly::settings::reloader::SettingsReloader;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::{FrontEnd, OverviewSection};
use windlass_host::command_error::CommandError;
use windlass_provider::endpoint::EndpointDescriptions;

/// A session under way.
pub(crate) struct LiveSession {
    pub session: Session,
    pub notices: Notices,
    pub frame_builder: NoticeFrameBuilder,
    /// What stands in its transcript.
    pub transcript_mirror: TranscriptMirror,
    /// The object that is wanted as its answer.
    pub structured_output: Option<StructuredOutputTracker>,
    /// Sessions that its calls have started.
    pub task_tracker: TaskTracker,
    pub final_answer: FinalAnswer,
    pub endpoints: EndpointDescriptions,
    pub retry_cutoff: RetryCutoff,
    /// Its name.
    pub id: String,
    /// Where it is written down.
    pub journal: Option<PathBuf>,
    /// A directory to remove at the end.
    pub scratch: Option<PathBuf>,
    /// The model that is asked first.
    pub model: String,
    /// The model it began with.
    pub initial_model: String,
    /// Who was asked last.
    pub last_model: Option<ModelName>,
    /// What happens when no rule speaks.
    pub mode: PermissionMode,
    /// The server is not worth another try, and why.
    pub retry_cutoff_message: Option<String>,
    /// It cannot be written down any more, and why.
    pub storage_failure: Option<String>,
    /// Has a run begun in this process?
    pub has_run_started: bool,
    /// What prompts may stand for.
    pub expander: PromptExpander,
    /// The MCP servers.
    pub mcp_servers: McpServers,
    betas: Vec<String>,
    has_agents: bool,
    agents: Vec<AgentDefinition>,
    settings: SessionSettingsView,
    description: SessionDescription,
    /// The settings in force.
    pub layers: SettingsLayers,
    /// Looks after their files; not there while it does.
    pub settings_reloader: Option<SettingsReloader>,
}

/// What a client wants of a session.
#[derive(Debug, Default)]
pub(crate) struct LiveSessionOptions {
    /// Its own hooks.
    pub hooks: Option<HookSet>,
    /// What the answer must fit.
    pub schema: Option<CheckedSchema>,
    /// The agent the session is to be.
    pub agent: Option<String>,
    /// The lines of the transcript.
    pub mirrors_transcript: bool,
    /// Pieces of answers.
    pub includes_partial_messages: bool,
    /// Text of nested sessions.
    pub includes_subagent_text: bool,
    /// What the model thought is left out.
    pub hides_thinking: bool,
    /// Betas that are asked for.
    pub betas: Vec<String>,
}

impl LiveSession {
    /// Starts the session.
    pub(crate) fn start(
        plan: SessionPlan,
        terms: LiveSessionOptions,
    ) -> Result<Self, CommandError> {
        let SessionPlan {
            mut builder,
            subagents: agents,
            description: portrait,
            endpoints: atlas,
            session_id,
            journal,
            scratch_directory: scratch,
            ..
        } = plan;
        let definitions = agents.as_ref().map(|agents| agents.definitions.clone());
        let known = definitions.as_deref().unwrap_or_default();
        if let Some(name) = &terms.agent {
            builder = become_agent(builder, name, known)?;
        }
        let denied = builder.settings().policy.rules.deny;
        let is_hidden =
            |name: &str| denied.iter().any(|rule| rule.content.is_none() && rule.tool == name);
        builder = builder.change_tools(|registry| {
            plan.mcp_servers.register_known_tools(registry);
            registry.retain(|spec| !is_hidden(spec.name.as_str()));
        });
        let mirror = TranscriptMirror::default();
        builder = builder.transcript_listener(mirror.build_listener(terms.mirrors_transcript));
        if let Some(hooks) = terms.hooks {
            builder = builder.hooks(hooks);
        }
        let mut wanted = None;
        if let Some(schema) = terms.schema {
            let (tool, side) = build_structured_output(schema);
            builder = builder.change_tools(|registry| drop(registry.insert(Arc::new(tool))));
            let rule = Rule { tool: structured_output::TOOL_NAME.to_owned(), content: None };
            builder.policy_mut().rules.allow.push(rule);
            wanted = Some(side);
        }
        // A client may ask about the conversation at any time.
        builder.enable_side_questions();
        let settings = builder.settings();
        let (model, mode) = (settings.model.name.as_str().to_owned(), settings.policy.mode);
        if let Some(agents) = agents {
            builder = builder.subagents(agents);
        }
        let (session, notices) = builder
            .start()
            .map_err(|error| CommandError::failure(format!("{error}; correct it and try again")))?;
        Ok(Self {
            session,
            notices,
            frame_builder: NoticeFrameBuilder::new(model.clone(), terms.includes_partial_messages)
                .with_hidden_thinking(terms.hides_thinking),
            task_tracker: TaskTracker::new(terms.includes_subagent_text),
            transcript_mirror: mirror,
            structured_output: wanted,
            final_answer: FinalAnswer::default(),
            retry_cutoff: RetryCutoff::new(&atlas.primary.base_url),
            endpoints: atlas,
            id: session_id,
            journal,
            scratch,
            initial_model: model.clone(),
            model,
            last_model: None,
            mode,
            retry_cutoff_message: None,
            storage_failure: None,
            has_run_started: false,
            expander: plan.expander,
            mcp_servers: plan.mcp_servers,
            layers: plan.settings_layers,
            settings_reloader: Some(plan.settings_reloader),
            betas: terms.betas,
            has_agents: definitions.is_some(),
            agents: definitions.unwrap_or_default(),
            settings,
            description: portrait,
        })
    }

    /// What it is made of now.
    pub(crate) fn build_init(&self) -> InitFrame {
        InitFrame {
            cwd: self.description.cwd.to_string_lossy().into_owned(),
            tools: self.tool_names(),
            mcp_servers: mcp_servers_to_json(&self.mcp_servers),
            model: self.model.clone(),
            permission_mode: self.mode.name().to_owned(),
            slash_commands: self.command_names(),
            agents: self.agent_names(),
            skills: list_skill_names(&self.description),
            plugins: plugins_to_json(&self.layers),
            output_style: self.description.output_style.clone(),
            api_key_source: "none".to_owned(),
            claude_code_version: PROTOCOL_VERSION.to_owned(),
            windlass_version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: Vec::new(),
            betas: self.betas.clone(),
        }
    }

    /// Everything that may be called, the client's own tools included.
    fn tool_names(&self) -> Vec<String> {
        let mut names = self.description.tools.clone();
        for tool in &*self.settings.tools {
            if !names.iter().any(|name| name == tool.name.as_str()) {
                names.push(tool.name.as_str().to_owned());
            }
        }
        names
    }

    fn agent_names(&self) -> Vec<String> {
        let general = self.has_agents.then(|| "general-purpose".to_owned());
        general.into_iter().chain(self.agents.iter().map(|agent| agent.name.clone())).collect()
    }

    fn command_names(&self) -> Vec<String> {
        let listed = self.expander.list_commands().into_iter().map(|listed| listed.name);
        let own = slash_command::list_available(FrontEnd::Headless).map(|one| one.name.to_owned());
        own.chain(listed).collect()
    }

    /// Agents that may be asked for by name.
    pub(crate) fn agents(&self) -> &[AgentDefinition] {
        &self.agents
    }

    /// Where it works.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.description.cwd.clone()
    }

    /// Directories it works in.
    pub(crate) fn directories(&self) -> &[String] {
        &self.settings.policy.directories
    }

    /// Whether the model thinks, as it was when the session began.
    pub(crate) fn initial_thinking(&self) -> ThinkingMode {
        self.settings.thinking
    }

    /// The style is called this now.
    pub(crate) fn set_output_style(&mut self, name: String) {
        self.description.output_style = name;
    }

    /// The styles of answers there are, by name.
    pub(crate) fn output_styles(&self) -> &[String] {
        &self.description.output_styles
    }

    /// Skills lie here, and there are these styles.
    pub(crate) fn set_skills_and_styles(&mut self, skills: Vec<PathBuf>, styles: Vec<String>) {
        self.description.skill_folders = skills;
        self.description.output_styles = styles;
    }

    /// What is in force, in words.
    pub(crate) fn render_overview(&self, topic: OverviewSection) -> String {
        let (settings, agents) = (&self.settings, self.agents.as_slice());
        let (pages, layers) = (&self.expander.custom_commands, &self.layers);
        let remote = &self.mcp_servers;
        SessionOverview { settings, agents, custom_commands: pages, layers, mcp_servers: remote }
            .render(topic)
    }

    /// Another model may live at another place, with patience of its own.
    pub(crate) fn on_model_requested(&mut self, model: &ModelName) {
        if self.last_model.as_ref() == Some(model) {
            return;
        }
        let before = self.last_model.replace(model.clone());
        if self.endpoints.for_model(before.as_ref()) != self.endpoints.for_model(Some(model)) {
            self.retry_cutoff = RetryCutoff::new(&self.endpoints.for_model(Some(model)).base_url);
        }
    }

    /// The next thing it tells.
    pub(crate) async fn next_notice(&mut self) -> Option<Notice> {
        self.notices.next().await
    }

    /// Ends it with everything it has started.
    pub(crate) async fn close(&self, why: SessionEndReason) {
        self.session.close_with_reason(why).await;
        self.mcp_servers.close().await;
        if let Some(scratch) = &self.scratch {
            // Ours alone and perhaps never made.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}

/// Each server and how it stands.
fn mcp_servers_to_json(remote: &McpServers) -> Vec<Value> {
    let status = remote.server_reports();
    let one = |one: &McpServerReport| json!({ "name": one.name, "status": one.status.as_str() });
    status.iter().map(one).collect()
}

/// Is there the agent that a session is to be? A client may yet bring it; the command line cannot.
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

fn find_agent<'a>(
    name: &str,
    known: &'a [AgentDefinition],
) -> Result<&'a AgentDefinition, CommandError> {
    known.iter().find(|agent| agent.name == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|agent| agent.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        CommandError::usage(format!("--agent {name}: there is no such agent; there are {names}"))
    })
}

/// The session is this agent: told what the agent is told, with the agent's tools.
fn become_agent(
    mut builder: SessionBuilder,
    name: &str,
    known: &[AgentDefinition],
) -> Result<SessionBuilder, CommandError> {
    let agent = find_agent(name, known)?;
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

/// Plugins, by name and place.
fn plugins_to_json(layers: &SettingsLayers) -> Vec<Value> {
    let all = layers.plugins.iter();
    all.map(|plugin| json!({ "name": plugin.name, "path": plugin.root })).collect()
}

/// Skills, by name.
pub(crate) fn list_skill_names(portrait: &SessionDescription) -> Vec<String> {
    let known = windlass_driver::load_skills(&portrait.skill_folders, |_| false);
    let names = known.into_iter().map(|skill| skill.name);
    let mut names: Vec<String> =
        names.filter(|name| !portrait.hidden_skills.contains(name)).collect();
    names.sort();
    names
}
