//! `ls` is the table of contents: each family has one source file and one scenario per member,
//! under the same name.
//!
//! That the names are also those of the enums is tested in `lab`, which can see the enums. Other
//! scenarios of a member belong to `scenarios/regression`, named by what went wrong.

use std::collections::BTreeSet;

use super::{Finding, Tree};

struct Family {
    /// Folder name, here and below `scenarios`.
    name: &'static str,
    /// The crate that holds it.
    owner: &'static str,
    /// What a member's file name starts with. Other files in the folder serve the members.
    prefix: &'static str,
}

const FAMILIES: &[Family] = &[
    Family { name: "transition", owner: "engine", prefix: "" },
    Family { name: "terminal", owner: "engine", prefix: "" },
    Family { name: "context", owner: "engine", prefix: "level_" },
    Family { name: "normalize", owner: "dialect", prefix: "step_" },
];

/// Compares source files and scenarios of every family whose crate has been begun. Scenarios are
/// run by `lab`; until that is begun there is nothing they could be compared with.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Family { name, owner, prefix } in FAMILIES {
        if !tree.is_begun(owner) || !tree.is_begun("lab") {
            continue;
        }
        let source = format!("crates/{owner}/src/{name}");
        let scenarios = format!("scenarios/{name}");
        let mut members = stems(tree, &source, ".rs");
        members.remove("mod");
        members.retain(|stem| stem.starts_with(prefix));
        let told = stems(tree, &scenarios, ".txt");
        if members.is_empty() {
            findings.push(Finding::at(&source, "a family without members"));
        }
        for stem in members.difference(&told) {
            let problem = format!("no scenario {scenarios}/{stem}.txt");
            findings.push(Finding::at(format!("{source}/{stem}.rs"), problem));
        }
        for stem in told.difference(&members) {
            let problem = format!("no member {source}/{stem}.rs; variations go to regression/");
            findings.push(Finding::at(format!("{scenarios}/{stem}.txt"), problem));
        }
    }
    findings
}

/// File names directly in this folder, without their ending.
fn stems(tree: &Tree, folder: &str, ending: &str) -> BTreeSet<String> {
    tree.below(folder)
        .filter_map(|file| file.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(ending))
        .filter(|stem| !stem.contains('/'))
        .map(str::to_owned)
        .collect()
}
