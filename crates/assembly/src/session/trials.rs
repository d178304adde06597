//! The user's trials: their folder, and how a process of ours runs on one.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use windlass_driver::sandbox::EntryProgram;
use windlass_driver::snapshot::SharedWorkspace;
use windlass_driver::trial::{
    COMMAND_TRIAL_PREFIX, Trial, TrialAccess, TrialConfig, run_trial_look,
};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;
use windlass_journal::transcript::transcript_path;
use windlass_provider::config::Config;

use super::fork_with_files::ForkedSession;
use super::known_secrets::load_known_secrets;
use super::snapshots::snapshot_config;
use crate::options::SessionOptions;
use crate::sandbox::ENTRY_SUBCOMMAND;

/// The hidden subcommand that looks at an overlay.
pub(crate) const LOOK_SUBCOMMAND: &str = "__look";
/// Set where a whole session runs on a trial: the trial's folder.
pub const TRIAL_VARIABLE: &str = "WINDLASS_TRIAL";
/// Set where a session draws on a budget that several share: the budget's file.
pub const SHARED_BUDGET_VARIABLE: &str = "WINDLASS_SHARED_BUDGET";
/// Beside the sessions.
pub(super) const TRIALS_FOLDER: &str = "trials";

/// If this process was started to look at an overlay, it does; the result is its exit code.
pub fn look_if_requested() -> Option<i32> {
    let mut arguments = std::env::args_os().skip(1);
    let is_meant = arguments.next().is_some_and(|word| word == LOOK_SUBCOMMAND);
    is_meant.then(|| run_trial_look(&arguments.collect::<Vec<OsString>>()))
}

pub fn trial_config(lookup: &impl EnvLookup) -> Option<TrialConfig> {
    let ourselves = std::env::current_exe().ok()?;
    let folder = user_directories::state_directory(lookup)?.join(TRIALS_FOLDER);
    let temporary = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let mut writable: Vec<PathBuf> = temporary.into_iter().chain([std::env::temp_dir()]).collect();
    writable.retain(|path| path.is_dir());
    writable.dedup();
    Some(TrialConfig {
        entry: EntryProgram { program: ourselves, arguments: vec![ENTRY_SUBCOMMAND.into()] },
        look_arguments: vec![LOOK_SUBCOMMAND.into()],
        folder,
        writable,
    })
}

/// Is this process on a trial?
pub(crate) fn is_on_trial(lookup: &impl EnvLookup) -> bool {
    lookup(TRIAL_VARIABLE).is_some_and(|folder| !folder.is_empty())
}

/// Tells the process that began the trial which session runs on it.
pub(crate) fn report_session(id: &str, lookup: &impl EnvLookup) {
    if let Some(folder) = lookup(TRIAL_VARIABLE).filter(|folder| !folder.is_empty()) {
        // Without it the trial can still be accepted at its end.
        let _ = std::fs::write(session_file(Path::new(&folder)), id);
    }
}

/// The file with the session of a trial: beside its folder, which the session cannot write.
pub fn session_file(folder: &Path) -> PathBuf {
    folder.with_extension("session")
}

/// A session that runs on a trial, and where it is written down.
#[derive(Clone, Debug)]
pub struct TrialSession {
    pub id: String,
    /// None if nothing is kept.
    pub journal: Option<PathBuf>,
    /// The same for other programs.
    pub transcript: Option<PathBuf>,
}

impl TrialSession {
    /// The one that a run with these options begins or continues. Nothing is made yet.
    pub fn select(
        options: &SessionOptions,
        cwd: &Path,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let selected = super::select_session(options, cwd, &Config::load(lookup)?, lookup)?;
        let transcript = selected.transcript_path();
        Ok(Self { id: selected.id, journal: selected.journal, transcript })
    }

    /// One that was made by a fork.
    pub fn of_fork(forked: &ForkedSession, lookup: &impl EnvLookup) -> Result<Self, CommandError> {
        let root = super::transcript_root(&Config::load(lookup)?, lookup);
        let transcript = root.map(|root| transcript_path(&root, &forked.directory, &forked.id));
        Ok(Self { id: forked.id.clone(), journal: Some(forked.journal.clone()), transcript })
    }
}

/// Our files that a session on a trial may write: its own, the directory's snapshots, and logins,
/// which servers refresh. Other files, such as other sessions, are read-only.
pub fn build_access(
    session: &TrialSession,
    trial: &Trial,
    shared: &SharedWorkspace,
    lookup: &impl EnvLookup,
) -> Result<TrialAccess, CommandError> {
    let failed = |path: &Path, error: std::io::Error| {
        CommandError::failure(format!("{} cannot be made: {error}", path.display()))
    };
    let make_folder = |path: &Path| {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| failed(path, error))
    };
    // It is held open for writing by its name, so it must be there.
    let file = session_file(trial.folder());
    std::fs::write(&file, "").map_err(|error| failed(&file, error))?;
    let mut writable = vec![shared.config().store.clone(), file];
    if let Some(logins) = user_directories::state_directory(lookup).map(|own| own.join("mcp")) {
        make_folder(&logins)?;
        writable.push(logins);
    }
    let kept = session.journal.iter().chain(&session.transcript);
    let shared_folders: Vec<PathBuf> =
        kept.filter_map(|path| path.parent()).map(Path::to_owned).collect();
    for folder in &shared_folders {
        make_folder(folder)?;
    }
    Ok(TrialAccess { writable, shared_folders, own_name: Some(session.id.clone()) })
}

/// The snapshots of a directory.
pub fn open_workspace(
    root: &Path,
    lookup: &impl EnvLookup,
) -> Result<SharedWorkspace, CommandError> {
    let config = snapshot_config(root, lookup)
        .ok_or_else(|| CommandError::failure("there is no place for snapshots: HOME is not set"))?;
    Ok(SharedWorkspace::new(root, config).with_known_secrets(load_known_secrets(lookup)))
}

/// Every trial of a run that was not accepted or dropped yet, the latest last.
pub fn list_trials(config: &TrialConfig) -> Vec<Trial> {
    let entries = std::fs::read_dir(&config.folder).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.file_name())))
        .collect();
    folders.sort();
    let names = folders.iter().filter_map(|(_, name)| name.to_str());
    // Those of single commands belong to the session that asks about them.
    let names = names.filter(|name| !name.starts_with(COMMAND_TRIAL_PREFIX));
    names.filter_map(|name| Trial::open(config, name).ok()).collect()
}
