//! The tidy rules: what a reader of this repository relies on, checked instead of hoped for.
//!
//! Each rule is one file with one `check`. A rule sees the whole [`Tree`] and returns what is wrong
//! with it; it never changes anything. `sizes` is not in the list: it reports and fails nothing,
//! because a long file asks for a second look, not for a red build.

pub mod branches;
pub mod dependencies;
pub mod edges;
pub mod faults;
pub mod folders;
pub mod headers;
pub mod licence;
pub mod lints;
pub mod map;
pub mod pages;
pub mod paths;
pub mod purity;
pub mod sizes;
pub mod source;
mod tree;
pub mod words;

use std::fmt;

pub use tree::{Crate, File, Tree};

/// One rule.
pub struct Rule {
    /// What to call it on the command line.
    pub name: &'static str,
    /// What a reader may rely on because of it.
    pub promise: &'static str,
    /// Everything in the tree that breaks it.
    pub check: fn(&Tree) -> Vec<Finding>,
}

/// Every rule that can fail a build.
pub const RULES: &[Rule] = &[
    Rule {
        name: "edges",
        promise: "crates see only what the floor table lets them see",
        check: edges::check,
    },
    Rule {
        name: "purity",
        promise: "pure crates have no clock, no files, no threads, no random order",
        check: purity::check,
    },
    Rule {
        name: "branches",
        promise: "the driver never branches on why the loop goes on or stops",
        check: branches::check,
    },
    Rule {
        name: "lints",
        promise: "every crate obeys the workspace lints and has no features",
        check: lints::check,
    },
    Rule {
        name: "headers",
        promise: "every source file opens by saying what it is for",
        check: headers::check,
    },
    Rule {
        name: "words",
        promise: "no vague names, no leftovers, no switched-off tests",
        check: words::check,
    },
    Rule {
        name: "paths",
        promise: "no machine's paths, no private registry, nothing that looks like a key",
        check: paths::check,
    },
    Rule {
        name: "folders",
        promise: "each family has one file and one scenario per member",
        check: folders::check,
    },
    Rule {
        name: "map",
        promise: "the map names the crates and files that exist",
        check: map::check,
    },
    Rule {
        name: "pages",
        promise: "decisions are numbered and listed, the glossary and the changelog keep their form",
        check: pages::check,
    },
    Rule {
        name: "faults",
        promise: "every known fault names tests that exist",
        check: faults::check,
    },
    Rule {
        name: "dependencies",
        promise: "known licences, one source, and a reason for every duplicate",
        check: dependencies::check,
    },
];

/// Something that breaks a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A path from the root, with a line number where there is one.
    pub place: String,
    /// What is wrong and what to do about it.
    pub problem: String,
}

impl Finding {
    /// A finding about a whole file or folder.
    pub fn at(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }

    /// A finding about one line, counted from zero as iterators do and shown from one as people do.
    pub fn on_line(path: &str, index: usize, problem: impl Into<String>) -> Self {
        Self { place: format!("{path}:{}", index + 1), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}
