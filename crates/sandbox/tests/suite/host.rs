//! Everything of the host that is not a file: sockets, the network, other processes, secrets in
//! environments, and processes that try to outlive the call.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags};

use crate::sandbox_fixture::{
    Backend, CANARY, DEADLINE, SandboxFixture, everyone, everywhere, is_ready,
};

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
fn nobody_calls(fixture: &SandboxFixture, listener: &UnixListener, name: &str) {
    let script = format!("export NAME='{name}'; {CONNECT}");
    let free = fixture.free(&script);
    assert!(was_called(listener), "free, it did nothing: {name} {free:?}");
    let held = fixture.run(&script);
    assert!(!was_called(listener), "{}: {name}: {held:?}", fixture.name());
}

#[test]
fn sockets_of_the_host_are_out_of_reach() {
    everywhere(|fixture| sockets_are_out_of_reach(&fixture));
}

#[test]
fn they_are_so_even_when_the_network_is_open() {
    everywhere(|fixture| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let fixture = fixture.with(&["--network", "open"]);
        let ended = fixture.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo x >&3"));
        assert!(tcp.accept().is_ok(), "{}: {ended:?}", fixture.name());
        sockets_are_out_of_reach(&fixture);
    });
}

fn sockets_are_out_of_reach(fixture: &SandboxFixture) {
    // One inside the root, one outside it, one where services have theirs, one without a file.
    let name = fixture.project.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let mut places = vec![fixture.project.join("socket"), fixture.outside.join("socket")];
    if rustix::process::geteuid().is_root() {
        places.push(Path::new("/run").join(name));
    }
    for path in places {
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        nobody_calls(fixture, &listener, path.to_str().unwrap());
        fs::remove_file(&path).unwrap();
    }
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    nobody_calls(fixture, &listener, &format!("@{name}"));
}

/// More than are covered: then it does not start, and says why.
#[test]
fn sockets_that_cannot_all_be_covered_are_an_error() {
    const ALONE: &str = "WINDLASS_TEST_OWN_NETWORK";
    // The kernel lists sockets by network namespace. In its own, this test does not stop the others.
    if rustix::process::geteuid().is_root() && std::env::var_os(ALONE).is_none() {
        let name = "host::sockets_that_cannot_all_be_covered_are_an_error";
        let again = Command::new("unshare")
            .arg("--net")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && output.contains("1 passed"), "{again:?}");
        return;
    }
    everyone(Backend::Bubblewrap, |fixture| {
        let bind = |number| UnixDatagram::bind(fixture.outside.join(format!("s{number}"))).unwrap();
        let sockets: Vec<UnixDatagram> = (0..520).map(bind).collect();
        let ended = fixture.run("echo ran");
        assert_eq!(ended.stdout, "", "{}: {ended:?}", fixture.name());
        assert!(ended.stderr.contains("sockets"), "{}: {ended:?}", fixture.name());
        drop(sockets);
        assert_eq!(fixture.run("echo ran").stdout, "ran\n", "{}", fixture.name());
    });
}

/// The kernel tells the name that it was bound to, which says little about where it is.
#[test]
fn sockets_with_names_that_are_no_paths_are_out_of_reach() {
    const LISTEN: &str = "use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); unlink $ARGV[0];
        bind(S, sockaddr_un($ARGV[0])) or die; listen(S, 9); chmod 0777, $ARGV[0];
        $| = 1; print \"up\\n\"; while (accept(C, S)) { print \"called\\n\" }";
    everyone(Backend::Bubblewrap, |fixture| {
        let project = fixture.project.clone();
        fs::create_dir_all(project.join("deep")).unwrap();
        let link = fixture.outside.join("link");
        std::os::unix::fs::symlink(&project, &link).unwrap();
        let through_link = link.join("second.sock").display().to_string();
        let names =
            ["app.sock", "./deep/app.sock", "/proc/self/cwd/deep/other.sock", &through_link];
        let places = ["app.sock", "deep/app.sock", "deep/other.sock", "second.sock"];
        for (name, place) in names.iter().zip(places) {
            let mut listener = Command::new("perl")
                .args(["-e", LISTEN, name])
                .current_dir(&project)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = std::io::BufReader::new(listener.stdout.take().unwrap());
            let mut line = String::new();
            std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
            assert_eq!(line, "up\n", "{name}");
            let path = project.join(place);
            let script = format!("export NAME='{}'; {CONNECT}", path.display());
            let held = fixture.run(&script);
            let free = fixture.free(&script);
            assert_eq!(free.code, Some(0), "{name}: {free:?}");
            assert_ne!(held.code, Some(0), "{}: {name}: {held:?}", fixture.name());
            listener.kill().unwrap();
            listener.wait().unwrap();
        }
    });
}

