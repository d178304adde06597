//! What nested sessions are made of: everything of the parent that they need, and the bounds of the
//! whole tree.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use serde_json::Value;
use windlass_engine::Settings;
use windlass_hook::{HookSet, Source};
use windlass_journal::Head;
use windlass_permission::Policy;
use windlass_tool::{Registry, Surroundings, Terms};
use windlass_vocabulary::{AgentId, MicroUsd, ModelFacts, ModelName, ToolCallId};

use super::definition::{AgentDefinition, Subagents};
use super::place::Place;
use super::question::Shared;
use crate::attachment::nearby::Nearby;
use crate::builder::Builder;
use crate::hook::SharedHooks;
use crate::hook::input::{AgentIdentity, Identity};
use crate::journal::Place as JournalPlace;
use crate::model::{Endpoint, Timeouts};
use crate::notices::Teller;
use crate::transcript::Transcript;

/// What of the parent nested sessions are made of.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    pub(crate) settings: Settings,
    pub(crate) endpoint: Endpoint,
    pub(crate) endpoints: Vec<(ModelName, Endpoint)>,
    /// The parent's tools without `Agent`.
    pub(crate) registry: Registry,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) hooks: SharedHooks,
    pub(crate) nearby: Option<Arc<dyn Nearby>>,
    pub(crate) identity: Identity,
    pub(crate) journal: Option<JournalPlace>,
    pub(crate) transcript: Option<Transcript>,
    pub(crate) models: Arc<[(String, ModelFacts)]>,
    pub(crate) timeouts: Timeouts,
}

/// Where nested sessions come from.
#[derive(Debug)]
pub(crate) struct Nest {
    pub(crate) subagents: Subagents,
    pub(crate) parent: Parent,
    /// How deep the sessions that come from here are: 1 for children of the first.
    pub(crate) depth: u8,
    pub(crate) tree: Tree,
    pub(crate) teller: Teller,
}

/// What a whole tree of sessions shares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) questions: Shared,
    running: Arc<AtomicUsize>,
    names: Arc<AtomicU64>,
}

/// A place in the tree, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Nest {
    /// A place for one more session, if there is one.
    pub(super) fn seat(&self) -> Option<Seat> {
        let max = self.subagents.running_max;
        let taken = self.tree.running.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
            (now < max).then_some(now + 1)
        });
        taken.is_ok().then(|| Seat(Arc::clone(&self.tree.running)))
    }

    /// A name that no other agent of the tree has.
    pub(super) fn name(&self) -> AgentId {
        loop {
            let number = self.tree.names.fetch_add(1, Ordering::Relaxed) + 1;
            let name = format!("agent-{number}");
            // An earlier process of this session had agents too; theirs are not continued.
            let is_new = self.parent.journal.as_ref().is_none_or(|place| {
                !agents_folder(place).join(&name).with_extension("jsonl").exists()
            });
            if is_new {
                return AgentId::from(name.as_str());
            }
        }
    }

    /// A nested session, ready to start: never with more rights or more money than its parent has
    /// now.
    pub(super) fn builder(
        &self,
        id: &AgentId,
        definition: &AgentDefinition,
        call: &ToolCallId,
        place: &Place,
        terms: Terms,
    ) -> Result<Builder, String> {
        let Parent {
            settings,
            endpoint,
            endpoints,
            mut registry,
            surroundings,
            hooks,
            nearby,
            identity,
            journal,
            transcript,
            models,
            timeouts,
        } = self.parent.clone();
        let Terms { mut policy, allowance } = terms;
        let parents = surroundings.cwd.to_string_lossy().into_owned();
        let mut surroundings = place.surroundings(&surroundings, &mut policy)?;
        let mut settings = nested(settings, id, definition, policy, allowance);
        definition.model.iter().for_each(|wanted| choose(&mut settings, &models, wanted));
        relocate(&mut settings, &parents, &surroundings);
        surroundings.hidden = settings.policy.rules.hidden(&settings.policy.directories);
        let transcript = transcript.map(|kept| kept.of_agent(id, &definition.name, call));
        let written = transcript.as_ref().and_then(|kept| kept.path.clone());
        let agent = AgentIdentity {
            id: id.as_str().to_owned(),
            kind: definition.name.clone(),
            transcript: written.or_else(|| Some(agents_journal(journal.as_ref()?, id))),
        };
        let identity = Identity { agent: Some(agent), ..identity };
        // What a plan is for belongs to the parent: nobody leaves its plan mode from below. So does
        // the object that its client wants.
        let parents = ["EnterPlanMode", "ExitPlanMode", "StructuredOutput"];
        registry.retain(|spec| !parents.contains(&spec.name.as_str()));
        if let Some(tools) = &definition.tools {
            registry.narrow(tools);
        }
        registry.retain(|spec| !definition.without.contains(&spec.name));
        let mut builder = Builder::new(settings, endpoint)
            .registry(registry)
            .surroundings(surroundings)
            .hooks(hooks_now(&hooks).join(own_hooks(definition)))
            .timeouts(timeouts)
            .models(models.iter().cloned())
            .beneath(identity, self.depth, self.tree.clone());
        for (model, endpoint) in endpoints {
            builder = builder.endpoint_for(model, endpoint);
        }
        if let Some(nearby) = nearby {
            builder = builder.nearby(nearby);
        }
        if let Some(transcript) = transcript {
            builder = builder.transcript(transcript);
        }
        if let Some(place) = journal {
            let path = agents_journal(&place, id);
            let JournalPlace { path: _, durability, head, prices, count: _, waits } = place;
            // Should it not be there in the end, opening the journal says so.
            let _ = path.parent().map(std::fs::create_dir_all);
            builder = builder.journal(path, durability);
            builder = builder.journal_head(Head { session: None, ..head }).disk_waits(waits);
            if let Some(prices) = prices {
                builder = builder.price_table(prices);
            }
        }
        let may_nest = definition
            .tools
            .as_ref()
            .is_none_or(|tools| tools.iter().any(|tool| matches!(tool.as_str(), "Agent" | "Task")));
        if may_nest && self.depth < self.subagents.depth_max {
            builder = builder.agents(self.subagents.clone());
        }
        Ok(builder)
    }
}

