//! MCP servers where people keep them: the project's `.mcp.json`, and the file in which other programs
//! keep the user's. As written; what a server is, is known to those who start it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_permission::layer::Source;

use crate::file;
use crate::loaded::Sourced;
use crate::place::Request;
use crate::problem::{Place, Problem, Severity};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Servers {
    #[serde(default)]
    mcp_servers: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    #[serde(default)]
    mcp_servers: Option<Map<String, Value>>,
    #[serde(default)]
    projects: Option<BTreeMap<String, KeptProject>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptProject {
    #[serde(default)]
    mcp_servers: Option<Map<String, Value>>,
}

/// The servers of every file, lowest first: the user's, the project's, the user's for this project.
pub(crate) fn read(
    request: &Request,
    root: &Path,
    problems: &mut Vec<Problem>,
) -> Vec<Sourced<Map<String, Value>>> {
    let mut found = Vec::new();
    if request.only_restricts {
        return found;
    }
    let mut add = |source, name: &str, value: Map<String, Value>| {
        if !value.is_empty() {
            found.push(Sourced { source, name: name.to_owned(), value });
        }
    };
    let (user, own) = match &request.places.claude_json {
        Some(path) => kept(path, request, root, problems),
        None => (Map::new(), Map::new()),
    };
    let name = request.places.claude_json.as_ref().map(|path| path.display().to_string());
    let name = name.unwrap_or_default();
    if request.sources.user {
        add(Source::User, &name, user);
    }
    if request.sources.project {
        let mut folders = vec![root, &request.cwd];
        folders.dedup();
        for path in folders.into_iter().map(|folder| folder.join(".mcp.json")) {
            add(Source::Project, &path.display().to_string(), of_project(&path, problems));
        }
    }
    if request.sources.local {
        add(Source::Local, &name, own);
    }
    found
}

fn of_project(path: &Path, problems: &mut Vec<Problem>) -> Map<String, Value> {
    let mut problem = |place: Option<Place>, why: String| {
        problems.push(Problem {
            source: Some(Source::Project),
            name: path.display().to_string(),
            place,
            what: format!("{why}; its servers are left out"),
            severity: Severity::Entry,
        });
        Map::new()
    };
    match file::read(path) {
        Ok(None) => Map::new(),
        Err(why) => problem(None, why),
        Ok(Some(text)) => match serde_json::from_str::<Servers>(&text) {
            Ok(servers) => servers.mcp_servers,
            Err(error) => {
                let place = Place { line: error.line(), column: error.column().max(1) };
                let words = error.to_string();
                let words = words.split(" at line ").next().unwrap_or_default().to_owned();
                problem(Some(place), words)
            }
        },
    }
}

/// For all projects, and for this one. The file belongs to another program and holds much else.
fn kept(
    path: &Path,
    request: &Request,
    root: &Path,
    problems: &mut Vec<Problem>,
) -> (Map<String, Value>, Map<String, Value>) {
    let Ok(opened) = File::open(path) else { return Default::default() };
    if !opened.metadata().is_ok_and(|found| found.is_file()) {
        return Default::default();
    }
    let mut bytes = Vec::new();
    let read = opened.take(BYTES_MAX).read_to_end(&mut bytes);
    let kept = read
        .map_err(|error| error.to_string())
        .and_then(|_| serde_json::from_slice::<Kept>(&bytes).map_err(|error| error.to_string()));
    match kept {
        Ok(kept) => {
            let mut projects = kept.projects.unwrap_or_default();
            let mut of = |path: &Path| path.to_str().and_then(|path| projects.remove(path));
            let own = of(root).or_else(|| of(&request.cwd)).unwrap_or_default();
            (kept.mcp_servers.unwrap_or_default(), own.mcp_servers.unwrap_or_default())
        }
        Err(why) => {
            problems.push(Problem {
                source: Some(Source::User),
                name: path.display().to_string(),
                place: None,
                what: format!("{why}; its servers are left out"),
                severity: Severity::Entry,
            });
            Default::default()
        }
    }
}

const BYTES_MAX: u64 = 64 * 1024 * 1024;
