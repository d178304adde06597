//! Front ends reach no type of the engine, not through the driver's re-export either.
//!
//! A front end shows notices and sends what users want. One that reads the engine's settings or state
//! would break with every change of the loop, and would sooner or later decide something itself.

use super::source::split_source;
use super::{Finding, RepositoryTree};

const FRONT_END_CRATES: &[&str] = &["stream_json", "tui", "acp", "web", "demo"];

/// The engine's crate, the one module of the driver that re-exports its types, what makes a value of
/// them, and the record of a journal, which holds one.
const ENGINE_NAMES: &[&str] =
    &["windlass_engine", "engine_settings", "fallback_settings", "JournalRecord", "JournalReader"];

/// Looks at the code of every front end; comments may name the engine.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in FRONT_END_CRATES {
        let folder = format!("crates/{name}/src");
        for file in tree.files_below(&folder).filter(|file| file.path.ends_with(".rs")) {
            for (line, code) in split_source(&file.text).code.lines().enumerate() {
                for engine in ENGINE_NAMES.iter().filter(|engine| code.contains(**engine)) {
                    let problem =
                        format!("a front end names `{engine}`; take what the driver has for it");
                    findings.push(Finding::on_line(&file.path, line, problem));
                }
            }
        }
    }
    findings
}
