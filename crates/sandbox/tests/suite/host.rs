//! Everything of the host that is not a file: sockets, the network, other processes, secrets in
//! environments, and whoever tries to outlive the call.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags};

use crate::world::{Backend, CANARY, DEADLINE, World, everyone, everywhere, is_ready};

const CONNECT: &str = "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1;
    my $n = $ENV{NAME}; $n =~ s/^@/\\0/;
    my $a = $n =~ /^\\0/ ? pack(\"Sa*\", AF_UNIX, $n) : sockaddr_un($n);
    connect(S, $a) or exit 2; syswrite(S, \"x\")'";

/// Has anybody come?
fn was_called(listener: &UnixListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_ok()
}

/// Free first, then held; nobody may call the second time.
fn nobody_calls(world: &World, listener: &UnixListener, name: &str) {
    let script = format!("export NAME='{name}'; {CONNECT}");
    let free = world.free(&script);
    assert!(was_called(listener), "free, it did nothing: {name} {free:?}");
    let held = world.run(&script);
    assert!(!was_called(listener), "{}: {name}: {held:?}", world.name());
}

#[test]
fn sockets_of_the_host_are_out_of_reach() {
    everywhere(|world| sockets_are_out_of_reach(&world));
}

#[test]
fn they_are_so_even_when_the_network_is_open() {
    everywhere(|world| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let world = world.with(&["--network", "open"]);
        let ended = world.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo x >&3"));
        assert!(tcp.accept().is_ok(), "{}: {ended:?}", world.name());
        sockets_are_out_of_reach(&world);
    });
}

fn sockets_are_out_of_reach(world: &World) {
    // One inside the root, one outside it, one where services have theirs, one without a file.
    let name = world.project.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let mut places = vec![world.project.join("socket"), world.outside.join("socket")];
    if rustix::process::geteuid().is_root() {
        places.push(Path::new("/run").join(name));
    }
    for path in places {
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        nobody_calls(world, &listener, path.to_str().unwrap());
        fs::remove_file(&path).unwrap();
    }
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    nobody_calls(world, &listener, &format!("@{name}"));
}

#[test]
fn directories_where_everybody_leaves_things_are_empty() {
    everyone(Backend::Bubblewrap, |world| {
        // So that a socket which is made there later is out of reach too.
        let name = world.project.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let mut places = vec!["/tmp", "/var/tmp"];
        if rustix::process::geteuid().is_root() {
            places.push("/run");
        }
        for place in places {
            let path = Path::new(place).join(name);
            fs::write(&path, "of the host").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            let script = format!("cat {}", path.display());
            let (free, held) = (world.free(&script), world.run(&script));
            fs::remove_file(&path).unwrap();
            assert_eq!(free.stdout, "of the host");
            assert_eq!(held.stdout, "", "{}: {place}", world.name());
        }
    });
}

#[test]
fn nothing_reaches_the_network() {
    everywhere(|world| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let (to_tcp, to_udp) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let script = format!(
            "echo x > /dev/udp/127.0.0.1/{to_udp}; exec 3<>/dev/tcp/127.0.0.1/{to_tcp} && echo x >&3"
        );
        let mut chunk = [0; 16];
        let free = world.free(&script);
        assert!(tcp.accept().is_ok() && udp.recv(&mut chunk).is_ok(), "{free:?}");
        let held = world.run(&script);
        assert!(tcp.accept().is_err(), "{}: tcp: {held:?}", world.name());
        assert!(udp.recv(&mut chunk).is_err(), "{}: udp: {held:?}", world.name());
        assert_ne!(held.code, Some(0), "{}: {held:?}", world.name());
    });
}

/// A process of the same person's beside the engine, which answers when it is spoken to.
struct Victim(Child);

