//! The time machine: a session played again, explained, and packed for somebody else. What is shown
//! follows from the journal alone; nothing is asked of a model.

pub(crate) mod bugreport;
pub(crate) mod replay;
pub(crate) mod why;

use std::path::{Path, PathBuf};

use windlass_driver::Settings;

use super::sessions::one;
use crate::environment::Lookup;
use crate::refusal::Refusal;

/// The journal that is meant: a file, or that of a session.
fn meant(wanted: Option<&str>, lookup: &impl Lookup) -> Result<PathBuf, Refusal> {
    match wanted {
        Some(path) if path.contains('/') || Path::new(path).is_file() => Ok(PathBuf::from(path)),
        wanted => Ok(one(wanted, lookup)?.path),
    }
}

/// For journals that do not say under which settings they were decided.
fn fallback() -> Settings {
    crate::session::cut::unsaid()
}
