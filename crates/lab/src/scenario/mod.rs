//! The little language of `scenarios/`: events in, effects and the model-visible request out.
//!
//! `scenarios/README.md` teaches it. A file is read by [`parse_scenario`], played against the real engine
//! (or, for histories, the real normalisation) by [`run_scenario`], and its expectations compared as text.
//! A scenario proves one path, exactly; it says nothing about any other.

mod block_parser;
mod render;
mod scenario_event;
mod scenario_history;
mod scenario_run;
mod scenario_script;
mod scenario_session;
mod scenario_setup;
mod ticket_names;
mod token_reader;

use std::path::{Path, PathBuf};

pub use render::RenderedEffect;
pub use scenario_run::{ScenarioOutcome, run_scenario};
pub use scenario_script::{ExpectedEffect, ScenarioScript, ScenarioStep, parse_scenario};
pub use scenario_setup::ScenarioSetup;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioProblem {
    /// The line, counted from 1.
    pub line: usize,
    pub message: String,
}

/// Every scenario below a folder, in the order of their paths.
///
/// # Errors
///
/// When a folder cannot be read.
pub fn list_scenario_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "txt") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Plays one file. Says what is wrong with it, each with its line; rewrites it if `bless`.
///
/// # Errors
///
/// When the file cannot be read or written.
pub fn play_scenario_file(path: &Path, bless: bool) -> std::io::Result<Vec<ScenarioProblem>> {
    let text = std::fs::read_to_string(path)?;
    let script = match parse_scenario(&text) {
        Ok(script) => script,
        Err(problem) => return Ok(vec![problem]),
    };
    let outcome = run_scenario(&script);
    if bless && outcome.blessed != text {
        std::fs::write(path, &outcome.blessed)?;
        return Ok(outcome.broken.into_iter().collect());
    }
    Ok(outcome.differences.into_iter().chain(outcome.broken).collect())
}
