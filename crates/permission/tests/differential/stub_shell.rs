//! Runs shell text with nothing but stubs within reach, and tells what they saw.
//!
//! `PATH` holds the stubs alone, the working directory is a fresh one well below a temporary
//! directory, there is no input, and a group of processes that takes too long is ended as one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STUBS: &[(&str, u8)] = &[
    ("p1", 0),
    ("p2", 0),
    ("p3", 0),
    ("p4", 0),
    ("no", 1),
    ("x", 0),
    ("a", 0),
    ("b", 0),
    ("E", 0),
    ("f1", 0),
    ("f2", 0),
    ("v", 0),
    ("in", 0),
    ("do", 0),
    ("then", 0),
    ("fi", 0),
    ("done", 0),
    ("esac", 0),
    ("coproc", 0),
    ("p11", 0),
    ("ap1", 0),
    ("p1a", 0),
    ("p1p2", 0),
    ("p2p1", 0),
];

/// One run longer than this is ended.
const RUN_MAX: Duration = Duration::from_secs(4);

/// What one stub saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StubCall {
    pub(crate) place: PathBuf,
    pub(crate) words: Vec<String>,
}

pub(crate) struct StubShell {
    root: tempfile::TempDir,
    count: usize,
}

impl StubShell {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let stubs = root.path().join("stubs");
        fs::create_dir(&stubs).unwrap();
        for (name, code) in STUBS {
            // One write for one call, so that calls side by side do not mix.
            let text = format!(
                "#!/bin/sh\nprintf '%s\\037' \"$PWD\" \"${{0##*/}}\" \"$@\" '\u{1e}' >>\"$STUB_LOG\"\nexit {code}\n"
            );
            let path = stubs.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { root, count: 0 }
    }

    /// Where the next run stands.
    pub(crate) fn next_place(&mut self) -> PathBuf {
        self.count += 1;
        let place = self.root.path().join(format!("runs/{}/deep/er/here", self.count));
        fs::create_dir_all(place.join("a")).unwrap();
        fs::create_dir_all(place.join("b")).unwrap();
        place.canonicalize().unwrap()
    }

    /// What ran, and the files that were made. `None` when it took too long.
    pub(crate) fn run(
        &self,
        text: &str,
        place: &Path,
    ) -> Option<(BTreeSet<StubCall>, BTreeSet<PathBuf>)> {
        let top = place.ancestors().nth(3).unwrap();
        let log = top.join("log");
        let mut child = Command::new("/bin/bash")
            .args(["--noprofile", "--norc", "-c", text])
            .current_dir(place)
            .env_clear()
            .env("PATH", self.root.path().join("stubs"))
            .env("STUB_LOG", &log)
            .env("HOME", place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let start = Instant::now();
        let is_ended = loop {
            if child.try_wait().unwrap().is_some() {
                break true;
            }
            if start.elapsed() > RUN_MAX {
                break false;
            }
            std::thread::park_timeout(Duration::from_micros(300));
        };
        // What was put behind may still be at work; it has as long as the rest had.
        while is_ended
            && rustix::process::test_kill_process_group(group).is_ok()
            && start.elapsed() < RUN_MAX
        {
            std::thread::park_timeout(Duration::from_micros(300));
        }
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait();
        let seen = seen(&log);
        let made = made(place);
        fs::remove_dir_all(top).unwrap();
        is_ended.then_some((seen, made))
    }
}

fn seen(log: &Path) -> BTreeSet<StubCall> {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let calls = text.split("\u{1e}\u{1f}").filter(|call| !call.is_empty());
    calls
        .map(|call| {
            let mut words = call.split('\u{1f}').map(str::to_owned);
            let place = PathBuf::from(words.next().unwrap_or_default());
            let mut words: Vec<String> = words.collect();
            words.pop();
            StubCall { place, words }
        })
        .collect()
}

/// Files below a directory.
fn made(place: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![place.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            } else {
                found.insert(entry.path());
            }
        }
    }
    found
}
