//! Going back: each file as a whole or not at all, and never over what somebody else wrote unless
//! that was asked for.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::log::Image;
use super::plan::{Planned, Standing};
use super::{Change, Kept};
use crate::disk::{Disk, RealDisk};
use crate::error::JournalError;

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It holds again what it held.
    Written(PathBuf),
    /// It is gone again.
    Removed(PathBuf),
    /// It was left alone, because it stands like this.
    Left(PathBuf, Standing),
}

impl Kept {
    /// Carries out a plan. Files that others changed are left alone unless `overwrite` says yes to
    /// them. What is overwritten is kept first, behind `record`, so that going back can be undone.
    /// A file that changed since the plan was made counts as changed by others and is left alone.
    ///
    /// # Errors
    ///
    /// When the disk says no. Files before the one that failed are restored.
    pub fn restore(
        &self,
        plan: &[Planned],
        record: u64,
        overwrite: impl Fn(&Planned) -> bool,
    ) -> Result<Vec<Restored>, JournalError> {
        let mut done = Vec::new();
        for planned in plan {
            let may = match planned.standing {
                Standing::Unchanged => true,
                Standing::ChangedByOthers => overwrite(planned),
                Standing::Same | Standing::NotKept => false,
            };
            done.push(match may {
                true => self.restore_one(planned, record)?,
                false => Restored::Left(planned.path.clone(), planned.standing),
            });
        }
        Ok(done)
    }

    fn restore_one(&self, planned: &Planned, record: u64) -> Result<Restored, JournalError> {
        let Planned { path, target, mode, current, .. } = planned;
        if self.look(path) != *current || *current == Image::NotKept {
            return Ok(Restored::Left(path.clone(), Standing::ChangedByOthers));
        }
        let before = match current {
            Image::Content(_) => Some(fs::read(path).map_err(JournalError::disk(path, "read"))?),
            _ => None,
        };
        let after = match target {
            Image::Content(name) => {
                let blob = self.blob(name);
                Some(fs::read(&blob).map_err(JournalError::disk(&blob, "read"))?)
            }
            _ => None,
        };
        let found = path.symlink_metadata().ok().map(|found| found.permissions().mode());
        let change = Change {
            record,
            path,
            before: before.as_deref(),
            after: after.as_deref(),
            mode: found,
        };
        self.keep(&change)?;
        let failed = |error| JournalError::disk(path, "restored")(error);
        match after {
            Some(bytes) => {
                put(path, &bytes, mode.or(found).unwrap_or(0o644)).map_err(failed)?;
                Ok(Restored::Written(path.clone()))
            }
            None => {
                fs::remove_file(path).map_err(failed)?;
                Ok(Restored::Removed(path.clone()))
            }
        }
    }
}

/// Writes a whole file beside the old one and puts it in its place.
fn put(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.windlass", std::process::id()));
    let written = write(&temporary, bytes, mode).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    RealDisk.sync_directory_of(path)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file: File = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
    file.sync_all()
}
