//! The time machine: a session played again, explained, and packed for somebody else. What is shown
//! follows from the journal alone; nothing is asked of a model.

pub(crate) mod bugreport;
pub(crate) mod replay;
pub(crate) mod why;

use std::path::{Path, PathBuf};

use windlass_driver::engine_settings::Settings;

use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

/// The journal that is meant: a file, or that of a session.
fn resolve_journal_path(
    wanted: Option<&str>,
    lookup: &impl EnvLookup,
) -> Result<PathBuf, CommandError> {
    match wanted {
        Some(path) if path.contains('/') || Path::new(path).is_file() => Ok(PathBuf::from(path)),
        wanted => Ok(find_session_here(wanted, lookup)?.path),
    }
}

/// For journals that do not say under which settings they were decided.
fn fallback_settings() -> Settings {
    windlass_assembly::session::rewind_point::fallback_settings()
}
