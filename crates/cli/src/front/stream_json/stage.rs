//! The session on show: everything that is thrown away when a conversation begins anew.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::mcp::{ServerStatus, Servers};
use windlass_driver::{AgentDefinition, Builder, HookSet, Notices, Parting, Session, Settings};
use windlass_permission::Rule;
use windlass_vocabulary::{Mode, ModelName, Notice, ThinkingMode};

use super::frame::Init;
use super::mirror::Mirror;
use super::narrator::Narrator;
use super::structured::{self, Wanted, structured};
use super::tasks::Tasks;
use crate::args::RunArgs;
use crate::command::{self, Front, Topic};
use crate::compose::{Atlas, Plan, Portrait};
use crate::expansion::Expander;
use crate::front::answer::FinalAnswer;
use crate::front::patience::Patience;
use crate::layers::Layers;
use crate::layers::live::Live;
use crate::refusal::Refusal;
use crate::schema::Schema;
use crate::topic::InForce;

/// A session under way.
pub(crate) struct Stage {
    pub(crate) session: Session,
    pub(crate) notices: Notices,
    pub(crate) narrator: Narrator,
    /// What stands in its transcript.
    pub(crate) mirror: Mirror,
    /// The object that is wanted as its answer.
    pub(crate) wanted: Option<Wanted>,
    /// Sessions that its calls have started.
    pub(crate) tasks: Tasks,
    pub(crate) answer: FinalAnswer,
    pub(crate) atlas: Atlas,
    pub(crate) patience: Patience,
    /// Its name.
    pub(crate) id: String,
    /// Where it is written down.
    pub(crate) journal: Option<PathBuf>,
    /// A directory to remove at the end.
    pub(crate) scratch: Option<PathBuf>,
    /// The model that is asked first.
    pub(crate) model: String,
    /// The model it began with.
    pub(crate) model_first: String,
    /// Who was asked last.
    pub(crate) asked: Option<ModelName>,
    /// What happens when no rule speaks.
    pub(crate) mode: Mode,
    /// The server is not worth another try, and why.
    pub(crate) hopeless: Option<String>,
    /// It cannot be written down any more, and why.
    pub(crate) spoiled: Option<String>,
    /// Has a run begun in this process?
    pub(crate) has_begun: bool,
    /// What prompts may stand for.
    pub(crate) expander: Expander,
    /// The MCP servers.
    pub(crate) remote: Servers,
    betas: Vec<String>,
    has_agents: bool,
    agents: Vec<AgentDefinition>,
    settings: Settings,
    portrait: Portrait,
    /// The settings in force.
    pub(crate) layers: Layers,
    /// Looks after their files; not there while it does.
    pub(crate) live: Option<Live>,
}

/// What a client wants of a session.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    /// Its own hooks.
    pub(crate) hooks: Option<HookSet>,
    /// What the answer must fit.
    pub(crate) schema: Option<Schema>,
    /// The agent the session is to be.
    pub(crate) agent: Option<String>,
    /// The lines of the transcript.
    pub(crate) tells_lines: bool,
    /// Pieces of answers.
    pub(crate) tells_pieces: bool,
    /// Text of nested sessions.
    pub(crate) tells_text: bool,
    /// What the model thought is left out.
    pub(crate) hides_thinking: bool,
    /// Betas that are asked for.
    pub(crate) betas: Vec<String>,
}

impl Stage {
    /// Starts the session.
    pub(crate) fn open(plan: Plan, terms: Terms) -> Result<Self, Refusal> {
        let Plan { mut builder, agents, portrait, atlas, session_id, journal, scratch, .. } = plan;
        let definitions = agents.as_ref().map(|agents| agents.definitions.clone());
        let known = definitions.as_deref().unwrap_or_default();
        if let Some(name) = &terms.agent {
            builder = become_agent(builder, name, known)?;
        }
        let denied = builder.settings().policy.rules.deny.clone();
        let is_hidden =
            |name: &str| denied.iter().any(|rule| rule.content.is_none() && rule.tool == name);
        builder = builder.change_tools(|registry| {
            plan.remote.offer(registry);
            registry.retain(|spec| !is_hidden(spec.name.as_str()));
        });
        let mirror = Mirror::default();
        builder = builder.hear_transcript(mirror.ear(terms.tells_lines));
        if let Some(hooks) = terms.hooks {
            builder = builder.hooks(hooks);
        }
        let mut wanted = None;
        if let Some(schema) = terms.schema {
            let (tool, side) = structured(schema);
            builder = builder.change_tools(|registry| drop(registry.insert(Arc::new(tool))));
            let rule = Rule { tool: structured::NAME.to_owned(), content: None };
            builder.settings_mut().policy.rules.allow.push(rule);
            wanted = Some(side);
        }
        // A client may ask about the conversation at any time.
        builder.settings_mut().after.questions = true;
        let settings = builder.settings().clone();
        let (model, mode) = (settings.model.name.as_str().to_owned(), settings.policy.mode);
        if let Some(agents) = agents {
            builder = builder.agents(agents);
        }
        let (session, notices) = builder
            .start()
            .map_err(|error| Refusal::failed(format!("{error}; correct it and try again")))?;
        Ok(Self {
            session,
            notices,
            narrator: Narrator::new(model.clone(), terms.tells_pieces)
                .hiding_thinking(terms.hides_thinking),
            tasks: Tasks::new(terms.tells_text),
            mirror,
            wanted,
            answer: FinalAnswer::default(),
            patience: Patience::new(&atlas.first.base_url),
            atlas,
            id: session_id,
            journal,
            scratch,
            model_first: model.clone(),
            model,
            asked: None,
            mode,
            hopeless: None,
            spoiled: None,
            has_begun: false,
            expander: plan.expander,
            remote: plan.remote,
            layers: plan.layers,
            live: Some(plan.live),
            betas: terms.betas,
            has_agents: definitions.is_some(),
            agents: definitions.unwrap_or_default(),
            settings,
            portrait,
        })
    }

