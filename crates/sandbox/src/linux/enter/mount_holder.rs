//! Makes files read-only in a running sandbox.
//!
//! If a program outside replaces a protected file, its mount in the sandbox is lost. This is then
//! called from outside: it enters the sandbox's mount namespace and mounts the new file.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{MountFlags, mount_bind, mount_remount};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Arguments: the id of a process in the sandbox, then the files.
pub(super) fn hold_files(arguments: &[OsString]) -> Result<i32, String> {
    let [process, files @ ..] = arguments else { return Err("no process".to_owned()) };
    let process = Path::new("/proc").join(process).join("ns");
    let open = |name: &str| {
        File::open(process.join(name)).map_err(|error| format!("its namespaces: {error}"))
    };
    let mounts = open("mnt")?;
    let owner = find_owner(&mounts)?;
    let inode = |file: &File| file.metadata().map(|found| found.ino());
    let own = File::open("/proc/self/ns/user").map_err(|error| error.to_string())?;
    // Root's sandboxes have no user namespace.
    if inode(&owner).ok() != inode(&own).ok() {
        enter(&owner, LinkNameSpaceType::User)?;
    }
    enter(&mounts, LinkNameSpaceType::Mount)?;
    for file in files {
        hold_file(Path::new(file)).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(0)
}

fn enter(namespace: &File, kind: LinkNameSpaceType) -> Result<(), String> {
    move_into_link_name_space(namespace.as_fd(), Some(kind))
        .map_err(|error| format!("the namespace cannot be entered: {error}"))
}

/// The user namespace that owns this namespace.
#[allow(unsafe_code, reason = "no library has this request")]
fn find_owner(namespace: &File) -> Result<File, String> {
    // SAFETY: the request has no argument, and what it returns is a new descriptor or negative.
    let opened = unsafe { libc::ioctl(namespace.as_raw_fd(), libc::NS_GET_USERNS) };
    if opened < 0 {
        let error = std::io::Error::last_os_error();
        return Err(format!("whose namespace it is: {error}"));
    }
    // SAFETY: it was opened just now, and nothing else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) }.into())
}

fn hold_file(path: &Path) -> rustix::io::Result<()> {
    let has = rustix::fs::statvfs(path)?.f_flag;
    // Flags of the underlying mount must be kept.
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (set, flag) in KEPT_FLAGS {
        if has.contains(*set) {
            flags |= *flag;
        }
    }
    mount_bind(path, path)?;
    mount_remount(path, flags, c"")
}

const KEPT_FLAGS: &[(StatVfsMountFlags, MountFlags)] = &[
    (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
    (StatVfsMountFlags::NODEV, MountFlags::NODEV),
    (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
    (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
    (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
];
