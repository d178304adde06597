//! MCP servers through the real binary: configured, trusted, called, kept and taken away.

use serde_json::{Value, json};
use windlass_rehearsal::{Answer, Rehearsal, Script};

use crate::stage::{World, play, run};

/// A server of a few lines: its one tool says where it runs and what it was given.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"place","description":"Says where it runs.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) result="{\"content\":[{\"type\":\"text\",\"text\":\"in $CLAUDE_PROJECT_DIR with $GIVEN\"}]}" ;;
    *'"method":"prompts/list"'*) result='{"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"whom","required":true}]}]}' ;;
    *'"method":"prompts/get"'*) result="{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Greet $(printf '%s' "$line" | sed -n 's/.*"whom":"\([a-z ]*\)".*/\1/p') kindly.\"}}]}" ;;
    *'"method":"resources/read"'*) result='{"contents":[{"uri":"memo:one","text":"the first memo"}]}' ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn world() -> World {
    let world = World::new();
    std::fs::write(world.file("server.sh"), SERVER).expect("a file");
    world
}

fn entry() -> Value {
    json!({"command": "sh", "args": ["server.sh"], "env": {"GIVEN": "${SOMETHING:-nothing}"}})
}

/// What the last tool said.
fn last_result(server: &Rehearsal) -> String {
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    let messages = body["messages"].as_array().cloned().expect("messages");
    messages.last().expect("a message")["content"].to_string()
}

fn script() -> Script {
    Script::new().answer(Answer::call("mcp__box__place", json!({}))).answer(Answer::text("done"))
}

#[test]
fn a_server_of_the_command_line_is_used_and_permission_is_asked_for() {
    let world = world();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    std::fs::write(world.file("mcp.json"), &config).expect("a file");
    for given in [config.as_str(), "mcp.json"] {
        for (flags, wanted) in [
            (&["--allowedTools", "mcp__box"][..], "with something"),
            (&["--allowedTools", "mcp__box__place"], "with something"),
            (&["--allowedTools", "mcp__box__*"], "with something"),
            (&["--allowedTools", "mcp__other"], "nobody could be asked"),
            (&["--allowedTools", "mcp__box", "--disallowedTools", "mcp__box"], "deny"),
        ] {
            let server = play(script());
            let mut command = world.asking(&server.url(), &["-p", "go", "--mcp-config", given]);
            let finished = run(command.args(flags).env("SOMETHING", "something"));
            assert_eq!(finished.code, Some(0), "{finished:?}");
            let said = last_result(&server);
            let work = world.work().canonicalize().expect("a folder");
            let is_run = wanted == "with something";
            let place = format!("in {} {wanted}", work.display());
            assert_eq!(said.contains(&place), is_run, "{flags:?}: {said}");
        }
    }
}

#[test]
fn a_servers_tools_are_found_by_searching_and_then_offered() {
    let world = world();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let script = Script::new()
        .answer(Answer::call("ToolSearch", json!({"query": "select:mcp__box__place"})))
        .answer(Answer::call("mcp__box__place", json!({})))
        .answer(Answer::text("done"));
    let server = play(script);
    let arguments = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__box,ToolSearch"];
    run(&mut world.asking(&server.url(), &arguments)).answer();
    let requests = server.requests();
    let bodies: Vec<Value> = requests.iter().map(|one| one.json().expect("JSON")).collect();
    let first = names(&bodies[0]);
    assert!(!first.contains(&"mcp__box__place".to_owned()), "{first:?}");
    assert!(bodies[0]["tools"].to_string().contains("The MCP servers box offer more"));
    assert_eq!(names(&bodies[1]), [first, vec!["mcp__box__place".to_owned()]].concat());
    assert!(last_result(&server).contains("with nothing"));
    // The next session knows it from the start, without starting it.
    let server = play(Script::new().answer(Answer::text("ok")));
    run(&mut world.asking(&server.url(), &["-p", "hi", "--mcp-config", &config])).answer();
    let body = server.requests()[0].json().expect("JSON");
    assert!(names(&body).contains(&"mcp__box__place".to_owned()));
}

#[test]
fn a_dead_or_slow_server_delays_nobody() {
    let world = world();
    let config = json!({"mcpServers": {
        "dead": {"command": "no-such-program-at-all"},
        "slow": {"command": "sleep", "args": ["600"]},
        "odd": {"type": "sse", "url": "http://127.0.0.1:9"},
    }});
    let server = play(Script::new().answer(Answer::text("ok")));
    let arguments = ["-p", "hi", "--mcp-config", &config.to_string()];
    let finished = run(&mut world.asking(&server.url(), &arguments));
    assert_eq!(finished.answer(), "ok\n");
    assert!(finished.took.as_secs() < 20, "{finished:?}");
}

