//! Which tools the model is offered: a base set chosen by name, without those that a bare deny rule
//! hides. A tool that was wished for by its name is offered from the start.

use windlass_driver::Registry;
use windlass_permission::{Rule, Rules};

use crate::nearest::nearest;
use crate::refusal::Refusal;
use crate::rules::listed;

/// What is on offer.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The tools.
    pub(crate) registry: Registry,
    /// May nested sessions be started? Their tool is added where sessions are made.
    pub(crate) agents: bool,
}

/// The tools on offer. Without a wish, all that are built in.
pub(crate) fn offer(wish: &[String], rules: &Rules) -> Result<Offer, Refusal> {
    let mut registry = Registry::builtin();
    let mut agents = true;
    if !wish.is_empty() {
        let wanted = named(wish, &registry)?;
        registry.retain(|spec| wanted.has(spec.name.as_str()));
        let late = registry.deferred();
        registry.defer(|spec| {
            late.iter().any(|late| late.name == spec.name)
                && !wanted.names.iter().any(|name| name == spec.name.as_str())
        });
        agents = wanted.has(AGENT);
    }
    let hidden =
        |name: &str| rules.deny.iter().any(|rule| rule.content.is_none() && rule.tool == name);
    registry.retain(|spec| !hidden(spec.name.as_str()));
    agents &= !hidden(AGENT) && !hidden(AGENT_OLD);
    Ok(Offer { registry, agents })
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
    let known: Vec<&str> = registry.names().chain([AGENT]).collect();
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
const ELSEWHERE: &[&str] = &[AGENT, AGENT_OLD, "Skill", "WebSearch"];

/// The tool that starts nested sessions, and what it was called elsewhere.
const AGENT: &str = "Agent";
const AGENT_OLD: &str = "Task";
