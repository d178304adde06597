//! What we build on: known licences, one registry, one version of each package or a reason.
//!
//! Reads the policy from `deny.toml`, so that this rule and `cargo deny` can never disagree about
//! what is allowed, and the graph from `cargo metadata`. It is the part of `cargo deny` that must
//! hold on every machine; known vulnerabilities need a database that is not always in reach.
//! Licences and sources are judged for every package, duplicates only for those that are built
//! without tests.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use super::licence::is_allowed;
use super::{Finding, RepositoryTree};

/// Cargo answers in a second, or waits for another cargo; past this it is stuck.
const METADATA_DEADLINE: Duration = Duration::from_secs(120);

/// A graph of five hundred packages is about five megabytes.
const METADATA_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The end of the name of the only registry packages may come from.
const REGISTRY: &str = "/crates.io-index";

/// What `deny.toml` says.
#[derive(Debug, Default)]
pub struct DependencyPolicy {
    /// Licences anybody may bring in.
    pub licences: Vec<String>,
    /// Licences one package may bring in.
    pub exceptions: Vec<(String, Vec<String>)>,
    /// Versions that do not count as duplicates, as `name@version`, each with its reason.
    pub skipped: Vec<(String, String)>,
    /// The platform whose graph is looked at.
    pub target: String,
}

impl DependencyPolicy {
    /// Reads `deny.toml`.
    ///
    /// # Errors
    ///
    /// When it is not TOML.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table = text.parse::<toml::Table>().map_err(|error| error.to_string())?;
        let rows = |section: &str, key: &str| {
            let value = table.get(section).and_then(|section| section.get(key));
            value.and_then(toml::Value::as_array).cloned().unwrap_or_default()
        };
        let text_of = |row: &toml::Value, key: &str| {
            row.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
        };
        let texts = |rows: &[toml::Value]| {
            rows.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        Ok(Self {
            licences: texts(&rows("licenses", "allow")),
            exceptions: rows("licenses", "exceptions")
                .iter()
                .map(|row| {
                    let allow = row.get("allow").and_then(toml::Value::as_array);
                    (text_of(row, "crate"), texts(allow.map_or(&[], Vec::as_slice)))
                })
                .collect(),
            skipped: rows("bans", "skip")
                .iter()
                .map(|row| (text_of(row, "crate"), text_of(row, "reason")))
                .collect(),
            target: texts(&rows("graph", "targets")).into_iter().next().unwrap_or_default(),
        })
    }
}

/// Judges the graph of this workspace.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let Some(file) = tree.file("deny.toml") else {
        return vec![Finding::new("deny.toml", "is missing; it holds the dependency policy")];
    };
    let judged = DependencyPolicy::parse(&file.text).and_then(|policy| {
        Ok(check_metadata(&load_cargo_metadata(&tree.root, &policy.target)?, &policy))
    });
    judged.unwrap_or_else(|problem| vec![Finding::new("deny.toml", problem)])
}

/// Judges a graph, given as `cargo metadata` prints it.
#[must_use]
pub fn check_metadata(metadata: &Value, policy: &DependencyPolicy) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let built = collect_built_package_ids(metadata);
    for package in used_packages(metadata) {
        // A package without a source is one of ours.
        let Some(source) = package.get("source").and_then(Value::as_str) else {
            continue;
        };
        let name = text_field(package, "name");
        let version = text_field(package, "version");
        let place = format!("{name}@{version}");
        if !source.ends_with(REGISTRY) {
            findings.push(Finding::new(&place, format!("comes from {source}, not the registry")));
        }
        let licence = text_field(package, "license");
        let mut allowed = policy.licences.clone();
        let exceptions = policy.exceptions.iter().filter(|(excepted, _)| excepted == name);
        allowed.extend(exceptions.flat_map(|(_, more)| more.iter().cloned()));
        if !is_allowed(licence, &allowed) {
            let problem = format!("licence `{licence}` is not allowed by deny.toml");
            findings.push(Finding::new(&place, problem));
        }
        if built.contains(text_field(package, "id")) {
            versions.entry(name).or_default().insert(version);
        }
    }
    check_duplicates(&versions, policy, &mut findings);
    findings
}

