//! System calls that only Linux has, and what stands in for them elsewhere.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;

/// Opens a place without reading it.
#[cfg(target_os = "linux")]
pub(crate) const PATH_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const PATH_ONLY: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// Opens a path without following any symlink in it. `NOSYS` where the system cannot do that.
#[cfg(target_os = "linux")]
pub(super) fn open_without_symlinks(
    directory: impl AsFd,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolving = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, path, flags, Mode::empty(), resolving)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_without_symlinks(
    directory: impl AsFd,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::from_bits_retain(FOLLOW_NOTHING);
    match cfg!(target_vendor = "apple") {
        true => rustix::fs::openat(directory, path, flags, Mode::empty()),
        false => Err(Errno::NOSYS),
    }
}

/// The same, and the path must not lead above the directory.
#[cfg(target_os = "linux")]
pub(super) fn open_only_beneath(
    directory: &OwnedFd,
    below: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolving = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    rustix::fs::openat2(directory, below, flags, Mode::empty(), resolving)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_only_beneath(
    directory: &OwnedFd,
    below: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    use std::path::Component;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    match below.components().all(is_plain) {
        true => open_without_symlinks(directory, below, flags),
        false => Err(Errno::XDEV),
    }
}

/// `O_NOFOLLOW_ANY`, which the library does not have.
#[cfg(not(target_os = "linux"))]
const FOLLOW_NOTHING: u32 = 0x2000_0000;

/// A file without a name.
#[cfg(target_os = "linux")]
pub(super) fn create_memory_file(name: &str) -> std::io::Result<File> {
    Ok(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn create_memory_file(name: &str) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("{name}-{}-{number}", std::process::id()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[allow(clippy::unnecessary_cast, reason = "the number is shorter and signed on other systems")]
pub(super) fn device_of(stat: &Stat) -> u64 {
    stat.st_dev as u64
}

/// The permission bits.
#[allow(clippy::unnecessary_cast, reason = "the number is shorter on other systems")]
pub(super) fn to_mode(bits: u32) -> Mode {
    Mode::from_raw_mode((bits & 0o7777) as RawMode)
}
