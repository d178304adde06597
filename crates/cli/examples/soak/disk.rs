//! The disk of one session: a file system of its own, which can become full. Needs Linux and the right to
//! mount; without them the folder lies where temporary folders do, and is never full.

use std::path::{Path, PathBuf};

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
        let is_mounted = memory_disk::mount_at(&path, ROOMY_BYTES);
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
        // A size of zero is no limit.
        memory_disk::resize_at(&self.path, (used + bytes).max(disk.f_frsize))
    }

    pub(crate) fn make_room(&self) {
        let is_roomy = !self.is_mounted || memory_disk::resize_at(&self.path, ROOMY_BYTES);
        assert!(is_roomy, "the disk stays full");
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
            memory_disk::unmount_at(&self.path);
        }
    }
}

#[cfg(target_os = "linux")]
mod memory_disk {
    use std::ffi::CString;
    use std::path::Path;

    use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

    pub(super) fn mount_at(path: &Path, bytes: u64) -> bool {
        let size = size_option(bytes);
        mount("soak", path, "tmpfs", MountFlags::empty(), Some(size.as_c_str())).is_ok()
    }

    pub(super) fn resize_at(path: &Path, bytes: u64) -> bool {
        mount_remount(path, MountFlags::empty(), size_option(bytes)).is_ok()
    }

    pub(super) fn unmount_at(path: &Path) {
        // A process may still stand in it; then it goes with the process.
        let _ = unmount(path, UnmountFlags::DETACH);
    }

    fn size_option(bytes: u64) -> CString {
        CString::new(format!("size={bytes}")).expect("no NUL")
    }
}

#[cfg(not(target_os = "linux"))]
mod memory_disk {
    use std::path::Path;

    pub(super) fn mount_at(_path: &Path, _bytes: u64) -> bool {
        false
    }

    pub(super) fn resize_at(_path: &Path, _bytes: u64) -> bool {
        false
    }

    pub(super) fn unmount_at(_path: &Path) {}
}

/// Far more than a session writes.
const ROOMY_BYTES: u64 = 1 << 30;
