//! Gathers what is known of a call before it is decided: the registry's answers, and the file
//! system entries at the paths it names.
//!
//! The engine opens no file. So the driver looks at the files with the same rules that will decide,
//! and sends what it found along with the call.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_permission::file_system_view::{
    CUT_KEY, FileSystemView, HOME_KEY, LISTED_NAMES_MAX, MatchingNames, PathEntry,
    fits_shell_pattern,
};
use windlass_permission::{Policy, PriorDecision, decide_with_file_system, look_at_paths};
use windlass_tool::{ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{PathKind, ToolCall, ToolInspection};

use crate::panic_guard::catch_panic_sync;
use crate::snapshot::SnapshotOutage;

#[derive(Debug)]
pub(crate) struct CallInspector {
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) tool_context: Arc<ToolSessionContext>,
    /// The policy affects only which paths are inspected, so the initial one is good enough.
    pub(crate) policy: Policy,
    pub(crate) outage: Arc<SnapshotOutage>,
}

/// Limit on the inspected paths of one call. A command with more paths gets a note, and the
/// remaining paths count as not harmless.
const PATHS_INSPECTED_MAX: usize = 500;

impl CallInspector {
    /// Everything known of a call. A tool that panics here counts as one that cannot run.
    pub(crate) fn inspect(&self, call: &ToolCall) -> ToolInspection {
        let looked = catch_panic_sync(|| {
            let mut inspection = self.registry.inspect(call.name.as_str(), &call.input);
            if inspection.problem.is_none() {
                inspection.seen = self.collect_path_entries(call, &inspection);
                self.outage.add_to(&mut inspection);
            }
            inspection
        });
        looked.unwrap_or_else(|words| {
            ToolInspection::from_problem(format!(
                "The tool `{}` broke on this input: {words}",
                call.name
            ))
        })
    }

    fn collect_path_entries(
        &self,
        call: &ToolCall,
        inspection: &ToolInspection,
    ) -> Vec<(Arc<str>, PathKind)> {
        let shell = self.tool_context.shell.directory();
        let standing =
            (shell != self.tool_context.files.cwd).then(|| shell.to_string_lossy().into_owned());
        let policy = Policy { standing, ..self.policy.clone() };
        record_paths(&policy, call, inspection, &HostFileSystem::new())
    }
}

/// Records the entry at every path that a decision about this call may look up.
#[must_use]
pub fn record_paths(
    policy: &Policy,
    call: &ToolCall,
    inspection: &ToolInspection,
    files: &dyn FileSystemView,
) -> Vec<(Arc<str>, PathKind)> {
    let recorder = RecordingFileSystem { files, entries: RefCell::default() };
    let _ =
        decide_with_file_system(policy, call.clone(), inspection, PriorDecision::None, &recorder);
    look_at_paths(policy, call, &recorder);
    let home = files
        .home_directory()
        .map(|home| (Arc::from(HOME_KEY), PathKind::Symlink(Arc::from(home.to_string_lossy()))));
    let seen = recorder.entries.into_inner();
    let cut = (seen.len() > PATHS_INSPECTED_MAX).then(|| (Arc::from(CUT_KEY), PathKind::Missing));
    let seen = seen.into_iter().take(PATHS_INSPECTED_MAX);
    home.into_iter().chain(cut).chain(seen).collect()
}

/// The file system, with a record of every lookup.
struct RecordingFileSystem<'a> {
    files: &'a dyn FileSystemView,
    entries: RefCell<BTreeMap<Arc<str>, PathKind>>,
}

impl FileSystemView for RecordingFileSystem<'_> {
    fn entry_at(&self, path: &Path) -> PathEntry {
        let entry = self.files.entry_at(path);
        let seen = match &entry {
            PathEntry::Unknown => return entry,
            PathEntry::Missing => PathKind::Missing,
            PathEntry::File => PathKind::File,
            PathEntry::Directory => PathKind::Directory,
            PathEntry::Symlink(target) => PathKind::Symlink(Arc::from(target.to_string_lossy())),
            PathEntry::Special => PathKind::Special,
        };
        self.entries.borrow_mut().insert(Arc::from(path.to_string_lossy()), seen);
        entry
    }

    fn home_directory(&self) -> Option<&Path> {
        self.files.home_directory()
    }

    fn matching_names(&self, directory: &Path, pattern: &str) -> MatchingNames {
        let names = self.files.matching_names(directory, pattern);
        if let Some((key, kind)) = names.to_record(directory, pattern) {
            self.entries.borrow_mut().insert(Arc::from(key), kind);
        }
        names
    }
}

/// Resolves the paths of calls on the machine the session runs on.
#[derive(Clone, Debug)]
pub struct HostFileSystem {
    home: Option<PathBuf>,
}

impl HostFileSystem {
    /// Uses the home directory of the current user.
    #[must_use]
    pub fn new() -> Self {
        Self { home: std::env::home_dir().filter(|home| home.is_absolute()) }
    }
}

impl Default for HostFileSystem {
    fn default() -> Self {
        Self::new()
    }
}

impl FileSystemView for HostFileSystem {
    fn entry_at(&self, path: &Path) -> PathEntry {
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {
                std::fs::read_link(path).map_or(PathEntry::Unknown, PathEntry::Symlink)
            }
            Ok(found) if found.is_dir() => PathEntry::Directory,
            Ok(found) if found.is_file() => PathEntry::File,
            Ok(_) => PathEntry::Special,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => PathEntry::Missing,
            // What cannot be inspected is not known to be harmless.
            Err(_) => PathEntry::Unknown,
        }
    }

    fn home_directory(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    fn matching_names(&self, directory: &Path, pattern: &str) -> MatchingNames {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            // A path below a missing entry or a file does not exist either.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                return MatchingNames::from_names(std::iter::empty());
            }
            Err(_) => return MatchingNames::NotListed,
        };
        let mut names = Vec::new();
        for (count, entry) in entries.enumerate() {
            let (Ok(entry), true) = (entry, count < LISTED_NAMES_MAX) else {
                return MatchingNames::NotListed;
            };
            let Ok(name) = entry.file_name().into_string() else {
                // A name that is not valid UTF-8 might match any pattern.
                return MatchingNames::NotListed;
            };
            if fits_shell_pattern(pattern, &name) {
                let is_plain = entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir());
                names.push((name, is_plain));
            }
        }
        MatchingNames::from_names(names.into_iter())
    }
}
