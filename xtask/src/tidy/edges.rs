//! Which crate may see which. The table is the whole of it; any other edge is refused.
//!
//! A crate sees floors below its own. Some also see a neighbour on the same floor: `engine` sees
//! `permission`, `mcp` and `hook` see `tool`, and all who start programs see `sandbox`. Tests may see a little more, because they need a world
//! to run in, but never the other way round: what stands in for the world is not shipped.

use super::{Finding, RepositoryTree, WorkspaceCrate};

/// Each crate and what it may depend on.
pub const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("vocabulary", &[]),
    ("permission", &["vocabulary"]),
    ("engine", &["vocabulary", "permission"]),
    ("dialect", &["vocabulary"]),
    ("sandbox", &["vocabulary", "permission"]),
    ("settings", &["vocabulary", "permission"]),
    ("tool", &["vocabulary", "permission", "sandbox"]),
    ("hook", &["vocabulary", "sandbox", "tool"]),
    ("mcp", &["vocabulary", "permission", "sandbox", "tool"]),
    ("journal", &["vocabulary", "engine"]),
    ("rehearsal", &["vocabulary", "dialect"]),
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
            "rehearsal",
        ],
    ),
    ("terminal", &["vocabulary", "permission", "driver"]),
    (
        "cli",
        &[
            "vocabulary",
            "permission",
            "sandbox",
            "settings",
            "journal",
            "driver",
            "rehearsal",
            "terminal",
        ],
    ),
    ("lab", &["vocabulary", "permission", "engine", "dialect", "journal", "rehearsal"]),
    ("xtask", &[]),
];

/// What tests of any crate but `xtask` may see besides: the stand-ins for the world.
pub const TEST_SUPPORT_CRATES: &[&str] = &["lab", "rehearsal"];

/// What tests of one crate may see besides, because the type under test is made elsewhere.
pub const ALLOWED_TEST_DEPENDENCIES: &[(&str, &[&str])] = &[
    // A journal is tested with settings, and settings hold a policy.
    ("journal", &["permission"]),
];

/// Refuses every edge that is not in the table, and every crate that has no row in it.
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
        for (section, name) in collect_workspace_dependencies(one) {
            let is_test = section == "dev-dependencies";
            if allowed.contains(&name.as_str())
                || (is_test && may_depend_in_tests(&one.name, &name))
            {
                continue;
            }
            let problem =
                format!("`{}` may not see `{name}` ({section}); see ARCHITECTURE.md", one.name);
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

fn may_depend_in_tests(seer: &str, seen: &str) -> bool {
    let besides = ALLOWED_TEST_DEPENDENCIES.iter().filter(|(name, _)| *name == seer);
    seer != "xtask"
        && (TEST_SUPPORT_CRATES.contains(&seen)
            || besides.into_iter().any(|(_, more)| more.contains(&seen)))
}

/// Every dependency of this crate on a crate of ours, by section, by the folder's name.
fn collect_workspace_dependencies(one: &WorkspaceCrate) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
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
                if let Some(name) = folder_name(package) {
                    found.push((section, name.to_owned()));
                }
            }
        }
    }
    found
}

/// The folder a package of ours lives in.
fn folder_name(package: &str) -> Option<&str> {
    match package {
        "windlass" => Some("cli"),
        "xtask" => Some("xtask"),
        other => other.strip_prefix("windlass-"),
    }
}
