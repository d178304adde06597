//! Trials: changes are made on an overlay of a working directory, reviewed, and then accepted or
//! discarded.
//!
//! A trial is a folder beside the sessions: the overlay's upper directory, and a record of the
//! directory's state before. Programs on it see the directory at its own path and everything else
//! read-only. The result is captured as a snapshot by a process of ours on the same overlay.
//! Accepting it is a restore of that snapshot with the usual checks: files that a person changed
//! meanwhile are reported as conflicts.

mod command_trials;
mod trial_accept;
mod trial_look;
mod trial_record;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use windlass_sandbox::{EntryProgram, TrialMount};
use windlass_tool::Secrets;
use windlass_workspace::{CancelFlag, LookDepth, SnapshotId};

pub use command_trials::COMMAND_TRIAL_PREFIX;
pub(crate) use command_trials::SessionTrials;
pub use trial_accept::{AcceptedTrial, OutsideChange, TrialError, TrialPreview};
pub use trial_look::run_trial_look;
use trial_record::TrialRecord;

use crate::snapshot::{SharedWorkspace, SnapshotConfig, copy_snapshot};

/// How trials are created.
#[derive(Clone, Debug)]
pub struct TrialConfig {
    /// How a new process reaches the entry point that mounts the overlay.
    pub entry: EntryProgram,
    /// The arguments with which the same program calls [`run_trial_look`]; the others follow them.
    pub look_arguments: Vec<OsString>,
    /// Where trials are stored: outside of working directories.
    pub folder: PathBuf,
    /// Further folders that programs on a trial may write: the host's temporary ones.
    pub writable: Vec<PathBuf>,
}

/// What a program on a trial may write, besides the directory.
#[derive(Clone, Debug, Default)]
pub struct TrialAccess {
    /// Folders and files.
    pub writable: Vec<PathBuf>,
    /// Folders in which it may create entries but not change existing ones.
    pub shared_folders: Vec<PathBuf>,
    /// The prefix of existing entries in those folders that it may change.
    pub own_name: Option<String>,
}

/// Work on an overlay of a working directory, to be accepted or dropped.
#[derive(Debug)]
pub struct Trial {
    config: TrialConfig,
    folder: PathBuf,
    record: TrialRecord,
    /// Locked by the process that created it.
    _lock: Option<fs::File>,
}

impl Trial {
    /// Creates a trial of this name. Blocks while a snapshot is taken.
    ///
    /// # Errors
    ///
    /// Why it cannot be created, as a message for the user.
    pub fn begin(
        shared: &SharedWorkspace,
        config: &TrialConfig,
        name: &str,
    ) -> Result<Self, String> {
        let folder = make_folder(shared, config, name, &["upper", "work"])?;
        let mut begun = Self::begin_overlay(shared, config, folder.clone());
        if let Ok(trial) = &begun
            && let Err(why) = trial.mount().check(&config.entry)
        {
            begun = Err(why);
        }
        if begun.is_err() {
            remove_tree(&folder);
        }
        begun
    }

    /// The same without an overlay: in a copy of the directory as of a snapshot, or as it is now.
    /// Programs must be started in the copy, and are not confined to it. Blocks.
    ///
    /// # Errors
    ///
    /// Why it cannot be created, as a message for the user.
    pub fn begin_in_copy(
        shared: &SharedWorkspace,
        config: &TrialConfig,
        name: &str,
        snapshot: Option<&str>,
    ) -> Result<Self, String> {
        let folder = make_folder(shared, config, name, &[])?;
        let begun = Self::record(shared, config, folder.clone(), true).and_then(|trial| {
            copy_snapshot(shared, snapshot, &folder.join(COPY_NAME))?;
            Ok(trial)
        });
        if begun.is_err() {
            remove_tree(&folder);
        }
        begun
    }

    fn begin_overlay(
        shared: &SharedWorkspace,
        config: &TrialConfig,
        folder: PathBuf,
    ) -> Result<Self, String> {
        let root = shared.resolved_root();
        refuse_foreign_owners(&root)?;
        // The root of the overlay must have the mode and owner of the directory.
        let mode = fs::metadata(&root).map_err(|error| error.to_string())?.permissions().mode();
        fs::set_permissions(folder.join("upper"), fs::Permissions::from_mode(mode & 0o777))
            .map_err(|error| error.to_string())?;
        Self::record(shared, config, folder, false)
    }

