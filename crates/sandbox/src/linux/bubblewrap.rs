//! The arguments of `bwrap` for a layout.
//!
//! Pure but for one look at who we are. The order of the mounts is the order of the places.

use std::ffi::OsString;
use std::path::Path;

use super::layout::{Access, Layout};
use crate::plan::{Network, Plan};

/// Fresh or not: a sandbox inside a container may not mount `/proc` again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proc {
    Fresh,
    OfTheHost,
}

/// Namespaces, mounts, and where to start; the caller adds descriptors, `--` and the command.
pub(crate) fn arguments(plan: &Plan, layout: &Layout, proc: Proc) -> Vec<OsString> {
    let mut list = namespaces();
    if !matches!(plan.network, Network::Open) {
        list.push("--unshare-net".into());
    }
    for (path, access) in &layout.places {
        let path = path.as_os_str();
        match access {
            Access::Read => list.extend(["--ro-bind".as_ref(), path, path].map(OsString::from)),
            Access::Write => list.extend(["--bind".as_ref(), path, path].map(OsString::from)),
            Access::Nothing => {
                list.extend(["--ro-bind".as_ref(), "/dev/null".as_ref(), path].map(OsString::from));
            }
            Access::Empty => {
                list.extend(["--size".into(), plan.limits.scratch.to_string().into()]);
                list.extend(["--tmpfs".as_ref(), path].map(OsString::from));
            }
        }
        if path == Path::new("/") {
            list.extend(["--dev", "/dev"].map(OsString::from));
            if proc == Proc::Fresh {
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
    for (path, access) in &layout.places {
        if *access == Access::Empty && !is_scratch(path) {
            list.extend(["--remount-ro".as_ref(), path.as_os_str()].map(OsString::from));
        }
    }
    list.extend(["--chdir".as_ref(), layout.directory.as_os_str()].map(OsString::from));
    list
}

/// What the probe tries as well: everything but the places.
pub(crate) fn namespaces() -> Vec<OsString> {
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
