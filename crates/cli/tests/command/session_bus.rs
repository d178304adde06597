//! A real session bus and key ring for one test, without a desktop around them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::fixture::{PATIENCE, TestDirs};

/// A session bus, perhaps with an unlocked key ring on it. Gone when it is dropped.
pub(crate) struct SessionBus {
    bus: Child,
    address: String,
    runtime: tempfile::TempDir,
}

impl SessionBus {
    /// With an unlocked key ring, which stores its file in the test's home.
    pub(crate) fn with_open_keyring(dirs: &TestDirs) -> Option<Self> {
        let session_bus = Self::with_locked_keyring(dirs)?;
        let mut daemon = command("gnome-keyring-daemon", dirs, session_bus.runtime.path());
        daemon
            .args(["--unlock", "--components=secrets"])
            .env("DBUS_SESSION_BUS_ADDRESS", &session_bus.address)
            .process_group(i32::try_from(session_bus.bus.id()).expect("an id"))
            .stdin(Stdio::piped());
        let mut daemon = start(&mut daemon);
        let mut stdin = daemon.stdin.take().expect("an input");
        stdin.write_all(b"a password").expect("the password is taken");
        drop(stdin);
        // It goes into the background once it is open.
        assert!(daemon.wait().expect("an end").success());
        Some(session_bus)
    }

    /// Without a login. The bus starts a locked key ring on the first request.
    pub(crate) fn with_locked_keyring(dirs: &TestDirs) -> Option<Self> {
        if !has_keyring_programs() {
            return None;
        }
        let runtime = tempfile::tempdir().expect("a folder");
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(runtime.path(), mode).expect("a mode");
        let mut bus = command("dbus-daemon", dirs, runtime.path());
        bus.args(["--session", "--nofork", "--nopidfile", "--nosyslog", "--print-address=1"]);
        bus.arg(format!("--address=unix:dir={}", runtime.path().display())).process_group(0);
        let mut bus = start(&mut bus);
        let address = first_line(&mut bus).trim().to_owned();
        Some(Self { bus, address, runtime })
    }

    /// The command with this bus in its environment.
    pub(crate) fn windlass(&self, dirs: &TestDirs, arguments: &[&str]) -> Command {
        let mut command = dirs.windlass(arguments);
        command
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .env("XDG_RUNTIME_DIR", self.runtime.path());
        command
    }
}

impl Drop for SessionBus {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.bus), Signal::KILL);
        let _ = self.bus.wait();
    }
}

fn command(program: &str, dirs: &TestDirs, runtime: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a path"))
        .env("HOME", dirs.work().with_file_name("home"))
        .env("XDG_RUNTIME_DIR", runtime)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn start(command: &mut Command) -> Child {
    command.spawn().expect("it starts")
}

/// Without the programs the tests pass untried, unless `WINDLASS_ALL_TESTS` is set.
fn has_keyring_programs() -> bool {
    let path = std::env::var_os("PATH").expect("a path");
    let is_installed =
        |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).exists());
    let programs = ["dbus-daemon", "gnome-keyring-daemon", "secret-tool"];
    let missing: Vec<&str> = programs.into_iter().filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        return true;
    }
    let words = format!(
        "not tried with a real key ring: {missing:?} missing; apt-get install -y \
         --no-install-recommends dbus-daemon gnome-keyring libsecret-tools"
    );
    assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{words}");
    eprintln!("{words}");
    false
}

fn first_line(child: &mut Child) -> String {
    let stdout = child.stdout.take().expect("an output");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        let _ = reader.read_line(&mut line);
        let _ = sender.send(line);
        // Reads on, so that the child never writes into a closed pipe.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    receiver.recv_timeout(PATIENCE).expect("a first line")
}
