//! Creates nested sessions from the parent's parts, within the limits of the whole tree.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use serde_json::Value;
use windlass_engine::Settings;
use windlass_hook::{HookSet, HookSource};
use windlass_journal::JournalHead;
use windlass_permission::Policy;
use windlass_tool::{CallLimits, ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{AgentId, MicroUsd, ToolCallId};

use super::agent_definition::{AgentDefinition, SubagentConfig};
use super::agent_workspace::AgentWorkspace;
use crate::attachment::path_instructions::PathInstructionSource;
use crate::hook::SharedHooks;
use crate::hook::hook_input::{AgentIdentity, SessionIdentity};
use crate::journal_location::JournalLocation;
use crate::model::switch_model;
use crate::model_spending::ModelSpending;
use crate::nested_questions::SharedNestedQuestions;
use crate::notices::NoticeSender;
use crate::observer::SessionObserver;
use crate::session_builder::{ModelAccess, SessionBuilder, SessionNesting};
use crate::transcript_writer::TranscriptConfig;

/// The parent's parts that nested sessions use.
#[derive(Clone, Debug)]
pub(crate) struct ParentSession {
    pub(crate) settings: Settings,
    pub(crate) model: ModelAccess,
    /// The parent's tools without `Agent`.
    pub(crate) registry: ToolRegistry,
    pub(crate) tool_context: Arc<ToolSessionContext>,
    pub(crate) hooks: SharedHooks,
    pub(crate) path_instructions: Option<Arc<dyn PathInstructionSource>>,
    pub(crate) identity: SessionIdentity,
    pub(crate) journal: Option<JournalLocation>,
    pub(crate) transcript: Option<TranscriptConfig>,
}

#[derive(Debug)]
pub(crate) struct NestedSessionFactory {
    pub(crate) subagents: SubagentConfig,
    pub(crate) parent: ParentSession,
    /// The depth of the created sessions: 1 for children of the first.
    pub(crate) depth: u8,
    pub(crate) tree: SessionTree,
    pub(crate) observer: Option<Arc<dyn SessionObserver>>,
    pub(crate) notice_sender: NoticeSender,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionTree {
    pub(crate) questions: SharedNestedQuestions,
    pub(crate) spending: ModelSpending,
    running: Arc<AtomicUsize>,
    agent_count: Arc<AtomicU64>,
}

/// A place among the running agents, released on drop.
#[derive(Debug)]
pub(crate) struct AgentSlot(Arc<AtomicUsize>);

impl Drop for AgentSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl NestedSessionFactory {
    /// A free place, if there is one.
    pub(super) fn acquire_slot(&self) -> Option<AgentSlot> {
        let max = self.subagents.running_max;
        let taken = self.tree.running.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
            (now < max).then_some(now + 1)
        });
        taken.is_ok().then(|| AgentSlot(Arc::clone(&self.tree.running)))
    }

    /// An id that is unique in the tree.
    pub(super) fn next_agent_id(&self) -> AgentId {
        loop {
            let number = self.tree.agent_count.fetch_add(1, Ordering::Relaxed) + 1;
            let name = format!("agent-{number}");
            // Ids of an earlier process of this session must not be reused; its agents are not
            // continued.
            let is_new = self.parent.journal.as_ref().is_none_or(|place| {
                !agent_journals_folder(place).join(&name).with_extension("jsonl").exists()
            });
            if is_new {
                return AgentId::from(name.as_str());
            }
        }
    }

    /// Prepares a nested session, never with more rights or more money than its parent has now.
    pub(super) fn prepare_builder(
        &self,
        id: &AgentId,
        definition: &AgentDefinition,
        call: &ToolCallId,
        workspace: &AgentWorkspace,
        limits: CallLimits,
    ) -> Result<SessionBuilder, String> {
        let parent = &self.parent;
        let CallLimits { mut policy, allowance } = limits;
        let mut tool_context = workspace.build_tool_context(&parent.tool_context, &mut policy)?;
        let mut settings =
            derive_nested_settings(parent.settings.clone(), id, definition, policy, allowance);
        if let Some(wanted) = &definition.model {
            switch_model(&mut settings, &parent.model.named_models, wanted);
        }
        let parent_cwd = parent.tool_context.files.cwd.to_string_lossy();
        relocate_context(&mut settings, &parent_cwd, &tool_context);
        tool_context.hidden_paths.configured =
            settings.policy.rules.build_hidden_paths(&settings.policy.directories);
        let transcript = parent.transcript.as_ref();
        let transcript = transcript.map(|config| config.for_agent(id, &definition.name, call));
        let agent = AgentIdentity {
            id: id.as_str().to_owned(),
            kind: definition.name.clone(),
            transcript: transcript
                .as_ref()
                .and_then(|config| config.path.clone())
                .or_else(|| Some(agent_journal_path(parent.journal.as_ref()?, id))),
        };
        let identity = SessionIdentity { agent: Some(agent), ..parent.identity.clone() };
        let nesting = SessionNesting {
            depth: self.depth,
            tree: self.tree.clone(),
            observer: self.observer.clone(),
            started_by: Some((parent.settings.agent.id.clone(), call.clone())),
        };
        let mut builder = SessionBuilder::new(settings, parent.model.endpoint.clone())
            .model_access(parent.model.clone())
            .registry(self.select_tools(definition))
            .tool_context(tool_context)
            .hooks(read_hooks(&parent.hooks).join(parse_agent_hooks(definition)))
            .nested_in(identity, nesting);
        if let Some(source) = &parent.path_instructions {
            builder = builder.path_instructions(Arc::clone(source));
        }
        if let Some(transcript) = transcript {
            builder = builder.transcript(transcript);
        }
        if let Some(location) = &parent.journal {
            let path = agent_journal_path(location, id);
            // If this fails, opening the journal reports the error.
            let _ = path.parent().map(std::fs::create_dir_all);
            builder = builder.journal_location(JournalLocation {
                path,
                must_exist: false,
                head: JournalHead { session: None, ..location.head.clone() },
                last_seq: Arc::default(),
                ..location.clone()
            });
        }
        if self.may_nest(definition) {
            builder = builder.subagents(self.subagents.clone());
        }
        Ok(builder)
    }

    fn select_tools(&self, definition: &AgentDefinition) -> ToolRegistry {
        let mut registry = self.parent.registry.clone();
        // These tools belong to the parent: only it leaves its plan mode and returns the structured
        // output.
        let parent_only = ["EnterPlanMode", "ExitPlanMode", "StructuredOutput"];
        registry.retain(|spec| !parent_only.contains(&spec.name.as_str()));
        if let Some(tools) = &definition.tools {
            registry.restrict_to(tools);
        }
        registry.retain(|spec| !definition.excluded_tools.contains(&spec.name));
        registry
    }

    fn may_nest(&self, definition: &AgentDefinition) -> bool {
        let has_agent_tool = definition
            .tools
            .as_ref()
            .is_none_or(|tools| tools.iter().any(|tool| matches!(tool.as_str(), "Agent" | "Task")));
        has_agent_tool && self.depth < self.subagents.depth_max
    }
}