    fn record(
        shared: &SharedWorkspace,
        config: &TrialConfig,
        folder: PathBuf,
        is_copy: bool,
    ) -> Result<Self, String> {
        // Uses the clock of the file system, because modification times are compared with it.
        let marked = fs::metadata(&folder).and_then(|found| found.modified());
        let began = marked.unwrap_or_else(|_| SystemTime::now());
        let looked = shared.run(|workspace| {
            if workspace.has_unfinished_restore() {
                workspace.finish()?;
            }
            Ok(workspace.look(LookDepth::Quick, &CancelFlag::new())?.id)
        });
        let before = looked.map_err(|error| error.to_string())?;
        let before = before.ok_or("no snapshots are kept of this directory")?;
        let root = shared.resolved_root();
        let record = TrialRecord {
            root,
            before,
            after: None,
            began,
            session: None,
            is_copy,
            journal: None,
            last_record: 0,
        };
        record.write(&folder)?;
        shared.hold(&folder, &[before])?;
        let lock = fs::File::create(folder.join(LOCK_NAME)).and_then(|file| {
            file.try_lock()?;
            Ok(file)
        });
        let lock = lock.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { config: config.clone(), folder, record, _lock: Some(lock) })
    }

    /// Are trials supported on this machine? Tests it with an empty folder. Blocks for a moment.
    ///
    /// # Errors
    ///
    /// Why they are not, as a message for the user.
    pub fn check_support(config: &TrialConfig) -> Result<(), String> {
        let folder = config.folder.join(format!("check-{}", std::process::id()));
        let [root, upper, work] = ["root", "upper", "work"].map(|name| folder.join(name));
        let mut made = Ok(());
        for path in [&root, &upper, &work] {
            made = made.and_then(|()| fs::create_dir_all(path));
        }
        let made = made.map_err(|error| format!("{}: {error}", folder.display()));
        let checked = made.and_then(|()| {
            let writable = config.writable.clone();
            build_mount(root, upper, work, writable).check(&config.entry)
        });
        remove_tree(&folder);
        checked
    }

    /// Opens an existing trial.
    ///
    /// # Errors
    ///
    /// There is no such trial, or its record is damaged. The error is a message for the user.
    pub fn open(config: &TrialConfig, name: &str) -> Result<Self, String> {
        let folder = config.folder.join(name);
        let record = TrialRecord::read(&folder)?;
        Ok(Self { config: config.clone(), folder, record, _lock: None })
    }

    /// Was its result captured?
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.record.after.is_some()
    }

    /// Is the process that created it still running? Only for an opened trial.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let lock = fs::File::open(self.folder.join(LOCK_NAME));
        lock.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
    }

    /// The path in the copy that corresponds to this directory; `None` unless the trial is a copy.
    #[must_use]
    pub fn find_in_copy(&self, directory: &Path) -> Option<PathBuf> {
        let directory = directory.canonicalize().ok()?;
        let inner = directory.strip_prefix(&self.record.root).ok()?;
        self.record.is_copy.then(|| self.folder.join(COPY_NAME).join(inner))
    }

    /// Sets the session that can undo what is accepted from a copy: its journal, and the number of
    /// its last record.
    ///
    /// # Errors
    ///
    /// The record cannot be written. The error is a message for the user.
    pub fn set_journal(&mut self, journal: &Path, last_record: u64) -> Result<(), String> {
        self.record.journal = Some(journal.to_owned());
        self.record.last_record = last_record;
        self.record.write(&self.folder)
    }

    /// The directory on trial.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.record.root
    }

    /// The folder of the trial.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The session that ran on it, if it is known.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.record.session.as_deref()
    }

    /// Sets the session that ran on it.
    ///
    /// # Errors
    ///
    /// The record cannot be written. The error is a message for the user.
    pub fn set_session(&mut self, session: &str) -> Result<(), String> {
        self.record.session = Some(session.to_owned());
        self.record.write(&self.folder)
    }

    /// Wraps a command so that it runs on the trial, with write access to these folders too. Its
    /// environment must be set completely.
    #[must_use]
    pub fn wrap_command(&self, command: &Command, writable: &[PathBuf]) -> Command {
        let mut mount = self.mount();
        mount.writable.extend(writable.iter().cloned());
        mount.wrap_command(&self.config.entry, command)
    }

    /// The same for a command that ends together with the calling thread.
    #[must_use]
    pub fn wrap_child(&self, command: &Command, access: &TrialAccess) -> Command {
        if self.record.is_copy {
            return self.config.entry.bind_child(command);
        }
        let mut mount = self.mount();
        mount.ends_with_parent = true;
        mount.writable.extend(access.writable.iter().cloned());
        mount.shared_folders.clone_from(&access.shared_folders);
        mount.own_name = access.own_name.as_ref().map(OsString::from);
        mount.wrap_command(&self.config.entry, command)
    }

    fn mount(&self) -> TrialMount {
        let [upper, work] = ["upper", "work"].map(|name| self.folder.join(name));
        build_mount(self.record.root.clone(), upper, work, self.config.writable.clone())
    }

    /// Restores a snapshot on the overlay, before anything else runs on it. Blocks.
    ///
    /// # Errors
    ///
    /// The snapshot no longer exists. The error is a message for the user.
    pub fn go_to(&self, shared: &SharedWorkspace, snapshot: &str) -> Result<(), String> {
        self.run_look(shared, &Secrets::default(), Some(snapshot)).map(drop)
    }

    /// Captures the result, after all programs on it have ended. Blocks.
    ///
    /// # Errors
    ///
    /// The snapshot failed. The error is a message for the user.
    pub fn capture(&mut self, shared: &SharedWorkspace, secrets: &Secrets) -> Result<(), String> {
        let after = match self.record.is_copy {
            true => self.look_at_copy(shared, secrets)?,
            false => self.run_look(shared, secrets, None)?,
        };
        shared.hold(&self.folder, &[after])?;
        self.record.after = Some(after);
        self.record.write(&self.folder)
    }

    fn look_at_copy(
        &self,
        shared: &SharedWorkspace,
        secrets: &Secrets,
    ) -> Result<SnapshotId, String> {
        let config = SnapshotConfig { is_overlay: true, ..shared.config().clone() };
        let copy = SharedWorkspace::new(&self.folder.join(COPY_NAME), config);
        let copy = copy.with_secrets(secrets.clone());
        let looked =
            copy.run(|workspace| Ok(workspace.look(LookDepth::Quick, &CancelFlag::new())?.id));
        let looked = looked.map_err(|error| error.to_string())?;
        looked.ok_or_else(|| "no snapshots are kept of this directory".to_owned())
    }

    fn run_look(
        &self,
        shared: &SharedWorkspace,
        secrets: &Secrets,
        target: Option<&str>,
    ) -> Result<SnapshotId, String> {
        let mut command = Command::new(&self.config.entry.program);
        command.args(&self.config.look_arguments).arg(&self.record.root);
        trial_look::add_arguments(&mut command, shared.config(), target);
        command.env_clear().current_dir(&self.record.root);
        let store = shared.config().store.clone();
        trial_look::run(self.wrap_command(&command, &[store]), secrets)
    }

    /// Deletes the trial.
    pub fn discard(self) {
        remove_tree(&self.folder);
    }
}

