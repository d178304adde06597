//! Our tools for other clients: `windlass mcp serve` through the real binary, spoken to by our own
//! client, by a whole session, and by a client that does not know the protocol.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use windlass_driver::mcp::connection::McpContent;
use windlass_driver::mcp::{
    McpCallOptions, McpChannel, McpConnection, McpFailure, McpHost, ProtocolEra, StdioServerConfig,
};
use windlass_driver::{ProgressSender, ToolSessionContext};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{PATIENCE, TestDirs, play, run};

struct NoHostFeatures;

impl McpHost for NoHostFeatures {}

/// Our own client at our own server.
async fn open(dirs: &TestDirs, flags: &[&str], era: ProtocolEra) -> McpConnection {
    let folder = |name: &str| dirs.home().with_file_name(name).to_string_lossy().into_owned();
    let mut arguments = vec!["mcp".to_owned(), "serve".to_owned()];
    arguments.extend(flags.iter().map(|&flag| flag.to_owned()));
    let order = StdioServerConfig {
        command: env!("CARGO_BIN_EXE_windlass").to_owned(),
        arguments,
        environment: [("HOME", "home"), ("TMPDIR", "tmp"), ("XDG_STATE_HOME", "state")]
            .map(|(name, value)| (name.to_owned(), folder(value)))
            .into(),
        directory: dirs.work(),
    };
    let surroundings = ToolSessionContext::new(dirs.work(), dirs.home().with_file_name("tmp"));
    let channel = McpChannel::Process { config: &order, tool_context: &surroundings };
    McpConnection::open("own", channel, era, Arc::new(NoHostFeatures), PATIENCE)
        .await
        .expect("a connection")
}

fn within(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work);
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("not an object: {other}"),
    }
}

/// What a call says, and whether it failed.
async fn call(connection: &McpConnection, tool: &str, input: Value) -> (String, bool) {
    let terms = McpCallOptions::with_limit(PATIENCE);
    let reply = connection.call_tool(tool, fields(input), &terms).await.expect("a reply");
    let texts = reply.parts.into_iter().filter_map(|part| match part {
        McpContent::Text(text) => Some(text),
        _ => None,
    });
    (texts.collect(), reply.is_error)
}

#[test]
fn our_tools_are_served_under_our_rules_in_every_revision() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("note.txt"), "a note\n").expect("a file");
    let settings =
        json!({"permissions": {"deny": ["Read(./secret.txt)"], "allow": ["Bash(echo:*)"]}});
    std::fs::create_dir_all(dirs.home().join(".claude")).expect("a folder");
    std::fs::write(dirs.home().join(".claude/settings.json"), settings.to_string())
        .expect("a file");
    std::fs::write(dirs.file("secret.txt"), "hidden").expect("a file");
    let path = |name: &str| dirs.file(name).to_string_lossy().into_owned();
    for era in [ProtocolEra::Handshake, ProtocolEra::Stateless, ProtocolEra::Unknown] {
        within(async {
            let connection = open(&dirs, &["--disallowedTools", "WebFetch"], era).await;
            assert_eq!(connection.description().name, "windlass");
            let tools = connection.list_tools(PATIENCE).await.expect("tools");
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            for name in ["Bash", "Read", "Edit", "Write", "Glob", "Grep"] {
                assert!(names.contains(&name), "{name}: {names:?}");
            }
            for name in ["WebFetch", "AskUserQuestion", "ToolSearch", "ExitPlanMode", "Agent"] {
                assert!(!names.contains(&name), "{name}: {names:?}");
            }
            assert!(tools.iter().any(|tool| tool.name == "Read" && tool.is_reading));
            assert!(tools.iter().any(|tool| tool.name == "Bash" && !tool.is_reading));
            let (said, is_error) =
                call(&connection, "Read", json!({"file_path": path("note.txt")})).await;
            assert!(said.contains("a note") && !is_error, "{said}");
            let (said, is_error) =
                call(&connection, "Bash", json!({"command": "echo hello"})).await;
            assert!(said.contains("hello") && !is_error, "{said}");
            // What would ask is refused, with what would allow it; what is forbidden stays so.
            let new = json!({"file_path": path("new.txt"), "content": "x"});
            let (said, is_error) = call(&connection, "Write", new).await;
            assert!(is_error && said.contains("--allowedTools"), "{said}");
            assert!(!dirs.file("new.txt").exists());
            let (said, is_error) =
                call(&connection, "Read", json!({"file_path": path("secret.txt")})).await;
            assert!(is_error && !said.contains("hidden"), "{said}");
            let wrong = connection
                .call_tool("Nothing", Map::new(), &McpCallOptions::with_limit(PATIENCE))
                .await;
            assert!(
                matches!(&wrong, Err(McpFailure::Refused { message, .. })
                if message.contains("there is no tool `Nothing`")),
                "{wrong:?}"
            );
            connection.close().await;
        });
    }
    within(async {
        let connection =
            open(&dirs, &["--allowedTools", "Write,Edit"], ProtocolEra::Handshake).await;
        let new = json!({"file_path": path("new.txt"), "content": "one\n"});
        let (said, is_error) = call(&connection, "Write", new).await;
        assert!(!is_error, "{said}");
        let edit = json!({"file_path": path("new.txt"), "old_string": "one", "new_string": "two"});
        let (said, is_error) = call(&connection, "Edit", edit).await;
        assert!(!is_error, "{said}");
        assert_eq!(std::fs::read_to_string(dirs.file("new.txt")).expect("a file"), "two\n");
        connection.close().await;
    });
}

