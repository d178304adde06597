//! Ctrl-C, terminate and hang-up, in every phase of a run.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{
    FinishedCommand, ManualServer, NO_WAIT_MAX, PATIENCE, RunningCommand, TestDirs, play,
    wait_for_file, wait_until_gone,
};

/// Sends the signal and waits for the end, which must come soon.
fn end_with(running: RunningCommand, signal: Signal) -> FinishedCommand {
    let sent = Instant::now();
    running.signal(signal);
    let finished = running.finish();
    assert!(sent.elapsed() < NO_WAIT_MAX, "{finished:?}");
    finished
}

#[test]
fn while_the_server_has_not_begun_to_answer() {
    let dirs = TestDirs::new();
    let manual_server = ManualServer::open();
    let running = RunningCommand::start(&mut dirs.asking(&manual_server.url(), &["-p", "hi"]));
    let _held = manual_server.request();
    let finished = end_with(running, Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("", ""));
}

#[test]
fn while_the_answer_streams() {
    let dirs = TestDirs::new();
    // The call is complete in mid stream, so the file it makes tells how far the client has read.
    let answer = ScriptedAnswer::call("Bash", json!({"command": "echo here > seen.txt"}))
        .add_text("First half.")
        .text_after("Never seen whole.")
        .fault(ScriptedFault::StallAfterEvent { events: 9, ping: None });
    let server = play(Script::new().answer(answer));
    let arguments = ["-p", "hi", "--dangerously-skip-permissions"];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &arguments));
    wait_for_file(&dirs.file("seen.txt"));
    let finished = end_with(running, Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(finished.stdout.starts_with("First half."), "{finished:?}");
}

/// A shell with a child of its own; both their ids are in `pids.txt` once they run.
fn long_command(prelude: &str) -> serde_json::Value {
    let command = format!("{prelude} sleep 600 & echo $$ $! > pids.txt; wait; sleep 600");
    json!({"command": command, "timeout": 600_000})
}

fn running_tool(
    dirs: &TestDirs,
    prelude: &str,
) -> (windlass_rehearsal::Rehearsal, RunningCommand, String) {
    let answer = ScriptedAnswer::call("Bash", long_command(prelude)).add_text("I run it.");
    let server = play(Script::new().answer(answer));
    let arguments = ["-p", "hi", "--dangerously-skip-permissions"];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &arguments));
    let pids = wait_for_file(&dirs.file("pids.txt"));
    (server, running, pids)
}

fn all_gone(pids: &str) {
    for pid in pids.split_whitespace() {
        wait_until_gone(pid);
    }
}

#[test]
fn while_a_tool_runs_its_whole_tree_goes() {
    let dirs = TestDirs::new();
    let (_server, running, pids) = running_tool(&dirs, "");
    let finished = end_with(running, Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert_eq!(finished.stdout, "I run it.\n");
    all_gone(&pids);
    assert_eq!(dirs.leftovers(), ["work/pids.txt"]);
}

#[test]
fn terminate_takes_the_tree_along() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let dirs = TestDirs::new();
        let (_server, running, pids) = running_tool(&dirs, "");
        let finished = end_with(running, signal);
        assert_eq!(finished.code, Some(code), "{finished:?}");
        all_gone(&pids);
    }
}

#[test]
fn a_tool_that_will_not_go_is_killed() {
    let dirs = TestDirs::new();
    let (_server, running, pids) = running_tool(&dirs, "trap '' TERM INT HUP;");
    let finished = end_with(running, Signal::TERM);
    assert_eq!(finished.code, Some(143), "{finished:?}");
    all_gone(&pids);
}

/// Must be over so soon, at least once in ten times: a busy machine may be late most of the time.
fn assert_soon(limit: Duration, attempt: impl Fn() -> Duration) {
    let took: Vec<Duration> =
        (0..10).map(|_| attempt()).take_while(|took| *took >= limit).collect();
    assert!(took.len() < 10, "never within {limit:?}: {took:?}");
}

#[test]
fn a_second_interrupt_does_not_wait() {
    assert_soon(Duration::from_secs(1), interrupt_twice);
}

fn interrupt_twice() -> Duration {
    let dirs = TestDirs::new();
    let (_server, mut running, pids) = running_tool(&dirs, "trap '' TERM INT HUP;");
    running.signal(Signal::INT);
    // The answer so far is printed at once; the tool would get two seconds more.
    running.wait_for_stdout("I run it.");
    let sent = Instant::now();
    running.signal(Signal::INT);
    let finished = running.finish();
    let took = sent.elapsed();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    all_gone(&pids);
    took
}

#[test]
fn two_signals_at_once_end_it_at_once() {
    for (first, second) in [(Signal::INT, Signal::TERM), (Signal::TERM, Signal::INT)] {
        assert_soon(Duration::from_millis(1_500), || signal_twice(first, second));
    }
}

