//! Reads MCP servers from the project's `.mcp.json`, and from the user's file shared with other
//! programs. Returned as written; the crate that starts servers interprets them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_config_text::TextPosition;
use windlass_permission::permission_layer::SettingsSource;

use crate::bounded_file;
use crate::loaded_settings::SourcedValue;
use crate::settings_location::SettingsRequest;
use crate::settings_problem::{ProblemSeverity, SettingsProblem};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpJsonFile {
    #[serde(default)]
    mcp_servers: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeJsonFile {
    #[serde(default)]
    mcp_servers: Option<Map<String, Value>>,
    #[serde(default)]
    projects: Option<BTreeMap<String, ClaudeJsonProject>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeJsonProject {
    #[serde(default)]
    mcp_servers: Option<Map<String, Value>>,
}

/// The servers of every file, lowest first: the user's, the project's, the user's for this project.
pub(crate) fn read_mcp_servers(
    request: &SettingsRequest,
    root: &Path,
    problems: &mut Vec<SettingsProblem>,
) -> Vec<SourcedValue<Map<String, Value>>> {
    let mut found = Vec::new();
    if request.only_restricts {
        return found;
    }
    let mut add = |source, name: &str, value: Map<String, Value>| {
        if !value.is_empty() {
            found.push(SourcedValue { source, name: name.to_owned(), value });
        }
    };
    let ClaudeJsonServers { user, local } = match &request.locations.claude_json {
        Some(path) => read_claude_json(path, request, root, problems),
        None => ClaudeJsonServers::default(),
    };
    let name = request.locations.claude_json.as_ref().map(|path| path.display().to_string());
    let name = name.unwrap_or_default();
    if request.sources.user {
        add(SettingsSource::User, &name, user);
    }
    if request.sources.project {
        let mut folders = vec![root, &request.cwd];
        folders.dedup();
        for path in folders.into_iter().map(|folder| folder.join(".mcp.json")) {
            add(
                SettingsSource::Project,
                &path.display().to_string(),
                read_mcp_json(&path, problems),
            );
        }
    }
    if request.sources.local {
        add(SettingsSource::Local, &name, local);
    }
    found
}

fn read_mcp_json(path: &Path, problems: &mut Vec<SettingsProblem>) -> Map<String, Value> {
    let mut problem = |place: Option<TextPosition>, why: String| {
        problems.push(SettingsProblem {
            source: Some(SettingsSource::Project),
            name: path.display().to_string(),
            position: place,
            what: format!("{why}; its servers are left out"),
            until_fixed: None,
            severity: ProblemSeverity::Entry,
        });
        Map::new()
    };
    if path.is_dir() {
        // While a command runs, the sandbox represents a missing file by a directory.
        return Map::new();
    }
    match bounded_file::read_bounded(path) {
        Ok(None) => Map::new(),
        Err(why) => problem(None, why),
        Ok(Some(text)) => match serde_json::from_str::<McpJsonFile>(&text) {
            Ok(servers) => servers.mcp_servers,
            Err(error) => {
                let place = TextPosition { line: error.line(), column: error.column().max(1) };
                let words = error.to_string();
                let words = words.split(" at line ").next().unwrap_or_default().to_owned();
                problem(Some(place), words)
            }
        },
    }
}

#[derive(Default)]
struct ClaudeJsonServers {
    /// For all projects.
    user: Map<String, Value>,
    /// For this project.
    local: Map<String, Value>,
}

/// The file belongs to another program and has many other keys.
fn read_claude_json(
    path: &Path,
    request: &SettingsRequest,
    root: &Path,
    problems: &mut Vec<SettingsProblem>,
) -> ClaudeJsonServers {
    let left_out = |why: &str| SettingsProblem {
        source: Some(SettingsSource::User),
        name: path.display().to_string(),
        position: None,
        what: format!("{why}; its servers are left out"),
        until_fixed: None,
        severity: ProblemSeverity::Entry,
    };
    let is_special = path.metadata().is_ok_and(|found| !found.is_file());
    if is_special {
        problems.push(left_out("it is not a file"));
        return Default::default();
    }
    let Ok(opened) = bounded_file::open_without_waiting(path) else { return Default::default() };
    if !opened.metadata().is_ok_and(|found| found.is_file()) {
        return Default::default();
    }
    let mut bytes = Vec::new();
    let read = opened.take(BYTES_MAX).read_to_end(&mut bytes);
    let file = read.map_err(|error| error.to_string()).and_then(|_| {
        serde_json::from_slice::<ClaudeJsonFile>(&bytes).map_err(|error| error.to_string())
    });
    match file {
        Ok(file) => {
            let mut projects = file.projects.unwrap_or_default();
            let mut of = |path: &Path| path.to_str().and_then(|path| projects.remove(path));
            let own = of(root).or_else(|| of(&request.cwd)).unwrap_or_default();
            ClaudeJsonServers {
                user: file.mcp_servers.unwrap_or_default(),
                local: own.mcp_servers.unwrap_or_default(),
            }
        }
        Err(why) => {
            problems.push(left_out(&why));
            Default::default()
        }
    }
}

const BYTES_MAX: u64 = 64 * 1024 * 1024;
