//! System calls that are refused.

use crate::sandbox_fixture::{Backend, everywhere};

/// The number, and arguments that the kernel answers otherwise when nobody stands in between.
fn calls() -> Vec<(&'static str, i64, &'static str)> {
    vec![
        ("ptrace", libc::SYS_ptrace, "0, 0, 0, 0"),
        ("io_uring_setup", libc::SYS_io_uring_setup, "1, 0"),
        ("process_vm_readv", libc::SYS_process_vm_readv, "$$, 0, 0, 0, 0, 0"),
        ("unshare user", libc::SYS_unshare, "0x10000000"),
        ("clone user", libc::SYS_clone, "0x10000000 | 0xffffff00, 0, 0, 0, 0"),
        ("keyctl", libc::SYS_keyctl, "0, -3, 0"),
        ("vsock", libc::SYS_socket, "40, 1, 0"),
        ("alg", libc::SYS_socket, "38, 5, 0"),
    ]
}

#[test]
fn tracing_rings_and_new_namespaces_are_refused() {
    everywhere(|fixture| {
        for (name, number, arguments) in calls() {
            let script = format!("perl -e 'syscall({number}, {arguments}); print $! + 0'");
            let held = fixture.run(&script);
            assert_eq!(held.stdout, "1", "{}: {name}: {held:?}", fixture.name());
            if !name.contains("clone") {
                let free = fixture.free(&script);
                assert_ne!(free.stdout, "1", "refused without us: {name}");
            }
        }
        // These are said not to exist: one that hides its flags, and any of the other table.
        let mut absent = vec![libc::SYS_clone3];
        if cfg!(target_arch = "x86_64") {
            absent.push(libc::SYS_ptrace | 0x4000_0000);
        }
        for call in absent {
            let held = fixture.run(&format!("perl -e 'syscall({call}, 0, 0, 0, 0); print $! + 0'"));
            assert_eq!(held.stdout, libc::ENOSYS.to_string(), "{}: {held:?}", fixture.name());
        }
    });
}

#[test]
fn sockets_are_contained_or_refused() {
    everywhere(|fixture| {
        let script = "perl -MSocket -e 'for my $f (AF_UNIX, AF_INET, AF_INET6) {
            print socket(S, $f, SOCK_STREAM, 0) ? 1 : 0 }
            for my $k (SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM, SOCK_RAW) {
            print socketpair(A, B, AF_UNIX, $k, 0) ? 1 : 0 }'";
        // One end of the last two reaches any socket that has a name.
        let expected = if fixture.backend == Backend::Bubblewrap { "1111111" } else { "0001100" };
        let held = fixture.run(script);
        assert_eq!(held.stdout, expected, "{}: {held:?}", fixture.name());
    });
}
