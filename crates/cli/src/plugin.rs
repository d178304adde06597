//! Plugins: folders that bring commands, agents, skills, hooks and MCP servers, each under the
//! plugin's name. Read where the command line or a client names one; nothing is installed here.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::args::HeadlessArgs;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plugin {
    /// What its commands and agents are called by.
    pub(crate) name: String,
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// Its servers are somebody else's affair.
    is_without_servers: bool,
}

/// The plugins that were named, and one line for each that cannot be used.
pub(crate) fn named(args: &HeadlessArgs, cwd: &Path) -> (Vec<Plugin>, Vec<String>) {
    let with = args.plugin_dir.iter().map(|path| (path, false));
    let without = args.plugin_dir_no_mcp.iter().map(|path| (path, true));
    let (mut plugins, mut problems) = (Vec::<Plugin>::new(), Vec::new());
    for (path, is_without_servers) in with.chain(without) {
        match Plugin::read(&cwd.join(path), is_without_servers) {
            Ok(plugin) if plugins.iter().any(|known| known.name == plugin.name) => {}
            Ok(plugin) => plugins.push(plugin),
            Err(why) => problems.push(format!("{} is no plugin: {why}", path.display())),
        }
    }
    (plugins, problems)
}

impl Plugin {
    fn read(path: &Path, is_without_servers: bool) -> Result<Self, String> {
        let path = path.canonicalize().map_err(|error| error.to_string())?;
        if !path.is_dir() {
            return Err("it is not a folder".to_owned());
        }
        let manifest = object(&path.join(".claude-plugin/plugin.json"), &path)?;
        let said = manifest.as_ref().and_then(|manifest| manifest.get("name")?.as_str());
        let folder = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = said.map(str::to_owned).or(folder).unwrap_or_default();
        if name.is_empty() || name.contains([':', '/']) || name.chars().any(char::is_control) {
            return Err(format!("`{}` cannot be a name", name.escape_debug()));
        }
        Ok(Self { name, path, is_without_servers })
    }

    /// Where something of it lies, if it is there.
    pub(crate) fn folder(&self, name: &str) -> Option<PathBuf> {
        Some(self.path.join(name)).filter(|folder| folder.is_dir())
    }

    /// Its hooks, its servers by name, and what is wrong with them.
    pub(crate) fn settings(&self) -> (Option<Written>, Option<Written>, Vec<String>) {
        let mut wrong = Vec::new();
        let mut read = |name: &str, key: &str| match object(&self.path.join(name), &self.path) {
            Ok(Some(mut read)) => match read.remove(key) {
                Some(Value::Object(inner)) => Some(inner),
                _ => Some(read),
            },
            Ok(None) => None,
            Err(why) => {
                wrong.push(why);
                None
            }
        };
        let hooks = read("hooks/hooks.json", "hooks");
        let servers = match self.is_without_servers {
            true => None,
            false => read(".mcp.json", "mcpServers"),
        };
        let scoped = |servers: Written| {
            let scoped = |(name, server)| (format!("plugin:{}:{name}", self.name), server);
            servers.into_iter().map(scoped).collect()
        };
        (hooks, servers.map(scoped), wrong)
    }
}

/// As it stands in a file.
pub(crate) type Written = Map<String, Value>;

/// A file with an object, in which the plugin's own place is filled in; `None` if there is none.
fn object(path: &Path, root: &Path) -> Result<Option<Map<String, Value>>, String> {
    let length = path.metadata().map_or(0, |found| found.len());
    if length > BYTES_MAX {
        return Err(format!("{} is over 1 MiB", path.display()));
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let mut value: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    fill(&mut value, &root.to_string_lossy());
    match value {
        Value::Object(object) => Ok(Some(object)),
        _ => Err(format!("{}: it is not an object", path.display())),
    }
}

fn fill(value: &mut Value, root: &str) {
    match value {
        Value::String(text) if text.contains(ROOT) => *text = text.replace(ROOT, root),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, root)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, root)),
        _ => {}
    }
}

/// How a plugin names the folder it lies in.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";
const BYTES_MAX: u64 = 1 << 20;
