//! MCP servers that need long to start: they get the time they are given, and it is said that they do.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play, run};
use crate::remote::SERVER;

/// A server that starts to answer after so many seconds.
fn write_slow_server(dirs: &TestDirs, name: &str, seconds: u32) {
    let text = SERVER.replacen("\n", &format!("\nsleep {seconds}\n"), 1);
    std::fs::write(dirs.file(name), text).expect("a file");
}

fn add_server(dirs: &TestDirs, entry: &serde_json::Value) {
    run(&mut dirs.windlass(&["mcp", "add-json", "slow", &entry.to_string()])).answer();
}

#[test]
fn a_list_waits_for_a_server_as_long_as_a_session_does() {
    let dirs = TestDirs::new();
    // A list once had a limit of its own: 20 seconds.
    write_slow_server(&dirs, "server.sh", 21);
    add_server(&dirs, &json!({"command": "sh", "args": ["server.sh"]}));
    let listed = run(dirs.windlass(&["mcp", "list"]).env("MCP_TIMEOUT", "120000"));
    assert!(listed.stdout.contains("connected, 1 tool"), "{listed:?}");
    assert!(
        listed.stderr.contains("`slow` is not ready: still starting after 10.0 s"),
        "{listed:?}"
    );
}

#[test]
fn a_list_obeys_the_limit_that_is_set() {
    let dirs = TestDirs::new();
    add_server(&dirs, &json!({"command": "sleep", "args": ["600"]}));
    for arguments in [&["mcp", "list"][..], &["mcp", "get", "slow"]] {
        let listed = run(dirs.windlass(arguments).env("MCP_TIMEOUT", "1500"));
        assert!(listed.stdout.contains("slow (local): sleep 600: failed"), "{listed:?}");
        assert!(listed.stderr.contains("still starting after 0.5 s; it has 2 s"), "{listed:?}");
    }
}

#[test]
fn a_session_says_that_a_server_needs_long() {
    let dirs = TestDirs::new();
    let config = json!({"mcpServers": {"slow": {"command": "sleep", "args": ["600"]}}}).to_string();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    let lines = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let arguments: Vec<&str> =
        lines.iter().copied().chain(["--verbose", "--mcp-config", &config]).collect();
    let mut command = dirs.asking(&server.url(), &arguments);
    let mut driven = StreamJsonProcess::spawn(command.env("MCP_TIMEOUT", "1500"));
    driven.prompt("go");
    driven.until(|frame| frame.to_string().contains("`slow` is not ready: still starting"));
    assert_eq!(driven.end().code, Some(0));
}

#[test]
fn doctor_says_that_a_limit_is_too_short_for_an_install() {
    let dirs = TestDirs::new();
    add_server(&dirs, &json!({"command": "npx", "args": ["-y", "some-server"]}));
    let doctor =
        |limit: &str| run(dirs.windlass(&["doctor", "--offline"]).env("MCP_TIMEOUT", limit)).stdout;
    let said = doctor("3000");
    assert!(said.contains("`slow` is installed at its first start"), "{said}");
    assert!(said.contains("after 3.0 s; set it to 60000 or more"), "{said}");
    assert!(!doctor("90000").contains("installed at its first start"));
}
