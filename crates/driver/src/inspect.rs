//! What is known of a call before anything is decided about it: what the registry says, and what lies
//! at the paths it names.
//!
//! The engine opens no file. So the files are looked at here, through the eyes of the same rules that
//! will decide, and what was seen travels with the call.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_permission::world::{Entry, HOME, World};
use windlass_permission::{Opinion, Policy, decide_in};
use windlass_tool::{Registry, Surroundings};
use windlass_vocabulary::{Inspection, Seen, ToolCall};

use crate::guard::caught_now;

/// Looks at calls.
#[derive(Debug)]
pub(crate) struct Inspector {
    pub(crate) registry: Arc<Registry>,
    pub(crate) surroundings: Arc<Surroundings>,
    /// Which paths matter depends a little on the rules; those of the beginning will do.
    pub(crate) policy: Policy,
}

/// Paths that travel with one call. A command that names more is judged without the rest.
const SEEN_MAX: usize = 500;

impl Inspector {
    /// Everything that is known of a call. A tool that panics here is one that cannot run.
    pub(crate) fn inspect(&self, call: &ToolCall) -> Inspection {
        let looked = caught_now(|| {
            let mut inspection = self.registry.inspect(call.name.as_str(), &call.input);
            if inspection.problem.is_none() {
                inspection.seen = self.seen(call, &inspection);
            }
            inspection
        });
        looked.unwrap_or_else(|words| {
            Inspection::refused(format!("The tool `{}` broke on this input: {words}", call.name))
        })
    }

    fn seen(&self, call: &ToolCall, inspection: &Inspection) -> Vec<(Arc<str>, Seen)> {
        let shell = self.surroundings.shell_directory();
        let standing =
            (shell != self.surroundings.cwd).then(|| shell.to_string_lossy().into_owned());
        let policy = Policy { standing, ..self.policy.clone() };
        let eyes = Eyes { disk: Disk::new(), seen: RefCell::default() };
        let _ = decide_in(&policy, call.clone(), inspection, Opinion::None, &eyes);
        let home = eyes
            .disk
            .home
            .as_ref()
            .map(|home| (Arc::from(HOME), Seen::Symlink(Arc::from(home.to_string_lossy()))));
        let seen = eyes.seen.into_inner().into_iter().take(SEEN_MAX);
        home.into_iter().chain(seen).collect()
    }
}

/// The real files, and a memory of every look at them.
struct Eyes {
    disk: Disk,
    seen: RefCell<BTreeMap<Arc<str>, Seen>>,
}

impl World for Eyes {
    fn at(&self, path: &Path) -> Entry {
        let entry = self.disk.at(path);
        let seen = match &entry {
            Entry::Unknown => return entry,
            Entry::Missing => Seen::Missing,
            Entry::File => Seen::File,
            Entry::Directory => Seen::Directory,
            Entry::Symlink(target) => Seen::Symlink(Arc::from(target.to_string_lossy())),
            Entry::Special => Seen::Special,
        };
        self.seen.borrow_mut().insert(Arc::from(path.to_string_lossy()), seen);
        entry
    }

    fn home(&self) -> Option<&Path> {
        self.disk.home()
    }
}

/// The real files.
#[derive(Clone, Debug)]
pub struct Disk {
    home: Option<PathBuf>,
}

impl Disk {
    /// With this user's home.
    #[must_use]
    pub fn new() -> Self {
        Self { home: std::env::home_dir().filter(|home| home.is_absolute()) }
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

impl World for Disk {
    fn at(&self, path: &Path) -> Entry {
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {
                std::fs::read_link(path).map_or(Entry::Unknown, Entry::Symlink)
            }
            Ok(found) if found.is_dir() => Entry::Directory,
            Ok(found) if found.is_file() => Entry::File,
            Ok(_) => Entry::Special,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Entry::Missing,
            // What cannot be looked at is not known to be harmless.
            Err(_) => Entry::Unknown,
        }
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}
