//! Attacks of the corpus attack, and what is harmless is not: run by bash, with a stub for `rm` that
//! leaves word. Only cases marked `runs` are run; they touch nothing but the directory made for them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::Value;

/// A case that takes longer has hung.
const CASE_MAX: Duration = Duration::from_secs(60);

/// Runs it to the end of its group, and says whether the stub was called.
#[cfg(test)]
fn calls_the_stub(text: &str, stubs: &Path, top: &Path) -> bool {
    let (place, log) = (top.join("place"), top.join("log"));
    fs::create_dir_all(place.join("src")).unwrap();
    fs::write(place.join("x"), "x\n").unwrap();
    let mut child = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c", text])
        .current_dir(&place)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", stubs.display()))
        .env("STUB_LOG", &log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let group = Pid::from_child(&child);
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() || test_kill_process_group(group).is_ok() {
        if start.elapsed() > CASE_MAX {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = child.wait();
            panic!("it does not end: {text}");
        }
        std::thread::park_timeout(Duration::from_micros(300));
    }
    let is_called = log.exists();
    fs::remove_dir_all(top).unwrap();
    is_called
}

#[test]
fn attacks_attack_and_the_harmless_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let stubs = folder.path().join("stubs");
    fs::create_dir(&stubs).unwrap();
    fs::write(stubs.join("rm"), "#!/bin/sh\necho rm >>\"$STUB_LOG\"\n").unwrap();
    fs::set_permissions(stubs.join("rm"), fs::Permissions::from_mode(0o755)).unwrap();
    let (mut attacks, mut harmless) = (0, 0);
    for line in include_str!("corpus/cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(runs) = case["runs"].as_bool() else { continue };
        let text = case["input"]["command"].as_str().unwrap();
        let is_called = calls_the_stub(text, &stubs, &folder.path().join("top"));
        assert_eq!(is_called, runs, "{}: {text}", case["id"]);
        // What ran was not allowed; what was allowed did not run.
        assert_eq!(case["expected"] == "allow", !runs, "{}", case["id"]);
        *if runs { &mut attacks } else { &mut harmless } += 1;
    }
    assert!(attacks >= 50 && harmless >= 40, "{attacks} attacks, {harmless} harmless");
}