fn read_hooks(hooks: &SharedHooks) -> HookSet {
    hooks.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The agent's own hooks, active while it runs. Its `Stop` hooks become `SubagentStop`.
fn parse_agent_hooks(definition: &AgentDefinition) -> HookSet {
    let Some(Value::Object(hooks)) = &definition.hooks else { return HookSet::default() };
    let renamed = |(event, groups): (&String, &Value)| {
        let event = if event == "Stop" { "SubagentStop" } else { event };
        (event.to_owned(), groups.clone())
    };
    let hooks = hooks.iter().map(renamed).collect();
    // Problems were already reported when the definition was read.
    HookSet::parse(&Value::Object(hooks), &HookSource::new(format!("agent {}", definition.name))).0
}

/// Replaces the parent's working directory in the system context by the agent's.
fn relocate_context(settings: &mut Settings, parents: &str, tool_context: &ToolSessionContext) {
    for (_, value) in
        settings.prompt.system_context.iter_mut().filter(|(_, value)| value == parents)
    {
        *value = tool_context.files.cwd.to_string_lossy().into_owned();
    }
}

fn agent_journal_path(place: &JournalLocation, id: &AgentId) -> PathBuf {
    agent_journals_folder(place).join(format!("{id}.jsonl"))
}

fn agent_journals_folder(place: &JournalLocation) -> PathBuf {
    place.path.with_extension("agents")
}

fn derive_nested_settings(
    mut settings: Settings,
    id: &AgentId,
    definition: &AgentDefinition,
    policy: Policy,
    allowance: Option<MicroUsd>,
) -> Settings {
    settings.agent.id = id.clone();
    settings.agent.is_subagent = true;
    // A nested session is never resumed.
    settings.hooks.can_defer = false;
    settings.policy = policy;
    if settings.budget.budget_max.is_some() {
        settings.budget.budget_max = allowance.or(Some(MicroUsd(0)));
    }
    if let Some(prompt) = &definition.prompt {
        settings.prompt.system_prompt = prompt.as_str().into();
    }
    if let Some(turns) = definition.turns_max {
        settings.limits.turns_max = turns.min(settings.limits.turns_max).max(1);
    }
    settings
}