fn signal_twice(first: Signal, second: Signal) -> Duration {
    let dirs = TestDirs::new();
    // A tool that will not go would get two seconds after one signal.
    let (_server, running, pids) = running_tool(&dirs, "trap '' TERM INT HUP;");
    let sent = Instant::now();
    running.signal(first);
    running.signal(second);
    let finished = running.finish();
    let took = sent.elapsed();
    assert!(matches!(finished.code, Some(130 | 143)), "{finished:?}");
    all_gone(&pids);
    took
}

#[test]
fn a_second_signal_while_nobody_reads_what_the_first_has_left() {
    assert_soon(Duration::from_secs(1), signal_twice_unread);
}

fn signal_twice_unread() -> Duration {
    let dirs = TestDirs::new();
    let text = "x".repeat(1_000_000);
    let answer = ScriptedAnswer::call("Bash", long_command("")).add_text(text).chunk(100_000);
    let server = play(Script::new().answer(answer));
    let arguments = ["-p", "hi", "--dangerously-skip-permissions"];
    let mut child = dirs.asking(&server.url(), &arguments).spawn().expect("it starts");
    let pids = wait_for_file(&dirs.file("pids.txt"));
    let stdout = child.stdout.take().expect("an output");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).expect("it is still there");
    wait_until_full(&stdout);
    let sent = Instant::now();
    rustix::process::kill_process(pid, Signal::TERM).expect("it still waits for a reader");
    let status = child.wait().expect("an end");
    let took = sent.elapsed();
    assert_eq!(status.code(), Some(143));
    all_gone(&pids);
    took
}

/// Once the pipe holds something it is full, because much more waits behind it.
fn wait_until_full(stdout: &std::process::ChildStdout) {
    let deadline = Instant::now() + PATIENCE;
    while rustix::io::ioctl_fionread(stdout).expect("a pipe") == 0 {
        assert!(Instant::now() < deadline, "nothing was written");
        std::thread::yield_now();
    }
}

#[test]
fn while_it_waits_to_try_again() {
    let dirs = TestDirs::new();
    let overloaded = ScriptedFault::Refuse {
        status: 529,
        headers: vec![("retry-after".to_owned(), "60".to_owned())],
        body: None,
    };
    let server = play(Script::new().answer(ScriptedAnswer::from_fault(overloaded).repeat(0)));
    let arguments = ["-p", "hi", "--verbose"];
    let mut running = RunningCommand::start(&mut dirs.asking(&server.url(), &arguments));
    running.wait_for_stderr("trying again in 60.0 s");
    let finished = end_with(running, Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert_eq!(server.request_count(), 1);
}

#[test]
fn the_result_of_an_interrupted_run_is_an_object_too() {
    let dirs = TestDirs::new();
    let manual_server = ManualServer::open();
    let arguments = ["-p", "hi", "--output-format", "json"];
    let running = RunningCommand::start(&mut dirs.asking(&manual_server.url(), &arguments));
    let _held = manual_server.request();
    let finished = end_with(running, Signal::INT);
    let result: serde_json::Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    assert_eq!(result["is_error"], true);
    assert_eq!(finished.code, Some(130));
}

#[test]
fn while_nobody_reads_the_answer() {
    let dirs = TestDirs::new();
    let text = "x".repeat(1_000_000);
    let server = play(Script::new().answer(ScriptedAnswer::text(text).chunk(100_000)));
    let mut child = dirs.asking(&server.url(), &["-p", "hi"]).spawn().expect("it starts");
    let stdout = child.stdout.take().expect("an output");
    wait_until_full(&stdout);
    let sent = Instant::now();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).expect("it is still there");
    let status = child.wait().expect("an end");
    assert_eq!(status.code(), Some(130));
    assert!(sent.elapsed() < NO_WAIT_MAX);
}

#[test]
fn nohup_means_what_it_says() {
    let dirs = TestDirs::new();
    let manual_server = ManualServer::open();
    let mut command = dirs.asking(&manual_server.url(), &["-p", "hi"]);
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(dirs.work())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command = shell;
    let running = RunningCommand::start(&mut command);
    let mut held = manual_server.request();
    running.signal(Signal::HUP);
    ManualServer::answer(&mut held, "still here");
    let finished = running.finish();
    assert_eq!(finished.answer(), "still here\n");
}

#[test]
fn the_demo_can_be_interrupted_and_leaves_nothing() {
    let dirs = TestDirs::new();
    let mut running = RunningCommand::start(&mut dirs.windlass(&["demo"]));
    // The overload asks for a wait of a second.
    running.wait_for_stdout("overloaded");
    let finished = end_with(running, Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert_eq!(dirs.leftovers(), Vec::<String>::new());
}

#[test]
fn a_rehearsal_ends_with_ctrl_c() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("script.toml"), "[[answer]]\ntext = \"hi\"\n").expect("a script");
    let mut running = RunningCommand::start(&mut dirs.windlass(&["rehearse", "script.toml"]));
    running.wait_for_stdout("ANTHROPIC_BASE_URL");
    let finished = end_with(running, Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(PATIENCE > finished.took);
}
