//! The crate as an engine uses it, in this very process.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};

use windlass_sandbox::{
    Sandbox, SandboxFailureCause, SandboxLaunch, SandboxPlan, SandboxProbeOptions,
};

use crate::sandbox_fixture::{
    Backend, DEADLINE, RunAs, SandboxFixture, everywhere, is_ready, wait,
};

fn sandbox(fixture: &SandboxFixture) -> Sandbox {
    let mut wanted = SandboxProbeOptions::best_available(&fixture.runner, ["enter"]);
    wanted.backend = Some(match fixture.backend {
        Backend::Bubblewrap => windlass_sandbox::SandboxBackend::Bubblewrap,
        Backend::Landlock => windlass_sandbox::SandboxBackend::Landlock,
    });
    Sandbox::probe(&wanted).unwrap()
}

/// Starts a script that says when it is so far, and goes on when it is told.
fn start(sandbox: &Sandbox, plan: &SandboxPlan, script: &str) -> (SandboxLaunch, Child) {
    let script = format!("{script}; echo so far; read; echo over");
    let mut launch =
        sandbox.prepare_shell(plan, Path::new("/bin/bash"), OsStr::new(&script)).unwrap();
    let mut child = launch
        .spawn(|mut command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
        })
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    assert!(is_ready(stdout, DEADLINE), "it never came so far");
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert_eq!(line, "so far\n");
    (launch, child)
}

#[test]
fn what_one_command_plants_is_not_taken_for_the_way_things_were_by_the_next() {
    for backend in [Backend::Bubblewrap, Backend::Landlock] {
        let fixture = SandboxFixture::new(backend, RunAs::Oneself);
        let (there, absent) = (fixture.project.join(".envrc"), fixture.project.join(".npmrc"));
        fs::write(&there, "mine").unwrap();
        let sandbox = sandbox(&fixture);
        let plan = SandboxPlan::new(&fixture.project, None);
        let (first, mut one) = start(&sandbox, &plan, "echo evil > .envrc; echo evil > .npmrc");
        let (second, mut other) = start(&sandbox, &plan, "true");
        for (launch, child) in [(first, &mut one), (second, &mut other)] {
            child.stdin.take().unwrap().write_all(b"\n").unwrap();
            assert!(wait(child, "a command that was told to go on").success());
            let settled = launch.clean_up();
            assert!(settled.has_ended && settled.problem.is_none(), "{settled:?}");
            assert_eq!(fs::read_to_string(&there).unwrap(), "mine", "{backend:?}");
            assert!(!absent.exists(), "{backend:?}");
        }
    }
}

/// A command in the background is not blamed for what others made meanwhile.
#[test]
fn what_others_made_beside_a_running_command_stays() {
    let fixture = SandboxFixture::new(Backend::Bubblewrap, RunAs::Oneself);
    let sandbox = sandbox(&fixture);
    let mut plan = SandboxPlan::new(&fixture.project, None);
    plan.is_background = true;
    let (launch, mut child) = start(&sandbox, &plan, "true");
    let path = |name: &str| fixture.project.join(name);
    // By a tool of ours, which names the file, and by a command that runs without the sandbox.
    sandbox.accept_protected_change(&path(".envrc"));
    fs::write(path(".envrc"), "mine").unwrap();
    fs::write(path(".gitmodules"), "mine").unwrap();
    sandbox.accept_protected_changes();
    fs::write(path(".npmrc"), "theirs").unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(wait(&mut child, "a command that was told to go on").success());
    let settled = launch.clean_up();
    assert_eq!(fs::read_to_string(path(".envrc")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(path(".gitmodules")).unwrap(), "mine");
    // The command cannot create these names, so nobody is to blame for the third one either.
    assert_eq!(fs::read_to_string(path(".npmrc")).unwrap(), "theirs");
    assert!(settled.reverted.is_empty() && settled.left_alone.is_empty(), "{settled:?}");
}

#[test]
fn failures_for_a_reason_of_the_sandbox_are_told_from_others() {
    everywhere(|fixture| {
        let home = fixture.outside.clone();
        fs::write(home.join(".netrc"), "key").unwrap();
        fixture.give(&home);
        let (sandbox, backend) = (sandbox(&fixture), fixture.backend);
        let plan = SandboxPlan::new(&fixture.project, Some(&home));
        let home = home.to_str().unwrap().to_owned();
        let fixture =
            fixture.with(&["--home", &home, "--processes", "60", "--memory", "300000000"]);
        let outside = match backend {
            Backend::Bubblewrap => SandboxFailureCause::ReadOnly,
            Backend::Landlock => SandboxFailureCause::Refused,
        };
        for (script, expected) in [
            ("touch $OUT/new", Some(outside)),
            ("cat $OUT/.netrc", Some(SandboxFailureCause::Refused)),
            ("perl -e 'my $x = \"a\" x 400000000'", Some(SandboxFailureCause::Memory)),
            ("exit 3", None),
            ("cat missing", None),
            ("echo 'Read-only file system' >&2; exit 0", None),
        ] {
            let ended = fixture.run(script);
            let found = sandbox.explain_failure(&plan, ended.code, &ended.stderr);
            let found = found.map(|reason| reason.cause);
            // Root is bounded by a group, and the kernel kills instead of refusing.
            let is_killed =
                expected == Some(SandboxFailureCause::Memory) && ended.code == Some(137);
            assert!(found == expected || is_killed, "{}: {script}: {ended:?}", fixture.name());
        }
    });
}

#[test]
fn what_is_dropped_is_ended() {
    for backend in [Backend::Bubblewrap, Backend::Landlock] {
        let fixture = SandboxFixture::new(backend, RunAs::Oneself);
        let sandbox = sandbox(&fixture);
        let plan = SandboxPlan::new(&fixture.project, None);
        let (launch, mut child) = start(&sandbox, &plan, "echo evil > .npmrc");
        child.kill().unwrap();
        wait(&mut child, "a launcher that was killed");
        drop(launch);
        assert!(!fixture.project.join(".npmrc").exists(), "{backend:?}");
        let is_made = backend == Backend::Landlock;
        assert_eq!(fixture.project.join(".npmrc.refused").exists(), is_made, "{backend:?}");
    }
}
