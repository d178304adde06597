//! Two interrupts end the process soon, whatever it waits for, and leave nothing running.

use std::io::PipeReader;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{
    ManualServer, NO_WAIT_MAX, PATIENCE, TestDirs, play, wait_for_file, wait_until_gone,
    wait_until_listening,
};
use crate::outputs::full_pipe;

/// Deaf to every signal that can be ignored, and says in a file who it is.
const DEAF: &str = "trap '' INT TERM HUP; sleep 600 & echo $$ $! > pids.txt; wait; sleep 600";

/// Interrupts exactly twice and waits for the end. The gap is there because two signals at one
/// moment are one to the kernel.
fn interrupt_twice(mut child: Child, what: &str) -> Option<i32> {
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("it is there");
    let gap = Instant::now() + Duration::from_millis(200);
    while Instant::now() < gap && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    // It may have ended at the first.
    let _ = kill_process(pid, Signal::INT);
    let sent = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if sent.elapsed() > NO_WAIT_MAX {
            let _ = child.kill();
            panic!("{what}: it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    status.code()
}

fn quiet(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

fn all_gone(pids: &str) {
    for pid in pids.split_whitespace() {
        wait_until_gone(pid);
    }
}

fn wait_until_full(pipe: &PipeReader) {
    let deadline = Instant::now() + PATIENCE;
    while rustix::io::ioctl_fionread(pipe).expect("a count") < 60_000 {
        assert!(Instant::now() < deadline, "the pipe never filled");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn with_output_that_nobody_reads() {
    for format in ["text", "json", "stream-json"] {
        let dirs = TestDirs::new();
        let answer = "a line of the answer\n".repeat(6_000);
        let server = play(Script::new().answer(ScriptedAnswer::text(answer)));
        let (unread, writer) = std::io::pipe().expect("a pipe");
        let ask = ["-p", "go", "--output-format", format, "--verbose"];
        let mut command = dirs.asking(&server.url(), &ask);
        command.stdout(writer).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        wait_until_full(&unread);
        let code = interrupt_twice(child, format);
        assert_ne!(code, Some(0), "{format}: the answer was not read");
    }
}

#[test]
fn with_errors_that_nobody_reads() {
    let dirs = TestDirs::new();
    let server = ManualServer::open();
    let (_unread, writer) = full_pipe();
    let mut command = dirs.asking(&server.url(), &["-p", "go", "--verbose"]);
    command.stdout(Stdio::null()).stderr(writer);
    let child = command.spawn().expect("it starts");
    let _held = server.request();
    interrupt_twice(child, "standard error");
}

#[test]
fn with_a_server_that_says_nothing() {
    for flags in [&["-p", "go"][..], &["-p", "go", "--output-format", "stream-json", "--verbose"]] {
        let dirs = TestDirs::new();
        let server = ManualServer::open();
        let child = quiet(&mut dirs.asking(&server.url(), flags));
        let _held = server.request();
        interrupt_twice(child, "a silent server");
    }
}

#[test]
fn with_a_hook_that_hangs() {
    for event in ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"] {
        let dirs = TestDirs::new();
        let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
        let hook = json!({ "type": "command", "command": DEAF, "timeout": 600 });
        let settings = json!({ "hooks": { event: [{ "hooks": [hook] }] } }).to_string();
        let ask = ["-p", "go", "--settings", &settings];
        let child = quiet(&mut dirs.asking(&server.url(), &ask));
        let pids = wait_for_file(&dirs.file("pids.txt"));
        interrupt_twice(child, event);
        all_gone(&pids);
    }
}

/// Says nothing at all, or nothing when a tool is called.
const SERVER: &str = r#"trap '' INT TERM HUP
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ "$1" = deaf ] && { echo $$ > pids.txt; sleep 600; }
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"tools/call"'*) echo $$ > pids.txt; sleep 600 ;;
  esac
done
"#;

#[test]
fn with_an_mcp_server_that_hangs() {
    for how in ["deaf", "slow"] {
        let dirs = TestDirs::new();
        let manual = ManualServer::open();
        let script = Script::new().answer(ScriptedAnswer::call("mcp__box__look", json!({})));
        let scripted = play(script);
        std::fs::write(dirs.file("server.sh"), SERVER).expect("a file");
        let servers =
            json!({ "mcpServers": { "box": { "command": "sh", "args": ["server.sh", how] } } })
                .to_string();
        let ask = ["-p", "go", "--dangerously-skip-permissions", "--mcp-config", &servers];
        // One that never answers `initialize` holds up nobody: the model is asked meanwhile.
        let url = if how == "deaf" { manual.url() } else { scripted.url() };
        let child = quiet(&mut dirs.asking(&url, &ask));
        wait_until_listening(child.id());
        let pids = wait_for_file(&dirs.file("pids.txt"));
        interrupt_twice(child, how);
        all_gone(&pids);
    }
}

#[test]
fn with_a_command_that_ignores_signals() {
    let dirs = TestDirs::new();
    let call = ScriptedAnswer::call("Bash", json!({ "command": DEAF, "timeout": 600_000 }));
    let server = play(Script::new().answer(call));
    let ask = ["-p", "go", "--dangerously-skip-permissions"];
    let child = quiet(&mut dirs.asking(&server.url(), &ask));
    let pids = wait_for_file(&dirs.file("pids.txt"));
    interrupt_twice(child, "a command");
    all_gone(&pids);
}

/// A command that runs unasked is held in a cell, where it can write nothing: it is found by its name.
#[test]
fn with_a_command_in_a_cell_that_ignores_signals() {
    let dirs = TestDirs::new();
    let programs = dirs.home().join("bin");
    std::fs::create_dir(&programs).expect("a folder");
    let program = programs.join("head");
    std::fs::write(&program, "#!/bin/sh\ntrap '' INT TERM HUP\nsleep 54321 & wait; sleep 600\n")
        .expect("a file");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    std::fs::write(dirs.file("notes.txt"), "notes\n").expect("a file");
    let call = ScriptedAnswer::call("Bash", json!({ "command": "head notes.txt" }));
    let server = play(Script::new().answer(call));
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let child = quiet(command.env("PATH", path));
    let pid = wait_for_process("sleep 54321");
    interrupt_twice(child, "a cell");
    wait_until_gone(&pid);
}

/// The id of the process with this command line.
fn wait_for_process(command_line: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ");
            if words == command_line {
                return entry.file_name().to_string_lossy().into_owned();
            }
        }
        assert!(Instant::now() < deadline, "`{command_line}` never ran");
        std::thread::sleep(Duration::from_millis(10));
    }
}
