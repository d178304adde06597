//! The calls that create a name, decoded from their numbers and arguments.

use rustix::fs::CWD;
use std::os::fd::AsRawFd as _;

use super::notification::CallNotification;

/// A path as the caller passed it: an address in its memory, and the directory it starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassedPath {
    pub(super) directory: i32,
    pub(super) address: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CreatingCall {
    Open {
        path: PassedPath,
        flags: u32,
        mode: u32,
    },
    MakeDirectory {
        path: PassedPath,
        mode: u32,
    },
    MakeNode {
        path: PassedPath,
        mode: u32,
        device: u64,
    },
    MakeLink {
        old: PassedPath,
        new: PassedPath,
        flags: u32,
    },
    /// The first value is the address of the text.
    MakeSymlink {
        text: u64,
        path: PassedPath,
    },
    Rename {
        old: PassedPath,
        new: PassedPath,
        flags: u32,
    },
}

impl CreatingCall {
    /// `None` for a call that the filter does not pass on.
    pub(super) fn decode(call: &CallNotification) -> Option<Self> {
        let [first, second, third, fourth, fifth, _] = call.arguments;
        let here = |address| PassedPath { directory: CWD.as_raw_fd(), address };
        let at = |directory, address| PassedPath { directory: low_signed(directory), address };
        Some(match call.number {
            libc::SYS_openat => {
                let path = at(first, second);
                Self::Open { path, flags: low(third), mode: low(fourth) }
            }
            libc::SYS_mkdirat => Self::MakeDirectory { path: at(first, second), mode: low(third) },
            libc::SYS_mknodat => {
                Self::MakeNode { path: at(first, second), mode: low(third), device: fourth }
            }
            libc::SYS_linkat => {
                let old = at(first, second);
                let new = at(third, fourth);
                Self::MakeLink { old, new, flags: low(fifth) }
            }
            libc::SYS_symlinkat => Self::MakeSymlink { text: first, path: at(second, third) },
            libc::SYS_renameat2 => {
                let old = at(first, second);
                let new = at(third, fourth);
                Self::Rename { old, new, flags: low(fifth) }
            }
            libc::SYS_renameat => {
                Self::Rename { old: at(first, second), new: at(third, fourth), flags: 0 }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => {
                Self::Open { path: here(first), flags: low(second), mode: low(third) }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                Self::Open { path: here(first), flags: flags.unsigned_abs(), mode: low(second) }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => Self::MakeDirectory { path: here(first), mode: low(second) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mknod => {
                Self::MakeNode { path: here(first), mode: low(second), device: third }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => Self::MakeLink { old: here(first), new: here(second), flags: 0 },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_symlink => Self::MakeSymlink { text: first, path: here(second) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => Self::Rename { old: here(first), new: here(second), flags: 0 },
            _ => return None,
        })
    }
}

/// The kernel ignores the upper half of an argument that is an `int`.
fn low(argument: u64) -> u32 {
    u32::try_from(argument & u64::from(u32::MAX)).unwrap_or_default()
}

fn low_signed(argument: u64) -> i32 {
    low(argument).cast_signed()
}