#[test]
fn servers_are_added_listed_and_removed_and_the_rest_of_the_file_stays() {
    let world = world();
    let kept = world.home().join(".claude.json");
    std::fs::write(&kept, "{\n  \"numStartups\": 7,\n  \"theme\": \"dark\"\n}\n").expect("a file");
    let mcp = |arguments: &[&str]| run(world.windlass(&["mcp"]).args(arguments));
    mcp(&["add", "box", "-e", "GIVEN=x", "--", "sh", "server.sh"]).answer();
    let json = entry().to_string();
    mcp(&["add-json", "-s", "user", "other", &json]).answer();
    let listed = mcp(&["list"]);
    let text = listed.answer();
    assert!(text.contains("box (local): sh server.sh: connected, 1 tools"), "{text}");
    assert!(text.contains("other (user): sh server.sh: connected, 1 tools"), "{text}");
    assert!(mcp(&["get", "box"]).answer().contains("  mcp__box__place\n"));
    let server = play(script());
    let arguments = ["-p", "go", "--allowedTools", "mcp__box"];
    run(&mut world.asking(&server.url(), &arguments)).answer();
    assert!(last_result(&server).contains("with x"));
    let server = play(script());
    let strict = ["-p", "go", "--allowedTools", "mcp__box", "--strict-mcp-config"];
    run(&mut world.asking(&server.url(), &strict));
    assert!(last_result(&server).contains("There is no tool"), "{}", last_result(&server));
    mcp(&["remove", "box"]).answer();
    mcp(&["remove", "other"]).answer();
    assert!(mcp(&["remove", "box"]).refusal(1).contains("there is no MCP server `box`"));
    let left = std::fs::read_to_string(&kept).expect("the file");
    assert!(left.starts_with("{\n  \"numStartups\": 7,\n  \"theme\": \"dark\","), "{left}");
    for (arguments, words) in [
        (&["add", "a b", "sh"][..], "cannot be a server's name"),
        (&["add-json", "x", "{}"], "it has no `command`"),
        (&["add", "x", "-e", "oops", "sh"], "write NAME=VALUE"),
    ] {
        assert!(mcp(arguments).refusal(2).contains(words), "{arguments:?}");
    }
}

#[test]
fn a_projects_servers_need_trust() {
    let world = world();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    std::fs::write(world.file(".mcp.json"), config).expect("a file");
    for (flags, is_used) in [(&[][..], false), (&["--trust-project"], true), (&[], false)] {
        let server = play(script());
        let mut command = world.asking(&server.url(), &["-p", "go", "--allowedTools", "mcp__box"]);
        run(command.args(flags));
        let said = last_result(&server);
        assert_eq!(said.contains("with nothing"), is_used, "{flags:?}: {said}");
        assert_eq!(said.contains("There is no tool"), !is_used, "{flags:?}: {said}");
    }
}

#[test]
fn a_servers_prompts_are_commands_and_its_resources_can_be_mentioned() {
    let world = world();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    let said = |prompt: &str| {
        let server = play(Script::new().answer(Answer::text("ok")));
        let arguments = ["-p", prompt, "--mcp-config", &config];
        let finished = run(&mut world.asking(&server.url(), &arguments));
        let body = server.requests().pop().map(|request| request.json().expect("JSON"));
        (finished, body.map(|body| body["messages"][0]["content"].to_string()).unwrap_or_default())
    };
    // The first time its server is waited for, the second time the command is known.
    for _ in 0..2 {
        let (finished, content) = said("/mcp__box__greet all of them");
        assert_eq!(finished.answer(), "ok\n");
        assert!(content.contains("Greet all of them kindly."), "{content}");
    }
    let (finished, content) = said("/mcp__box__greet");
    assert!(finished.refusal(1).contains("`whom` is missing"), "{content}");
    let (finished, _) = said("/mcp__box__insult you");
    assert!(finished.refusal(1).contains("there are: mcp__box__greet"));
    let (_, content) = said("What does @box:memo:one say? And @other:thing?");
    assert!(content.contains("@box:memo:one:\\nthe first memo"), "{content}");
    assert!(!content.contains("@other:thing:"), "{content}");
}
