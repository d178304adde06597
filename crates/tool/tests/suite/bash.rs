//! The shell tool with real processes: every way to end, every way to misbehave.

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_tool::environment::build_child_environment;
use windlass_vocabulary::{Concurrency, EffectClass};

use crate::test_project::{TestProject, is_running, structured, text};

#[tokio::test]
async fn shows_output_and_exit_code() {
    let project = TestProject::new();
    let cases: &[(&str, bool, &str)] = &[
        ("echo ok", false, "ok"),
        ("echo out; echo err >&2", false, "out\nerr"),
        ("true", false, "[The command wrote nothing]"),
        ("echo no; exit 3", true, "Exit code 3\nno"),
        ("kill -SEGV $$", true, "Killed by SIGSEGV (signal 11)"),
        ("kill -KILL $$", true, "Killed by SIGKILL (signal 9)"),
        ("kill 0", true, "Killed by SIGTERM (signal 15)"),
        ("bash -c 'kill -9 $$'; exit $?", true, "Exit code 137 (as after SIGKILL)"),
        ("printf 'a\\0b\\xff\\n'", false, "a\u{fffd}b\u{fffd}"),
        ("grep nothing /dev/null", false, "No matches found"),
        ("cat", false, "[The command wrote nothing]"),
        ("read -r x; echo got $?", false, "got 1"),
        ("$EDITOR notes; $PAGER /dev/null; tty", true, "Exit code 1\nnot a tty"),
        ("foo (", true, "Exit code 2\n"),
    ];
    for (command, is_error, expected) in cases {
        let outcome = project.bash(command).await;
        assert_eq!(outcome.is_error, *is_error, "{command}: {outcome:?}");
        let shown = text(&outcome);
        assert!(shown.starts_with(expected), "{command}: {shown}");
    }
    let both = structured(&project.bash("echo a; echo b >&2").await);
    assert_eq!(both, json!({"stdout": "a\n", "stderr": "b\n", "interrupted": false}));
}

#[tokio::test]
async fn a_hanging_command_that_ignores_the_request_to_end_is_killed_with_its_children() {
    let project = TestProject::new();
    let command = "trap '' TERM; echo $$ > leader; (echo $BASHPID > child; while :; do sleep 0.2; \
                   done) & echo before; while :; do sleep 0.2; done";
    let began = Instant::now();
    let outcome = project.call("Bash", json!({"command": command, "timeout": 300})).await;
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(2300) && took < Duration::from_secs(240), "{took:?}");
    assert!(outcome.is_error);
    assert_eq!(text(&outcome), "Timed out after 300 ms and was stopped.\nbefore");
    assert_eq!(structured(&outcome)["timedOutAfterMs"], 300);
    assert!(!is_running(&project.path("leader")) && !is_running(&project.path("child")));
}

