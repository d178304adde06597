//! Front ends reach no type of the engine, not through the driver's re-export either, which is the
//! only one there may be.
//!
//! A front end shows notices and sends what users want. One that reads the engine's settings or state
//! would break with every change of the loop, and would sooner or later decide something itself.

use super::source::split_source;
use super::{Finding, RepositoryTree};

const FRONT_END_CRATES: &[&str] = &["stream_json", "tui", "acp", "web", "demo"];

/// The engine's crate, the one module of the driver that re-exports its types, what makes a value of
/// them, and what a journal gives that holds one.
const ENGINE_NAMES: &[&str] = &[
    "windlass_engine",
    "engine_settings",
    "fallback_settings",
    "JournalRecord",
    "JournalReader",
    "FoldedJournal",
    "ReplayStep",
    "ReplayVisitor",
];

/// The one file that may re-export types of the engine; front ends may not name it.
const RE_EXPORT_FILE: &str = "crates/driver/src/engine_settings.rs";

/// Looks at the code of every front end, and for re-exports in every crate; comments may name the
/// engine.
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
    for (_, file) in tree.crate_sources().filter(|(_, file)| file.path != RE_EXPORT_FILE) {
        for (line, code) in split_source(&file.text).code.lines().enumerate() {
            if code.contains("pub use windlass_engine") {
                let problem = format!("re-exports the engine; only `{RE_EXPORT_FILE}` does");
                findings.push(Finding::on_line(&file.path, line, problem));
            }
        }
    }
    findings
}
