//! Trials: work on an overlay of a working directory that is shown, and then accepted or dropped.
//!
//! A trial is a folder beside the sessions: what the overlay collects, and a record of how the directory
//! stood before. Programs on it see the directory at its own path and everything else read-only. What
//! they left is looked at by a process of ours on the same overlay, so it is known like any other
//! snapshot, and accepting it is going there with the checks of going back: what a person changed
//! meanwhile is a conflict, and is told.

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

use crate::snapshot::SharedWorkspace;

/// How trials are made.
#[derive(Clone, Debug)]
pub struct TrialConfig {
    /// How a new process reaches the entry that mounts.
    pub entry: EntryProgram,
    /// The arguments after which the same program calls [`run_trial_look`] with the rest.
    pub look_arguments: Vec<OsString>,
    /// Where trials are kept: outside of working directories.
    pub folder: PathBuf,
    /// Folders that programs on trial may write: the host's temporary ones.
    pub writable: Vec<PathBuf>,
}

/// One trial.
#[derive(Debug)]
pub struct Trial {
    config: TrialConfig,
    folder: PathBuf,
    record: TrialRecord,
    /// Held by the process that began it.
    _lock: Option<fs::File>,
}

impl Trial {
    /// Begins a trial of this name. Blocks while the directory is looked at.
    ///
    /// # Errors
    ///
    /// Why there can be none, in words.
    pub fn begin(
        shared: &SharedWorkspace,
        config: &TrialConfig,
        name: &str,
    ) -> Result<Self, String> {
        let root = shared.resolved_root();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        // By its real name: a link on the way to it would hide from the checks where it is.
        let trials = builder.create(&config.folder).and_then(|()| fs::canonicalize(&config.folder));
        let trials = trials
            .map_err(|error| format!("{} cannot be made: {error}", config.folder.display()))?;
        if trials.starts_with(&root) {
            return Err(format!("trials are kept inside the directory, in {}", trials.display()));
        }
        refuse_foreign_owners(&root)?;
        let folder = trials.join(name);
        for inner in ["upper", "work"] {
            builder
                .create(folder.join(inner))
                .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        }
        let mut begun = Self::look_and_record(shared, config, folder.clone(), root);
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

    fn look_and_record(
        shared: &SharedWorkspace,
        config: &TrialConfig,
        folder: PathBuf,
        root: PathBuf,
    ) -> Result<Self, String> {
        // The overlay shows the folder's own mode and owner at the root.
        let mode = fs::metadata(&root).map_err(|error| error.to_string())?.permissions().mode();
        fs::set_permissions(folder.join("upper"), fs::Permissions::from_mode(mode & 0o777))
            .map_err(|error| error.to_string())?;
        // By the clock of the file system: what others change is compared with it.
        let marked = fs::metadata(folder.join("work")).and_then(|found| found.modified());
        let began = marked.unwrap_or_else(|_| SystemTime::now());
        let looked = shared.run(|workspace| {
            if workspace.has_unfinished_restore() {
                workspace.finish()?;
            }
            Ok(workspace.look(LookDepth::Quick, &CancelFlag::new())?.id)
        });
        let before = looked.map_err(|error| error.to_string())?;
        let before = before.ok_or("no snapshots are kept of this directory")?;
        let record = TrialRecord { root, before, after: None, began, session: None };
        record.write(&folder)?;
        let lock = fs::File::create(folder.join(LOCK_NAME)).and_then(|file| {
            file.try_lock()?;
            Ok(file)
        });
        let lock = lock.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { config: config.clone(), folder, record, _lock: Some(lock) })
    }

    /// Can there be trials on this machine? Tried on a folder that is empty. Blocks for a moment.
    ///
    /// # Errors
    ///
    /// Why not, in words.
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
            let mount = TrialMount { root, upper, work, writable, ends_with_parent: false };
            mount.check(&config.entry)
        });
        remove_tree(&folder);
        checked
    }

    /// A trial that was begun before.
    ///
    /// # Errors
    ///
    /// When there is none of this name, or its record is damaged, in words.
    pub fn open(config: &TrialConfig, name: &str) -> Result<Self, String> {
        let folder = config.folder.join(name);
        let record = TrialRecord::read(&folder)?;
        Ok(Self { config: config.clone(), folder, record, _lock: None })
    }

    /// Was it looked at after its end?
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.record.after.is_some()
    }

    /// Is the process that began it still there? Asked of one that was opened.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let lock = fs::File::open(self.folder.join(LOCK_NAME));
        lock.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
    }

    /// The directory that is tried.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.record.root
    }

    /// Where it is kept.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The session that ran on it, if one was named.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.record.session.as_deref()
    }

    /// Names the session that ran on it.
    ///
    /// # Errors
    ///
    /// When the record cannot be written, in words.
    pub fn set_session(&mut self, session: &str) -> Result<(), String> {
        self.record.session = Some(session.to_owned());
        self.record.write(&self.folder)
    }

    /// The same command on trial, allowed to write to these folders besides. Its environment must be
    /// given whole.
    #[must_use]
    pub fn wrap_command(&self, command: &Command, writable: &[PathBuf]) -> Command {
        let mut mount = self.mount();
        mount.writable.extend(writable.iter().cloned());
        mount.wrap_command(&self.config.entry, command)
    }

    /// The same for a command that ends when the calling thread does.
    #[must_use]
    pub fn wrap_child(&self, command: &Command, writable: &[PathBuf]) -> Command {
        let mut mount = TrialMount { ends_with_parent: true, ..self.mount() };
        mount.writable.extend(writable.iter().cloned());
        mount.wrap_command(&self.config.entry, command)
    }

    fn mount(&self) -> TrialMount {
        TrialMount {
            root: self.record.root.clone(),
            upper: self.folder.join("upper"),
            work: self.folder.join("work"),
            writable: self.config.writable.clone(),
            ends_with_parent: false,
        }
    }

    /// Sets the files of the overlay to those of a snapshot, before anything else runs on it. Blocks.
    ///
    /// # Errors
    ///
    /// When the snapshot is not kept, in words.
    pub fn go_to(&self, shared: &SharedWorkspace, snapshot: &str) -> Result<(), String> {
        self.run_look(shared, &Secrets::default(), Some(snapshot)).map(drop)
    }

    /// Everything on it has ended: looks at what is there. Blocks.
    ///
    /// # Errors
    ///
    /// When that fails, in words.
    pub fn capture(&mut self, shared: &SharedWorkspace, secrets: &Secrets) -> Result<(), String> {
        let after = self.run_look(shared, secrets, None)?;
        self.record.after = Some(after);
        self.record.write(&self.folder)
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

    /// Drops it: nothing of it is left.
    pub fn discard(self) {
        remove_tree(&self.folder);
    }
}

/// A user namespace knows one owner and one group: files of others cannot be written there.
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

/// Entries whose owner is looked at; behind them a command is told by the kernel.
const OWNERS_CHECKED_MAX: u32 = 200_000;

/// Removes trials of commands that a process left when it was killed, and of runs that nobody
/// accepted for a long time. Returns how many. Blocks.
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
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const COMMAND_AGE_MAX: Duration = DAY;
const RUN_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The overlay's work folder is closed even to its owner.
fn remove_tree(folder: &Path) {
    open_folders(folder);
    let _ = fs::remove_dir_all(folder);
    // What a session on it left beside it.
    let _ = fs::remove_file(folder.with_extension("session"));
}

fn open_folders(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_folders(&entry.path());
        }
    }
}
