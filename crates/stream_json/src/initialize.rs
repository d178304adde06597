//! The `initialize` request: what a client sets before the first prompt, and the response.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::{AgentDefinition, HookSet};
use windlass_permission::Rule;
use windlass_vocabulary::{ModelName, ToolName};

use crate::choosable_models::list_choosable_models;
use crate::client_hooks::ClientHooks;
use crate::client_requests::ClientChannel;
use crate::json_schema::CheckedSchema;
use crate::live_session::list_skill_names;
use windlass_assembly::PROTOCOL_VERSION;
use windlass_assembly::session_plan::SessionPlan;
use windlass_assembly::slash_command;
use windlass_project::agents::parse_isolation;

/// What a client sets. Applied to every conversation of the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct InitializeOptions {
    agents: Vec<AgentDefinition>,
    system_prompt: Option<String>,
    append_system_prompt: Option<String>,
    hooks: Option<Value>,
    /// MCP servers inside the client.
    pub client_servers: Vec<String>,
    pub schema: Option<CheckedSchema>,
    wants_prompt_suggestions: bool,
    pub wants_subagent_text: bool,
    /// The skills that may be used, by name; `None` for all.
    skills: Option<Vec<String>>,
    plugins: Vec<PathBuf>,
    /// Only for a new session.
    pub title: Option<String>,
}

impl InitializeOptions {
    /// Reads the request. Keys that are not known change nothing.
    pub(crate) fn parse(request: &Value) -> Result<Self, String> {
        let text = |key: &str| request.get(key).and_then(Value::as_str).map(str::to_owned);
        let system_prompt = match request.get("systemPrompt") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Array(parts)) => {
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                Some(parts.join("\n\n"))
            }
            _ => None,
        };
        let schema = request.get("jsonSchema").filter(|schema| !schema.is_null()).cloned();
        let schema = schema
            .map(CheckedSchema::new)
            .transpose()
            .map_err(|why| format!("jsonSchema: {why}"))?;
        Ok(Self {
            schema,
            client_servers: parse_string_list(request.get("sdkMcpServers")),
            hooks: request.get("hooks").filter(|hooks| hooks.is_object()).cloned(),
            agents: parse_agents(request.get("agents"))?,
            system_prompt,
            append_system_prompt: text("appendSystemPrompt"),
            title: text("title").filter(|title| !title.trim().is_empty()),
            wants_prompt_suggestions: request.get("promptSuggestions") == Some(&Value::Bool(true)),
            skills: request
                .get("skills")
                .filter(|list| list.is_array())
                .map(|list| parse_string_list(Some(list))),
            plugins: {
                let paths = parse_plugin_paths(request);
                paths.with_mcp_servers.into_iter().chain(paths.without_mcp_servers).collect()
            },
            wants_subagent_text: request.get("forwardSubagentText") == Some(&Value::Bool(true)),
        })
    }

    /// Makes them part of a session that is not started yet.
    pub(crate) fn apply_to_plan(&self, plan: &mut SessionPlan) {
        self.apply_system_prompt(plan);
        self.hide_unlisted_skills(plan);
        if let Some(agents) = &mut plan.subagents {
            for agent in &self.agents {
                agents.definitions.retain(|known| known.name != agent.name);
                agents.definitions.push(agent.clone());
            }
        }
    }

    pub(crate) fn build_hook_set(&self, channel: &ClientChannel) -> Option<HookSet> {
        let hooks = self.hooks.as_ref()?;
        // An event or a matcher that we do not know belongs to a newer client, and is never called.
        let (set, _unknown) =
            HookSet::parse_callbacks(hooks, Arc::new(ClientHooks::new(channel.clone())));
        Some(set)
    }

    fn hide_unlisted_skills(&self, plan: &mut SessionPlan) {
        let Some(wanted) = &self.skills else {
            return;
        };
        let is_wanted = |name: &String| {
            wanted.iter().any(|one| one == name || one.ends_with(&format!(":{name}")))
        };
        let others =
            list_skill_names(&plan.description).into_iter().filter(|name| !is_wanted(name));
        let others: Vec<String> = others.collect();
        let rules = others
            .iter()
            .map(|name| Rule { tool: "Skill".to_owned(), content: Some(name.clone()) });
        plan.builder.policy_mut().rules.deny.extend(rules);
        plan.description.hidden_skills.extend(others);
    }

    fn apply_system_prompt(&self, plan: &mut SessionPlan) {
        if self.wants_prompt_suggestions {
            plan.builder.enable_prompt_suggestions();
        }
        if let Some(prompt) = &self.system_prompt {
            plan.builder.set_system_prompt(prompt.as_str());
        }
        if let Some(more) = &self.append_system_prompt {
            let system_prompt = plan.builder.settings().system_prompt;
            let prompt = format!("{}\n\n{more}", system_prompt.trim_end());
            plan.builder.set_system_prompt(prompt.trim_start());
        }
    }
}

