//! `ls` is the table of contents: each family has one source file and one scenario per member,
//! under the same name.
//!
//! That the names are also those of the enums is tested in `lab`, which can see the enums. Other
//! scenarios of a member belong to `scenarios/regression`, named by what went wrong.

use std::collections::BTreeSet;

use super::{Finding, RepositoryTree};

struct ScenarioFamily {
    /// Folder name, here and below `scenarios`.
    name: &'static str,
    /// The crate that holds it.
    owner: &'static str,
    /// What a member's file name starts with. Other files in the folder serve the members.
    prefix: &'static str,
}

const FAMILIES: &[ScenarioFamily] = &[
    ScenarioFamily { name: "transition", owner: "engine", prefix: "" },
    ScenarioFamily { name: "terminal", owner: "engine", prefix: "" },
    ScenarioFamily { name: "context", owner: "engine", prefix: "level_" },
    ScenarioFamily { name: "normalize", owner: "dialect", prefix: "step_" },
];

/// Compares source files and scenarios of every family whose crate has been begun. Scenarios are
/// run by `lab`; until that is begun there is nothing they could be compared with.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ScenarioFamily { name, owner, prefix } in FAMILIES {
        if !tree.is_begun(owner) || !tree.is_begun("lab") {
            continue;
        }
        let source = format!("crates/{owner}/src/{name}");
        let scenarios = format!("scenarios/{name}");
        let mut members = collect_file_stems(tree, &source, ".rs");
        members.remove("mod");
        members.retain(|stem| stem.starts_with(prefix));
        let told = collect_file_stems(tree, &scenarios, ".txt");
        if members.is_empty() {
            findings.push(Finding::new(&source, "a family without members"));
        }
        for stem in members.difference(&told) {
            let problem = format!("no scenario {scenarios}/{stem}.txt");
            findings.push(Finding::new(format!("{source}/{stem}.rs"), problem));
        }
        for stem in told.difference(&members) {
            let problem = format!("no member {source}/{stem}.rs; variations go to regression/");
            findings.push(Finding::new(format!("{scenarios}/{stem}.txt"), problem));
        }
    }
    findings
}

/// File names directly in this folder, without their ending.
fn collect_file_stems(tree: &RepositoryTree, folder: &str, ending: &str) -> BTreeSet<String> {
    tree.files_below(folder)
        .filter_map(|file| file.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(ending))
        .filter(|stem| !stem.contains('/'))
        .map(str::to_owned)
        .collect()
}
