//! Which system calls are refused, as programs for the kernel.
//!
//! A list of what is refused, not of what is allowed: the kernel's checks on files and namespaces
//! hold the command, and this takes away what would go round them or widen the surface: tracing,
//! asynchronous rings, new namespaces and mounts, kernel keys, socket families that a network
//! namespace does not contain. A call through another architecture's table kills the process.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// What sockets may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// Those that namespaces contain: local ones and those of the internet.
    Contained,
    /// None but pairs.
    None,
}

/// What is refused besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusals {
    pub(crate) sockets: Sockets,
    /// Modes, owners, times and attributes.
    pub(crate) metadata: bool,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The programs, to be loaded in this order.
pub(crate) fn programs(refusals: Refusals) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for call in NEVER {
        rules.insert(*call, Vec::new());
    }
    if refusals.metadata {
        for call in METADATA {
            rules.insert(*call, Vec::new());
        }
    }
    let sockets = match refusals.sockets {
        Sockets::None => Vec::new(),
        Sockets::Contained => vec![SeccompRule::new(
            FAMILIES.iter().map(|family| is_not(0, *family)).collect::<Result<_, _>>()?,
        )?],
    };
    rules.insert(libc::SYS_socket, sockets);
    // Flags of a new process that would give it namespaces of its own. `clone3` hides its flags
    // behind a pointer: it is said not to exist, and libraries fall back.
    let mut clones = Vec::new();
    for flag in NAMESPACES {
        clones.push(SeccompRule::new(vec![has_bits(0, *flag)?])?);
    }
    rules.insert(libc::SYS_clone, clones);
    // Typing into the terminal that somebody else reads.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX];
    let mut requests = Vec::new();
    for request in typing {
        requests.push(SeccompRule::new(vec![is(1, u64::from(request as u32))?])?);
    }
    rules.insert(libc::SYS_ioctl, requests);
    let absent = Rules::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![compile(rules, libc::EPERM)?, compile(absent, libc::ENOSYS)?])
}

/// A program in the form in which a file holds it.
pub(crate) fn bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend_from_slice(&instruction.code.to_ne_bytes());
        bytes.extend_from_slice(&[instruction.jt, instruction.jf]);
        bytes.extend_from_slice(&instruction.k.to_ne_bytes());
    }
    bytes
}

fn compile(mut rules: Rules, errno: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    if cfg!(target_arch = "x86_64") {
        // The same calls by their other number, on kernels that know the 32-bit pointer table.
        let twins: Rules =
            rules.iter().map(|(call, rules)| (call | X32_BIT, rules.clone())).collect();
        rules.extend(twins);
    }
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, ARCHITECTURE)?.try_into()
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn has_bits(argument: u8, bits: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    let bits = u64::from(bits.unsigned_abs());
    let has = SeccompCmpOp::MaskedEq(bits);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, has, bits)
}

const X32_BIT: i64 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// Netlink answers which interfaces there are; what it may change needs a capability.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

const NEVER: &[i64] = &[
    // Into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Round the other checks.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    // Other views of the machine.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
];

const METADATA: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // `setxattrat` and `removexattrat`, which have no name in the library yet.
    463,
    466,
];
