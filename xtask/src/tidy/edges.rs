//! Which crate may see which. The table is the whole of it; any other edge is refused, and so is one
//! that is not used: a row that allows what the manifest does not ask for, or a dependency, ours or another's,
//! that no source of the crate names.
//!
//! A crate sees floors below its own. Some also see a neighbour on the same floor: `engine` sees
//! `permission`, `mcp` and `hook` see `tool`. Tests may see a little more, because they need a world
//! to run in, but never the other way round: what stands in for the world is not shipped.

use super::source::{blank_tests, identifiers, split_source};
use super::{Finding, RepositoryTree, WorkspaceCrate};

/// Each crate and what it may depend on.
pub const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("vocabulary", &[]),
    ("permission", &["vocabulary"]),
    ("engine", &["vocabulary", "permission"]),
    ("dialect", &["vocabulary"]),
    ("git", &[]),
    ("pdf", &[]),
    ("text_diff", &[]),
    ("config_text", &[]),
    ("redaction", &[]),
    ("http_request", &[]),
    ("sandbox", &["permission"]),
    ("settings", &["vocabulary", "permission", "config_text"]),
    ("workspace", &["vocabulary"]),
    ("tool", &["vocabulary", "permission", "git", "pdf", "text_diff"]),
    ("hook", &["vocabulary", "tool"]),
    ("mcp", &["vocabulary", "permission", "tool"]),
    ("journal", &["vocabulary", "permission", "engine"]),
    ("rehearsal", &["vocabulary", "config_text", "redaction", "http_request"]),
    ("snapshot", &["vocabulary", "tool", "journal", "workspace", "text_diff"]),
    (
        "driver",
        &[
            "vocabulary",
            "permission",
            "engine",
            "dialect",
            "sandbox",
            "tool",
            "hook",
            "mcp",
            "journal",
            "workspace",
            "snapshot",
        ],
    ),
    ("styled_text", &["permission"]),
    ("host", &["vocabulary", "permission"]),
    ("provider", &["vocabulary", "config_text", "driver", "host"]),
    ("project", &["vocabulary", "permission", "settings", "driver", "host", "provider"]),
    ("telemetry", &["vocabulary", "tool", "driver", "host", "http_request"]),
    (
        "assembly",
        &[
            "vocabulary",
            "permission",
            "config_text",
            "sandbox",
            "settings",
            "journal",
            "driver",
            "telemetry",
            "host",
            "provider",
            "project",
        ],
    ),
    (
        "stream_json",
        &[
            "vocabulary",
            "permission",
            "settings",
            "driver",
            "host",
            "provider",
            "project",
            "assembly",
        ],
    ),
    ("acp", &["vocabulary", "settings", "journal", "driver", "host", "provider", "assembly"]),
    (
        "web",
        &[
            "vocabulary",
            "dialect",
            "text_diff",
            "journal",
            "driver",
            "redaction",
            "http_request",
            "host",
            "assembly",
        ],
    ),
    (
        "tui",
        &[
            "vocabulary",
            "permission",
            "text_diff",
            "settings",
            "journal",
            "driver",
            "host",
            "styled_text",
            "provider",
            "project",
            "assembly",
        ],
    ),
    ("demo", &["vocabulary", "driver", "rehearsal", "host", "assembly", "stream_json"]),
    ("trial", &["vocabulary", "git", "journal", "driver", "host", "assembly"]),
    ("nats", &[]),
    ("fleet", &["vocabulary", "git", "workspace", "text_diff", "journal", "host", "nats"]),
    (
        "cli",
        &[
            "vocabulary",
            "permission",
            "config_text",
            "sandbox",
            "settings",
            "journal",
            "driver",
            "rehearsal",
            "host",
            "provider",
            "project",
            "assembly",
            "stream_json",
            "acp",
            "web",
            "tui",
            "demo",
            "update",
            "trial",
        ],
    ),
    ("update", &["vocabulary", "tool", "host"]),
    ("lab", &["vocabulary", "permission", "engine", "dialect"]),
    ("xtask", &[]),
];

