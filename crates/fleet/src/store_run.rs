//! `windlass-fleet store run`: runs a read-only command of `windlass` on a session of the store.
//!
//! The session is exported to a temporary folder laid out as on one machine, because journals are
//! only read from files.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;

use windlass_fleet::store::FleetStore;
use windlass_fleet::store_transfer::export_session;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_journal::project_key::project_key;

use crate::args::StoreRunArgs;

pub(crate) async fn run(args: StoreRunArgs) -> Result<Exit, CommandError> {
    let known = args.command.first().is_some_and(|name| COMMANDS.iter().any(|it| name == it));
    if !known {
        let words = format!("only commands that look can run on it: {}", COMMANDS.join(", "));
        return Err(CommandError::usage(words));
    }
    let failed = |words: String| CommandError::failure(words);
    let store = FleetStore::open(&args.store.store, 2).await;
    let store = store.map_err(|error| failed(error.to_string()))?;
    let folder = TemporaryFolder::make().map_err(|error| failed(error.to_string()))?;
    let directory = folder.0.join("directory");
    let state = folder.0.join("state");
    let sessions = state.join("windlass/sessions");
    std::fs::create_dir(&directory)
        .and_then(|()| std::fs::create_dir_all(&sessions))
        .map_err(|error| failed(error.to_string()))?;
    let journals = sessions.join(project_key(&directory));
    export_session(&store, &args.session, &journals).await.map_err(failed)?;
    let status = Command::new(crate::find_windlass())
        .args(&args.command)
        .current_dir(&directory)
        .env("XDG_STATE_HOME", &state)
        .env_remove("WINDLASS_STORE")
        .status()
        .map_err(|error| failed(format!("`windlass` cannot be started: {error}")))?;
    Ok(Exit::from_exit_status(status))
}

/// A folder that is removed on drop.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn make() -> std::io::Result<Self> {
        // `windlass` identifies a directory by its canonical path.
        let parent = std::fs::canonicalize(std::env::temp_dir())?;
        let path = parent.join(format!("windlass-store-{}", random::generate_name()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const COMMANDS: &[&str] = &["why", "replay", "cost", "sessions", "context", "stats"];
