//! Loads agent definitions from files. Of several with the same name, the one nearest to the
//! working directory is used; the user's own come last.

use std::path::{Path, PathBuf};

use windlass_driver::{AgentDefinition, AgentIsolation};
use windlass_vocabulary::{ModelName, ToolName};

use crate::bounded_file::read_page;
use crate::extension_sources::ExtensionSources;
use crate::markdown_files::{FrontMatter, list_markdown_files};
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;
use windlass_provider::config::Config;
use windlass_provider::model_choice;

/// Loads the definitions. Unusable ones are skipped and reported.
pub fn load_agent_definitions(
    cwd: &Path,
    config: &Config,
    extensions: ExtensionSources<'_>,
    lookup: &impl EnvLookup,
) -> (Vec<AgentDefinition>, Vec<String>) {
    let mut found = Vec::<AgentDefinition>::new();
    let mut notes = Vec::new();
    for AgentFolder { folder, plugin, may_hook } in list_agent_folders(cwd, extensions, lookup) {
        for path in list_markdown_files(&folder) {
            let agent = read_agent_file(&path, config, lookup).map(|mut agent| {
                agent.hooks = agent.hooks.filter(|_| may_hook);
                if let Some(plugin) = &plugin {
                    agent.name = format!("{plugin}:{}", agent.name);
                }
                agent
            });
            match agent {
                Ok(agent) if found.iter().any(|known| known.name == agent.name) => {}
                Ok(agent) if found.len() < AGENTS_MAX => found.push(agent),
                Ok(agent) => {
                    notes.push(format!("there are too many agents: {} is left out", agent.name));
                }
                Err(problem) => {
                    notes.push(format!("{} is not an agent: {problem}", path.display()));
                }
            }
        }
    }
    (found, notes)
}

pub fn find_agent_files(
    cwd: &Path,
    config: &Config,
    extensions: ExtensionSources<'_>,
    lookup: &impl EnvLookup,
) -> Vec<(String, PathBuf)> {
    let mut found = Vec::<(String, PathBuf)>::new();
    for AgentFolder { folder, plugin, .. } in list_agent_folders(cwd, extensions, lookup) {
        for path in list_markdown_files(&folder) {
            let Ok(agent) = read_agent_file(&path, config, lookup) else { continue };
            let before = plugin.as_ref().map(|plugin| format!("{plugin}:")).unwrap_or_default();
            let name = format!("{before}{}", agent.name);
            if !found.iter().any(|(known, _)| *known == name) {
                found.push((name, path));
            }
        }
    }
    found
}

struct AgentFolder {
    folder: PathBuf,
    plugin: Option<String>,
    may_hook: bool,
}

fn list_agent_folders(
    cwd: &Path,
    extensions: ExtensionSources<'_>,
    lookup: &impl EnvLookup,
) -> Vec<AgentFolder> {
    let sources = extensions.enabled;
    let project = windlass_settings::find_project_root(cwd);
    let inside =
        cwd.ancestors().take_while(|folder| sources.project && folder.starts_with(&project));
    let own = user_directories::claude_directory(lookup).filter(|_| sources.user);
    let trusts = extensions.trusts_project;
    let hooks = extensions.allows_hooks;
    let place =
        |folder, may_hook| AgentFolder { folder, plugin: None, may_hook: may_hook && hooks };
    let inside = inside.map(|folder| place(folder.join(".claude/agents"), trusts));
    let own = own.map(|folder| place(folder.join("agents"), true));
    let plugins = extensions.plugins.iter().flat_map(|plugin| {
        plugin.component_folders("agents", "agents").into_iter().map(|folder| AgentFolder {
            folder,
            plugin: Some(plugin.name.clone()),
            // The hooks of a plugin are in a separate file.
            may_hook: false,
        })
    });
    inside.chain(own).chain(plugins).collect()
}

fn read_agent_file(
    path: &Path,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<AgentDefinition, String> {
    let text = read_page(path)?;
    let page = FrontMatter::parse(&text).ok_or("it does not begin with lines between `---`")?;
    let name = page.text("name").ok_or("it has no name")?;
    if name.starts_with('-') || name.contains(':') || name.chars().any(char::is_control) {
        return Err(format!("`{}` cannot be a name", name.escape_debug()));
    }
    let description = page.text("description").ok_or("it has no description")?;
    let tools = page.list("tools").filter(|tools| !tools.iter().any(|tool| tool == "*"));
    if let Some(problem) = page.problem() {
        return Err(problem.to_owned());
    }
    let without = page.list("disallowedTools").unwrap_or_default();
    let prompt = page.body.trim();
    let turns_max = page.text("maxTurns").and_then(|turns| turns.parse().ok());
    Ok(AgentDefinition {
        name,
        description,
        prompt: (!prompt.is_empty()).then(|| prompt.to_owned()),
        tools: tools.map(|tools| tools.iter().map(|tool| parse_tool_name(tool)).collect()),
        model: page
            .text("model")
            .filter(|model| model != "inherit")
            .map(|m| resolve_agent_model(&m, config, lookup)),
        turns_max,
        background: page.flag("background") == Some(true),
        isolation: parse_isolation(page.text("isolation").as_deref())?,
        excluded_tools: without.iter().map(|tool| parse_tool_name(tool)).collect(),
        hooks: page.value("hooks").cloned(),
    })
}

pub fn parse_isolation(word: Option<&str>) -> Result<AgentIsolation, String> {
    match word {
        None | Some("none") => Ok(AgentIsolation::None),
        Some("worktree") => Ok(AgentIsolation::Worktree),
        Some(other) => Err(format!("isolation `{}` is not known", other.escape_debug())),
    }
}

/// A tool may have a pattern of permitted uses; the permission rules decide on that, not this list.
fn parse_tool_name(tool: &str) -> ToolName {
    ToolName::from(tool.split('(').next().unwrap_or(tool).trim())
}

/// The provider's name of a model.
pub(crate) fn resolve_agent_model(
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> ModelName {
    let chosen = model_choice::choose_model(name, config, lookup);
    chosen.map_or_else(|_| ModelName::from(name), |chosen| ModelName::from(chosen.name.as_str()))
}

const AGENTS_MAX: usize = 64;
