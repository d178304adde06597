//! A desktop without a screen: a session bus and a key ring of one test's own, both the real ones.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::stage::{PATIENCE, World};

/// A session bus, perhaps with an unlocked key ring on it. Gone when it is dropped.
pub(crate) struct Desk {
    bus: Child,
    address: String,
    runtime: tempfile::TempDir,
}

impl Desk {
    /// A desktop whose key ring is open; what it keeps lies in the world's home.
    pub(crate) fn open(world: &World) -> Option<Self> {
        let desk = Self::locked(world)?;
        let mut daemon = command("gnome-keyring-daemon", world, desk.runtime.path());
        daemon
            .args(["--unlock", "--components=secrets"])
            .env("DBUS_SESSION_BUS_ADDRESS", &desk.address)
            .process_group(i32::try_from(desk.bus.id()).expect("an id"))
            .stdin(Stdio::piped());
        let mut daemon = start(&mut daemon);
        let mut stdin = daemon.stdin.take().expect("an input");
        stdin.write_all(b"a password").expect("the password is taken");
        drop(stdin);
        // It goes into the background once it is open.
        assert!(daemon.wait().expect("an end").success());
        Some(desk)
    }

    /// A desktop nobody has logged in to. The bus starts a locked key ring when one is asked for.
    pub(crate) fn locked(world: &World) -> Option<Self> {
        if !is_furnished() {
            return None;
        }
        let runtime = tempfile::tempdir().expect("a folder");
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(runtime.path(), mode).expect("a mode");
        let mut bus = command("dbus-daemon", world, runtime.path());
        bus.args(["--session", "--nofork", "--nopidfile", "--nosyslog", "--print-address=1"]);
        bus.arg(format!("--address=unix:dir={}", runtime.path().display())).process_group(0);
        let mut bus = start(&mut bus);
        let address = first_line(&mut bus).trim().to_owned();
        Some(Self { bus, address, runtime })
    }

    /// The command at this desk.
    pub(crate) fn windlass(&self, world: &World, arguments: &[&str]) -> Command {
        let mut command = world.windlass(arguments);
        command
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .env("XDG_RUNTIME_DIR", self.runtime.path());
        command
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.bus), Signal::KILL);
        let _ = self.bus.wait();
    }
}

fn command(program: &str, world: &World, runtime: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a path"))
        .env("HOME", world.work().with_file_name("home"))
        .env("XDG_RUNTIME_DIR", runtime)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn start(command: &mut Command) -> Child {
    command.spawn().expect("it starts")
}

/// Are the programs of a desktop here? A fresh machine has none, and its tests pass all the same;
/// where `WINDLASS_ALL_TESTS` is set nothing may be missing.
fn is_furnished() -> bool {
    let path = std::env::var_os("PATH").expect("a path");
    let is_here =
        |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).exists());
    let programs = ["dbus-daemon", "gnome-keyring-daemon", "secret-tool"];
    let missing: Vec<&str> = programs.into_iter().filter(|name| !is_here(name)).collect();
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

/// Waits for what it says first.
fn first_line(child: &mut Child) -> String {
    let stdout = child.stdout.take().expect("an output");
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        let _ = reader.read_line(&mut line);
        let _ = said.send(line);
        // Reads on, so that nobody ever writes into a closed pipe.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    heard.recv_timeout(PATIENCE).expect("a first line")
}
