//! Subcommands that replay, explain and pack a session. They read the journal alone and send no request.

pub(crate) mod bugreport;
pub(crate) mod replay;
pub(crate) mod why;

use std::path::{Path, PathBuf};

use windlass_driver::engine_settings::Settings;

use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

/// The argument is the path of a journal, or names a session.
fn resolve_journal_path(
    session: Option<&str>,
    lookup: &impl EnvLookup,
) -> Result<PathBuf, CommandError> {
    match session {
        Some(path) if path.contains('/') || Path::new(path).is_file() => Ok(PathBuf::from(path)),
        session => Ok(find_session_here(session, lookup)?.path),
    }
}

/// For journals without a record of their settings.
fn fallback_settings() -> Settings {
    windlass_assembly::session::rewind_point::fallback_settings()
}
