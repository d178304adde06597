//! No import cycle of more than four modules of a crate.
//!
//! Two or three modules that name each other are one thing in several files. A cycle of twenty means
//! that none of them can be read, moved or tested without the others. Only the first name of a path
//! that starts with `crate` counts, which is a top-level module. `engine` is exempt: its one cycle is
//! the loop itself.

use std::collections::{BTreeMap, BTreeSet};

use super::declarations::split_at_commas;
use super::source::{blank_tests, braced_bytes, is_word_char, split_source};
use super::{Finding, RepositoryTree};

const MODULES_MAX: usize = 4;

const EXEMPT_CRATES: &[&str] = &["engine"];

/// What each top-level module imports.
type ImportGraph = BTreeMap<String, BTreeSet<String>>;

/// Looks at the imports of every crate.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in tree.crates.iter().filter(|one| !EXEMPT_CRATES.contains(&one.name.as_str())) {
        for cycle in find_cycles(&read_imports(tree, &one.name)) {
            if cycle.len() > MODULES_MAX {
                let problem = format!(
                    "{} modules import each other, at most {MODULES_MAX}: {}",
                    cycle.len(),
                    describe_cycle(&cycle)
                );
                findings.push(Finding::new(format!("{}/src", one.folder), problem));
            }
        }
    }
    findings
}

fn read_imports(tree: &RepositoryTree, name: &str) -> ImportGraph {
    let folder = format!("crates/{name}/src/");
    let mut sources = Vec::new();
    for (_, file) in tree.crate_sources().filter(|(owner, _)| *owner == name) {
        let inside = file.path.strip_prefix(&folder).unwrap_or(&file.path);
        let module = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
        if module != "lib" && module != "main" {
            sources.push((module, file));
        }
    }
    let mut graph: ImportGraph =
        sources.iter().map(|(module, _)| ((*module).to_owned(), BTreeSet::new())).collect();
    for (module, file) in sources {
        let code = blank_tests(&split_source(&file.text).code);
        for imported in find_crate_paths(&code) {
            if imported != module
                && graph.contains_key(imported)
                && let Some(imports) = graph.get_mut(module)
            {
                imports.insert(imported.to_owned());
            }
        }
    }
    graph
}

/// The first name of every path that starts with `crate`.
fn find_crate_paths(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        let (before, after) = code.split_at_checked(at + path.len()).unwrap_or((code, ""));
        let before = before.strip_suffix(path).unwrap_or(before);
        // `$crate::` is a path of the crate that uses the macro.
        if before.ends_with(|c: char| is_word_char(c) || c == '$') {
            continue;
        }
        if after.starts_with('{') {
            let list = after.get(1..braced_bytes(after).saturating_sub(1)).unwrap_or("");
            names.extend(split_at_commas(list).into_iter().map(first_word));
        } else {
            names.push(first_word(after));
        }
    }
    names
}

fn first_word(path: &str) -> &str {
    path.trim_start().split(|c: char| !is_word_char(c)).next().unwrap_or("")
}

/// The groups of modules of which each reaches every other, with their imports inside the group.
fn find_cycles(graph: &ImportGraph) -> Vec<ImportGraph> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), find_reachable(graph, module))).collect();
    let reaches =
        |from: &str, to: &str| reached.get(from).is_some_and(|modules| modules.contains(to));
    let mut grouped: BTreeSet<&str> = BTreeSet::new();
    let mut cycles = Vec::new();
    for module in graph.keys().filter(|module| reaches(module, module)) {
        let members: BTreeSet<&str> = graph
            .keys()
            .map(String::as_str)
            .filter(|other| reaches(module, other) && reaches(other, module))
            .collect();
        if grouped.contains(module.as_str()) {
            continue;
        }
        let is_inside = |name: &&String| members.contains(name.as_str());
        let cycle = graph.iter().filter(|(name, _)| is_inside(name)).map(|(name, imports)| {
            (name.clone(), imports.iter().filter(is_inside).cloned().collect())
        });
        cycles.push(cycle.collect());
        grouped.extend(members);
    }
    cycles
}

fn find_reachable<'a>(graph: &'a ImportGraph, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = graph.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(graph.get(module).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}

/// Every module of the cycle with what it imports of the others.
fn describe_cycle(cycle: &ImportGraph) -> String {
    let modules = cycle.iter().map(|(module, imports)| {
        let imports: Vec<&str> = imports.iter().map(String::as_str).collect();
        format!("{module} -> {}", imports.join(", "))
    });
    modules.collect::<Vec<_>>().join("; ")
}
