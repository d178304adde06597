//! Builds the seccomp filter of refused system calls.
//!
//! The filter lists what is refused, not what is allowed: the kernel's checks on files and
//! namespaces confine the command, and this refuses calls that would bypass them or widen the
//! attack surface: tracing, io_uring, new namespaces and mounts, kernel keys, socket families
//! outside of a network namespace. A call for another architecture kills the process.
//!
//! The filter is assembled by hand, with one instruction for most calls: the kernel analyses it for
//! every system call when it is loaded, and a generated one took longer than a mount.

use seccompiler::{BpfProgram, sock_filter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketPolicy {
    /// Families that namespaces contain: local and internet.
    Contained,
    /// Internet: local ones would reach the host's sockets.
    Internet,
    /// None, except connected pairs.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedCalls {
    pub(crate) sockets: SocketPolicy,
    /// Modes, owners, times and attributes.
    pub(crate) metadata: bool,
    pub(crate) foreign_processes: ForeignProcesses,
}

/// What a command may do to other processes, if no namespace separates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForeignProcesses {
    /// A namespace or a Landlock scope separates them.
    OutOfReach,
    /// Refuses changing their limits, priorities and shared memory; a scope blocks signals.
    RefuseControl,
    /// Refuses signals too, except to the command's own group.
    RefuseSignals,
}

pub(crate) fn build_program(refusals: RefusedCalls) -> BpfProgram {
    let refused = return_with(ERRNO | libc::EPERM.unsigned_abs());
    let absent = return_with(ERRNO | libc::ENOSYS.unsigned_abs());
    let mut list = vec![load(TABLE), if_equal(ARCHITECTURE, 1, 0), return_with(KILL), load(NUMBER)];
    if cfg!(target_arch = "x86_64") {
        list.extend([if_at_least(OTHER_TABLE, 0, 1), absent.clone()]);
    }
    let calls = list_refused_calls(refusals);
    // Jumps over the following comparisons, and over the jump that skips the refusal.
    for (at, call) in calls.iter().enumerate() {
        let over = u8::try_from(calls.len() - at).unwrap_or(u8::MAX);
        list.push(if_equal(to_u32(*call), over, 0));
    }
    list.extend([jump(1), refused.clone()]);
    // Its flags are behind a pointer, so they cannot be checked. Libraries fall back to `clone`.
    list.extend([if_equal(to_u32(libc::SYS_clone3), 0, 1), absent.clone()]);
    if refusals.foreign_processes == ForeignProcesses::RefuseSignals {
        // The same, on kernels that are old enough for it to matter.
        list.extend([if_equal(to_u32(libc::SYS_openat2), 0, 1), absent]);
    }
    // Each of the following returns a result for its call, and is skipped for others.
    let families = match refusals.sockets {
        SocketPolicy::Contained => FAMILIES,
        SocketPolicy::Internet => INTERNET,
        SocketPolicy::None => &[],
    };
    if !families.is_empty() {
        let count = u8::try_from(families.len()).unwrap_or(u8::MAX);
        list.extend([if_equal(to_u32(libc::SYS_socket), 0, count + 3), load(FIRST_ARGUMENT)]);
        for (at, family) in families.iter().enumerate() {
            let over = u8::try_from(families.len() - at).unwrap_or(u8::MAX);
            list.push(if_equal(family.unsigned_abs(), over, 0));
        }
        list.extend([refused.clone(), return_with(ALLOW)]);
    }
    if refusals.sockets != SocketPolicy::Contained {
        list.extend(refuse_datagram_pairs());
    }
    list.extend([
        if_equal(to_u32(libc::SYS_clone), 0, 4),
        load(FIRST_ARGUMENT),
        if_any_bit(NAMESPACES, 0, 1),
        refused.clone(),
        return_with(ALLOW),
    ]);
    // Zero is the caller; any other id may be another process.
    for call in list_calls_for_itself(refusals.foreign_processes) {
        list.extend([
            if_equal(to_u32(call), 0, 4),
            load(FIRST_ARGUMENT),
            if_equal(0, 1, 0),
            refused.clone(),
            return_with(ALLOW),
        ]);
    }
    if refusals.foreign_processes != ForeignProcesses::OutOfReach {
        list.extend(refuse_priorities_and_leases());
        list.extend(refuse_emptying_readers());
    }
    list.extend(refuse_ioctls(refusals.metadata));
    list.push(return_with(ALLOW));
    list
}

