//! A place to try things in: a project, something outside it, and a process where the engine stands.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

/// In the environment of the process in the engine's place, and in no other.
pub(crate) const CANARY: &str = "canary-5e1f0c77";

/// Everything ends long before; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(240);

/// An ordinary user that no other fixture is: what one user may have is counted by the kernel over all of
/// that user's processes, so tests that shared one would see each other's.
fn unused_user() -> u32 {
    static FIXTURES: AtomicU32 = AtomicU32::new(0);
    let number = FIXTURES.fetch_add(1, Ordering::Relaxed);
    1_000_000 + std::process::id() % 100_000 * 1_000 + number % 1_000
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// The user who runs the tests; in CI that is root.
    Oneself,
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Bubblewrap,
    Landlock,
}

pub(crate) struct SandboxFixture {
    pub(crate) person: RunAs,
    pub(crate) backend: Backend,
    /// May be written.
    pub(crate) project: PathBuf,
    /// May not, though it belongs to the same person.
    pub(crate) outside: PathBuf,
    pub(crate) runner: PathBuf,
    base: tempfile::TempDir,
    options: Vec<String>,
    user: u32,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a test in a fresh fixture for each backend and user.
pub(crate) fn everywhere(test: impl Fn(SandboxFixture)) {
    for backend in [Backend::Bubblewrap, Backend::Landlock] {
        everyone(backend, &test);
    }
}

pub(crate) fn everyone(backend: Backend, test: impl Fn(SandboxFixture)) {
    for person in people() {
        test(SandboxFixture::new(backend, person));
    }
}

pub(crate) fn people() -> Vec<RunAs> {
    if rustix::process::geteuid().is_root() {
        return vec![RunAs::Oneself, RunAs::Nobody];
    }
    assert!(std::env::var_os("CI").is_none(), "in CI these tests must run as root");
    eprintln!("not root: tried as oneself only");
    vec![RunAs::Oneself]
}

impl SandboxFixture {
    pub(crate) fn new(backend: Backend, person: RunAs) -> Self {
        assert!(
            backend == Backend::Landlock || Path::new("/usr/bin/bwrap").exists(),
            "bubblewrap is missing; install it with: apt-get install -y bubblewrap"
        );
        let base = tempfile::Builder::new().prefix("sandbox-world-").tempdir_in(place()).unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = base.path().canonicalize().unwrap();
        let (project, outside) = (place.join("project"), place.join("outside"));
        fs::create_dir(&project).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "before").unwrap();
        let runner = runner_in(&place);
        let fixture = Self {
            person,
            backend,
            project,
            outside,
            runner,
            base,
            options: Vec::new(),
            user: unused_user(),
        };
        fixture.give(&fixture.project.clone());
        fixture.give(&fixture.outside.clone());
        fixture
    }

