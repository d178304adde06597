//! Which tools the model is offered: a base set chosen by name, without those that a bare deny rule
//! hides. A tool that was requested by its name is offered from the start.

use std::path::{Path, PathBuf};

use windlass_driver::{AgentDefinition, SubagentConfig, ToolRegistry, ToolSessionContext};
use windlass_permission::{Policy, Rule};

use windlass_config_text::find_similar_name;
use windlass_host::command_error::CommandError;
use windlass_project::rule_list::split_rules;

#[derive(Debug)]
pub struct ToolSelection {
    pub registry: ToolRegistry,
    /// May nested sessions be started? Their tool is added where sessions are made.
    may_start_agents: bool,
    may_load_skills: bool,
    /// May the web be searched? The tool is added where a provider does that.
    pub may_search_web: bool,
}

/// Without a request, all built-in tools; those that ask the user only where there is one.
pub fn select_tools(requested: &[String], policy: &Policy) -> Result<ToolSelection, CommandError> {
    let rules = &policy.rules;
    let mut registry = ToolRegistry::with_builtin_tools();
    let mut agents = true;
    let mut skills = true;
    let mut search = true;
    if !requested.is_empty() {
        let wanted = parse_requested_tools(requested, &registry)?;
        registry.retain(|spec| wanted.contains(spec.name.as_str()));
        let late = registry.deferred_specs();
        registry.defer(|spec| {
            late.iter().any(|late| late.name == spec.name)
                && !wanted.names.iter().any(|name| name == spec.name.as_str())
        });
        agents = wanted.contains(AGENT_TOOL);
        skills = wanted.contains(SKILL_TOOL);
        search = wanted.contains(WEB_SEARCH_TOOL);
    }
    if !policy.can_ask {
        registry.retain(|spec| !INTERACTIVE_TOOLS.contains(&spec.name.as_str()));
    }
    let hidden =
        |name: &str| rules.deny.iter().any(|rule| rule.content.is_none() && rule.tool == name);
    registry.retain(|spec| !hidden(spec.name.as_str()));
    agents &= !hidden(AGENT_TOOL) && !hidden(AGENT_TOOL_ALIAS);
    skills &= !hidden(SKILL_TOOL);
    search &= !hidden(WEB_SEARCH_TOOL);
    Ok(ToolSelection {
        registry,
        may_start_agents: agents,
        may_load_skills: skills,
        may_search_web: search,
    })
}

impl ToolSelection {
    /// The agents, if nested sessions may be started.
    pub(crate) fn build_subagents(
        &self,
        definitions: Vec<AgentDefinition>,
    ) -> Option<SubagentConfig> {
        self.may_start_agents.then(|| SubagentConfig { definitions, ..SubagentConfig::default() })
    }

    pub fn tool_names(&self) -> Vec<String> {
        let agents = self.may_start_agents.then_some(AGENT_TOOL);
        self.registry.names().chain(agents).map(str::to_owned).collect()
    }

    /// Adds the tool that loads skills, if there are any and they may be loaded.
    pub(crate) fn add_skill_tool(
        &mut self,
        tool_context: &mut ToolSessionContext,
        folders: &[PathBuf],
    ) {
        if self.may_load_skills {
            tool_context.skill_directories = folders.to_vec();
            self.registry.insert_skills(tool_context);
        }
    }
}

struct RequestedTools {
    names: Vec<String>,
    all: bool,
}

impl RequestedTools {
    fn contains(&self, name: &str) -> bool {
        self.all || self.names.iter().any(|wanted| wanted == name)
    }
}

/// The requested names; `default` means all.
fn parse_requested_tools(
    requested: &[String],
    registry: &ToolRegistry,
) -> Result<RequestedTools, CommandError> {
    let known: Vec<&str> =
        registry.names().chain([AGENT_TOOL, SKILL_TOOL, WEB_SEARCH_TOOL]).collect();
    let mut wanted = RequestedTools { names: Vec::new(), all: false };
    for name in requested.iter().flat_map(|value| split_rules(value)) {
        if name == "default" {
            wanted.all = true;
        } else if name == AGENT_TOOL_ALIAS {
            wanted.names.push(AGENT_TOOL.to_owned());
        } else if known.contains(&name) {
            wanted.names.push(name.to_owned());
        } else {
            let advice = match find_similar_name(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", known.join(", ")),
            };
            return Err(CommandError::usage(format!(
                "--tools: there is no tool `{name}`; {advice}"
            )));
        }
    }
    Ok(wanted)
}

/// Parses the values of `--allowedTools` and `--disallowedTools`.
pub fn parse_rules(values: &[String]) -> Result<Vec<Rule>, CommandError> {
    let home = std::env::home_dir();
    let home = home.as_deref().and_then(Path::to_str);
    let parse = |text: &str| {
        let rule = Rule::parse(text).map_err(|error| {
            CommandError::usage(format!(
                "{error}; write `Tool` or `Tool(what)`, and the prompt right after -p"
            ))
        })?;
        Ok(match home {
            Some(home) => rule.with_home(home),
            None => rule,
        })
    };
    let rules = values.iter().flat_map(|value| split_rules(value)).map(parse);
    let rules: Vec<Rule> = rules.collect::<Result<_, CommandError>>()?;
    check_tool_names(&rules)?;
    Ok(rules)
}

/// A rule for a tool that does not exist is a typo, and one that denies would protect nothing.
pub(crate) fn check_tool_names(rules: &[Rule]) -> Result<(), CommandError> {
    if rules.is_empty() {
        return Ok(());
    }
    let registry = ToolRegistry::with_builtin_tools();
    let known: Vec<&str> = registry.names().chain(NOT_BUILT_IN.iter().copied()).collect();
    let is_known = |tool: &str| known.contains(&tool) || tool.starts_with("mcp__");
    let Some(tool) = rules.iter().map(|rule| rule.tool.as_str()).find(|tool| !is_known(tool))
    else {
        return Ok(());
    };
    let advice = match find_similar_name(tool, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => "rules come after the prompt, and name a tool first".to_owned(),
    };
    Err(CommandError::usage(format!(
        "a rule names the tool `{tool}`, which does not exist; {advice}"
    )))
}

/// Tools that rules may name and that are not built in, or not always.
const NOT_BUILT_IN: &[&str] = &[AGENT_TOOL, AGENT_TOOL_ALIAS, SKILL_TOOL, WEB_SEARCH_TOOL];

const SKILL_TOOL: &str = "Skill";
const WEB_SEARCH_TOOL: &str = "WebSearch";

/// Tools that need a user who answers.
const INTERACTIVE_TOOLS: &[&str] = &["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];

/// The tool that starts nested sessions, and its name in other programs.
const AGENT_TOOL: &str = "Agent";
const AGENT_TOOL_ALIAS: &str = "Task";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_talk_to_people_are_there_only_where_people_are() {
        for can_ask in [false, true] {
            let policy = Policy { can_ask, ..Policy::default() };
            let registry = select_tools(&[], &policy).expect("an offer").registry;
            for name in INTERACTIVE_TOOLS {
                assert_eq!(registry.get(name).is_some(), can_ask, "{name}");
            }
        }
    }
}