fn parse_string_list(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The folders of the plugins a client lists.
#[derive(Debug, Default)]
pub(crate) struct PluginPaths {
    /// Plugins whose MCP servers are started here.
    pub with_mcp_servers: Vec<PathBuf>,
    pub without_mcp_servers: Vec<PathBuf>,
}

pub(crate) fn parse_plugin_paths(request: &Value) -> PluginPaths {
    let mut paths = PluginPaths::default();
    for plugin in request.get("plugins").and_then(Value::as_array).into_iter().flatten() {
        let Some(path) = plugin.get("path").and_then(Value::as_str) else { continue };
        match plugin.get("skipMcpDiscovery") == Some(&Value::Bool(true)) {
            true => paths.without_mcp_servers.push(PathBuf::from(path)),
            false => paths.with_mcp_servers.push(PathBuf::from(path)),
        }
    }
    paths
}

/// Agents as clients define them, by name.
pub(crate) fn parse_agents(value: Option<&Value>) -> Result<Vec<AgentDefinition>, String> {
    let Some(Value::Object(agents)) = value else {
        return Ok(Vec::new());
    };
    agents.iter().map(|(name, value)| parse_agent(name, value)).collect()
}

fn parse_agent(name: &str, value: &Value) -> Result<AgentDefinition, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let names = |key: &str| -> Option<Vec<ToolName>> {
        let list = value.get(key)?.as_array()?.iter().filter_map(Value::as_str);
        Some(list.map(|tool| ToolName::from(tool.split('(').next().unwrap_or(tool))).collect())
    };
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(format!("`{}` cannot be an agent's name", name.escape_debug()));
    }
    let model = text("model").filter(|model| model != "inherit" && !model.is_empty());
    let turns = value.get("maxTurns").and_then(Value::as_u64);
    Ok(AgentDefinition {
        name: name.to_owned(),
        description: text("description").unwrap_or_default(),
        prompt: text("prompt").filter(|prompt| !prompt.is_empty()),
        tools: names("tools"),
        model: model.map(|model| ModelName::from(model.as_str())),
        turns_max: turns.and_then(|turns| u32::try_from(turns).ok()),
        background: value.get("background") == Some(&Value::Bool(true)),
        isolation: parse_isolation(text("isolation").as_deref())?,
        excluded_tools: names("disallowedTools").unwrap_or_default(),
        hooks: None,
    })
}

pub(crate) fn build_initialize_response(plan: &SessionPlan, options: &InitializeOptions) -> Value {
    let own = slash_command::list_available(slash_command::FrontEnd::Headless)
        .map(|one| json!({ "name": one.name, "description": one.description, "argumentHint": one.argument_hint }));
    let listed = plan.expander.list_commands().into_iter().map(
        |one| json!({ "name": one.name, "description": one.description, "argumentHint": one.argument_hint }),
    );
    let commands: Vec<Value> = own.chain(listed).collect();
    let agents: Vec<Value> = plan
        .subagents
        .iter()
        .flat_map(|agents| &agents.definitions)
        .map(|agent| json!({ "name": agent.name, "description": agent.description }))
        .collect();
    let first = plan.builder.settings().model.name;
    let models = list_choosable_models(&plan.endpoints, first.as_str(), &plan.settings_layers);
    let own = plan.description.output_styles.iter().map(String::as_str);
    let styles: Vec<&str> = std::iter::once("default").chain(own).collect();
    let mut answer = json!({
        "commands": commands,
        "agents": agents,
        "output_style": plan.description.output_style,
        "available_output_styles": styles,
        "models": models,
        "account": {},
        "hooks_applied": true,
        "hook_on_failure_supported": true,
        "claude_code_version": PROTOCOL_VERSION,
    });
    if let (false, Value::Object(fields)) = (options.plugins.is_empty(), &mut answer) {
        let is_loaded = |path: &PathBuf| {
            let path = path.canonicalize().ok();
            plan.settings_layers.plugins.iter().any(|plugin| Some(&plugin.root) == path.as_ref())
        };
        let are_loaded = options.plugins.iter().all(is_loaded);
        fields.insert("plugins_applied".to_owned(), Value::Bool(are_loaded));
    }
    answer
}
