//! The pure crates stay pure.
//!
//! `#![no_std]` already makes a clock, a file or a thread a compile error; this rule keeps anyone
//! from taking the fence down, and looks after what the compiler cannot: an order that changes from
//! run to run, and a dependency that brings the world in by the back door. `permission` may use
//! the standard library, because a real shell grammar does, but not the parts that touch the world.

use super::source::{blank_tests, identifiers, split_source};
use super::{Finding, RepositoryTree, TextFile};

/// Crates that must declare `#![no_std]`.
pub const NO_STD_CRATES: &[&str] = &["vocabulary", "engine", "dialect"];

/// Every pure crate, and the packages from outside that it may use. A new one is looked at here
/// first: does it read a clock, a file, the network, or draw a random number?
pub const PURE_CRATES: &[(&str, &[&str])] = &[
    ("vocabulary", &["serde"]),
    ("engine", &["serde"]),
    ("dialect", &["serde", "serde_json", "memchr", "percent-encoding"]),
    ("permission", &["serde", "serde_json", "thiserror", "tree-sitter", "tree-sitter-bash"]),
];

/// Parts of the standard library that touch the world.
const IMPURE_STD_MODULES: &[&str] = &["fs", "net", "thread", "time", "process", "env", "io", "os"];

/// Collections whose order is drawn at random.
const UNORDERED_COLLECTIONS: &[&str] = &["HashMap", "HashSet"];

/// Looks at every pure crate.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, packages) in PURE_CRATES {
        if !tree.is_begun(name) {
            continue;
        }
        let folder = format!("crates/{name}");
        let has_std = !NO_STD_CRATES.contains(name);
        let library = format!("{folder}/src/lib.rs");
        let declared = tree
            .file(&library)
            .is_some_and(|file| split_source(&file.text).code.contains("#![no_std]"));
        if !has_std && !declared {
            findings.push(Finding::new(&library, "must declare #![no_std]"));
        }
        for file in tree.files_below(&format!("{folder}/src")) {
            if file.path.ends_with(".rs") && !file.path.ends_with("/tests.rs") {
                check_file(file, has_std, &mut findings);
            }
        }
        for package in external_packages(tree, name) {
            if !packages.contains(&package.as_str()) {
                let problem = format!(
                    "`{package}` is not among the packages a pure crate may use; if it touches no \
                     clock, file, network or random number, add it to xtask/src/tidy/purity.rs"
                );
                findings.push(Finding::new(format!("{folder}/Cargo.toml"), problem));
            }
        }
    }
    findings
}

fn check_file(file: &TextFile, has_std: bool, findings: &mut Vec<Finding>) {
    let code = blank_tests(&split_source(&file.text).code);
    for (line, word) in identifiers(&code) {
        if UNORDERED_COLLECTIONS.contains(&word) {
            let problem = format!("{word} has a random order; use the BTree one");
            findings.push(Finding::on_line(&file.path, line, problem));
        }
    }
    for (line, part) in find_std_uses(&code) {
        if !has_std {
            let problem = format!("std::{part} in a crate without std; use core or alloc");
            findings.push(Finding::on_line(&file.path, line, problem));
        } else if IMPURE_STD_MODULES.contains(&part.as_str()) {
            let problem = format!("std::{part} touches the world, which a pure crate may not");
            findings.push(Finding::on_line(&file.path, line, problem));
        }
    }
}

/// Each use of a part of the standard library, grouped imports taken apart, with its line.
fn find_std_uses(code: &str) -> Vec<(usize, String)> {
    let mut parts = Vec::new();
    for (at, _) in code.match_indices("std::") {
        let (before, after) = code.split_at_checked(at).unwrap_or((code, ""));
        if before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = before.matches('\n').count();
        let path = after.strip_prefix("std::").unwrap_or(after);
        match path.strip_prefix('{') {
            Some(group) => {
                parts.extend(parse_import_group(group).into_iter().map(|part| (line, part)));
            }
            None => parts.push((line, leading_word(path))),
        }
    }
    if let Some((before, _)) = code.split_once("extern crate std") {
        parts.push((before.matches('\n').count(), "*".to_owned()));
    }
    parts
}

/// The names directly inside a group, not those of groups within it.
fn parse_import_group(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut piece = String::new();
    for character in group.chars() {
        match character {
            '}' if depth == 0 => break,
            ',' if depth == 0 => names.push(std::mem::take(&mut piece)),
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => piece.push(character),
        }
    }
    names.push(piece);
    names.iter().map(|name| leading_word(name.trim())).filter(|name| !name.is_empty()).collect()
}

fn leading_word(path: &str) -> String {
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The packages this crate depends on that are not ours; those of its tests do not count.
fn external_packages(tree: &RepositoryTree, name: &str) -> Vec<String> {
    let Some(one) = tree.crates.iter().find(|one| one.name == name) else {
        return Vec::new();
    };
    let entries = one.manifest.get("dependencies").and_then(toml::Value::as_table);
    let names = entries.into_iter().flat_map(|table| table.keys());
    names.filter(|key| !key.starts_with("windlass")).cloned().collect()
}
