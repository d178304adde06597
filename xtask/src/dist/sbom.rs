//! What the program is made of, as a CycloneDX list: every package that is compiled into it or helps to
//! compile it, with its licence and the checksum it was locked with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use super::DistPlan;
use super::pages::write;
use crate::json::{put, rows, text};
use crate::program::run_text;

pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    let target = format!("{}-unknown-linux-gnu", plan.program.architecture.rust);
    let words = ["metadata", "--locked", "--format-version=1", "--filter-platform", &target];
    let graph = run_text(&plan.root, "cargo", &words)?;
    let graph: Value = serde_json::from_str(&graph).map_err(|error| error.to_string())?;
    let lock =
        fs::read_to_string(plan.root.join("Cargo.lock")).map_err(|error| error.to_string())?;
    let date = format!("@{}", plan.epoch);
    let time = run_text(&plan.root, "date", &["--utc", "--date", &date, "+%Y-%m-%dT%H:%M:%SZ"])?;
    let list = build_list(&graph, &read_checksums(&lock)?, &plan.version, time.trim())?;
    write(&plan.out.join(format!("windlass-{}.cdx.json", plan.version)), &format!("{list:#}\n"))
}

/// `name version` and the checksum of each locked package.
fn read_checksums(lock: &str) -> Result<BTreeMap<String, String>, String> {
    let table = lock.parse::<toml::Table>().map_err(|error| error.to_string())?;
    let packages =
        table.get("package").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let field = |row: &toml::Value, key: &str| row.get(key)?.as_str().map(str::to_owned);
    let sum = |row: &toml::Value| {
        let name = format!("{} {}", field(row, "name")?, field(row, "version")?);
        Some((name, field(row, "checksum")?))
    };
    Ok(packages.iter().filter_map(sum).collect())
}

fn build_list(
    graph: &Value,
    checksums: &BTreeMap<String, String>,
    version: &str,
    time: &str,
) -> Result<Value, String> {
    let by_id = |pointer: &str| -> BTreeMap<String, &Value> {
        rows(graph, pointer).iter().map(|row| (text(row, "/id").to_owned(), row)).collect()
    };
    let packages = by_id("/packages");
    let nodes = by_id("/resolve/nodes");
    let root = packages.values().find(|package| text(package, "/name") == "windlass");
    let root = root.map(|package| text(package, "/id")).ok_or("no package `windlass`")?;
    let is_built =
        |edge: &Value| rows(edge, "/dep_kinds").iter().any(|kind| text(kind, "/kind") != "dev");
    let mut seen = BTreeSet::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let edges = nodes.get(&id).map_or(&[][..], |node| rows(node, "/deps"));
        let built = edges.iter().filter(|edge| is_built(edge));
        waiting.extend(built.map(|edge| text(edge, "/pkg").to_owned()));
    }
    seen.remove(root);
    let components: Vec<Value> = seen
        .iter()
        .filter_map(|id| packages.get(id))
        .map(|package| build_component(package, checksums))
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "application", "name": "windlass", "version": version,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            },
        },
        "components": components,
    }))
}

fn build_component(package: &Value, checksums: &BTreeMap<String, String>) -> Value {
    let name = text(package, "/name");
    let version = text(package, "/version");
    let mut component = json!({
        "type": "library", "name": name, "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
    });
    let licence = text(package, "/license");
    if !licence.is_empty() {
        // An old way to write "or".
        let expression = licence.replace('/', " OR ");
        put(&mut component, "licenses", json!([{"expression": expression}]));
    }
    if let Some(sum) = checksums.get(&format!("{name} {version}")) {
        put(&mut component, "hashes", json!([{"alg": "SHA-256", "content": sum}]));
    }
    component
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test says no")]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_listed_and_what_only_tests_use_is_not() {
        let edge = |id: &str, kind: Value| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let package = |id: &str, name: &str| json!({"id": id, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0"});
        let graph = json!({
            "packages": [package("w", "windlass"), package("a", "one"), package("b", "two"), package("c", "three")],
            "resolve": {"nodes": [
                {"id": "w", "deps": [edge("a", Value::Null), edge("c", json!("dev"))]},
                {"id": "a", "deps": [edge("b", json!("build"))]},
            ]},
        });
        let lock = "[[package]]\nname = \"one\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let list = build_list(&graph, &read_checksums(lock).unwrap(), "0.1.0", "now").unwrap();
        let names: Vec<&str> =
            rows(&list, "/components").iter().map(|one| text(one, "/name")).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(text(&list, "/components/0/hashes/0/content"), "abc");
        assert_eq!(text(&list, "/components/0/licenses/0/expression"), "MIT OR Apache-2.0");
    }
}
