//! Every tidy rule on this repository, so that `cargo test` finds what `cargo xtask tidy` would.
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::path::Path;

use xtask::tidy::{RULES, RepositoryTree};

fn obeys(name: &str) {
    let tree = RepositoryTree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
    let findings: Vec<String> = (rule.check)(&tree).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}:\n{}", rule.description, findings.join("\n"));
}

macro_rules! rules {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            obeys(stringify!($name));
        })+

        #[test]
        fn every_rule_is_run_here() {
            let run = [$(stringify!($name)),+];
            let all: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
            assert_eq!(all, run);
        }
    };
}

rules!(
    edges purity branches engine_types lints doc_repeats headers words type_names metaphors
    function_names wide_structs cycles crate_sizes catch_all paths folders links commands map pages glossary faults
    dependencies
);
