//! Processes that try to get away, to multiply, to reach a terminal; and what is kept between
//! commands.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_tool::{LaunchExit, LaunchRequest, PreparedLaunch, ProcessLauncher, SpawnCommandFn};

use crate::test_project::{TestProject, is_running, text};

/// T2: however a descendant leaves the group, it is not waited for and does not survive.
#[tokio::test]
async fn whatever_leaves_the_group_is_found_and_ended() {
    let project = TestProject::new();
    let sleeper = "echo $$ > child; exec sleep 900";
    let ways = [
        format!("setsid bash -c '{sleeper}' & sleep 0.2"),
        format!("(setsid bash -c '{sleeper}' &) ; sleep 0.2"),
        format!("setsid bash -c '{sleeper}' >/dev/null 2>&1 & sleep 0.2"),
        format!("env -i setsid bash -c '{sleeper}' & sleep 0.2"),
        format!("(env -i setsid bash -c '{sleeper}' &) ; sleep 0.2"),
        format!("set -m; bash -c '{sleeper}' & sleep 0.2; disown"),
        format!("(set -m; (nohup setsid -f bash -c '{sleeper}' >/dev/null 2>&1 &)); sleep 0.2"),
    ];
    for way in ways {
        let _ = std::fs::remove_file(project.path("child"));
        let began = Instant::now();
        let outcome = project.bash(&way).await;
        assert!(began.elapsed() < Duration::from_secs(240), "{way}: {:?}", began.elapsed());
        assert!(text(&outcome).contains("were stopped"), "{way}: {}", text(&outcome));
        assert!(!is_running(&project.path("child")), "{way}");
    }
}

