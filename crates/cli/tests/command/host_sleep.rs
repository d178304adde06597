//! The process is stopped for a while, as by the lid of a laptop: what finished meanwhile is finished.

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};
use windlass_vocabulary::WireFormat;

use crate::fixture::{ManualServer, RunningCommand, TestDirs, play, wait_for_file};

/// Stops the process until the clock has passed this moment and the file is there.
fn stop_until(running: &RunningCommand, moment: Instant, file: &std::path::Path) {
    running.signal(Signal::STOP);
    wait_for_file(file);
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
    running.signal(Signal::CONT);
}

#[test]
fn a_command_that_ended_while_we_were_stopped_has_ended() {
    // Whether the end or the deadline is seen first was a matter of luck, so there are several.
    let sessions: Vec<_> = (0..6).map(|_| std::thread::spawn(stop_during_a_command)).collect();
    for session in sessions {
        session.join().expect("a session");
    }
}

fn stop_during_a_command() {
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
    assert!(said.contains("all is well") && !said.contains("Timed out"), "{said}");
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

/// The bytes of a whole answer, in pieces: the head, and then one for each event.
fn answer_pieces(text: &str) -> Vec<Vec<u8>> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let events =
        ScriptedAnswer::text(text).chunk(6).encode_events(WireFormat::AnthropicMessages, 1);
    std::iter::once(head.as_bytes().to_vec()).chain(events).collect()
}

#[test]
fn an_answer_that_came_while_we_were_stopped_is_read() {
    // Before the first byte, and in the middle.
    for pieces_before in [0, 4] {
        let dirs = TestDirs::new();
        let server = ManualServer::open();
        let arguments = [
            "-p",
            "hi",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
        ];
        let mut command = dirs.asking(&server.url(), &arguments);
        command.env("API_TIMEOUT_MS", "4000").env("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "4000");
        let mut running = RunningCommand::start(&mut command);
        let mut client = server.request();
        let pieces = answer_pieces("First half and all the rest.");
        let (before, after) = pieces.split_at(pieces_before);
        client.write_all(&before.concat()).expect("a client");
        if pieces_before > 0 {
            running.wait_for_stdout("First ");
        }
        running.signal(Signal::STOP);
        client.write_all(&after.concat()).expect("a client");
        drop(client);
        std::thread::sleep(Duration::from_secs(6));
        running.signal(Signal::CONT);
        let finished = running.finish();
        // A second request would have found nobody.
        assert_eq!(finished.code, Some(0), "{pieces_before}: {finished:?}");
        let result = finished.stdout.lines().last().unwrap_or_default();
        assert!(result.contains("First half and all the rest."), "{finished:?}");
        assert!(!finished.stdout.contains("api_retry"), "{finished:?}");
    }
}
