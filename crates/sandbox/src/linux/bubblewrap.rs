//! The arguments of `bwrap` for a layout.
//!
//! Pure but for one look at who we are. The order of the mounts is the order of the places.

use std::ffi::OsString;
use std::path::Path;

use super::mount_layout::{MountAccess, MountLayout};
use crate::plan::{SandboxNetwork, SandboxPlan};

/// Fresh or not: a sandbox inside a container may not mount `/proc` again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcMount {
    Fresh,
    Host,
}

/// Namespaces, mounts, and where to start; the caller adds descriptors, `--` and the command.
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
                // Every bind makes bubblewrap read the whole table of mounts. This one does not. Its
                // owner could change the mode, and would then write to what ends with the command.
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
                // Its settings of the kernel belong to root, who needs no capability to write them.
                if rustix::process::geteuid().is_root() {
                    list.extend(["--remount-ro", "/proc"].map(OsString::from));
                }
            }
        }
    }
    // What is written where nothing is kept must fail, not vanish; only once everything is mounted.
    let is_scratch = |path: &Path| ["/tmp", "/var/tmp"].iter().any(|own| path == Path::new(own));
    for (path, access) in &layout.mounts {
        if *access == MountAccess::Empty && !is_scratch(path) {
            list.extend(["--remount-ro".as_ref(), path.as_os_str()].map(OsString::from));
        }
    }
    list.extend(["--chdir".as_ref(), layout.directory.as_os_str()].map(OsString::from));
    list
}

/// What the probe tries as well: everything but the places.
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