/// What tests of any crate but `xtask` may see besides: the stand-ins for the world.
pub const TEST_SUPPORT_CRATES: &[&str] = &["lab", "rehearsal"];

/// Refuses every edge that is not in the table or not used, and every crate that has no row in it.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in &tree.crates {
        let place = format!("{}/Cargo.toml", one.folder);
        let Some((_, allowed)) = ALLOWED_DEPENDENCIES.iter().find(|(name, _)| *name == one.name)
        else {
            findings
                .push(Finding::new(place, "no row in the floor table (xtask/src/tidy/edges.rs)"));
            continue;
        };
        let edges = collect_dependencies(one);
        for edge in &edges {
            if !is_used(tree, one, edge) {
                let problem = format!("no source names `{}` ({})", edge.identifier, edge.section);
                findings.push(Finding::new(&place, problem));
            }
            let Some(name) = &edge.name else { continue };
            let is_test = edge.section == "dev-dependencies";
            let is_support = one.name != "xtask" && TEST_SUPPORT_CRATES.contains(&name.as_str());
            let is_allowed = allowed.contains(&name.as_str()) || (is_test && is_support);
            if !is_allowed {
                let problem = format!(
                    "`{}` may not see `{name}` ({}); see ARCHITECTURE.md",
                    one.name, edge.section
                );
                findings.push(Finding::new(&place, problem));
            }
        }
        let depends_on = |name: &str| {
            edges.iter().any(|edge| {
                edge.name.as_deref() == Some(name) && edge.section != "dev-dependencies"
            })
        };
        for name in allowed.iter().filter(|name| !depends_on(name)) {
            let problem = format!("the floor table lets it see `{name}`, which it does not use");
            findings.push(Finding::new(&place, problem));
        }
    }
    for (name, _) in ALLOWED_DEPENDENCIES {
        if !tree.crates.iter().any(|one| one.name == *name) {
            findings.push(Finding::new(*name, "has a row in the floor table but no folder"));
        }
    }
    findings
}

/// One dependency of a crate of ours.
struct DependencyEdge {
    /// The section of the manifest it stands in.
    section: &'static str,
    /// The folder of the other crate, if it is ours.
    name: Option<String>,
    /// What sources call the other crate.
    identifier: String,
}

/// Does a source of the crate name the other one? What ships counts for a dependency, what tests and
/// benchmarks say for one of theirs as well.
fn is_used(tree: &RepositoryTree, one: &WorkspaceCrate, edge: &DependencyEdge) -> bool {
    let shipped = format!("{}/src/", one.folder);
    let is_test = edge.section != "dependencies";
    tree.files_below(&one.folder)
        .filter(|file| file.path.ends_with(".rs") && (is_test || file.path.starts_with(&shipped)))
        .any(|file| {
            let code = split_source(&file.text).code;
            let code = if is_test { code } else { blank_tests(&code) };
            identifiers(&code).any(|(_, word)| word == edge.identifier)
        })
}

fn collect_dependencies(one: &WorkspaceCrate) -> Vec<DependencyEdge> {
    let mut edges = Vec::new();
    let mut tables = vec![&one.manifest];
    if let Some(targets) = one.manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    for table in tables {
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let Some(entries) = table.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for (key, value) in entries {
                // A renamed dependency carries its real name in `package`.
                let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
                let identifier = key.replace('-', "_");
                edges.push(DependencyEdge { section, name: folder_name(package), identifier });
            }
        }
    }
    edges
}

/// The folder a package of ours lives in.
fn folder_name(package: &str) -> Option<String> {
    match package {
        "windlass" => Some("cli".to_owned()),
        "xtask" => Some("xtask".to_owned()),
        // Cargo's names have hyphens where folders have underscores.
        other => other.strip_prefix("windlass-").map(|name| name.replace('-', "_")),
    }
}