/// The parent's hooks as they are now.
fn hooks_now(hooks: &SharedHooks) -> HookSet {
    hooks.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Hooks of the agent's own, for as long as it runs. Its end is the end of a nested session.
fn own_hooks(definition: &AgentDefinition) -> HookSet {
    let Some(Value::Object(hooks)) = &definition.hooks else { return HookSet::default() };
    let renamed = |(event, groups): (&String, &Value)| {
        let event = if event == "Stop" { "SubagentStop" } else { event };
        (event.to_owned(), groups.clone())
    };
    let hooks = hooks.iter().map(renamed).collect();
    // What cannot be used was told when the definition was read.
    HookSet::parse(&Value::Object(hooks), &Source::new(format!("agent {}", definition.name))).0
}

/// What is told of where the parent works is told of where the agent does.
fn relocate(settings: &mut Settings, parents: &str, surroundings: &Surroundings) {
    for (_, value) in settings.system_context.iter_mut().filter(|(_, value)| value == parents) {
        *value = surroundings.cwd.to_string_lossy().into_owned();
    }
}

/// Where one agent's journal lies.
fn agents_journal(place: &JournalPlace, id: &AgentId) -> PathBuf {
    agents_folder(place).join(format!("{id}.jsonl"))
}

/// Where the journals of a session's agents lie.
fn agents_folder(place: &JournalPlace) -> PathBuf {
    place.path.with_extension("agents")
}

fn nested(
    mut settings: Settings,
    id: &AgentId,
    definition: &AgentDefinition,
    policy: Policy,
    allowance: Option<MicroUsd>,
) -> Settings {
    settings.agent.id = id.clone();
    settings.agent.is_subagent = true;
    // Nobody takes a nested session up again.
    settings.hooks.can_defer = false;
    settings.policy = policy;
    if settings.budget_max.is_some() {
        settings.budget_max = allowance.or(Some(MicroUsd(0)));
    }
    if let Some(prompt) = &definition.prompt {
        settings.system_prompt = prompt.as_str().into();
    }
    if let Some(turns) = definition.turns_max {
        settings.limits.turns_max = turns.min(settings.limits.turns_max).max(1);
    }
    settings
}

/// Another model of the session goes first, or one that may be asked for by this name; one that the
/// session does not know is left alone.
pub(crate) fn choose(settings: &mut Settings, models: &[(String, ModelFacts)], wanted: &ModelName) {
    if settings.model.name == *wanted {
        return;
    }
    let own = settings.fallbacks.iter().chain(&settings.small_model);
    let own = own.into_iter().find(|model| model.name == *wanted);
    let others = || models.iter().find(|(name, _)| name == wanted.as_str());
    if let Some(model) = own.or_else(|| others().map(|(_, model)| model)).cloned() {
        settings.fallbacks.retain(|fallback| fallback.name != model.name);
        settings.model = model;
    }
}
