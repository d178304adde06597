//! The `xtask` command: `cargo xtask tidy` runs every rule, `cargo xtask tidy <rule>` only one;
//! `cargo xtask dist` makes what is handed out.
//!
//! Prints one line per finding, then the notes that never fail anything, and exits with 1 if a
//! rule was broken and with 2 if the command itself could not be understood or carried out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xtask::bench::{self, BenchOptions};
use xtask::dist::{self, DistOptions};
use xtask::tidy::{self, RULES, RepositoryTree};
use xtask::{loop_picture, reliability, site, texts};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["dist", rest @ ..] => {
            finish(DistOptions::parse(rest).and_then(|options| dist::run(&root(), &options)))
        }
        ["bench", rest @ ..] => {
            finish(BenchOptions::parse(rest).and_then(|options| bench::run(&root(), &options)))
        }
        ["reliability", rest @ ..] => finish(reliability::run(&root(), rest)),
        ["picture"] => finish(loop_picture::run(&root())),
        ["site"] => finish(site::run(&root())),
        ["texts", crates @ ..] => finish(texts::run(&root(), crates)),
        ["tidy"] => run(None),
        ["tidy", rule] => run(Some(rule)),
        _ => {
            let usages = [
                bench::USAGE,
                dist::USAGE,
                reliability::USAGE,
                "cargo xtask picture",
                "cargo xtask site",
                texts::USAGE,
            ];
            eprintln!("usage: cargo xtask tidy [rule]");
            usages.iter().for_each(|usage| eprintln!("       {usage}"));
            eprintln!("\nrules:");
            for rule in RULES {
                eprintln!("  {:<13} {}", rule.name, rule.description);
            }
            ExitCode::from(2)
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn finish(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
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
    let tree = match RepositoryTree::read(&root()) {
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
