//! The disk of one session: a file system of its own, which can become full. Needs the right to mount;
//! without it the folder lies where temporary folders do, and is never full.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(crate) struct SoakDisk {
    folder: Option<TempDir>,
    path: PathBuf,
    is_mounted: bool,
}

impl SoakDisk {
    pub(crate) fn create() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_owned();
        let is_mounted = mount(&["-t", "tmpfs", "-o", &size_option(ROOMY_BYTES), "soak"], &path);
        Self { folder: Some(folder), path, is_mounted }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves so many bytes free. Returns whether it could.
    pub(crate) fn leave_free(&self, bytes: u64) -> bool {
        if !self.is_mounted {
            return false;
        }
        let Ok(disk) = rustix::fs::statvfs(&self.path) else { return false };
        let used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize;
        self.resize(used + bytes)
    }

    pub(crate) fn make_room(&self) {
        assert!(!self.is_mounted || self.resize(ROOMY_BYTES), "the disk stays full");
    }

    fn resize(&self, bytes: u64) -> bool {
        mount(&["-o", &format!("remount,{}", size_option(bytes))], &self.path)
    }

    /// Leaves the files for whoever looks at what went wrong.
    pub(crate) fn keep(&mut self) -> &Path {
        drop(self.folder.take().map(TempDir::keep));
        &self.path
    }
}

impl Drop for SoakDisk {
    fn drop(&mut self) {
        if self.is_mounted && self.folder.is_some() {
            // Lazily, because a process may still stand in it.
            let _ = Command::new("umount").arg("-l").arg(&self.path).status();
        }
    }
}

fn size_option(bytes: u64) -> String {
    format!("size={bytes}")
}

fn mount(words: &[&str], at: &Path) -> bool {
    let mut command = Command::new("mount");
    command.args(words).arg(at).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Far more than a session writes.
const ROOMY_BYTES: u64 = 1 << 30;
