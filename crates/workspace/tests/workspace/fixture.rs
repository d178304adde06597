//! A folder with an open workspace, and byte-exact comparison of trees.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_workspace::{
    CancelFlag, LookDepth, PathStanding, RestoreConsent, RestorePlan, RestoreReport, RestoreResult,
    SnapshotId, SnapshotReport, Workspace, WorkspaceOptions,
};

/// The exact state of one path.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
    Folder { mode: u32 },
    Other,
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { bytes, mode } => {
                let first = String::from_utf8_lossy(&bytes[..bytes.len().min(20)]);
                write!(formatter, "file {first:?}, {} bytes, {mode:o}", bytes.len())
            }
            Self::Link(target) => write!(formatter, "link {target:?}"),
            Self::Folder { mode } => write!(formatter, "folder {mode:o}"),
            Self::Other => write!(formatter, "other"),
        }
    }
}

pub(crate) type TreeState = BTreeMap<PathBuf, Standing>;

pub(crate) struct Fixture {
    pub(crate) root: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) workspace: Option<Workspace>,
    _folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(WorkspaceOptions::default())
    }

    /// On tmpfs if the machine has one, where syncing is free.
    pub(crate) fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        Self::below(folder, WorkspaceOptions::default())
    }

    /// Below the build's target folder, normally on a real disk.
    pub(crate) fn on_disk() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self::below(folder, WorkspaceOptions::default())
    }

    /// With the root and the store at the given paths.
    pub(crate) fn at(root: PathBuf, store: PathBuf) -> Self {
        let workspace = open_on_any_disk(&root, &store, WorkspaceOptions::default());
        Self { root, store, workspace: Some(workspace), _folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn with(options: WorkspaceOptions) -> Self {
        Self::below(tempfile::tempdir().unwrap(), options)
    }

    fn below(folder: TempDir, options: WorkspaceOptions) -> Self {
        let root = folder.path().join("root");
        let store = folder.path().join("store");
        std::fs::create_dir(&root).unwrap();
        let workspace = open_on_any_disk(&root, &store, options);
        Self { root, store, workspace: Some(workspace), _folder: folder }
    }

    pub(crate) fn workspace(&mut self) -> &mut Workspace {
        self.workspace.as_mut().unwrap()
    }

    /// Reopens the workspace, as another process would.
    pub(crate) fn reopen(&mut self) -> &mut Workspace {
        self.reopen_with(WorkspaceOptions::default())
    }

    pub(crate) fn reopen_with(&mut self, options: WorkspaceOptions) -> &mut Workspace {
        self.workspace = None;
        self.workspace = Some(open_on_any_disk(&self.root, &self.store, options));
        self.workspace()
    }

    pub(crate) fn look(&mut self) -> SnapshotReport {
        self.workspace().look(LookDepth::Quick, &CancelFlag::new()).unwrap()
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) fn state(&self) -> TreeState {
        read_tree(&self.root)
    }

    /// Restores over one batch of ours, without consent.
    pub(crate) fn undo(&mut self, before: SnapshotId, after: SnapshotId) -> RestoreReport {
        let plan = self.plan(before, after);
        self.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new()).unwrap()
    }

    pub(crate) fn plan(&mut self, before: SnapshotId, after: SnapshotId) -> RestorePlan {
        self.workspace().plan(before, &[(before, after)], &CancelFlag::new()).unwrap()
    }

    /// Runs git with no configuration but the repository's.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        run_git(&self.root, arguments)
    }
}

/// With no free space required, so that tests do not depend on how full the disk is.
fn open_on_any_disk(root: &Path, store: &Path, mut options: WorkspaceOptions) -> Workspace {
    options.limits.free_percent = 0;
    Workspace::open(root, store, options).unwrap()
}

/// On failure, shows only the paths that differ.
#[track_caller]
pub(crate) fn assert_same(found: &TreeState, expected: &TreeState, about: &str) {
    let paths: std::collections::BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    let different: Vec<_> = paths
        .into_iter()
        .filter(|path| found.get(*path) != expected.get(*path))
        .map(|path| (path, found.get(path), expected.get(path)))
        .collect();
    assert!(different.is_empty(), "{about}: found and expected: {different:#?}");
}

pub(crate) fn run_git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

pub(crate) fn read_tree(root: &Path) -> TreeState {
    let mut state = TreeState::new();
    read_folder(root, Path::new(""), &mut state);
    state
}

fn read_folder(root: &Path, inner: &Path, state: &mut TreeState) {
    for entry in std::fs::read_dir(root.join(inner)).unwrap() {
        let name = inner.join(entry.unwrap().file_name());
        let path = root.join(&name);
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.mode() & 0o7777;
        let standing = if metadata.is_symlink() {
            Standing::Link(std::fs::read_link(&path).unwrap())
        } else if metadata.is_dir() {
            read_folder(root, &name, state);
            Standing::Folder { mode }
        } else if metadata.is_file() {
            Standing::File { bytes: std::fs::read(&path).unwrap_or_default(), mode }
        } else {
            Standing::Other
        };
        state.insert(name, standing);
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn bytes_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

pub(crate) fn standing_paths(plan: &RestorePlan, standing: PathStanding) -> Vec<String> {
    let steps = plan.steps.iter().filter(|step| step.standing == standing);
    steps.map(|step| step.path.to_string()).collect()
}

pub(crate) fn result_paths(report: &RestoreReport, result: RestoreResult) -> Vec<String> {
    let outcomes = report.outcomes.iter().filter(|outcome| outcome.result == result);
    outcomes.map(|outcome| outcome.path.to_string()).collect()
}

/// A small deterministic random number generator.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    /// Incompressible bytes.
    pub(crate) fn noise(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