    /// What it is made of now.
    pub(crate) fn init(&self) -> Init {
        Init {
            cwd: self.portrait.cwd.to_string_lossy().into_owned(),
            tools: self.tools(),
            mcp_servers: servers(&self.remote),
            model: self.model.clone(),
            permission_mode: self.mode.name().to_owned(),
            slash_commands: self.commands(),
            agents: self.agent_names(),
            skills: skills(&self.portrait),
            plugins: plugins(&self.layers),
            output_style: self.portrait.output_style.clone(),
            api_key_source: "none".to_owned(),
            claude_code_version: LEVEL.to_owned(),
            windlass_version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: Vec::new(),
            betas: self.betas.clone(),
        }
    }

    /// Everything that may be called, the client's own tools included.
    fn tools(&self) -> Vec<String> {
        let mut names = self.portrait.tools.clone();
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

    fn commands(&self) -> Vec<String> {
        let listed = self.expander.commands().into_iter().map(|listed| listed.name);
        let own = command::shown(Front::Headless).map(|one| one.name.to_owned());
        own.chain(listed).collect()
    }

    /// Agents that may be asked for by name.
    pub(crate) fn agents(&self) -> &[AgentDefinition] {
        &self.agents
    }

    /// Where it works.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.portrait.cwd.clone()
    }

    /// Directories it works in.
    pub(crate) fn directories(&self) -> &[String] {
        &self.settings.policy.directories
    }

    /// Whether the model thinks, as it was when the session began.
    pub(crate) fn thinking_first(&self) -> ThinkingMode {
        self.settings.thinking
    }

    /// The style is called this now.
    pub(crate) fn output_style_is(&mut self, name: String) {
        self.portrait.output_style = name;
    }

    /// The styles of answers there are, by name.
    pub(crate) fn output_styles(&self) -> &[String] {
        &self.portrait.output_styles
    }

    /// Skills lie here, and there are these styles.
    pub(crate) fn found_again(&mut self, skills: Vec<PathBuf>, styles: Vec<String>) {
        self.portrait.skills = skills;
        self.portrait.output_styles = styles;
    }

    /// What is in force, in words.
    pub(crate) fn words(&self, topic: Topic) -> String {
        let (settings, agents) = (&self.settings, self.agents.as_slice());
        let (pages, layers) = (&self.expander.pages, &self.layers);
        let remote = &self.remote;
        InForce { settings, agents, pages, layers, remote }.words(topic)
    }

    /// Another model may live at another place, with patience of its own.
    pub(crate) fn is_asking(&mut self, model: &ModelName) {
        if self.asked.as_ref() == Some(model) {
            return;
        }
        let before = self.asked.replace(model.clone());
        if self.atlas.place(before.as_ref()) != self.atlas.place(Some(model)) {
            self.patience = Patience::new(&self.atlas.place(Some(model)).base_url);
        }
    }

    /// The next thing it tells.
    pub(crate) async fn next(&mut self) -> Option<Notice> {
        self.notices.next().await
    }

    /// Ends it with everything it has started.
    pub(crate) async fn close(&self, why: Parting) {
        self.session.close_for(why).await;
        self.remote.close().await;
        if let Some(scratch) = &self.scratch {
            // Ours alone and perhaps never made.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}

/// Each server and how it stands.
fn servers(remote: &Servers) -> Vec<Value> {
    let status = remote.status();
    let one = |one: &ServerStatus| json!({ "name": one.name, "status": one.status.word() });
    status.iter().map(one).collect()
}

/// Is there the agent that a session is to be? A client may yet bring it; the command line cannot.
pub(crate) fn check_agent(args: &RunArgs, plan: &Plan) -> Result<(), Refusal> {
    let known = plan.agents.as_ref().map(|agents| agents.definitions.as_slice());
    match &args.headless.agent {
        Some(name) => agent_named(name, known.unwrap_or_default()).map(drop),
        None => Ok(()),
    }
}

fn agent_named<'a>(
    name: &str,
    known: &'a [AgentDefinition],
) -> Result<&'a AgentDefinition, Refusal> {
    known.iter().find(|agent| agent.name == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|agent| agent.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Refusal::usage(format!("--agent {name}: there is no such agent; there are {names}"))
    })
}

/// The session is this agent: told what the agent is told, with the agent's tools.
fn become_agent(
    mut builder: Builder,
    name: &str,
    known: &[AgentDefinition],
) -> Result<Builder, Refusal> {
    let agent = agent_named(name, known)?;
    if let Some(prompt) = &agent.prompt {
        builder.settings_mut().system_prompt = prompt.as_str().into();
    }
    Ok(match &agent.tools {
        Some(tools) => builder.change_tools(|registry| {
            registry.retain(|spec| tools.contains(&spec.name));
        }),
        None => builder,
    })
}

/// Plugins, by name and place.
fn plugins(layers: &Layers) -> Vec<Value> {
    let all = layers.plugins.iter();
    all.map(|plugin| json!({ "name": plugin.name, "path": plugin.root })).collect()
}

/// Skills, by name.
pub(crate) fn skills(portrait: &Portrait) -> Vec<String> {
    let known = windlass_driver::skills(&portrait.skills, |_| false);
    let names = known.into_iter().map(|skill| skill.name);
    let mut names: Vec<String> =
        names.filter(|name| !portrait.hidden_skills.contains(name)).collect();
    names.sort();
    names
}

/// The level of the protocol that clients compare.
pub(crate) const LEVEL: &str = "2.1.300";
