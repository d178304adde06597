//! Ends of output that others hold: non-blocking, full, failing, or read by nobody.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, PATIENCE, TestDirs, play, run_with_input};

/// A pipe that takes no further byte.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&writer, true).expect("non-blocking");
    for size in [4096, 1] {
        while writer.write(&vec![b'.'; size]).is_ok() {}
    }
    rustix::io::ioctl_fionbio(&writer, false).expect("blocking");
    (reader, writer)
}

/// Waits for the end; a process that does not end fails the test.
fn wait(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn long_answer() -> String {
    (0..40_000).map(|number| format!("line {number} of the answer\n")).collect()
}

#[test]
fn a_pipe_that_does_not_block_gets_every_byte() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text(long_answer()).repeat(0)));
    for format in ["text", "stream-json"] {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        rustix::io::ioctl_fionbio(&writer, true).expect("non-blocking");
        let ask = ["-p", "go", "--output-format", format, "--verbose"];
        let mut command = dirs.asking(&server.url(), &ask);
        let mut child = command.stdout(writer).spawn().expect("it starts");
        drop(command);
        // Read only when the pipe is full, so that a write has found no room.
        let deadline = Instant::now() + PATIENCE;
        while rustix::io::ioctl_fionread(&reader).expect("a count") < 60_000 {
            assert!(Instant::now() < deadline, "the pipe never filled");
            std::thread::yield_now();
        }
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        assert_eq!(wait(&mut child), Some(0));
        match format {
            "text" => assert_eq!(text, long_answer()),
            _ => {
                let last = text.lines().last().expect("a line");
                let result: serde_json::Value = serde_json::from_str(last).expect("a whole frame");
                assert_eq!(result["type"], "result");
            }
        }
    }
}

#[test]
fn frames_that_cannot_be_written_are_no_success() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    for input in [false, true] {
        let mut ask = vec!["-p", "--output-format", "stream-json", "--verbose"];
        if input {
            ask.extend(["--input-format", "stream-json"]);
        } else {
            ask.push("go");
        }
        let full = File::options().write(true).open("/dev/full").expect("a device");
        let mut command = dirs.asking(&server.url(), &ask);
        command.stdout(full);
        let prompt = json!({"type": "user", "message": {"role": "user", "content": "go"}});
        let finished = run_with_input(&mut command, format!("{prompt}\n").as_bytes());
        assert_eq!(finished.code, Some(1), "{finished:?}");
        assert!(finished.stderr.contains("could not be written"), "{finished:?}");
    }
}

#[test]
fn standard_error_that_nobody_reads_holds_nothing_up() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let prompt = json!({"type": "user", "message": {"role": "user", "content": "go"}});
    let stream = "--output-format=stream-json --input-format=stream-json --verbose";
    let cases: [(&str, Option<i32>, &str); 4] = [
        ("-p go --verbose", Some(0), "ok"),
        ("-p go --model no/such/model", Some(2), ""),
        (stream, Some(0), "\"result\""),
        ("sessions show nothing", Some(2), ""),
    ];
    for (arguments, code, words) in cases {
        let (unread, writer) = full_pipe();
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let mut command = dirs.asking(&server.url(), &arguments);
        command.stderr(writer);
        // Broken lines are told on standard error.
        let input = format!("no frame\n{prompt}\nno frame\n");
        let finished: FinishedCommand = run_with_input(&mut command, input.as_bytes());
        assert!(finished.code.is_some(), "{arguments:?}: {finished:?}");
        if code == Some(0) {
            assert_eq!(finished.code, code, "{arguments:?}: {finished:?}");
        }
        assert!(finished.stdout.contains(words), "{arguments:?}: {finished:?}");
        drop(unread);
    }
}

/// Interrupts until the process is gone. One that comes while another is being handled may be lost, so
/// a few more are sent.
fn interrupt(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        assert!(Instant::now() < deadline, "it does not end");
        let _ = kill_process(Pid::from_child(child), Signal::INT);
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn two_interrupts_end_it_whatever_blocks() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text(long_answer()).repeat(0)));
    let cases = [
        "doctor",
        "models",
        "demo --fast",
        "sessions list --all",
        "-p go --verbose",
        "-p go --output-format stream-json --verbose",
    ];
    for arguments in cases {
        let (unread_output, stdout) = full_pipe();
        let (unread_errors, stderr) = full_pipe();
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let mut command: Command = dirs.asking(&server.url(), &arguments);
        let mut child =
            command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn().expect("it starts");
        let code = interrupt(&mut child);
        assert_ne!(code, Some(0), "{arguments:?}");
        drop((unread_output, unread_errors));
    }
}
