//! Plugins: folders with commands, agents, skills, styles, hooks and servers under one name.
//! `--plugin-dir` and `enabledPlugins` enable them; the program that installs plugins records their
//! paths. The parts are interpreted elsewhere.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::bounded_file::read_bounded;
use windlass_host::regular_file::RegularFileError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// The prefix of its parts: `name:part`.
    pub name: String,
    pub root: PathBuf,
    manifest: Map<String, Value>,
    skips_mcp_servers: bool,
}

impl Plugin {
    pub fn load(root: &Path) -> Result<Self, String> {
        let place = root.display();
        let root =
            root.canonicalize().map_err(|error| format!("{place} is not a plugin: {error}"))?;
        if !root.is_dir() {
            return Err(format!("{place} is not a plugin: it is not a folder"));
        }
        let path = root.join(".claude-plugin/plugin.json");
        let manifest = match read_json(&path)? {
            None => Map::new(),
            Some(Value::Object(manifest)) => manifest,
            Some(_) => return Err(format!("{} is not a JSON object", path.display())),
        };
        let own = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = match manifest.get("name") {
            Some(Value::String(name)) => name.clone(),
            None => own.unwrap_or_default(),
            Some(_) => return Err(format!("{}: `name` must be text", path.display())),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("{place}: `{}` cannot be a plugin's name", name.escape_debug()));
        }
        Ok(Self { name, root, manifest, skips_mcp_servers: false })
    }

    pub fn version(&self) -> Option<&str> {
        self.manifest.get("version").and_then(Value::as_str)
    }

    pub fn without_mcp_servers(mut self) -> Self {
        self.skips_mcp_servers = true;
        self
    }

    /// The folders of one kind of parts: the default one, and those in the manifest.
    pub fn component_folders(&self, kind: &str, usual: &str) -> Vec<PathBuf> {
        let more = match self.manifest.get(kind) {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let inside = |path: &str| {
            let path = self.root.join(path).canonicalize().ok()?;
            path.starts_with(&self.root).then_some(path)
        };
        let mut folders: Vec<PathBuf> =
            std::iter::once(usual).chain(more).filter_map(inside).collect();
        folders.dedup();
        folders
    }

    /// Its hooks as written, and their environment variables.
    pub fn read_hooks(&self) -> Result<Option<Value>, String> {
        let value = match self.manifest.get("hooks") {
            Some(value @ Value::Object(_)) => Some(value.clone()),
            Some(Value::String(path)) => read_json(&self.root.join(path))?,
            _ => read_json(&self.root.join("hooks/hooks.json"))?,
        };
        Ok(value.map(|value| value.get("hooks").cloned().unwrap_or(value)))
    }

    /// Environment variables for its programs.
    pub fn environment_variables(&self) -> Vec<(String, PathBuf)> {
        let data = self.root.join(".data");
        vec![
            ("CLAUDE_PLUGIN_ROOT".to_owned(), self.root.clone()),
            ("CLAUDE_PLUGIN_DATA".to_owned(), data),
        ]
    }

    /// Its servers, prefixed with its name.
    pub fn read_mcp_servers(&self) -> Result<Map<String, Value>, String> {
        if self.skips_mcp_servers {
            return Ok(Map::new());
        }
        let value = match self.manifest.get("mcpServers") {
            Some(value @ Value::Object(_)) => Some(value.clone()),
            Some(Value::String(path)) => read_json(&self.root.join(path))?,
            _ => read_json(&self.root.join(".mcp.json"))?,
        };
        let Some(value) = value else { return Ok(Map::new()) };
        let servers = value.get("mcpServers").unwrap_or(&value);
        let root = self.root.to_string_lossy();
        let Value::Object(servers) = substitute_root(servers, &root) else {
            return Err(format!("the servers of the plugin {} are not a JSON object", self.name));
        };
        Ok(servers
            .into_iter()
            .map(|(name, server)| (format!("{}:{name}", self.name), server))
            .collect())
    }
}

fn substitute_root(value: &Value, root: &str) -> Value {
    match value {
        Value::String(text) => text.replace("${CLAUDE_PLUGIN_ROOT}", root).into(),
        Value::Array(list) => list.iter().map(|one| substitute_root(one, root)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, one)| (name.clone(), substitute_root(one, root))).collect()
        }
        other => other.clone(),
    }
}

/// The folders of enabled plugins, or why one cannot be found.
pub fn find_enabled_plugins(
    wanted: &Map<String, Value>,
    claude: &Path,
) -> Vec<Result<PathBuf, String>> {
    let installed = read_json(&claude.join("plugins/installed_plugins.json")).ok().flatten();
    let installed = installed.unwrap_or_default();
    let is_on = |(_, value): &(&String, &Value)| **value == Value::Bool(true);
    let found = |(key, _): (&String, &Value)| {
        let entry = installed.get("plugins").and_then(|all| all.get(key));
        let entry = entry.map(|entry| entry.get(0).unwrap_or(entry));
        let path = entry.and_then(|entry| entry.get("installPath")).and_then(Value::as_str);
        let (name, market) = key.split_once('@').unwrap_or((key, ""));
        let market = claude.join("plugins/marketplaces").join(market);
        let usual = [market.join("plugins").join(name), market.join(name)];
        let path = path.map(PathBuf::from).into_iter().chain(usual);
        path.into_iter().find(|path| path.is_dir()).ok_or_else(|| {
            format!("enabledPlugins: {key} is not installed below {}", claude.display())
        })
    };
    wanted.iter().filter(is_on).take(PLUGINS_MAX).map(found).collect()
}

/// Parses a small JSON file; `None` if it does not exist.
fn read_json(path: &Path) -> Result<Option<Value>, String> {
    let text = match read_bounded(path, BYTES_MAX) {
        Ok(text) => text,
        Err(RegularFileError::Io(error)) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(RegularFileError::Io(error)) => return Err(format!("{}: {error}", path.display())),
        Err(RegularFileError::NotRegular(_) | RegularFileError::TooLong(_)) => {
            return Err(format!("{} is not a file, or over 1 MiB", path.display()));
        }
    };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        format!("{}, line {}, column {}: {error}", path.display(), error.line(), error.column())
    })
}

const PLUGINS_MAX: usize = 64;
const BYTES_MAX: u64 = 1024 * 1024;