#[test]
fn a_call_that_is_given_up_ends_with_everything_it_started() {
    let dirs = TestDirs::new();
    within(async {
        let connection = open(&dirs, &["--allowedTools", "Bash"], ProtocolEra::Handshake).await;
        let terms = McpCallOptions::with_limit(PATIENCE);
        let input = fields(json!({"command": "echo $$ > pid; sleep 3600"}));
        let cancel = terms.cancel.clone();
        let pid = async {
            let pid = until("a process", || written(&dirs, "pid")).await;
            cancel.cancel();
            pid
        };
        let (called, pid) = tokio::join!(connection.call_tool("Bash", input, &terms), pid);
        assert_eq!(called, Err(McpFailure::Cancelled));
        until("the end of it", || (!lives(pid.trim())).then_some(())).await;
        let (said, _) = call(&connection, "Bash", json!({"command": "echo still here"})).await;
        assert!(said.contains("still here"), "{said}");
        // Progress is sent to clients that ask for it.
        let (say, mut heard) = tokio::sync::mpsc::channel(64);
        let mut terms = McpCallOptions::with_limit(PATIENCE);
        terms.progress = ProgressSender::from_sender(say);
        let input =
            fields(json!({"command": "for i in 1 2 3 4; do echo step $i; sleep 0.7; done"}));
        connection.call_tool("Bash", input, &terms).await.expect("a reply");
        drop(terms);
        assert!(heard.recv().await.is_some());
        // A client that goes takes its calls along.
        let input = fields(json!({"command": "echo $$ > pid2; sleep 3600"}));
        let terms = McpCallOptions::with_limit(PATIENCE);
        let gone = async {
            let pid = until("a process", || written(&dirs, "pid2")).await;
            connection.hang_up("enough");
            pid
        };
        let (_, pid) = tokio::join!(connection.call_tool("Bash", input, &terms), gone);
        until("the end of it", || (!lives(pid.trim())).then_some(())).await;
    });
}

#[test]
fn a_hook_before_a_call_is_asked() {
    let dirs = TestDirs::new();
    let hook = "grep -q forbidden && { echo not like this >&2; exit 2; } || exit 0";
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash",
        "hooks": [{"type": "command", "command": hook}]}]}});
    std::fs::create_dir_all(dirs.home().join(".claude")).expect("a folder");
    std::fs::write(dirs.home().join(".claude/settings.json"), settings.to_string())
        .expect("a file");
    within(async {
        let connection = open(&dirs, &["--allowedTools", "Bash"], ProtocolEra::Handshake).await;
        let (said, is_error) = call(&connection, "Bash", json!({"command": "echo fine"})).await;
        assert!(said.contains("fine") && !is_error, "{said}");
        let (said, is_error) =
            call(&connection, "Bash", json!({"command": "echo forbidden"})).await;
        assert!(is_error && said.contains("not like this"), "{said}");
        connection.close().await;
    });
}

#[test]
fn a_session_uses_another_windlass_as_its_server() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("note.txt"), "read by the other one\n").expect("a file");
    let binary = env!("CARGO_BIN_EXE_windlass");
    let config = json!({"mcpServers": {"own": {"command": binary, "args": ["mcp", "serve"]}}});
    let input = json!({"file_path": dirs.file("note.txt")});
    let script = Script::new()
        .answer(ScriptedAnswer::call("mcp__own__Read", input))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    let arguments = ["-p", "go", "--mcp-config", &config.to_string(), "--allowedTools", "mcp__own"];
    run(&mut dirs.asking(&server.url(), &arguments)).answer();
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    assert!(body["messages"].to_string().contains("read by the other one"), "{body}");
}

#[test]
fn nonsense_is_answered_and_not_for_ever() {
    let dirs = TestDirs::new();
    let mut child = dirs
        .windlass(&["mcp", "serve"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("a process");
    let mut input = child.stdin.take().expect("input");
    let mut output = BufReader::new(child.stdout.take().expect("output"));
    let mut line = String::new();
    writeln!(input, "hello?").expect("a reader");
    output.read_line(&mut line).expect("an answer");
    assert!(line.contains("-32700"), "{line}");
    let start = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    writeln!(input, "{start}").expect("a reader");
    line.clear();
    output.read_line(&mut line).expect("an answer");
    assert!(line.contains(r#""protocolVersion":"2025-06-18""#), "{line}");
    writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)
        .expect("a reader");
    for _ in 0..19 {
        // The last of them finds nobody any more.
        let _ = writeln!(input, "hello again");
    }
    let begun = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("a status") {
            break status.code();
        }
        assert!(begun.elapsed() < PATIENCE, "it is still there");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(code, Some(0));
}

fn lives(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Waits for something that has to happen.
async fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a command wrote, once it is there.
fn written(dirs: &TestDirs, name: &str) -> Option<String> {
    std::fs::read_to_string(dirs.file(name)).ok().filter(|text| text.ends_with('\n'))
}