fn list_refused_calls(refusals: RefusedCalls) -> Vec<i64> {
    let mut calls: Vec<i64> = NEVER.to_vec();
    if refusals.metadata {
        calls.extend(METADATA);
    }
    if refusals.sockets == SocketPolicy::None {
        calls.push(libc::SYS_socket);
    }
    match refusals.foreign_processes {
        ForeignProcesses::OutOfReach => {}
        ForeignProcesses::RefuseControl => calls.extend(SHARED_WITH_OTHERS),
        ForeignProcesses::RefuseSignals => {
            calls.extend(SHARED_WITH_OTHERS.iter().chain(SIGNALS));
        }
    }
    calls
}

/// Calls that a process may use only on itself.
fn list_calls_for_itself(foreign_processes: ForeignProcesses) -> Vec<i64> {
    match foreign_processes {
        ForeignProcesses::OutOfReach => Vec::new(),
        ForeignProcesses::RefuseControl => CONTROL_BY_NUMBER.to_vec(),
        ForeignProcesses::RefuseSignals => {
            CONTROL_BY_NUMBER.iter().copied().chain([libc::SYS_kill]).collect()
        }
    }
}

/// A datagram socket of a pair can send to any named socket.
fn refuse_datagram_pairs() -> Vec<sock_filter> {
    vec![
        if_equal(to_u32(libc::SYS_socketpair), 0, 8),
        load(FIRST_ARGUMENT),
        if_equal(libc::AF_UNIX.unsigned_abs(), 0, 4),
        load(SECOND_ARGUMENT),
        // The other bits are flags.
        and(0xf),
        if_equal(libc::SOCK_STREAM.unsigned_abs(), 2, 0),
        if_equal(libc::SOCK_SEQPACKET.unsigned_abs(), 1, 0),
        return_with(ERRNO | libc::EPERM.unsigned_abs()),
        return_with(ALLOW),
    ]
}

/// Priorities of other processes, and leases, which make others wait.
fn refuse_priorities_and_leases() -> Vec<sock_filter> {
    let refused = return_with(ERRNO | libc::EPERM.unsigned_abs());
    vec![
        // The first argument is the kind of the second; for a user it means all of its processes.
        if_equal(to_u32(libc::SYS_setpriority), 0, 6),
        load(FIRST_ARGUMENT),
        if_equal(PRIORITY_OF_USER, 2, 0),
        load(SECOND_ARGUMENT),
        if_equal(0, 1, 0),
        refused.clone(),
        return_with(ALLOW),
        // A process that opens a file with a lease waits for the holder.
        if_equal(to_u32(libc::SYS_fcntl), 0, 4),
        load(SECOND_ARGUMENT),
        if_equal(libc::F_SETLEASE.unsigned_abs(), 0, 1),
        refused,
        return_with(ALLOW),
    ]
}

/// Opening for reading with truncation is a write that Landlock checks only since version 3.
fn refuse_emptying_readers() -> Vec<sock_filter> {
    let calls = [
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, SECOND_ARGUMENT),
        (libc::SYS_openat, THIRD_ARGUMENT),
    ];
    let emptying = libc::O_TRUNC.unsigned_abs();
    let mut list = Vec::new();
    for (call, flags) in calls {
        list.extend([
            if_equal(to_u32(call), 0, 5),
            load(flags),
            and(emptying | libc::O_ACCMODE.unsigned_abs()),
            if_equal(emptying | libc::O_RDONLY.unsigned_abs(), 0, 1),
            return_with(ERRNO | libc::EPERM.unsigned_abs()),
            return_with(ALLOW),
        ]);
    }
    list
}

