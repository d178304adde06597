//! Says which paths of a directory snapshots do not cover. What was said is listed in the store, so
//! that it is said once.

use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use windlass_workspace::{UncoveredPath, UncoveredReason};

/// Limit on the names in one sentence.
const NAMED_MAX: usize = 5;
/// Limit on the paths in the list.
const LISTED_MAX: usize = 10_000;

/// The paths that were not named before. Ignored paths are named only the first time: builds create
/// new ones all the time.
pub(crate) fn list_untold(store: &Path, uncovered: Vec<UncoveredPath>) -> Vec<UncoveredPath> {
    let listed = std::fs::read_to_string(list_path(store));
    let is_first = listed.is_err();
    let mut told: BTreeSet<String> =
        listed.unwrap_or_default().lines().map(str::to_owned).collect();
    let mut untold = uncovered;
    untold.retain(|one| one.reason != UncoveredReason::GitObjects);
    untold.retain(|one| is_first || one.reason != UncoveredReason::Ignored);
    untold.retain(|one| told.len() < LISTED_MAX && told.insert(one.path.to_string()));
    if is_first || !untold.is_empty() {
        let lines: String = told.iter().map(|path| format!("{path}\n")).collect();
        // On failure, the next session says it again.
        let _ = std::fs::write(list_path(store), lines);
    }
    untold
}

/// A path that a look did not cover.
pub(crate) struct NamedPath {
    /// For display.
    pub(crate) name: String,
    pub(crate) location: PathBuf,
    pub(crate) uncovered: UncoveredPath,
}

/// One sentence about these paths; `None` if there are none.
pub(crate) fn describe_uncovered(paths: &[NamedPath]) -> Option<String> {
    let named: Vec<String> = paths.iter().take(NAMED_MAX).map(describe_path).collect();
    let more = match paths.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    (!named.is_empty()).then(|| format!("not covered by rewind: {}{more}", named.join(", ")))
}

fn describe_path(path: &NamedPath) -> String {
    let NamedPath { name, location, uncovered } = path;
    let size = format!("{:.1} MB", uncovered.bytes as f64 / 1e6);
    match uncovered.reason {
        UncoveredReason::Ignored if uncovered.bytes == 0 => format!("{name}/ (ignored)"),
        UncoveredReason::Ignored => format!("{name} ({size}, ignored)"),
        UncoveredReason::TooLarge => format!("{name} ({size})"),
        UncoveredReason::Unreadable => format!("{name} (cannot be read)"),
        UncoveredReason::NotPlain => format!("{name} ({})", describe_kind(location)),
        UncoveredReason::OtherMount => format!("{name} (on another file system)"),
        UncoveredReason::Unstable => format!("{name} (keeps changing)"),
        UncoveredReason::NoRoom => format!("{name} ({size}, no room)"),
        UncoveredReason::Refused => format!("{name} (holds a key)"),
        UncoveredReason::GitObjects => name.to_owned(),
    }
}

fn describe_kind(location: &Path) -> &'static str {
    let kind = location.symlink_metadata().map(|found| found.file_type());
    match kind {
        Ok(kind) if kind.is_socket() => "a socket",
        Ok(kind) if kind.is_fifo() => "a fifo",
        Ok(kind) if kind.is_block_device() || kind.is_char_device() => "a device",
        Ok(_) | Err(_) => "not a regular file",
    }
}

fn list_path(store: &Path) -> PathBuf {
    store.join("uncovered-told")
}
