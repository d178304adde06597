//! The process is stopped for a while, as by the lid of a laptop: what finished meanwhile is finished.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{RunningCommand, TestDirs, play, wait_for_file};

/// Stops the process until the clock has passed this moment and the file is there.
fn stop_until(running: &RunningCommand, moment: Instant, file: &std::path::Path) {
    running.signal(Signal::STOP);
    wait_for_file(file);
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
    running.signal(Signal::CONT);
}

#[test]
fn a_command_that_ended_while_we_were_stopped_has_ended() {
    let dirs = TestDirs::new();
    let command = "echo begun > begun.txt; while [ ! -e stopped.txt ]; do sleep 0.1; done; \
                   echo over > over.txt; echo all is well";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": command, "timeout": 4_000 })))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let arguments = ["-p", "go", "--dangerously-skip-permissions"];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &arguments));
    wait_for_file(&dirs.file("begun.txt"));
    running.signal(Signal::STOP);
    std::fs::write(dirs.file("stopped.txt"), "").expect("a file");
    // Longer than the command may take, and than a slice of the clock.
    stop_until(&running, Instant::now() + Duration::from_secs(6), &dirs.file("over.txt"));
    let finished = running.finish();
    assert_eq!(finished.answer(), "Done.\n");
    let request = server.requests().pop().expect("a request").json().expect("JSON");
    let said = request["messages"].to_string();
    assert!(said.contains("all is well") && !said.contains("stopped after"), "{said}");
}

#[test]
fn a_hook_that_answered_while_we_were_stopped_has_answered() {
    let dirs = TestDirs::new();
    let hook = "echo begun > begun.txt; while [ ! -e stopped.txt ]; do sleep 0.1; done; \
                echo over > over.txt; echo swordfish";
    let hooks = json!({ "UserPromptSubmit": [{ "hooks": [
        { "type": "command", "command": hook, "timeout": 4 },
    ] }] });
    let server = play(Script::new().answer(ScriptedAnswer::text("Done.").repeat(0)));
    let settings = json!({ "hooks": hooks }).to_string();
    let arguments = ["-p", "go", "--settings", &settings];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &arguments));
    wait_for_file(&dirs.file("begun.txt"));
    running.signal(Signal::STOP);
    std::fs::write(dirs.file("stopped.txt"), "").expect("a file");
    stop_until(&running, Instant::now() + Duration::from_secs(6), &dirs.file("over.txt"));
    assert_eq!(running.finish().answer(), "Done.\n");
    let request = server.requests().pop().expect("a request").json().expect("JSON");
    assert!(request["messages"].to_string().contains("swordfish"), "{request}");
}

/// A server of tools whose call is answered while the client is stopped.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"tools/call"'*)
      echo begun > begun.txt
      while [ ! -e stopped.txt ]; do sleep 0.1; done
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"all is well"}]}}\n' "$id"
      echo over > over.txt ;;
  esac
done
"#;

#[test]
fn a_server_of_tools_that_answered_while_we_were_stopped_has_answered() {
    let dirs = TestDirs::new();
    let servers = json!({ "mcpServers": { "slow": { "command": "sh", "args": ["-c", SERVER] } } })
        .to_string();
    let script = Script::new()
        .answer(ScriptedAnswer::call("mcp__slow__look", json!({})))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let arguments = ["-p", "go", "--dangerously-skip-permissions", "--mcp-config", &servers];
    let mut command = dirs.asking(&server.url(), &arguments);
    command.env("MCP_TOOL_TIMEOUT", "4000");
    let running = RunningCommand::start(&mut command);
    wait_for_file(&dirs.file("begun.txt"));
    running.signal(Signal::STOP);
    std::fs::write(dirs.file("stopped.txt"), "").expect("a file");
    stop_until(&running, Instant::now() + Duration::from_secs(6), &dirs.file("over.txt"));
    let finished = running.finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "Done.\n"), "{finished:?}");
    let request: Value = server.requests().pop().expect("a request").json().expect("JSON");
    let said = request["messages"].to_string();
    assert!(said.contains("all is well"), "{said}");
}