    /// More options for the process in the engine's place.
    pub(crate) fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|option| (*option).to_owned()));
        self
    }

    /// Hands a tree over to the person.
    pub(crate) fn give(&self, path: &Path) {
        if self.person == RunAs::Nobody {
            chown(path, Some(self.user), Some(self.user)).unwrap();
        }
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                let entry = entry.unwrap();
                if !entry.file_type().unwrap().is_symlink() {
                    self.give(&entry.path());
                }
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        format!("{:?} as {:?}", self.backend, self.person)
    }

    /// Runs bash text in the sandbox.
    pub(crate) fn run(&self, script: &str) -> Ended {
        self.end(self.start(script))
    }

    /// The same text without a sandbox.
    pub(crate) fn free(&self, script: &str) -> Ended {
        let mut command = self.as_person(Path::new("/bin/bash"));
        command.args(["-c", script]).current_dir(&self.project);
        self.end(command.spawn().unwrap())
    }

    pub(crate) fn start(&self, script: &str) -> Child {
        self.sandboxed(&["/bin/bash", "--noprofile", "--norc", "-c", script]).spawn().unwrap()
    }

    /// The process where the engine stands, about to start this in the sandbox.
    pub(crate) fn sandboxed(&self, program: &[&str]) -> Command {
        let mut command = self.as_person(&self.runner);
        let backend = match self.backend {
            Backend::Bubblewrap => "bubblewrap",
            Backend::Landlock => "landlock",
        };
        command.args(["run", "--backend", backend, "--seconds", "40", "--write"]);
        command.arg(&self.project);
        for name in ["PATH", "OUT", "VICTIM", "PORT", "NAME", "HOME"] {
            command.args(["--env", name]);
        }
        command.args(&self.options).arg("--").args(program);
        command
    }

    /// A process of the person's, with a secret in its environment.
    pub(crate) fn as_person(&self, program: &Path) -> Command {
        let mut command = match self.person {
            RunAs::Oneself => Command::new(program),
            RunAs::Nobody => {
                let mut command = Command::new("setpriv");
                let user = self.user;
                command
                    .args([format!("--reuid={user}"), format!("--regid={user}")])
                    .arg("--clear-groups")
                    .arg(program);
                command
            }
        };
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        command
            .env_clear()
            .env("PATH", path)
            .env("OUT", &self.outside)
            .env("HOME", &self.outside)
            .env("SECRET", CANARY)
            .current_dir(&self.project)
            .stdin(Stdio::null())
            // Files, not pipes: a survivor that holds a pipe must not hold up the test.
            .stdout(self.file("stdout"))
            .stderr(self.file("stderr"));
        command
    }

    fn file(&self, name: &str) -> fs::File {
        let path = self.base.path().join(name);
        let file = fs::File::create(&path).unwrap();
        self.give(&path);
        file
    }

    pub(crate) fn end(&self, mut child: Child) -> Ended {
        let status = wait(&mut child, &self.name());
        let read = |name: &str| {
            let mut bytes = Vec::new();
            let file = fs::File::open(self.base.path().join(name)).unwrap();
            file.take(1 << 20).read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ended { code: status.code(), stdout: read("stdout"), stderr: read("stderr") }
    }

    /// Runs an attack free, then in the sandbox, each in a fixture as it was before.
    pub(crate) fn attack(&self, script: &str, is_harmed: impl Fn(&Self) -> bool) {
        let again = || {
            let mut fresh = Self::new(self.backend, self.person);
            fresh.options.clone_from(&self.options);
            fresh
        };
        let free = again();
        let ended = free.free(script);
        assert!(is_harmed(&free), "free, it did nothing: {script}\n{ended:?}");
        let held = again();
        let ended = held.run(script);
        assert!(!is_harmed(&held), "{}: it got out: {script}\n{ended:?}", self.name());
        assert_ne!(ended.code, Some(125), "{}: it did not even run: {ended:?}", self.name());
    }
}

/// Where the sandbox lets be read, unlike the directory for temporary files, so that what holds is
/// not merely that nothing is there.
fn place() -> &'static Path {
    let is_root = rustix::process::geteuid().is_root();
    Path::new(if is_root { "/var/lib" } else { env!("CARGO_TARGET_TMPDIR") })
}

/// Waits for a process, without sleeping.
pub(crate) fn wait(child: &mut Child, name: &str) -> ExitStatus {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap();
    if !is_ready(&process, DEADLINE) {
        let _ = child.kill();
        panic!("{name}: did not end within {DEADLINE:?}");
    }
    child.wait().unwrap()
}

pub(crate) fn is_ready(descriptor: &impl std::os::fd::AsFd, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap(),
            tv_nsec: left.subsec_nanos().into(),
        };
        match rustix::event::poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&left)) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// The program under test, in a place where everybody can read it.
pub(crate) fn runner_in(place: &Path) -> PathBuf {
    let (built, program) = (env!("CARGO_BIN_EXE_windlass-sandbox"), place.join("windlass-sandbox"));
    if fs::hard_link(built, &program).is_err() {
        fs::copy(built, &program).unwrap();
    }
    program
}
