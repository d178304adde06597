//! The `xtask` command: `cargo xtask tidy` runs every rule, `cargo xtask tidy <rule>` only one.
//!
//! Prints one line per finding, then the notes that never fail anything, and exits with 1 if a
//! rule was broken and with 2 if the command itself could not be understood or carried out.

use std::path::Path;
use std::process::ExitCode;

use xtask::tidy::{self, RULES, RepositoryTree};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy"] => run(None),
        ["tidy", rule] => run(Some(rule)),
        _ => {
            eprintln!("usage: cargo xtask tidy [rule]\n\nrules:");
            for rule in RULES {
                eprintln!("  {:<13} {}", rule.name, rule.description);
            }
            ExitCode::from(2)
        }
    }
}

fn run(only: Option<&str>) -> ExitCode {
    if let Some(name) = only
        && !RULES.iter().any(|rule| rule.name == name)
    {
        eprintln!("there is no rule called {name}; `cargo xtask` lists them");
        return ExitCode::from(2);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = match RepositoryTree::read(&root) {
        Ok(tree) => tree,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let mut broken = 0_usize;
    for rule in RULES.iter().filter(|rule| only.is_none_or(|name| name == rule.name)) {
        let findings = (rule.check)(&tree);
        broken += findings.len();
        for finding in findings {
            println!("{}: {finding}", rule.name);
        }
    }
    if only.is_none() {
        for note in tidy::sizes::report(&tree) {
            println!("note: {note}");
        }
    }
    println!("tidy: {} files read, {broken} findings", tree.files.len());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
