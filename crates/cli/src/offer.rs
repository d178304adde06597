//! Which tools the model is offered: a base set chosen by name, without those that a bare deny rule
//! hides. A tool that was wished for by its name is offered from the start.

use std::path::PathBuf;

use windlass_driver::{AgentDefinition, Registry, Subagents, Surroundings};
use windlass_permission::{Policy, Rule};

use crate::nearest::nearest;
use crate::refusal::Refusal;
use crate::rules::listed;

/// What is on offer.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The tools.
    pub(crate) registry: Registry,
    /// May nested sessions be started? Their tool is added where sessions are made.
    agents: bool,
    /// May skills be loaded?
    skills: bool,
    /// May the web be searched? The tool is added where a provider does that.
    pub(crate) search: bool,
}

/// The tools on offer. Without a wish, all that are built in; those that talk to a person only where
/// there is one.
pub(crate) fn offer(wish: &[String], policy: &Policy) -> Result<Offer, Refusal> {
    let rules = &policy.rules;
    let mut registry = Registry::builtin();
    let (mut agents, mut skills, mut search) = (true, true, true);
    if !wish.is_empty() {
        let wanted = named(wish, &registry)?;
        registry.retain(|spec| wanted.has(spec.name.as_str()));
        let late = registry.deferred();
        registry.defer(|spec| {
            late.iter().any(|late| late.name == spec.name)
                && !wanted.names.iter().any(|name| name == spec.name.as_str())
        });
        agents = wanted.has(AGENT);
        skills = wanted.has(SKILL);
        search = wanted.has(WEB_SEARCH);
    }
    if !policy.can_ask {
        registry.retain(|spec| !WITH_PEOPLE.contains(&spec.name.as_str()));
    }
    let hidden =
        |name: &str| rules.deny.iter().any(|rule| rule.content.is_none() && rule.tool == name);
    registry.retain(|spec| !hidden(spec.name.as_str()));
    agents &= !hidden(AGENT) && !hidden(AGENT_OLD);
    skills &= !hidden(SKILL);
    search &= !hidden(WEB_SEARCH);
    Ok(Offer { registry, agents, skills, search })
}

impl Offer {
    /// The agents, if nested sessions may be started.
    pub(crate) fn subagents(&self, definitions: Vec<AgentDefinition>) -> Option<Subagents> {
        self.agents.then(|| Subagents { definitions, ..Subagents::default() })
    }

    /// Every tool's name.
    pub(crate) fn names(&self) -> Vec<String> {
        let agents = self.agents.then_some(AGENT);
        self.registry.names().chain(agents).map(str::to_owned).collect()
    }

    /// Adds the tool that loads skills, if there are any and they may be loaded.
    pub(crate) fn with_skills(
        &mut self,
        place: &mut Surroundings,
        folders: &[PathBuf],
    ) -> &mut Registry {
        if self.skills {
            place.skills = folders.to_vec();
            self.registry.insert_skills(place);
        }
        &mut self.registry
    }
}

/// What was wished for.
struct Wanted {
    /// By name.
    names: Vec<String>,
    /// Everything else too.
    all: bool,
}

impl Wanted {
    fn has(&self, name: &str) -> bool {
        self.all || self.names.iter().any(|wanted| wanted == name)
    }
}

/// The names wanted; `default` stands for all.
fn named(wish: &[String], registry: &Registry) -> Result<Wanted, Refusal> {
    let known: Vec<&str> = registry.names().chain([AGENT, SKILL, WEB_SEARCH]).collect();
    let mut wanted = Wanted { names: Vec::new(), all: false };
    for name in wish.iter().flat_map(|value| listed(value)) {
        if name == "default" {
            wanted.all = true;
        } else if name == AGENT_OLD {
            wanted.names.push(AGENT.to_owned());
        } else if known.contains(&name) {
            wanted.names.push(name.to_owned());
        } else {
            let advice = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", known.join(", ")),
            };
            return Err(Refusal::usage(format!("--tools: there is no tool `{name}`; {advice}")));
        }
    }
    Ok(wanted)
}

/// A rule for a tool that does not exist is a slip of the pen, and one that denies would protect
/// nothing.
pub(crate) fn check_names(rules: &[Rule]) -> Result<(), Refusal> {
    if rules.is_empty() {
        return Ok(());
    }
    let registry = Registry::builtin();
    let known: Vec<&str> = registry.names().chain(ELSEWHERE.iter().copied()).collect();
    let is_known = |tool: &str| known.contains(&tool) || tool.starts_with("mcp__");
    let Some(tool) = rules.iter().map(|rule| rule.tool.as_str()).find(|tool| !is_known(tool))
    else {
        return Ok(());
    };
    let advice = match nearest(tool, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => "rules come after the prompt, and name a tool first".to_owned(),
    };
    Err(Refusal::usage(format!("a rule names the tool `{tool}`, which there is not; {advice}")))
}

/// Tools that rules may name and that are not built in, or not always.
const ELSEWHERE: &[&str] = &[AGENT, AGENT_OLD, SKILL, WEB_SEARCH];

const SKILL: &str = "Skill";
const WEB_SEARCH: &str = "WebSearch";

/// Tools that are of no use where nobody answers.
const WITH_PEOPLE: &[&str] = &["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];

/// The tool that starts nested sessions, and what it was called elsewhere.
const AGENT: &str = "Agent";
const AGENT_OLD: &str = "Task";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_talk_to_people_are_there_only_where_people_are() {
        for can_ask in [false, true] {
            let policy = Policy { can_ask, ..Policy::default() };
            let registry = offer(&[], &policy).expect("an offer").registry;
            for name in WITH_PEOPLE {
                assert_eq!(registry.get(name).is_some(), can_ask, "{name}");
            }
        }
    }
}
