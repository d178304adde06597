//! Which system calls are refused, as a program for the kernel.
//!
//! A list of what is refused, not of what is allowed: the kernel's checks on files and namespaces
//! hold the command, and this takes away what would go round them or widen the surface: tracing,
//! asynchronous rings, new namespaces and mounts, kernel keys, socket families that a network
//! namespace does not contain. A call through another architecture's table kills the process.
//!
//! The program is put together by hand, one instruction for most calls: the kernel walks through it
//! once for every call there is when it is loaded, and a generated one took longer than a mount.

use seccompiler::{BpfProgram, sock_filter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketPolicy {
    /// Those that namespaces contain: local ones and those of the internet.
    Contained,
    /// Those of the internet: local ones would lead to the host's.
    Internet,
    /// None but pairs that stay connected.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedCalls {
    pub(crate) sockets: SocketPolicy,
    /// Modes, owners, times and attributes.
    pub(crate) metadata: bool,
    pub(crate) foreign_processes: ForeignProcesses,
}

/// What a command may do to processes that are not its own, where no namespace keeps them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForeignProcesses {
    /// A namespace or a scope keeps them apart.
    OutOfReach,
    /// Their limits, priorities and shared memory are refused; a scope keeps signals apart.
    RefuseControl,
    /// Signals are refused as well, to all but the command's own group.
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
    // Each jumps over those after it, and over the jump that passes by the refusal.
    for (at, call) in calls.iter().enumerate() {
        let over = u8::try_from(calls.len() - at).unwrap_or(u8::MAX);
        list.push(if_equal(to_u32(*call), over, 0));
    }
    list.extend([jump(1), refused.clone()]);
    // It hides its flags behind a pointer. Libraries fall back to the one that does not.
    list.extend([if_equal(to_u32(libc::SYS_clone3), 0, 1), absent.clone()]);
    if refusals.foreign_processes == ForeignProcesses::RefuseSignals {
        // So does this one, on kernels that are old enough for it to matter.
        list.extend([if_equal(to_u32(libc::SYS_openat2), 0, 1), absent]);
    }
    // Each of the following is passed by unless it is the call in question; then it answers.
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
    // Zero is the caller; any other number may be someone else.
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

/// Calls that a process may make on itself.
fn list_calls_for_itself(foreign_processes: ForeignProcesses) -> Vec<i64> {
    match foreign_processes {
        ForeignProcesses::OutOfReach => Vec::new(),
        ForeignProcesses::RefuseControl => CONTROL_BY_NUMBER.to_vec(),
        ForeignProcesses::RefuseSignals => {
            CONTROL_BY_NUMBER.iter().copied().chain([libc::SYS_kill]).collect()
        }
    }
}

/// One end of a pair of datagram sockets can be sent to any socket that has a name.
fn refuse_datagram_pairs() -> Vec<sock_filter> {
    vec![
        if_equal(to_u32(libc::SYS_socketpair), 0, 8),
        load(FIRST_ARGUMENT),
        if_equal(libc::AF_UNIX.unsigned_abs(), 0, 4),
        load(SECOND_ARGUMENT),
        // The rest are flags.
        and(0xf),
        if_equal(libc::SOCK_STREAM.unsigned_abs(), 2, 0),
        if_equal(libc::SOCK_SEQPACKET.unsigned_abs(), 1, 0),
        return_with(ERRNO | libc::EPERM.unsigned_abs()),
        return_with(ALLOW),
    ]
}

/// Of processes of others, or that make others wait.
fn refuse_priorities_and_leases() -> Vec<sock_filter> {
    let refused = return_with(ERRNO | libc::EPERM.unsigned_abs());
    vec![
        // The first argument says what the second is the number of; of a user it is all processes.
        if_equal(to_u32(libc::SYS_setpriority), 0, 6),
        load(FIRST_ARGUMENT),
        if_equal(PRIORITY_OF_USER, 2, 0),
        load(SECOND_ARGUMENT),
        if_equal(0, 1, 0),
        refused.clone(),
        return_with(ALLOW),
        // Who opens a file with a lease on it waits for the one who has it.
        if_equal(to_u32(libc::SYS_fcntl), 0, 4),
        load(SECOND_ARGUMENT),
        if_equal(libc::F_SETLEASE.unsigned_abs(), 0, 1),
        refused,
        return_with(ALLOW),
    ]
}

/// To open a file for reading and empty it is a write that Landlock sees only since its third version.
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

/// Injecting input into a terminal that another process reads; and, with metadata, changing the
/// attributes of a file, which needs no right to write to it.
fn refuse_ioctls(metadata: bool) -> Vec<sock_filter> {
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| to_u32(request as i64));
    let allowed: &[u32] = if metadata { READING_ATTRIBUTES } else { &[] };
    let kinds: &[u8] = if metadata { ATTRIBUTE_KINDS } else { &[] };
    let mut tests = Vec::new();
    // Each either answers at once or passes on to the next.
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

/// Answers as a kernel does that was built without Landlock.
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

/// A program in the form in which a file holds it.
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

fn load(from: u32) -> sock_filter {
    instruction(0x20, 0, 0, from)
}

fn if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(0x15, then, otherwise, value)
}

fn if_at_least(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(0x35, then, otherwise, value)
}

fn if_any_bit(bits: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(0x45, then, otherwise, bits)
}

fn and(bits: u32) -> sock_filter {
    instruction(0x54, 0, 0, bits)
}

fn jump(over: u32) -> sock_filter {
    instruction(0x05, 0, 0, over)
}

fn return_with(with: u32) -> sock_filter {
    instruction(0x06, 0, 0, with)
}

/// What the first argument of `setpriority` says for all processes of a user.
const PRIORITY_OF_USER: u32 = 2;

/// Calls and requests fit in 32 bits; one that did not would match nothing.
fn to_u32(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Calls from here on belong to the table for 32-bit pointers, on the one architecture that has it.
const OTHER_TABLE: u32 = 0x4000_0000;

// Where things are in what the kernel shows a program.
const NUMBER: u32 = 0;
const TABLE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;
const THIRD_ARGUMENT: u32 = 32;

// What a program answers.
const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;

/// Netlink answers which interfaces there are; what it may change needs a capability.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

const INTERNET: &[i32] = &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Flags of a new process that would give it namespaces of its own.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .unsigned_abs();

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
    // `open_tree_attr`.
    467,
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

/// Memory, queues and rights that other processes share.
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
    // Landlock holds it only since its third version; what may be written can be opened instead.
    libc::SYS_truncate,
    // `process_madvise` and `process_mrelease`.
    440,
    448,
];

/// Take the number of a process first.
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

/// The letters of requests that file systems know: attributes, versions, keys, freezing, and those of
/// btrfs, bcachefs, f2fs and FAT. They make and remove subvolumes, and set attributes, through a
/// directory that was opened to be read.
const ATTRIBUTE_KINDS: &[u8] = b"fvX\x94\xbc\xf5r";

/// Those among them that only look (flags, extended flags, version), and those that copy into a file that
/// was opened to be written.
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
    // `fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`, which the library does not name
    // everywhere.
    452,
    463,
    466,
    469,
];
