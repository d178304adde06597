//! The filter that passes creating calls to the supervisor, and the rights that the kernel takes
//! away, so that only the supervisor can create names.

use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
};
use seccompiler::BpfProgram;

use crate::linux::seccomp::{
    ALLOW, ERRNO, NUMBER, SECOND_ARGUMENT, THIRD_ARGUMENT, and, if_any_bit, if_equal, load,
    return_with, to_u32,
};

const NOTIFY: u32 = 0x7fc0_0000;

/// The type letters of btrfs and bcachefs, whose requests create subvolumes, without the requests
/// that copy contents.
const SUBVOLUME_KINDS: &[u8] = b"\x94\xbc";
const COPYING: &[u32] = &[0x4004_9409, 0x4020_940d];

const CREATING: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
];

pub(super) fn build_filter() -> BpfProgram {
    let mut list = vec![load(NUMBER)];
    for call in CREATING {
        list.extend([if_equal(to_u32(*call), 0, 1), return_with(NOTIFY)]);
    }
    let opening = [
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, SECOND_ARGUMENT),
        (libc::SYS_openat, THIRD_ARGUMENT),
    ];
    for (call, flags) in opening {
        list.extend([
            if_equal(to_u32(call), 0, 4),
            load(flags),
            if_any_bit(libc::O_CREAT.unsigned_abs(), 0, 1),
            return_with(NOTIFY),
            return_with(ALLOW),
        ]);
    }
    // Its flags are behind a pointer. Programs fall back to `openat`.
    let absent = return_with(ERRNO | libc::ENOSYS.unsigned_abs());
    list.extend([if_equal(to_u32(libc::SYS_openat2), 0, 1), absent]);
    let mut requests = vec![load(SECOND_ARGUMENT)];
    for request in COPYING {
        requests.extend([if_equal(*request, 0, 1), return_with(ALLOW)]);
    }
    requests.push(and(0xff00));
    for kind in SUBVOLUME_KINDS {
        let refused = return_with(ERRNO | libc::EPERM.unsigned_abs());
        requests.extend([if_equal(u32::from(*kind) << 8, 0, 1), refused]);
    }
    let over = u8::try_from(requests.len()).unwrap_or(u8::MAX);
    list.push(if_equal(to_u32(libc::SYS_ioctl), 0, over));
    list.extend(requests);
    list.push(return_with(ALLOW));
    list
}

/// No right to create names, except sockets, and except below these directories. A socket at a
/// protected name is nothing that a program reads.
pub(super) fn build_rules(granted: &[PathBuf]) -> Result<RulesetCreated, landlock::RulesetError> {
    let creating = AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::MakeFifo
        | AccessFs::MakeChar
        | AccessFs::MakeBlock
        | AccessFs::Refer;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(creating & AccessFs::from_all(ABI::V7))?
        .create()?;
    for path in granted {
        // What does not exist needs no rule.
        if let Ok(opened) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(opened, creating))?;
        }
    }
    Ok(rules)
}