#[tokio::test]
async fn a_command_that_ends_when_asked_may_clean_up() {
    let project = TestProject::new();
    // The shell dies of the signal at once; its child takes a moment.
    let child =
        "trap 'sleep 0.4; echo cleaned; exit' TERM; echo ready; while :; do sleep 0.05; done";
    let input = json!({"command": format!("bash -c '{}'; true", child.replace('\'', "'\\''")),
                       "timeout": 300});
    let began = Instant::now();
    let outcome = project.call("Bash", input).await;
    assert!(text(&outcome).contains("\nready\ncleaned"), "{}", text(&outcome));
    assert!(began.elapsed() < Duration::from_secs(240), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_is_not_waited_for_and_does_not_survive() {
    let project = TestProject::new();
    let began = Instant::now();
    let outcome = project.bash("sleep 900 & echo $! > child; echo done").await;
    assert!(began.elapsed() < Duration::from_secs(240), "{:?}", began.elapsed());
    assert!(!outcome.is_error);
    assert_eq!(text(&outcome), "done\n[Processes left in the background were stopped]");
    assert!(!is_running(&project.path("child")));

    // Nor does one survive that gave the pipes up.
    let outcome = project.bash("sleep 30 >/dev/null 2>&1 & echo $! > child; echo done").await;
    assert!(text(&outcome).contains("were stopped"));
    assert!(!is_running(&project.path("child")));
}

#[tokio::test]
async fn cancelling_keeps_what_was_written() {
    let project = TestProject::new();
    let call = project.call_context();
    let cancel = call.cancel.clone();
    let fifo = Fifo::new(&project);
    let command = "echo early; sleep 30 & exec 3>fifo; wait";
    let (outcome, ()) =
        tokio::join!(project.call_in("Bash", json!({ "command": command }), call), async {
            fifo.opened().await;
            cancel.cancel();
        });
    assert_eq!(text(&outcome), "Interrupted before it ended.\nearly");
    assert_eq!(structured(&outcome)["interrupted"], true);
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_its_processes_with_it() {
    let project = TestProject::new();
    let fifo = Fifo::new(&project);
    let opened = tokio::select! {
        outcome = project.bash("exec 3>fifo; sleep 900 & sleep 900") => panic!("{outcome:?}"),
        opened = fifo.opened() => opened,
    };
    // The end of the file comes when nobody holds the pipe any more.
    let rest = tokio::task::spawn_blocking(move || opened.rest());
    assert_eq!(tokio::time::timeout(Duration::from_secs(240), rest).await.unwrap().unwrap(), "");
}

#[tokio::test]
async fn long_output_shows_both_ends_and_is_kept_in_a_file() {
    let project = TestProject::new();
    let outcome = project.bash("seq 1 20000").await;
    let shown = text(&outcome);
    assert!(shown.starts_with("1\n2\n3\n"));
    assert!(shown.contains("\n19999\n20000\n[All 108894 bytes are in "), "{shown}");
    assert!(shown.len() < 31_000);
    let result = structured(&outcome);
    assert_eq!(result["persistedOutputSize"], 108_894);
    let kept = std::fs::read_to_string(result["persistedOutputPath"].as_str().unwrap()).unwrap();
    assert!(kept.lines().eq((1..=20_000).map(|n| n.to_string())));

    // Standard error is not pushed out by standard output, nor the other way round.
    let shown = project.bash("seq 1 20000; seq 30001 50000 >&2").await;
    let shown = text(&shown);
    for end in ["1\n2\n", "\n20000\n", "\n30001\n", "\n50000\n"] {
        assert!(shown.contains(end), "{end:?}");
    }
    assert!(shown.len() < 31_000);
}

#[tokio::test]
async fn endless_output_is_stopped_in_constant_memory() {
    let project = TestProject::new();
    let before = peak_kilobytes();
    let outcome = project.bash("yes | tr -d '\\n'").await;
    assert!(outcome.is_error);
    assert!(text(&outcome).starts_with("Stopped: it wrote more than 67108864 bytes"));
    let result = structured(&outcome);
    assert_eq!(result["persistedOutputSize"], 67_108_864);
    let kept = std::fs::metadata(result["persistedOutputPath"].as_str().unwrap()).unwrap();
    assert_eq!(kept.len(), 67_108_864);
    let grown = peak_kilobytes() - before;
    assert!(grown < 24 * 1024, "memory grew by {grown} kB");
}

#[tokio::test]
async fn output_that_cannot_be_saved_is_still_shown() {
    let project =
        TestProject::with(|context| context.processes.spill_directory = "/dev/null/spill".into());
    let outcome = project.bash("seq 1 20000").await;
    let shown = text(&outcome);
    assert!(shown.contains("\n20000\n[The whole output could not be saved on the file system of"));
    assert!(!outcome.is_error);
}

#[tokio::test]
async fn the_directory_is_kept_between_calls_and_nothing_else_changes() {
    let project = TestProject::new();
    std::fs::create_dir_all(project.path("it's a/sub")).unwrap();
    let root = project.root.display().to_string();
    // (command, error, output, where the next command runs)
    let cases: &[(&str, bool, String, &str)] = &[
        ("pwd", false, root.clone(), ""),
        ("cd \"it's a\"", false, "[The command wrote nothing]".into(), "it's a"),
        ("pwd", false, format!("{root}/it's a"), "it's a"),
        ("cd sub && exit 4", true, "Exit code 4".into(), "it's a/sub"),
        ("(cd ..); pwd", false, format!("{root}/it's a/sub"), "it's a/sub"),
        ("trap 'echo bye' EXIT; echo hi", false, "hi\nbye".into(), "it's a/sub"),
        ("set -euo pipefail; cd ..; false", true, "Exit code 1".into(), "it's a"),
        (
            "cd /; pwd",
            false,
            format!(
                "/\n[The command ended in `/`, outside the working directories. The next one runs \
                 in `{root}`.]"
            ),
            "",
        ),
    ];
    for (command, is_error, expected, after) in cases {
        let outcome = project.bash(command).await;
        assert_eq!(text(&outcome), expected, "{command}");
        assert_eq!(outcome.is_error, *is_error, "{command}");
        assert_eq!(project.context.shell.directory(), project.root.join(after), "{command}");
    }
    assert!(project.left_behind().is_empty(), "{:?}", project.left_behind());
}

#[tokio::test]
async fn a_deleted_directory_is_told_and_left() {
    let project = TestProject::new();
    let root = project.root.display();
    let outcome = project.bash("mkdir sub && cd sub && rmdir ../sub").await;
    let expected = format!(
        "[The directory the command ended in no longer exists. The next one runs in `{root}`.]"
    );
    assert_eq!(text(&outcome), expected);

    project.bash("mkdir sub && cd sub").await;
    project.bash("rmdir ../sub").await;
    let outcome = project.bash("pwd").await;
    let expected = format!(
        "{root}\n[The shell's directory `{root}/sub` no longer exists. The command ran in `{root}`.]"
    );
    assert_eq!(text(&outcome), expected);

    project.bash("rm -rf ../project").await;
    let outcome = project.bash("pwd").await;
    assert!(outcome.is_error);
    assert!(text(&outcome).contains("no longer exists"), "{}", text(&outcome));
}

#[tokio::test]
async fn children_get_neither_credentials_nor_editors() {
    let ours = [
        ("PATH", "/usr/bin:/bin"),
        ("ANTHROPIC_API_KEY", "secret"),
        ("ANTHROPIC_AUTH_TOKEN", "secret"),
        ("OPENAI_API_KEY", "secret"),
        ("GEMINI_API_KEY", "secret"),
        ("GOOGLE_API_KEY", "secret"),
        ("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "secret"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
        ("BASH_ENV", "/dev/null"),
        ("EDITOR", "vi"),
        ("MINE", "kept"),
    ];
    let ours = ours.iter().map(|(name, value)| (name.into(), value.into()));
    let project =
        TestProject::with(|context| context.processes.environment = build_child_environment(ours));
    let outcome = project.bash("env").await;
    let shown = text(&outcome);
    assert!(!shown.contains("secret") && !shown.contains("BASH_ENV"), "{shown}");
    for line in
        ["MINE=kept", "EDITOR=true", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "CLAUDECODE=1"]
    {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in {shown}");
    }
}

#[tokio::test]
async fn parallel_calls_each_get_one_result() {
    let project = TestProject::new();
    let third = project.call_context();
    third.cancel.cancel();
    let command = |text: &str| json!({ "command": text });
    let (a, b, c, d, e) = tokio::join!(
        project.call("Bash", command("echo a")),
        project.call("Bash", command("exit 7")),
        project.call_in("Bash", command("sleep 30"), third),
        project.call("Bash", command("kill -9 $$")),
        project.call("Bash", command("echo e")),
    );
    let shown: Vec<_> = [&a, &b, &c, &d, &e].into_iter().map(text).collect();
    assert_eq!(
        shown,
        ["a", "Exit code 7", "Interrupted before it ended.", "Killed by SIGKILL (signal 9)", "e"]
    );
}

#[test]
fn only_plain_reading_is_shared() {
    let project = TestProject::new();
    let cases: &[(&str, bool)] = &[
        ("ls -la", true),
        ("cat a.txt", true),
        ("git status", true),
        ("git diff --stat HEAD", true),
        ("find . -name '*.rs'", true),
        ("sleep 1", true),
        ("cd src", false),
        ("find . -delete", false),
        ("find . -exec rm '{}' +", false),
        ("git diff --output=x", false),
        ("git diff --outp=x", false),
        ("git -c core.pager=x log", false),
        ("git branch new", false),
        ("sort -o x y", false),
        ("sort -uo x y", false),
        ("rg --pre sh x", false),
        ("uniq a b", false),
        ("ls > x", false),
        ("ls; rm x", false),
        ("FOO=1 ls", false),
        ("cargo test", false),
    ];
    for (command, is_shared) in cases {
        let inspection = project.inspect("Bash", &json!({ "command": command }));
        assert_eq!(inspection.problem, None);
        assert_eq!(inspection.concurrency == Concurrency::Shared, *is_shared, "{command}");
        assert_eq!(inspection.class == EffectClass::Pure, *is_shared, "{command}");
    }
}

/// A named pipe that a command opens to show that it has begun.
struct Fifo(PathBuf);

struct OpenedFifo(std::fs::File);

impl Fifo {
    fn new(project: &TestProject) -> Self {
        let path = project.path("fifo");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Self(path)
    }

    async fn opened(&self) -> OpenedFifo {
        let path = self.0.clone();
        let open = tokio::task::spawn_blocking(move || std::fs::File::open(path).unwrap());
        OpenedFifo(open.await.unwrap())
    }
}

impl OpenedFifo {
    fn rest(mut self) -> String {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).unwrap();
        rest
    }
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