/// T1: the same when the deadline passes, and when the call is dropped.
#[tokio::test]
async fn a_deadline_ends_what_has_left_the_group_too() {
    let project = TestProject::new();
    let command = "setsid bash -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' & \
                   while [ ! -s child ]; do sleep 0.05; done; sleep 900";
    let outcome = project.call("Bash", json!({"command": command, "timeout": 700})).await;
    assert!(text(&outcome).starts_with("Timed out after 700 ms"), "{}", text(&outcome));
    assert!(!is_running(&project.path("child")));

    std::fs::remove_file(project.path("child")).unwrap();
    let started = async {
        while !std::fs::read(project.path("child")).is_ok_and(|id| !id.is_empty()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        outcome = project.bash(command) => panic!("{outcome:?}"),
        () = started => {}
    }
    // It was told to die when the call was dropped; dying takes the kernel a moment.
    let gone = async {
        while is_running(&project.path("child")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(240), gone).await.unwrap();
}

/// T4: a command that multiplies is stopped, quickly, and nothing of it is left.
#[tokio::test]
async fn a_swarm_is_stopped() {
    let project = TestProject::with(|context| context.limits.processes_max = 100);
    let command = "i=0; while [ $i -lt 1000 ]; do setsid sleep 900.125 & i=$((i+1)); done; wait";
    let began = Instant::now();
    let outcome = project.bash(command).await;
    let took = began.elapsed();
    assert!(text(&outcome).contains("started too many processes"), "{}", text(&outcome));
    assert!(took < Duration::from_secs(240), "{took:?}");
    let left = Command::new("pgrep").args(["-f", "^sleep 900.125$"]).output();
    assert_eq!(left.map(|left| left.stdout).unwrap_or_default(), b"");
}

/// T8: a signal to everybody reaches nobody outside its namespace; the engine answers.
#[tokio::test]
async fn a_signal_to_all_does_not_reach_us() {
    let project = TestProject::new();
    project
        .bash("unshare -Ur --pid --fork bash -c 'kill -KILL -- -1' 2>/dev/null; kill -9 0")
        .await;
    assert_eq!(text(&project.bash("echo alive").await), "alive");
}

/// T18: no command finds a terminal, even where we have one.
#[tokio::test]
async fn no_command_gets_our_terminal() {
    let project = TestProject::new();
    let outcome = project.bash("stty raw </dev/tty; tty; echo $?").await;
    assert!(text(&outcome).contains("/dev/tty: "), "{}", text(&outcome));
    if std::env::var_os(INSIDE).is_some() {
        assert!(std::fs::File::open("/dev/tty").is_ok(), "the test itself has no terminal");
        return;
    }
    // Once more, as a process that has a terminal.
    let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
    let ours = rustix::pty::openpt(flags).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap();
    let options = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let theirs: OwnedFd =
        rustix::fs::open(name.as_c_str(), options, rustix::fs::Mode::empty()).unwrap();
    let before = rustix::termios::tcgetattr(&theirs).unwrap();
    let inside = Command::new("setsid")
        .args([OsStr::new("--ctty"), OsStr::new("--wait")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "process::no_command_gets_our_terminal"])
        .env(INSIDE, "1")
        .stdin(theirs.try_clone().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(inside.status.success(), "{}", String::from_utf8_lossy(&inside.stdout));
    let after = rustix::termios::tcgetattr(&theirs).unwrap();
    assert_eq!(before.local_modes, after.local_modes);
    assert_eq!(before.input_modes, after.input_modes);
}

const INSIDE: &str = "WINDLASS_TEST_HAS_TERMINAL";

#[tokio::test]
async fn exported_variables_are_kept_as_in_a_shell() {
    let project = TestProject::with(|context| {
        context.processes.environment.push(("GIVEN".into(), "from the start".into()));
    });
    // (command, what it shows)
    let steps = [
        ("export A='x y' B=$'two\\nlines'; C=local", "[The command wrote nothing]"),
        ("echo \"$A|$B|$C|$GIVEN\"", "x y|two\nlines||from the start"),
        ("unset GIVEN; export A=; false", "Exit code 1"),
        ("echo \"[$A][${GIVEN-gone}]\"", "[][gone]"),
        ("set -eu; export D=1; nothing_like_it", "Exit code 127"),
        ("echo $D", "1"),
        ("set -x; export E=2", "+ export E=2"),
        ("(export F=3); echo \"$E${F-none}\"", "2none"),
        ("mkdir -p sub && cd sub", "[The command wrote nothing]"),
        ("cd - >/dev/null && basename \"$OLDPWD\"", "sub"),
        // What would make every later program run something else, or talk to our editor.
        ("export LD_PRELOAD= BASH_ENV=/x EDITOR=vi PAGER=less GIT_SSH_COMMAND=x", ""),
        ("echo \"${LD_PRELOAD-}${BASH_ENV-}|$EDITOR|$PAGER|${GIT_SSH_COMMAND-}\"", "|true|cat|"),
        ("export BIG=$(head -c 300000 /dev/zero | tr '\\0' x)", "[The exported variables have"),
        ("echo ${#BIG}$D", "01"),
    ];
    for (command, expected) in steps {
        let outcome = project.bash(command).await;
        assert!(text(&outcome).starts_with(expected), "{command}: {}", text(&outcome));
    }
    let kept = project.context.shell.exported_variables();
    assert!(
        kept.contains(&("A".into(), Some("".into()))) && kept.contains(&("GIVEN".into(), None))
    );
    assert!(project.left_behind().is_empty(), "{:?}", project.left_behind());
}

/// Starts everything behind `env` with one more variable, or nothing at all.
#[derive(Debug)]
struct PrefixLauncher(&'static str);

#[derive(Debug)]
struct PrefixLaunch(Option<Command>);

impl ProcessLauncher for PrefixLauncher {
    fn prepare(&self, launch: &LaunchRequest<'_>) -> Result<Box<dyn PreparedLaunch>, String> {
        if self.0.is_empty() {
            return Err("the sandbox cannot start here".to_owned());
        }
        if launch.is_unconfined {
            return Err("it may not leave the sandbox".to_owned());
        }
        if launch.is_long_lived {
            return Err("nothing may last here".to_owned());
        }
        let mut command = Command::new("/usr/bin/env");
        command.arg(self.0).arg(launch.program).args(launch.arguments);
        command.current_dir(launch.directory).env_clear();
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        Ok(Box::new(PrefixLaunch(Some(command))))
    }
}

impl PreparedLaunch for PrefixLaunch {
    fn spawn(&mut self, start: &mut SpawnCommandFn<'_>) -> std::io::Result<tokio::process::Child> {
        start(self.0.take().unwrap())
    }

    fn finish(self: Box<Self>, end: &LaunchExit) -> Vec<String> {
        match end.code {
            Some(7) => vec![format!("held back: {}", end.stderr.trim())],
            _ => Vec::new(),
        }
    }
}

#[tokio::test]
async fn a_launcher_stands_before_every_process_and_may_refuse() {
    let behind = |words| {
        TestProject::with(|context| {
            context.processes.launcher = Some(Arc::new(PrefixLauncher(words)));
        })
    };
    let project = behind("CONFINED=yes");
    assert_eq!(text(&project.bash("echo $CONFINED").await), "yes");
    assert_eq!(
        text(&project.bash("cd / ; setsid sleep 30 & echo $CONFINED").await).lines().next(),
        Some("yes")
    );
    let input = json!({"command": "echo $CONFINED", "dangerouslyDisableSandbox": true});
    let outcome = project.call("Bash", input).await;
    assert!(outcome.is_error && text(&outcome).contains("may not leave the sandbox"));
    let failed = project.bash("echo no >&2; exit 7").await;
    assert_eq!(text(&failed), "Exit code 7\nno\n[held back: no]");
    let input = json!({"command": "touch made", "run_in_background": true});
    let outcome = project.call("Bash", input).await;
    assert!(outcome.is_error && text(&outcome).contains("nothing may last here"));
    assert_eq!(project.context.background.list_tasks(), []);
    assert!(!project.path("made").exists());
    let project = behind("");
    let input = json!({"command": "touch made"});
    let outcome = project.call("Bash", input).await;
    assert!(outcome.is_error && text(&outcome).contains("the sandbox cannot start here"));
    assert!(!project.path("made").exists());
}

/// T10: a full file system is named, the old file stays, and output is shown all the same.
#[tokio::test]
async fn a_full_file_system_harms_nothing() {
    let project = TestProject::new();
    let small = project.path("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "none"])
        .arg(&small)
        .stderr(Stdio::null())
        .status();
    let _unmount = Unmount(&small);
    if !mounted.is_ok_and(|status| status.success()) {
        // Only who may mount can fill a file system of their own.
        assert!(!rustix::process::geteuid().is_root() || !small.join("x").exists());
        return;
    }
    let path = project.write("small/a.txt", "old\n");
    project.read(&path).await;
    let big = "x".repeat(400_000);
    let inputs = [
        ("Edit", json!({"file_path": path, "old_string": "old", "new_string": big})),
        ("Write", json!({"file_path": path, "content": big})),
        ("Write", json!({"file_path": small.join("new.txt"), "content": big})),
    ];
    for (tool, input) in inputs {
        let outcome = project.call(tool, input).await;
        let shown = text(&outcome);
        assert!(outcome.is_error && shown.contains("No space left on device"), "{shown}");
        assert!(shown.contains(&format!("file system of `{}`", small.display())), "{shown}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"old\n");
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 1, "nothing half-written is left");

    let spilling =
        TestProject::with(|context| context.processes.spill_directory = small.join("spill"));
    let outcome = spilling.bash("seq 1 200000").await;
    let shown = text(&outcome);
    assert!(shown.contains("\n200000\n[The whole output could not be saved on the file system of"));
    assert!(shown.contains("No space left"), "{shown}");
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).stderr(Stdio::null()).status();
    }
}

const CROWDED: &str = "WINDLASS_TEST_CROWDED";

/// T11: where too few files may be open, calls wait for one another instead of failing.
#[test]
fn calls_that_find_no_room_wait_for_it() {
    if std::env::var_os(CROWDED).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(crowd());
    }
    let name = "process::calls_that_find_no_room_wait_for_it";
    let script = format!("ulimit -n 40; exec \"$0\" --exact {name} --nocapture");
    let output = Command::new("bash")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(CROWDED, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

async fn crowd() {
    let project = TestProject::new();
    project.write("a.txt", "calm\n");
    let calls = (0..30).map(|number| {
        let command = format!("sleep 0.3; echo {number}");
        project.call("Bash", json!({ "command": command }))
    });
    let reads =
        (0..10).map(|_| project.call("Read", json!({ "file_path": project.path("a.txt") })));
    let (done, read) = tokio::join!(join_all(calls), join_all(reads));
    for (number, outcome) in done.iter().enumerate() {
        assert_eq!(text(outcome), number.to_string());
    }
    assert!(read.iter().all(|outcome| !outcome.is_error), "{read:?}");
}

async fn join_all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_ready = true;
        for (future, done) in &mut futures {
            if done.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    futures.into_iter().filter_map(|(_, done)| done).collect()
}