/// Injecting input into a terminal that another process reads; and, with metadata, changing
/// attributes of a file, which needs no write permission.
fn refuse_ioctls(metadata: bool) -> Vec<sock_filter> {
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| to_u32(request as i64));
    let allowed: &[u32] = if metadata { READING_ATTRIBUTES } else { &[] };
    let kinds: &[u8] = if metadata { ATTRIBUTE_KINDS } else { &[] };
    let mut tests = Vec::new();
    // Each either returns a result or continues with the next.
    for request in terminal {
        tests.extend([if_equal(request, 0, 1), return_with(ERRNO | libc::EPERM.unsigned_abs())]);
    }
    for request in allowed {
        tests.extend([if_equal(*request, 0, 1), return_with(ALLOW)]);
    }
    tests.push(and(0xff00));
    for kind in kinds {
        let refused = return_with(ERRNO | libc::EPERM.unsigned_abs());
        tests.extend([if_equal(u32::from(*kind) << 8, 0, 1), refused]);
    }
    tests.push(return_with(ALLOW));
    let over = u8::try_from(tests.len() + 1).unwrap_or(u8::MAX);
    let mut list = vec![if_equal(to_u32(libc::SYS_ioctl), 0, over), load(SECOND_ARGUMENT)];
    list.extend(tests);
    list
}

/// Answers like a kernel without Landlock.
pub(crate) fn build_landlock_refusal() -> BpfProgram {
    let absent = return_with(ERRNO | libc::ENOSYS.unsigned_abs());
    let mut list = vec![load(NUMBER)];
    for call in [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ] {
        list.extend([if_equal(to_u32(call), 0, 1), absent.clone()]);
    }
    list.push(return_with(ALLOW));
    list
}

/// The filter as bytes.
pub(crate) fn to_bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend_from_slice(&instruction.code.to_ne_bytes());
        bytes.extend_from_slice(&[instruction.jt, instruction.jf]);
        bytes.extend_from_slice(&instruction.k.to_ne_bytes());
    }
    bytes
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

pub(super) fn load(from: u32) -> sock_filter {
    instruction(0x20, 0, 0, from)
}

pub(super) fn if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(0x15, then, otherwise, value)
}

fn if_at_least(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(0x35, then, otherwise, value)
}

pub(super) fn if_any_bit(bits: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(0x45, then, otherwise, bits)
}

pub(super) fn and(bits: u32) -> sock_filter {
    instruction(0x54, 0, 0, bits)
}

fn jump(over: u32) -> sock_filter {
    instruction(0x05, 0, 0, over)
}

pub(super) fn return_with(with: u32) -> sock_filter {
    instruction(0x06, 0, 0, with)
}

/// The first argument of `setpriority` for all processes of a user.
const PRIORITY_OF_USER: u32 = 2;

/// Calls and requests fit in 32 bits; a larger one would never match.
pub(super) fn to_u32(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Calls from here on belong to the x32 table of one architecture.
const OTHER_TABLE: u32 = 0x4000_0000;

// Offsets in the data the kernel passes to the filter.
pub(super) const NUMBER: u32 = 0;
const TABLE: u32 = 4;
pub(super) const FIRST_ARGUMENT: u32 = 16;
pub(super) const SECOND_ARGUMENT: u32 = 24;
pub(super) const THIRD_ARGUMENT: u32 = 32;

// Results of the filter.
pub(super) const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
pub(super) const ERRNO: u32 = 0x0005_0000;

/// Netlink lists interfaces; changing them needs a capability.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

const INTERNET: &[i32] = &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Flags of `clone` for new namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .unsigned_abs();

const NEVER: &[i64] = &[
    // Access to other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Would bypass other checks.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    // Other namespaces and mounts.
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
    // `open_tree_attr`.
    467,
    // Kernel configuration.
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

/// Memory, queues and permissions shared with other processes.
const SHARED_WITH_OTHERS: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_ioprio_set,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Landlock checks it only since version 3; a writable file can be opened instead.
    libc::SYS_truncate,
    // `process_madvise` and `process_mrelease`.
    440,
    448,
];

/// Calls whose first argument is a process id.
const CONTROL_BY_NUMBER: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
];

const SIGNALS: &[i64] = &[
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

/// Type letters of ioctl requests of file systems: attributes, versions, keys, freezing, and those
/// of btrfs, bcachefs, f2fs and FAT. They can create and remove subvolumes, and set attributes,
/// through a directory opened for reading.
const ATTRIBUTE_KINDS: &[u8] = b"fvX\x94\xbc\xf5r";

/// Those that only read (flags, extended flags, version), and those that copy to a file opened for
/// writing.
const READING_ATTRIBUTES: &[u32] =
    &[0x8008_6601, 0x801c_581f, 0x8008_7601, 0x4004_9409, 0x4020_940d];

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
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // `fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`, whose constants the library
    // does not have on all targets.
    452,
    463,
    466,
    469,
];
