//! Builds the arguments of `bwrap` from a layout.
//!
//! Pure, except for checking the user id. The mounts are made in path order.

use std::ffi::OsString;
use std::path::Path;

use super::mount_layout::{MountAccess, MountLayout};
use crate::plan::{SandboxNetwork, SandboxPlan};

/// A container may forbid mounting a new `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcMount {
    Fresh,
    Host,
}

/// Namespaces, mounts and the directory; the caller appends descriptors, `--` and the command.
pub(crate) fn build_arguments(
    plan: &SandboxPlan,
    layout: &MountLayout,
    proc: ProcMount,
) -> Vec<OsString> {
    let mut list = namespace_arguments();
    if !matches!(plan.network, SandboxNetwork::Open) {
        list.push("--unshare-net".into());
    }
    for (path, access) in &layout.mounts {
        let path = path.as_os_str();
        match access {
            MountAccess::Read => {
                list.extend(["--ro-bind".as_ref(), path, path].map(OsString::from));
            }
            MountAccess::Write => list.extend(["--bind".as_ref(), path, path].map(OsString::from)),
            MountAccess::Nothing => {
                list.extend(["--ro-bind".as_ref(), "/dev/null".as_ref(), path].map(OsString::from));
            }
            MountAccess::Held => {
                // For every bind, bubblewrap reads the whole mount table; this avoids one. The
                // directory's owner could change its mode, and would then write to a file system
                // that is discarded.
                list.extend(["--perms", "0555", "--tmpfs"].map(OsString::from));
                list.push(path.into());
            }
            MountAccess::Empty => {
                list.extend(["--size".into(), plan.limits.scratch.to_string().into()]);
                list.extend(["--tmpfs".as_ref(), path].map(OsString::from));
            }
        }
        if path == Path::new("/") {
            list.extend(["--dev", "/dev"].map(OsString::from));
            if proc == ProcMount::Fresh {
                list.extend(["--proc", "/proc"].map(OsString::from));
                // Kernel settings belong to root, who needs no capability to write them.
                if rustix::process::geteuid().is_root() {
                    list.extend(["--remount-ro", "/proc"].map(OsString::from));
                }
            }
        }
    }
    // Writes to a discarded directory must fail, not be lost; so remount after all mounts are made.
    let is_scratch = |path: &Path| ["/tmp", "/var/tmp"].iter().any(|own| path == Path::new(own));
    for (path, access) in &layout.mounts {
        if *access == MountAccess::Empty && !is_scratch(path) {
            list.extend(["--remount-ro".as_ref(), path.as_os_str()].map(OsString::from));
        }
    }
    list.extend(["--chdir".as_ref(), layout.directory.as_os_str()].map(OsString::from));
    list
}

/// The probe tries all arguments except the paths.
pub(crate) fn namespace_arguments() -> Vec<OsString> {
    let mut list: Vec<OsString> = [
        "--die-with-parent",
        "--new-session",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--cap-drop",
        "ALL",
    ]
    .map(OsString::from)
    .into();
    if !rustix::process::geteuid().is_root() {
        list.push("--unshare-user".into());
    }
    list
}
