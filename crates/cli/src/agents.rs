//! Agents that people keep in files: which there are, and what each is told and may use. Where two
//! have one name, the nearest to where we are is meant; the user's own come last.

use std::path::{Path, PathBuf};

use windlass_driver::{AgentDefinition, Isolation};
use windlass_settings::Sources;
use windlass_vocabulary::{ModelName, ToolName};

use crate::config::Config;
use crate::environment::Lookup;
use crate::folder;
use crate::frontmatter::{Page, pages};
use crate::plugin::Plugin;

/// Reads them. What cannot be used is left out and noted.
pub(crate) fn definitions(
    cwd: &Path,
    config: &Config,
    sources: Sources,
    lookup: &impl Lookup,
) -> (Vec<AgentDefinition>, Vec<String>) {
    let (mut found, mut notes) = (Vec::<AgentDefinition>::new(), Vec::new());
    for folder in folders(cwd, sources, lookup) {
        for path in pages(&folder) {
            match read(&path, config) {
                Ok(agent) if found.iter().any(|known| known.name == agent.name) => {}
                Ok(agent) if found.len() < AGENTS_MAX => found.push(agent),
                Ok(agent) => notes.push(format!("the agent {} is one too many", agent.name)),
                Err(problem) => notes.push(format!("{} is no agent: {problem}", path.display())),
            }
        }
    }
    (found, notes)
}

/// Those of a plugin, called by its name and theirs.
pub(crate) fn of_plugin(plugin: &Plugin, config: &Config) -> (Vec<AgentDefinition>, Vec<String>) {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for path in plugin.folder("agents").iter().flat_map(|folder| pages(folder)) {
        match read(&path, config) {
            Ok(agent) => {
                let name = format!("{}:{}", plugin.name, agent.name);
                found.push(AgentDefinition { name, ..agent });
            }
            Err(problem) => notes.push(format!("{} is no agent: {problem}", path.display())),
        }
    }
    (found, notes)
}

fn folders(cwd: &Path, sources: Sources, lookup: &impl Lookup) -> Vec<PathBuf> {
    let project = folder::project(cwd);
    let inside =
        cwd.ancestors().take_while(|folder| sources.project && folder.starts_with(&project));
    let mut folders: Vec<PathBuf> = inside.map(|folder| folder.join(".claude/agents")).collect();
    folders.extend(
        folder::claude(lookup).filter(|_| sources.user).map(|folder| folder.join("agents")),
    );
    folders
}

fn read(path: &Path, config: &Config) -> Result<AgentDefinition, String> {
    let metadata = path.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > BYTES_MAX {
        return Err("it is not a file, or over 256 KiB".to_owned());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let page = Page::parse(&text).ok_or("it does not begin with lines between `---`")?;
    let name = page.text("name").ok_or("it has no name")?;
    if name.starts_with('-') || name.contains(':') || name.chars().any(char::is_control) {
        return Err(format!("`{}` cannot be a name", name.escape_debug()));
    }
    let description = page.text("description").ok_or("it has no description")?;
    let tools = page.list("tools").filter(|tools| !tools.iter().any(|tool| tool == "*"));
    let prompt = page.body.trim();
    let turns_max = page.text("maxTurns").and_then(|turns| turns.parse().ok());
    Ok(AgentDefinition {
        name,
        description,
        prompt: (!prompt.is_empty()).then(|| prompt.to_owned()),
        tools: tools.map(|tools| tools.iter().map(|tool| tool_name(tool)).collect()),
        model: page.text("model").filter(|model| model != "inherit").map(|m| model(&m, config)),
        turns_max,
        background: page.text("background").is_some_and(|background| background == "true"),
        isolation: isolation(page.text("isolation").as_deref())?,
    })
}

pub(crate) fn isolation(word: Option<&str>) -> Result<Isolation, String> {
    match word {
        None | Some("none") => Ok(Isolation::None),
        Some("worktree") => Ok(Isolation::Worktree),
        Some(other) => Err(format!("isolation `{}` is not known", other.escape_debug())),
    }
}

/// A tool may be written with what it may be used for; rules decide that, not this list.
fn tool_name(tool: &str) -> ToolName {
    ToolName::from(tool.split('(').next().unwrap_or(tool).trim())
}

/// The name a model has at its provider.
fn model(name: &str, config: &Config) -> ModelName {
    let full = config.short.get(name).map_or(name, String::as_str);
    let (provider, rest) = full.split_once('/').unwrap_or(("", full));
    ModelName::from(if config.providers.contains_key(provider) { rest } else { full })
}

const AGENTS_MAX: usize = 64;
const BYTES_MAX: u64 = 256 * 1024;