/// Creates a folder of this name beside other trials, with subfolders.
fn make_folder(
    shared: &SharedWorkspace,
    config: &TrialConfig,
    name: &str,
    inner: &[&str],
) -> Result<PathBuf, String> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    // Canonical, because a symlink in the path would hide the real location from the checks.
    let trials = builder.create(&config.folder).and_then(|()| fs::canonicalize(&config.folder));
    let trials =
        trials.map_err(|error| format!("{} cannot be made: {error}", config.folder.display()))?;
    if trials.starts_with(shared.resolved_root()) {
        return Err(format!("trials are kept inside the directory, in {}", trials.display()));
    }
    let folder = trials.join(name);
    let mut made = builder.create(&folder);
    for name in inner {
        made = made.and_then(|()| builder.create(folder.join(name)));
    }
    made.map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    Ok(folder)
}

fn build_mount(root: PathBuf, upper: PathBuf, work: PathBuf, writable: Vec<PathBuf>) -> TrialMount {
    TrialMount {
        root,
        upper,
        work,
        writable,
        shared_folders: Vec::new(),
        own_name: None,
        ends_with_parent: false,
    }
}

/// A user namespace maps one owner and one group, so files of others cannot be written in it.
fn refuse_foreign_owners(root: &Path) -> Result<(), String> {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return Ok(());
    }
    let group = rustix::process::getegid().as_raw();
    let mut folders = vec![root.to_owned()];
    let mut count = 0_u32;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            count += 1;
            let Ok(found) = entry.metadata() else { continue };
            if found.uid() != user.as_raw() || found.gid() != group {
                let path = entry.path();
                return Err(format!("{} belongs to another user or group", path.display()));
            }
            if found.is_dir() && count < OWNERS_CHECKED_MAX {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Limit on the entries whose owner is checked; beyond it, the kernel's error has to do.
const OWNERS_CHECKED_MAX: u32 = 200_000;

/// Deletes trials of commands whose process was killed, and trials that were not accepted for a
/// long time. Returns how many. Blocks.
pub fn remove_stale_trials(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_held = |path: &PathBuf| {
        let lock = fs::File::open(path.join(LOCK_NAME));
        lock.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
    };
    let is_stale = |path: &PathBuf| {
        let is_command = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(COMMAND_TRIAL_PREFIX));
        let kept_for = if is_command { COMMAND_AGE_MAX } else { RUN_AGE_MAX };
        let changed = path.metadata().and_then(|found| found.modified()).ok();
        let age = changed.and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age > kept_for) && !is_held(path)
    };
    let stale: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_stale).collect();
    stale.iter().for_each(|path| remove_tree(path));
    stale.len()
}

const LOCK_NAME: &str = "lock";
const COPY_NAME: &str = "copy";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const COMMAND_AGE_MAX: Duration = DAY;
const RUN_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The overlay's work folder has no permissions even for its owner.
fn remove_tree(folder: &Path) {
    open_folders(folder);
    let _ = fs::remove_dir_all(folder);
    // Files beside it that were made for its processes.
    for extension in ["session", "budget"] {
        let _ = fs::remove_file(folder.with_extension(extension));
    }
}

fn open_folders(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_folders(&entry.path());
        }
    }
}
