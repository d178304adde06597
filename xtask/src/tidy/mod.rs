//! The tidy rules: what a reader of this repository relies on, checked instead of hoped for.
//!
//! Each rule is one file with one `check`. A rule sees the whole [`RepositoryTree`] and returns what is wrong
//! with it; it never changes anything. `sizes` is not in the list: it reports and fails nothing,
//! because a long file asks for a second look, not for a red build.

pub mod branches;
pub mod catch_all;
pub mod commands;
pub mod crate_sizes;
pub mod cycles;
mod declarations;
pub mod dependencies;
pub mod doc_repeats;
pub mod edges;
pub mod engine_types;
pub mod faults;
pub mod folders;
pub mod function_names;
pub mod glossary;
pub mod headers;
pub mod licence;
pub mod links;
pub mod lints;
pub mod map;
pub mod metaphors;
pub mod pages;
pub mod paths;
pub mod purity;
pub mod sizes;
pub mod source;
mod tree;
pub mod type_names;
pub mod wide_structs;
pub mod words;

use std::fmt;

pub use tree::{RepositoryTree, TextFile, WorkspaceCrate};

/// One rule.
pub struct TidyRule {
    /// What to call it on the command line.
    pub name: &'static str,
    /// What a reader may rely on because of it.
    pub description: &'static str,
    /// Everything in the tree that breaks it.
    pub check: fn(&RepositoryTree) -> Vec<Finding>,
}

/// Every rule that can fail a build.
pub const RULES: &[TidyRule] = &[
    TidyRule {
        name: "edges",
        description: "crates see what the floor table lets them see, and it lists no edge in vain",
        check: edges::check,
    },
    TidyRule {
        name: "purity",
        description: "pure crates have no clock, no files, no threads, no random order",
        check: purity::check,
    },
    TidyRule {
        name: "branches",
        description: "the driver never branches on why the loop goes on or stops",
        check: branches::check,
    },
    TidyRule {
        name: "engine_types",
        description: "front ends name no type of the engine",
        check: engine_types::check,
    },
    TidyRule {
        name: "lints",
        description: "every crate obeys the workspace lints and has no features",
        check: lints::check,
    },
    TidyRule {
        name: "doc_repeats",
        description: "no doc comment only repeats the name below it",
        check: doc_repeats::check,
    },
    TidyRule {
        name: "headers",
        description: "every source file opens by saying what it is for",
        check: headers::check,
    },
    TidyRule {
        name: "words",
        description: "no vague names, no leftovers, no switched-off tests",
        check: words::check,
    },
    TidyRule {
        name: "type_names",
        description: "no two types share a name",
        check: type_names::check,
    },
    TidyRule {
        name: "metaphors",
        description: "no file, module or type is named after what it only resembles",
        check: metaphors::check,
    },
    TidyRule {
        name: "function_names",
        description: "no function is named by a participle",
        check: function_names::check,
    },
    TidyRule {
        name: "wide_structs",
        description: "no struct has more than fifteen fields",
        check: wide_structs::check,
    },
    TidyRule {
        name: "cycles",
        description: "no more than four modules of a crate import each other",
        check: cycles::check,
    },
    TidyRule {
        name: "crate_sizes",
        description: "no crate has become a place for everything",
        check: crate_sizes::check,
    },
    TidyRule {
        name: "catch_all",
        description: "a match over one of our own enums names every variant",
        check: catch_all::check,
    },
    TidyRule {
        name: "paths",
        description: "no machine's paths, no private registry, nothing that looks like a key",
        check: paths::check,
    },
    TidyRule {
        name: "folders",
        description: "each family has one file and one scenario per member",
        check: folders::check,
    },
    TidyRule {
        name: "links",
        description: "every link of a page leads to a file and a heading that are there",
        check: links::check,
    },
    TidyRule {
        name: "commands",
        description: "pages and help name commands and flags that exist",
        check: commands::check,
    },
    TidyRule {
        name: "map",
        description: "the map names the crates and files that exist",
        check: map::check,
    },
    TidyRule {
        name: "pages",
        description: "decisions, glossary, changelog, help and tables keep their form",
        check: pages::check,
    },
    TidyRule {
        name: "glossary",
        description: "names in the glossary are names in the code",
        check: glossary::check,
    },
    TidyRule {
        name: "faults",
        description: "every known fault names tests that exist",
        check: faults::check,
    },
    TidyRule {
        name: "dependencies",
        description: "known licences, one source, and a reason for every duplicate",
        check: dependencies::check,
    },
];

/// Something that breaks a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A path from the root, with a line number where there is one.
    pub location: String,
    /// What is wrong and what to do about it.
    pub problem: String,
}

impl Finding {
    /// A finding about a whole file or folder.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { location: place.into(), problem: problem.into() }
    }

    /// A finding about one line, counted from zero as iterators do and shown from one as people do.
    pub fn on_line(path: &str, index: usize, problem: impl Into<String>) -> Self {
        Self { location: format!("{path}:{}", index + 1), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.problem)
    }
}
