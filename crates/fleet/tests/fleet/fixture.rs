//! A fleet for one test: a store, worker and gateway processes, and a scripted model.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_fleet::session_spec::SessionSpec;
use windlass_fleet::store::{FleetStore, NewSession, TenantChange};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script};

use crate::postgres::{PATIENCE, TestPostgres};
use crate::store::{block_on, migrate};

pub(crate) struct TestFleet {
    pub(crate) postgres: TestPostgres,
    pub(crate) model: Rehearsal,
    folder: TempDir,
}

impl TestFleet {
    /// `None` if PostgreSQL is not installed and `WINDLASS_ALL_TESTS` is not set.
    pub(crate) fn start(script: Script) -> Option<Self> {
        let postgres = TestPostgres::start()?;
        migrate(&postgres);
        block_on(async {
            let store = FleetStore::open(&postgres.url(), 1).await.unwrap();
            let trusted = TenantChange { is_trusted: Some(true), ..TenantChange::default() };
            store.put_tenant("team", &trusted).await.unwrap();
        });
        let model = Rehearsal::start_blocking(script, RehearsalOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.claude", "tmp", "effects"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        // Allows tools to write there.
        let settings = serde_json::json!({ "permissions": {
            "additionalDirectories": [folder.path().join("effects")] } });
        let path = folder.path().join("home/.claude/settings.json");
        std::fs::write(path, settings.to_string()).unwrap();
        Some(Self { postgres, model, folder })
    }

    /// A file that the tools of all hosts append to.
    pub(crate) fn effects(&self) -> PathBuf {
        self.folder.path().join("effects/log")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read_effects(&self) -> String {
        std::fs::read_to_string(self.effects()).unwrap_or_default()
    }

    /// The command in a clean environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path().join("home"))
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("WINDLASS_STORE", self.postgres.url())
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "test-key")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The command with a gateway and a token.
    pub(crate) fn client(&self, url: &str, token: &str, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command.env("WINDLASS_SERVER", url).env("WINDLASS_TOKEN", token).output().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts a worker with its own folder, as on a separate host.
    pub(crate) fn start_worker(&self, name: &str, more: &[&str]) -> TestProcess {
        self.start_worker_with(name, more, &[])
    }

    /// The same, with variables of its environment.
    pub(crate) fn start_worker_with(
        &self,
        name: &str,
        more: &[&str],
        variables: &[(&str, &str)],
    ) -> TestProcess {
        let windlass = find_windlass();
        let directory = self.folder.path().join(name);
        let mut arguments = vec!["worker", "--allow-unsandboxed", "--drain", "0"];
        arguments.extend(["--dir", directory.to_str().unwrap()]);
        arguments.extend(["--windlass", windlass.to_str().unwrap()]);
        arguments.extend(more);
        let mut command = self.command(&arguments);
        let mut worker = TestProcess::start(command.envs(variables.iter().copied()));
        worker.wait_for_line("is ready");
        worker
    }

    /// Starts a worker whose clock is shifted; `None` if `faketime` is missing and
    /// `WINDLASS_ALL_TESTS` is not set.
    pub(crate) fn start_worker_with_clock(&self, name: &str, shift: &str) -> Option<TestProcess> {
        let library = std::fs::read_dir("/usr/lib").unwrap().flatten();
        let library = library.map(|entry| entry.path().join("faketime/libfaketime.so.1"));
        let Some(library) = library.into_iter().find(|path| path.is_file()) else {
            let must = std::env::var_os("WINDLASS_ALL_TESTS").is_some();
            assert!(!must, "the clock cannot be shifted; install the package `faketime`");
            return None;
        };
        let directory = self.folder.path().join(name);
        let mut command = self.command(&["worker", "--allow-unsandboxed", "--lease", "2"]);
        command.arg("--dir").arg(directory).arg("--windlass").arg(find_windlass());
        command.env("LD_PRELOAD", library).env("FAKETIME", shift);
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        let mut worker = TestProcess::start(&mut command);
        worker.wait_for_line("is ready");
        Some(worker)
    }

    /// Starts a gateway on a free port and returns its address.
    pub(crate) fn start_gateway(&self) -> (TestProcess, String) {
        self.start_gateway_at("127.0.0.1:0")
    }

    pub(crate) fn start_gateway_at(&self, address: &str) -> (TestProcess, String) {
        self.start_gateway_with(&["--listen", address])
    }

    pub(crate) fn start_gateway_with(&self, more: &[&str]) -> (TestProcess, String) {
        let mut command = self.command(&["serve"]);
        let mut gateway = TestProcess::start(command.args(more));
        let line = gateway.wait_for_line("serving at ");
        let (_, url) = line.split_once("serving at ").unwrap();
        (gateway, url.to_owned())
    }

    /// Queues a session that allows every call.
    pub(crate) fn submit(&self, number: u32, prompt: &str) -> String {
        self.submit_with(number, prompt, r#"{"permission_mode":"bypassPermissions"}"#)
    }

    pub(crate) fn submit_with(&self, number: u32, prompt: &str, spec: &str) -> String {
        self.submit_in(number, prompt, spec, None)
    }

    /// Queues a session of a batch, with the budget that its spec has.
    pub(crate) fn submit_in(
        &self,
        number: u32,
        prompt: &str,
        spec: &str,
        batch: Option<&str>,
    ) -> String {
        let id = format!("00000000-0000-4000-8000-{number:012}");
        let new = NewSession {
            id: id.clone(),
            tenant: "team".to_owned(),
            batch: batch.map(|batch| (batch.to_owned(), 1)),
            priority: 0,
            spec: spec.to_owned(),
            title: None,
            budget_micro: SessionSpec::parse(spec).unwrap().budget_micro(),
            content: prompt.to_owned(),
            sender: "test".to_owned(),
        };
        block_on(async {
            let store = FleetStore::open(&self.postgres.url(), 1).await.unwrap();
            store.submit_session(&new).await.unwrap();
        });
        id
    }

    pub(crate) fn add_message(&self, session: &str, number: u32, content: &str) {
        let uuid = format!("00000000-0000-4000-9000-{number:012}");
        block_on(async {
            let store = FleetStore::open(&self.postgres.url(), 1).await.unwrap();
            store.add_message(session, &uuid, content, "test").await.unwrap();
        });
    }

    pub(crate) fn wait_for_state(&self, session: &str, state: &str) {
        let statement = format!("select state from windlass.sessions where id = '{session}'");
        self.postgres.wait_for(&statement, state);
    }
}

/// A process that is killed on drop.
pub(crate) struct TestProcess {
    child: Child,
    lines: mpsc::Receiver<String>,
    pub(crate) seen: String,
}

impl TestProcess {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let stderr = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if std::env::var_os("FLEET_TEST_LOG").is_some() {
                    eprintln!("{line}");
                }
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        if let Some(mut stdout) = child.stdout.take() {
            std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
        }
        Self { child, lines, seen: String::new() }
    }

    pub(crate) fn wait_for_line(&mut self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("{words:?} is not in {}", self.seen));
            self.seen.push_str(&line);
            self.seen.push('\n');
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Whether it has said this by now.
    pub(crate) fn has_line(&mut self, words: &str) -> bool {
        for line in self.lines.try_iter() {
            self.seen.push_str(&line);
            self.seen.push('\n');
        }
        self.seen.contains(words)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn wait(&mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        panic!("it does not end: {}", self.seen);
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The `windlass` command next to ours; built if it is missing.
pub(crate) fn find_windlass() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_windlass-fleet"));
    let beside = own.with_file_name("windlass");
    if !beside.is_file() {
        let cargo = option_env!("CARGO").unwrap_or("cargo");
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "windlass"]);
        if own.parent().is_some_and(|folder| folder.ends_with("release")) {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
    }
    beside
}

pub(crate) fn run_git(repository: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .current_dir(repository)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {errors}");
}

/// Polls until `is_so` returns true.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Whether a process with these words in its command line runs. Pids are no use: they differ in a
/// sandbox.
pub(crate) fn is_running(words: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(words)
    })
}