fn check_duplicates(
    versions: &BTreeMap<&str, BTreeSet<&str>>,
    policy: &DependencyPolicy,
    findings: &mut Vec<Finding>,
) {
    let is_skipped = |name: &str, version: &str| {
        policy.skipped.iter().any(|(spec, _)| *spec == format!("{name}@{version}"))
    };
    for (name, all) in versions {
        let counted: Vec<&str> =
            all.iter().copied().filter(|version| !is_skipped(name, version)).collect();
        if counted.len() > 1 {
            let problem = format!(
                "built in {} versions ({}); `cargo tree -i {name}` says why; agree on one, or give \
                 a reason in deny.toml",
                counted.len(),
                counted.join(", ")
            );
            findings.push(Finding::new(*name, problem));
        }
    }
    for (spec, reason) in &policy.skipped {
        if reason.split_whitespace().count() < 4 {
            findings.push(Finding::new("deny.toml", format!("{spec} is skipped without a reason")));
        }
        let (name, version) = spec.split_once('@').unwrap_or((spec, ""));
        let is_duplicate =
            versions.get(name).is_some_and(|all| all.len() > 1 && all.contains(version));
        if !is_duplicate {
            let problem = format!("{spec} is no longer a duplicate; take the exception out");
            findings.push(Finding::new("deny.toml", problem));
        }
    }
}

/// The packages of the graph; those of other platforms are listed too, but are not in `resolve`.
fn used_packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    let used: BTreeSet<&str> =
        dependency_nodes(metadata).map(|node| text_field(node, "id")).collect();
    array_items(metadata, "/packages")
        .filter(move |package| used.contains(text_field(package, "id")))
}

/// The ids of everything that is built without tests, our own crates included.
fn collect_built_package_ids(metadata: &Value) -> BTreeSet<&str> {
    let edges: BTreeMap<&str, Vec<&str>> = dependency_nodes(metadata)
        .map(|node| {
            let deps = array_items(node, "/deps").filter(|dep| {
                array_items(dep, "/dep_kinds")
                    .any(|kind| kind.pointer("/kind") != Some(&"dev".into()))
            });
            (text_field(node, "id"), deps.map(|dep| text_field(dep, "pkg")).collect())
        })
        .collect();
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&str> =
        array_items(metadata, "/workspace_members").filter_map(Value::as_str).collect();
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            waiting.extend(edges.get(id).into_iter().flatten());
        }
    }
    found
}

fn dependency_nodes(metadata: &Value) -> impl Iterator<Item = &Value> {
    array_items(metadata, "/resolve/nodes")
}

fn array_items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn text_field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Asks cargo for the graph. Its complaints go to the terminal as they are.
fn load_cargo_metadata(root: &Path, target: &str) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cargo metadata cannot be started: {error}"))?;
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(METADATA_BYTES_MAX).read_to_end(&mut bytes);
            // The receiver is gone only if the deadline passed, and then nobody wants the answer.
            sender.send(read.map(|_| bytes)).unwrap_or_default();
        });
    }
    let answer = receiver.recv_timeout(METADATA_DEADLINE);
    // Whatever came of it, nothing of the child may stay behind.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
            .unwrap_or_default();
    }
    child.wait().map_err(|error| format!("cargo metadata cannot be awaited: {error}"))?;
    let bytes = answer
        .map_err(|_| format!("cargo metadata gave no answer in {METADATA_DEADLINE:?}"))?
        .map_err(|error| format!("cargo metadata cannot be read: {error}"))?;
    serde_json::from_slice(&bytes)
        .map_err(|_| "cargo metadata failed; its own words are above".to_owned())
}
