//! The folder of `install.sh`: `versions/1.2.3/windlass` for each version, and the link `versions/current`.
//!
//! A version is made in a folder of its own and gets its name when it is whole; the link is replaced by
//! one rename. Whatever fails before that leaves the installed version as it was. Old versions stay: a
//! session that still runs may start its own program again.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use windlass_host::command_error::CommandError;

use crate::release_version::ReleaseVersion;

const PROGRAM: &str = "windlass";
const CURRENT: &str = "current";
const LOCK: &str = ".lock";
const BEGUN_PREFIX: &str = ".begun-";
/// Far more than the program has; a file that unpacks to more is not it.
const PROGRAM_BYTES_MAX: u64 = 256 * 1024 * 1024;
const VERSION_DEADLINE: Duration = Duration::from_secs(20);

pub(crate) struct VersionsFolder {
    path: PathBuf,
}

impl VersionsFolder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn has(&self, version: &ReleaseVersion) -> bool {
        self.path.join(version.to_string()).join(PROGRAM).is_file()
    }

    /// Keeps `install.sh` and other updates out until it is dropped.
    pub(crate) fn lock(&self) -> Result<VersionsLock, CommandError> {
        let path = self.path.join(LOCK);
        for _ in 0..2 {
            match fs::create_dir(&path) {
                Ok(()) => {
                    let lock = VersionsLock(path.clone());
                    let process = std::process::id().to_string();
                    fs::write(path.join("pid"), process).map_err(|error| refuse(&path, &error))?;
                    return Ok(lock);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !is_abandoned(&path) {
                        break;
                    }
                    fs::remove_dir_all(&path).map_err(|error| refuse(&path, &error))?;
                }
                Err(error) => return Err(refuse(&self.path, &error)),
            }
        }
        Err(CommandError::failure(format!(
            "another update is running; if not, remove {}",
            path.display()
        )))
    }

    /// A place for a version that is not whole yet. Needs the lock.
    pub(crate) fn begin(&self) -> Result<BegunVersion, CommandError> {
        let leftovers = fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(BEGUN_PREFIX));
        for leftover in leftovers {
            let path = leftover.path();
            fs::remove_dir_all(&path).map_err(|error| refuse(&path, &error))?;
        }
        let folder = self.path.join(format!("{BEGUN_PREFIX}{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| refuse(&self.path, &error))?;
        Ok(BegunVersion { folder })
    }

    /// Gives a whole version its name.
    pub(crate) fn keep(
        &self,
        begun: &BegunVersion,
        version: &ReleaseVersion,
    ) -> Result<(), CommandError> {
        let named = self.path.join(version.to_string());
        fs::remove_file(begun.packed_file()).map_err(|error| refuse(&begun.folder, &error))?;
        if named.exists() {
            // A broken one: `has` found no program in it, or its bytes were asked for again.
            fs::remove_dir_all(&named).map_err(|error| refuse(&named, &error))?;
        }
        fs::rename(&begun.folder, &named).map_err(|error| refuse(&named, &error))
    }

    pub(crate) fn switch_to(&self, version: &ReleaseVersion) -> Result<(), CommandError> {
        let link = self.path.join(format!("{BEGUN_PREFIX}link-{}", std::process::id()));
        let switch = || {
            symlink(version.to_string(), &link)?;
            fs::rename(&link, self.path.join(CURRENT))?;
            File::open(&self.path)?.sync_all()
        };
        switch().map_err(|error| {
            // It may not be there; the first error is the one to tell.
            let _ = fs::remove_file(&link);
            refuse(&self.path, &error)
        })
    }
}

fn is_abandoned(lock: &Path) -> bool {
    let process = fs::read_to_string(lock.join("pid")).ok();
    let process = process.and_then(|text| text.trim().parse().ok()).and_then(Pid::from_raw);
    process.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn refuse(path: &Path, error: &io::Error) -> CommandError {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => "free some space and try again",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "update as the user who installed it"
        }
        _ => "nothing was changed",
    };
    CommandError::failure(format!("{} cannot be changed: {error}; {advice}", path.display()))
}

/// Removed when dropped.
pub(crate) struct VersionsLock(PathBuf);

impl Drop for VersionsLock {
    fn drop(&mut self) {
        // What stays is seen as abandoned by the next update.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A version that has no name yet. Removed when dropped, unless it was kept.
pub(crate) struct BegunVersion {
    folder: PathBuf,
}

impl BegunVersion {
    pub(crate) fn packed_file(&self) -> PathBuf {
        self.folder.join("packed.gz")
    }

    pub(crate) fn unpack(&self) -> Result<(), CommandError> {
        let path = self.folder.join(PROGRAM);
        let unpack = || {
            let packed = flate2::read::GzDecoder::new(File::open(self.packed_file())?);
            let mut options = File::options();
            let mut file = options.write(true).create_new(true).mode(0o755).open(&path)?;
            let bytes = io::copy(&mut packed.take(PROGRAM_BYTES_MAX), &mut file)?;
            if bytes == PROGRAM_BYTES_MAX {
                return Err(io::Error::other("it is too large to be the program"));
            }
            file.flush()?;
            file.sync_all()
        };
        unpack().map_err(|error| refuse(&path, &error))
    }

    /// The new program must start here and say the right version.
    pub(crate) async fn check_version(&self, version: &ReleaseVersion) -> Result<(), CommandError> {
        let wrong = |why: &str| {
            CommandError::failure(format!(
                "version {version} does not run here: {why}; it is not used"
            ))
        };
        let started = tokio::process::Command::new(self.folder.join(PROGRAM))
            .arg("--version")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| wrong(&error.to_string()))?;
        let output = match tokio::time::timeout(VERSION_DEADLINE, started.wait_with_output()).await
        {
            Ok(output) => output.map_err(|error| wrong(&error.to_string()))?,
            Err(_) => return Err(wrong("it did not say its version in time")),
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let says_it = said.split_whitespace().any(|word| word == version.to_string());
        if !output.status.success() || !says_it {
            return Err(wrong(&format!("--version ended with {}", output.status)));
        }
        Ok(())
    }
}

impl Drop for BegunVersion {
    fn drop(&mut self) {
        // Gone already if it was kept; otherwise the next update removes what stays.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
