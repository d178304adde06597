//! The process is stopped for a while, as by the lid of a laptop: what finished meanwhile is finished.

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};
use windlass_vocabulary::WireFormat;

use crate::fixture::{ManualServer, PATIENCE, RunningCommand, TestDirs, play, wait_for_file};
use crate::tls_server::TlsServer;

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
    let whole = answer_pieces("First half and all the rest.");
    // One event that no single read takes: it is whole only some time after the stop.
    let mut long = answer_pieces("First ");
    let rest = "x".repeat(600_000);
    let delta = json!({ "type": "content_block_delta", "index": 0,
        "delta": { "type": "text_delta", "text": rest } });
    long.insert(4, format!("event: content_block_delta\ndata: {delta}\n\n").into_bytes());
    // Before the first byte, in the middle, and before an event that takes several reads.
    for (pieces, pieces_before, words) in [
        (&whole, 0, "half and all the rest."),
        (&whole, 4, "half and all the rest."),
        (&long, 4, "xxx"),
    ] {
        stop_during_an_answer(pieces, pieces_before, words);
    }
}

fn stop_during_an_answer(pieces: &[Vec<u8>], pieces_before: usize, words: &str) {
    let dirs = TestDirs::new();
    let server = ManualServer::open();
    let stream = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];
    let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
    command.args(stream);
    command.env("API_TIMEOUT_MS", "4000").env("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "4000");
    let mut running = RunningCommand::start(&mut command);
    let mut client = server.request();
    let (before, after) = pieces.split_at(pieces_before);
    client.write_all(&before.concat()).expect("a client");
    if pieces_before > 0 {
        running.wait_for_stdout("First ");
    }
    running.signal(Signal::STOP);
    let after = after.concat();
    // What does not fit into the socket is written when the client reads again.
    let writing = std::thread::spawn(move || client.write_all(&after));
    std::thread::sleep(Duration::from_secs(6));
    running.signal(Signal::CONT);
    let finished = running.finish();
    writing.join().expect("a writer").expect("a client");
    // A second request would have found nobody.
    assert_eq!(finished.code, Some(0), "{pieces_before}: {:?}", finished.stderr);
    let result = finished.stdout.lines().last().unwrap_or_default();
    assert!(result.contains("First ") && result.contains(words), "{pieces_before}: {words}");
    assert!(!finished.stdout.contains("api_retry"), "{pieces_before}: {words}");
}

/// The handshake needs another round after the stop, so the connection is not there at once.
#[test]
fn a_connection_that_was_being_made_while_we_were_stopped_is_made() {
    let dirs = TestDirs::new();
    let server = TlsServer::start(&[&rustls::version::TLS12]);
    let certificates = dirs.file("extra.pem");
    std::fs::write(&certificates, &server.pem).expect("a file");
    let mut command = dirs.asking(&server.url, &["-p", "hi", "--max-retries", "0"]);
    command.env("NODE_EXTRA_CA_CERTS", certificates).env("API_TIMEOUT_MS", "4000");
    let running = RunningCommand::start(&mut command);
    server.greeted.recv_timeout(PATIENCE).expect("a hello");
    running.signal(Signal::STOP);
    server.go_on.send(()).expect("a server");
    std::thread::sleep(Duration::from_secs(6));
    running.signal(Signal::CONT);
    assert_eq!(running.finish().answer(), "ok\n");
}