impl Victim {
    fn of(world: &World) -> Self {
        let mut command: Command = world.as_person(Path::new("/bin/cat"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // It answers, so it is who it should be by now.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        let answer = child.stdout.as_mut().unwrap();
        assert!(is_ready(answer, DEADLINE), "the victim never came up");
        answer.read_exact(&mut [0]).unwrap();
        Self(child)
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn other_processes_are_neither_read_nor_written_nor_ended() {
    everywhere(|world| {
        let mut victim = Victim::of(&world);
        let pid = victim.0.id();
        let script = format!(
            "perl -e 'open(F, \"+<\", \"/proc/{pid}/mem\") and print \"opened-memory\"'
             [ -r /proc/{pid}/environ ] && tr '\\0' '\\n' < /proc/{pid}/environ
             kill -9 {pid}; true"
        );
        // Not the last line free: it is the same victim's turn once more.
        let free = world.free(script.split("kill").next().unwrap());
        assert!(free.stdout.contains("opened-memory") && free.stdout.contains(CANARY), "{free:?}");
        let held = world.run(&script);
        assert!(victim.is_alive(), "{}: {held:?}", world.name());
        assert!(!held.stdout.contains("opened-memory"), "{}: {held:?}", world.name());
        assert!(!held.stdout.contains(CANARY), "{}: {held:?}", world.name());
    });
}

#[test]
fn no_environment_holds_what_was_not_handed_on() {
    everywhere(|world| {
        let script = "env; cat /proc/*/environ /proc/$PPID/environ /proc/1/environ \
                      /proc/*/task/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; true";
        let free = world.free(script);
        assert!(free.stdout.contains(CANARY), "free, it saw nothing");
        let held = world.run(script);
        assert!(!held.stdout.contains(CANARY), "{}", world.name());
        assert!(held.stdout.contains("OUT="), "{}: {held:?}", world.name());
    });
}

/// Holds a pipe of ours open as long as it lives.
const SURVIVOR: &str = "(setsid perl -e '
    fork and exit; open(F, \">\", \"alive\"); syswrite(F, \"x\"); $SIG{TERM} = $SIG{HUP} = \"IGNORE\";
    close STDOUT; close STDERR; open(R, \">\", \"ready\"); close R; sleep 1000' &)
    until [ -e ready ]; do :; done";

pub(crate) fn observer(world: &World) -> fs::File {
    let path = world.project.join("alive");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::from_raw_mode(0o666)).unwrap();
    world.give(&path);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(&path, flags, Mode::empty()).unwrap().into()
}

/// Waits for the word of the survivor, and then for its end.
pub(crate) fn is_gone(mut alive: fs::File) -> bool {
    let mut chunk = [0; 16];
    while is_ready(&alive, DEADLINE) {
        match alive.read(&mut chunk) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
    false
}

#[test]
fn nothing_survives_the_end_of_the_command() {
    everywhere(|world| {
        let alive = observer(&world);
        let ended = world.run(SURVIVOR);
        assert_eq!(ended.code, Some(0), "{}: {ended:?}", world.name());
        assert!(is_gone(alive), "{}: {ended:?}", world.name());
    });
}

#[test]
fn nothing_survives_the_end_of_the_engine() {
    everywhere(|world| {
        let mut alive = observer(&world);
        let mut child = world.start(&format!("{SURVIVOR}; sleep 1000"));
        assert!(is_ready(&alive, DEADLINE), "{}: it never started", world.name());
        assert_eq!(alive.read(&mut [0; 16]).unwrap(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(alive), "{}", world.name());
    });
}

#[test]
fn the_kernel_is_not_configured_by_root_inside() {
    everywhere(|world| {
        let setting = "/proc/sys/kernel/core_pattern";
        let before = fs::read_to_string(setting).unwrap();
        let ended = world.run(
            "echo '|/evil' > /proc/sys/kernel/core_pattern
             mount -o remount,rw / ; mount -t tmpfs none /mnt; mknod disk b 8 0; head -c 1 disk",
        );
        let after = fs::read_to_string(setting).unwrap();
        if after != before {
            fs::write(setting, &before).unwrap();
        }
        assert_eq!(after, before, "{}: {ended:?}", world.name());
        assert!(!world.project.join("disk").exists(), "{}: {ended:?}", world.name());
    });
}