#[test]
fn directories_where_everybody_leaves_things_are_empty() {
    everyone(Backend::Bubblewrap, |fixture| {
        // So that a socket which is made there later is out of reach too.
        let name = fixture.project.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let mut places = vec!["/tmp", "/var/tmp"];
        if rustix::process::geteuid().is_root() {
            places.push("/run");
        }
        for place in places {
            let path = Path::new(place).join(name);
            fs::write(&path, "of the host").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            let script = format!("cat {}", path.display());
            let (free, held) = (fixture.free(&script), fixture.run(&script));
            fs::remove_file(&path).unwrap();
            assert_eq!(free.stdout, "of the host");
            assert_eq!(held.stdout, "", "{}: {place}", fixture.name());
        }
    });
}

#[test]
fn nothing_reaches_the_network() {
    everywhere(|fixture| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let (to_tcp, to_udp) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let script = format!(
            "echo x > /dev/udp/127.0.0.1/{to_udp}; exec 3<>/dev/tcp/127.0.0.1/{to_tcp} && echo x >&3"
        );
        let mut chunk = [0; 16];
        let free = fixture.free(&script);
        assert!(tcp.accept().is_ok() && udp.recv(&mut chunk).is_ok(), "{free:?}");
        let held = fixture.run(&script);
        assert!(tcp.accept().is_err(), "{}: tcp: {held:?}", fixture.name());
        assert!(udp.recv(&mut chunk).is_err(), "{}: udp: {held:?}", fixture.name());
        assert_ne!(held.code, Some(0), "{}: {held:?}", fixture.name());
    });
}

/// A process of the same person's beside the engine, which answers when it is spoken to.
struct Victim(Child);

impl Victim {
    fn of(fixture: &SandboxFixture) -> Self {
        let mut command: Command = fixture.as_person(Path::new("/bin/cat"));
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
    everywhere(|fixture| {
        let mut victim = Victim::of(&fixture);
        let pid = victim.0.id();
        let script = format!(
            "perl -e 'open(F, \"+<\", \"/proc/{pid}/mem\") and print \"opened-memory\"'
             [ -r /proc/{pid}/environ ] && tr '\\0' '\\n' < /proc/{pid}/environ
             kill -9 {pid}; true"
        );
        // Not the last line free: it is the same victim's turn once more.
        let free = fixture.free(script.split("kill").next().unwrap());
        assert!(free.stdout.contains("opened-memory") && free.stdout.contains(CANARY), "{free:?}");
        let held = fixture.run(&script);
        assert!(victim.is_alive(), "{}: {held:?}", fixture.name());
        assert!(!held.stdout.contains("opened-memory"), "{}: {held:?}", fixture.name());
        assert!(!held.stdout.contains(CANARY), "{}: {held:?}", fixture.name());
    });
}

#[test]
fn no_environment_holds_what_was_not_handed_on() {
    everywhere(|fixture| {
        let script = "env; cat /proc/*/environ /proc/$PPID/environ /proc/1/environ \
                      /proc/*/task/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; true";
        let free = fixture.free(script);
        assert!(free.stdout.contains(CANARY), "free, it saw nothing");
        let held = fixture.run(script);
        assert!(!held.stdout.contains(CANARY), "{}", fixture.name());
        assert!(held.stdout.contains("OUT="), "{}: {held:?}", fixture.name());
    });
}

/// Holds a pipe of ours open as long as it lives.
const SURVIVOR: &str = "(setsid perl -e '
    fork and exit; open(F, \">\", \"alive\"); syswrite(F, \"x\"); $SIG{TERM} = $SIG{HUP} = \"IGNORE\";
    close STDOUT; close STDERR; open(R, \">\", \"ready\"); close R; sleep 1000' &)
    until [ -e ready ]; do :; done";

pub(crate) fn observer(fixture: &SandboxFixture) -> fs::File {
    let path = fixture.project.join("alive");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::from_raw_mode(0o666)).unwrap();
    fixture.give(&path);
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
    everywhere(|fixture| {
        let alive = observer(&fixture);
        let ended = fixture.run(SURVIVOR);
        assert_eq!(ended.code, Some(0), "{}: {ended:?}", fixture.name());
        assert!(is_gone(alive), "{}: {ended:?}", fixture.name());
    });
}

#[test]
fn nothing_survives_the_end_of_the_engine() {
    everywhere(|fixture| {
        let mut alive = observer(&fixture);
        let mut child = fixture.start(&format!("{SURVIVOR}; sleep 1000"));
        assert!(is_ready(&alive, DEADLINE), "{}: it never started", fixture.name());
        assert_eq!(alive.read(&mut [0; 16]).unwrap(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(alive), "{}", fixture.name());
    });
}

#[test]
fn the_kernel_is_not_configured_by_root_inside() {
    everywhere(|fixture| {
        let setting = "/proc/sys/kernel/core_pattern";
        let before = fs::read_to_string(setting).unwrap();
        let ended = fixture.run(
            "echo '|/evil' > /proc/sys/kernel/core_pattern
             mount -o remount,rw / ; mount -t tmpfs none /mnt; mknod disk b 8 0; head -c 1 disk",
        );
        let after = fs::read_to_string(setting).unwrap();
        if after != before {
            fs::write(setting, &before).unwrap();
        }
        assert_eq!(after, before, "{}: {ended:?}", fixture.name());
        assert!(!fixture.project.join("disk").exists(), "{}: {ended:?}", fixture.name());
    });
}
