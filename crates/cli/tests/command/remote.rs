//! MCP servers through the real binary: configured, trusted, called, kept and taken away.

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::login;

/// A server of a few lines: its one tool says where it runs and what it was given.
pub(crate) const SERVER: &str = r#"#!/bin/sh
echo started >>starts
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"sh","version":"1"},"instructions":"Ask for the place first."}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"place","description":"Says where it runs.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*'"colour"'*) printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}}}\n'
      read -r said; said=$(printf '%s' "$said" | sed 's/"/\\"/g'); result="{\"content\":[{\"type\":\"text\",\"text\":\"heard $said\"}]}" ;;
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

fn test_dirs() -> TestDirs {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("server.sh"), SERVER).expect("a file");
    dirs
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
    Script::new()
        .answer(ScriptedAnswer::call("mcp__box__place", json!({})))
        .answer(ScriptedAnswer::text("done"))
}

#[test]
fn a_server_of_the_command_line_is_used_and_permission_is_asked_for() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    std::fs::write(dirs.file("mcp.json"), &config).expect("a file");
    for given in [config.as_str(), "mcp.json"] {
        for (flags, wanted) in [
            (&["--allowedTools", "mcp__box"][..], "with something"),
            (&["--allowedTools", "mcp__box__place"], "with something"),
            (&["--allowedTools", "mcp__box__*"], "with something"),
            (&["--allowedTools", "mcp__other"], "nobody could be asked"),
            (&["--allowedTools", "mcp__box", "--disallowedTools", "mcp__box"], "deny"),
        ] {
            let server = play(script());
            let mut command = dirs.asking(&server.url(), &["-p", "go", "--mcp-config", given]);
            let finished = run(command.args(flags).env("SOMETHING", "something"));
            assert_eq!(finished.code, Some(0), "{finished:?}");
            let said = last_result(&server);
            let work = dirs.work().canonicalize().expect("a folder");
            let is_run = wanted == "with something";
            let place = format!("in {} {wanted}", work.display());
            assert_eq!(said.contains(&place), is_run, "{flags:?}: {said}");
        }
    }
}

#[test]
fn a_servers_tools_are_found_by_searching_and_then_offered() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let script = Script::new()
        .answer(ScriptedAnswer::call("ToolSearch", json!({"query": "select:mcp__box__place"})))
        .answer(ScriptedAnswer::call("mcp__box__place", json!({})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    let arguments = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__box,ToolSearch"];
    run(&mut dirs.asking(&server.url(), &arguments)).answer();
    let requests = server.requests();
    let bodies: Vec<Value> = requests.iter().map(|one| one.json().expect("JSON")).collect();
    let first = names(&bodies[0]);
    assert!(!first.contains(&"mcp__box__place".to_owned()), "{first:?}");
    assert!(bodies[0]["tools"].to_string().contains("The MCP servers box offer more"));
    assert_eq!(names(&bodies[1]), [first, vec!["mcp__box__place".to_owned()]].concat());
    assert!(last_result(&server).contains("with nothing"));
    // The next session knows it from the start, without starting it; it is started when called.
    let starts = || std::fs::read_to_string(dirs.file("starts")).expect("a file").lines().count();
    assert_eq!(starts(), 1);
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    run(&mut dirs.asking(&server.url(), &["-p", "hi", "--mcp-config", &config])).answer();
    let body = server.requests()[0].json().expect("JSON");
    assert!(names(&body).contains(&"mcp__box__place".to_owned()));
    assert_eq!(starts(), 1);
    let server = play(self::script());
    run(&mut dirs.asking(&server.url(), &arguments)).answer();
    assert!(last_result(&server).contains("with nothing"));
    assert_eq!(starts(), 2);
}

#[test]
fn a_dead_or_slow_server_delays_nobody() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {
        "dead": {"command": "no-such-program-at-all"},
        "slow": {"command": "sleep", "args": ["600"]},
        "odd": {"type": "sse", "url": "http://127.0.0.1:9"},
    }});
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    let arguments = ["-p", "hi", "--mcp-config", &config.to_string()];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    assert_eq!(finished.answer(), "ok\n");
    assert!(finished.took.as_secs() < 20, "{finished:?}");
}

#[test]
fn servers_are_added_listed_and_removed_and_the_rest_of_the_file_stays() {
    let dirs = test_dirs();
    let kept = dirs.home().join(".claude.json");
    std::fs::write(&kept, "{\n  \"numStartups\": 7,\n  \"theme\": \"dark\"\n}\n").expect("a file");
    let mcp = |arguments: &[&str]| run(dirs.windlass(&["mcp"]).args(arguments));
    mcp(&["add", "box", "-e", "GIVEN=x", "--", "sh", "server.sh"]).answer();
    let json = entry().to_string();
    mcp(&["add-json", "-s", "user", "other", &json]).answer();
    let listed = mcp(&["list"]);
    let text = listed.answer();
    assert!(text.contains("box (local): sh server.sh: connected, 1 tool"), "{text}");
    assert!(text.contains("other (user): sh server.sh: connected, 1 tool"), "{text}");
    assert!(mcp(&["get", "box"]).answer().contains("  mcp__box__place\n"));
    let server = play(script());
    let arguments = ["-p", "go", "--allowedTools", "mcp__box"];
    run(&mut dirs.asking(&server.url(), &arguments)).answer();
    assert!(last_result(&server).contains("with x"));
    let server = play(script());
    let strict = ["-p", "go", "--allowedTools", "mcp__box", "--strict-mcp-config"];
    run(&mut dirs.asking(&server.url(), &strict));
    assert!(last_result(&server).contains("There is no tool"), "{}", last_result(&server));
    mcp(&["remove", "box"]).answer();
    mcp(&["remove", "other"]).answer();
    let old = mcp(&["add", "--transport", "sse", "old", "http://127.0.0.1:9/sse"]);
    assert!(old.answer().starts_with("added `old` in "), "{old:?}");
    let listed = mcp(&["list"]);
    assert!(
        listed.answer().contains("http://127.0.0.1:9/sse: failed: it cannot be reached"),
        "{listed:?}"
    );
    mcp(&["remove", "old"]).answer();
    // What is wrong with a file is said, and not that there are no servers.
    std::fs::write(dirs.file(".mcp.json"), "{\"mcpServers\":\n{").expect("a file");
    let listed = mcp(&["list"]);
    assert!(listed.answer().contains(".mcp.json, line 2"), "{listed:?}");
    std::fs::remove_file(dirs.file(".mcp.json")).expect("it is there");
    assert!(mcp(&["remove", "box"]).error_line(1).contains("there is no MCP server `box`"));
    let left = std::fs::read_to_string(&kept).expect("the file");
    assert!(left.starts_with("{\n  \"numStartups\": 7,\n  \"theme\": \"dark\","), "{left}");
    for (arguments, words) in [
        (&["add", "a b", "sh"][..], "cannot be a server's name"),
        (&["add-json", "x", "{}"], "it has no `command`"),
        (&["add-json", "x", r#"{"command": " "}"#], "it has no `command`"),
        (&["add", "x", "-e", "oops", "sh"], "write NAME=VALUE"),
    ] {
        assert!(mcp(arguments).error_line(2).contains(words), "{arguments:?}");
    }
}

#[test]
fn a_projects_servers_need_trust() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    std::fs::write(dirs.file(".mcp.json"), config).expect("a file");
    for (flags, is_used) in [(&[][..], false), (&["--trust-project"], true), (&[], false)] {
        let server = play(script());
        let mut command = dirs.asking(&server.url(), &["-p", "go", "--allowedTools", "mcp__box"]);
        run(command.args(flags));
        let said = last_result(&server);
        assert_eq!(said.contains("with nothing"), is_used, "{flags:?}: {said}");
        assert_eq!(said.contains("There is no tool"), !is_used, "{flags:?}: {said}");
    }
}

/// The bytes that were trusted are the bytes that start, also when a server is started again.
#[test]
fn a_projects_server_that_was_changed_is_not_started_again() {
    let dirs = test_dirs();
    let server_script = SERVER.replace("echo started", "echo $$");
    std::fs::write(dirs.file("server.sh"), server_script).expect("a file");
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    std::fs::write(dirs.file(".mcp.json"), config).expect("a file");
    let change = json!({"command": "echo '# changed' >> server.sh; kill $(cat starts)"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("mcp__box__place", json!({})))
        .answer(ScriptedAnswer::call("Bash", change))
        // The first one may find out that the server is gone.
        .answer(ScriptedAnswer::call("mcp__box__place", json!({})))
        .answer(ScriptedAnswer::call("mcp__box__place", json!({})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    let flags = ["-p", "go", "--trust-project", "--dangerously-skip-permissions"];
    run(&mut dirs.asking(&server.url(), &flags));
    let said = last_result(&server);
    assert!(said.contains("has changed since you trusted it"), "{said}");
    let starts = std::fs::read_to_string(dirs.file("starts")).expect("it was started");
    assert_eq!(starts.lines().count(), 1, "{said}");
}

#[test]
fn a_servers_prompts_are_commands_and_its_resources_can_be_mentioned() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    let said = |prompt: &str| {
        let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
        let arguments = ["-p", prompt, "--mcp-config", &config];
        let finished = run(&mut dirs.asking(&server.url(), &arguments));
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
    assert!(finished.error_line(1).contains("`whom` is missing"), "{content}");
    let (finished, _) = said("/mcp__box__insult you");
    assert!(finished.error_line(1).contains("there are: mcp__box__greet"));
    let (_, content) = said("What does @box:memo:one say? And @other:thing?");
    assert!(content.contains("@box:memo:one:\\nthe first memo"), "{content}");
    assert!(!content.contains("@other:thing:"), "{content}");
}

#[test]
fn a_server_process_is_held_by_the_sandbox_and_knows_only_what_it_is_given() {
    for flags in [&[][..], &["--sandbox=required"]] {
        let dirs = test_dirs();
        let nosy = "env >environment\necho x >\"$HOME/escaped\"\n";
        let server_text = SERVER.replacen("while", &format!("{nosy}while"), 1);
        std::fs::write(dirs.file("server.sh"), server_text).expect("a file");
        let config = json!({"mcpServers": {"box": entry()}}).to_string();
        let server = play(script());
        let arguments = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__box"];
        let mut command = dirs.asking(&server.url(), &arguments);
        let finished = run(command.args(flags).env("SOMEBODY_ELSES", "secret"));
        if finished.stderr.contains("sandbox") && finished.code != Some(0) {
            assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{finished:?}");
            return;
        }
        assert!(last_result(&server).contains("with nothing"), "{finished:?}");
        // Seen from outside: it wrote where the session works, and nowhere else when it is held.
        assert!(dirs.file("environment").exists());
        assert_eq!(dirs.home().join("escaped").exists(), flags.is_empty(), "{flags:?}");
        let given = std::fs::read_to_string(dirs.file("environment")).expect("a file");
        for name in ["PATH=", "HOME=", "CLAUDE_PROJECT_DIR=", "GIVEN=nothing"] {
            assert!(given.lines().any(|line| line.starts_with(name)), "{name}: {given}");
        }
        for name in ["SOMEBODY_ELSES", "ANTHROPIC_API_KEY", "test-key"] {
            assert!(!given.contains(name), "{name}: {given}");
        }
    }
}

#[test]
fn five_hundred_tools_of_twenty_servers_weigh_little_until_they_are_used() {
    let dirs = test_dirs();
    let tool = |number: usize| {
        json!({"name": format!("tool_number_{number}"), "description": "Does something. ".repeat(20),
            "inputSchema": {"type": "object", "properties": {
                "path": {"type": "string", "description": "Where. ".repeat(20)}}}})
    };
    let list = json!({"tools": (0..25).map(tool).collect::<Vec<_>>()}).to_string();
    std::fs::write(dirs.file("tools.json"), list).expect("a file");
    let one = r#"result='{"tools":[{"name":"place","description":"Says where it runs.","inputSchema":{"type":"object"}}]}'"#;
    let many = SERVER.replace(one, "result=$(cat tools.json)");
    assert_ne!(many, SERVER);
    std::fs::write(dirs.file("many.sh"), many).expect("a file");
    let entry = json!({"command": "sh", "args": ["many.sh"]});
    let servers: serde_json::Map<String, Value> =
        (0..20).map(|number| (format!("server_number_{number}"), entry.clone())).collect();
    let config = json!({"mcpServers": servers}).to_string();
    let weight = |body: &Value| body["tools"].to_string().len();
    let bare = {
        let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
        run(&mut dirs.asking(&server.url(), &["-p", "hi"])).answer();
        weight(&server.requests()[0].json().expect("JSON"))
    };
    // The first session does not know their tools yet and finds them, the second knows them all.
    for _ in 0..2 {
        let wanted = "mcp__server_number_7__tool_number_3";
        let script = Script::new()
            .answer(ScriptedAnswer::call(
                "ToolSearch",
                json!({"query": format!("select:{wanted}")}),
            ))
            .answer(ScriptedAnswer::text("ok"));
        let server = play(script);
        let arguments = ["-p", "hi", "--mcp-config", &config, "--allowedTools", "ToolSearch"];
        run(&mut dirs.asking(&server.url(), &arguments)).answer();
        let bodies: Vec<Value> =
            server.requests().iter().map(|one| one.json().expect("JSON")).collect();
        // A token is about four bytes.
        let tokens = (weight(&bodies[0]) - bare) / 4;
        assert!(tokens < 2_000, "{tokens} tokens");
        let first = &bodies[0]["tools"];
        let second = &bodies[1]["tools"];
        let (first, second) =
            (first.as_array().expect("a list"), second.as_array().expect("a list"));
        assert_eq!(second.len(), first.len() + 1);
        assert_eq!(second.last().expect("a tool")["name"], wanted);
        for (before, after) in first.iter().zip(second) {
            assert_eq!(before["name"], after["name"], "what is cached stays where it is");
            assert_eq!(before["description"], after["description"]);
        }
    }
}

#[test]
fn only_the_servers_of_a_project_that_are_wanted_are_started() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {"box": entry(), "other": entry()}}).to_string();
    std::fs::write(dirs.file(".mcp.json"), config).expect("a file");
    for (settings, is_used) in [
        (json!({}), true),
        (json!({"enabledMcpjsonServers": ["other"]}), false),
        (json!({"enabledMcpjsonServers": ["box"]}), true),
        (json!({"enabledMcpjsonServers": [], "enableAllProjectMcpServers": true}), true),
        (json!({"disabledMcpjsonServers": ["box"]}), false),
    ] {
        let server = play(script());
        let arguments = ["-p", "go", "--trust-project", "--allowedTools", "mcp__box"];
        let mut command = dirs.asking(&server.url(), &arguments);
        run(command.args(["--settings", &settings.to_string()]));
        let said = last_result(&server);
        assert_eq!(said.contains("with nothing"), is_used, "{settings}: {said}");
    }
}

#[test]
fn servers_that_settings_deny_are_never_started() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    let command = json!({"serverCommand": ["sh", "server.sh"]});
    for (managed, user, is_used) in [
        (json!({}), json!({}), true),
        (json!({"deniedMcpServers": [{"serverName": "box"}]}), json!({}), false),
        (json!({"deniedMcpServers": [command]}), json!({}), false),
        (json!({}), json!({"deniedMcpServers": [command]}), false),
        (json!({"allowedMcpServers": [{"serverName": "other"}]}), json!({}), false),
        (json!({"allowedMcpServers": [{"serverName": "box"}]}), json!({}), true),
        // What a user allows does not add to the administrator's list.
        (json!({"allowedMcpServers": []}), json!({"allowedMcpServers": [command]}), false),
    ] {
        let server = play(script());
        let settings = [managed.to_string(), user.to_string()];
        let flags = ["--managed-settings", &settings[0], "--settings", &settings[1]];
        let arguments = ["-p", "go", "--allowedTools", "mcp__box", "--mcp-config", &config];
        let finished = run(dirs.asking(&server.url(), &arguments).args(flags));
        let said = last_result(&server);
        assert_eq!(said.contains("with nothing"), is_used, "{managed} {user}: {said}");
        let is_told = finished.stderr.contains("the MCP server `box` is left out");
        assert_eq!(is_told, !is_used, "{finished:?}");
        let is_started = std::fs::remove_file(dirs.file("starts")).is_ok();
        assert_eq!(is_started, is_used, "{managed} {user}");
    }
}

#[test]
fn nobody_in_front_says_no_to_a_servers_question_and_hooks_may_say_more() {
    let accept = json!({"hookSpecificOutput": {"hookEventName": "Elicitation", "action": "accept",
        "content": {"colour": "blue"}}});
    let change = json!({"hookSpecificOutput": {"hookEventName": "ElicitationResult",
        "action": "accept", "content": {"colour": "green"}}});
    let hook = |output: &Value| {
        json!([{"hooks": [{"type": "command",
        "command": format!("cat >>told; echo '{output}'")}]}])
    };
    for (hooks, wanted) in [
        (json!({}), "decline"),
        (json!({"Elicitation": hook(&accept)}), "blue"),
        (json!({"Elicitation": hook(&accept), "ElicitationResult": hook(&change)}), "green"),
        (
            json!({"Elicitation": [{"matcher": "other", "hooks": [
            {"type": "command", "command": format!("echo '{accept}'")}]}]}),
            "decline",
        ),
    ] {
        let dirs = test_dirs();
        let config = json!({"mcpServers": {"box": entry()}}).to_string();
        let script = Script::new()
            .answer(ScriptedAnswer::call("mcp__box__place", json!({"colour": 1})))
            .answer(ScriptedAnswer::text("done"));
        let server = play(script);
        let settings = json!({"hooks": hooks}).to_string();
        let arguments = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__box"];
        let mut command = dirs.asking(&server.url(), &arguments);
        run(command.args(["--settings", &settings]));
        let said = last_result(&server);
        assert!(said.contains(wanted), "{hooks}: {said}");
        if wanted == "green" {
            let told = std::fs::read_to_string(dirs.file("told")).expect("a file");
            for words in ["Which colour?", "requested_schema", r#""action":"accept""#, "blue"] {
                assert!(told.contains(words), "{words}: {told}");
            }
        }
    }
}

#[test]
fn what_a_server_says_of_its_use_reaches_the_model_as_its_words() {
    let dirs = test_dirs();
    let config = json!({"mcpServers": {"box": entry()}}).to_string();
    let script = Script::new()
        .answer(ScriptedAnswer::call("ToolSearch", json!({"query": "select:mcp__box__place"})))
        .answer(ScriptedAnswer::text("Found.").repeat(0));
    let server = play(script);
    let flags = ["-p", "go", "--mcp-config", &config, "--allowedTools", "ToolSearch"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    // Its server was not known before: with the tool that was found.
    let said = last_result(&server);
    assert!(said.contains("Ask for the place first.") && said.contains("not the user's"), "{said}");
    // Known from the last time: from the start, with the names of its tools.
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    let tools = body["tools"].as_array().cloned().expect("tools");
    let search = tools.iter().find(|tool| tool["name"] == "ToolSearch").expect("a search");
    let told = search["description"].as_str().expect("words");
    assert!(
        told.contains("Ask for the place first.") && told.contains("mcp__box__place"),
        "{told}"
    );
}

#[test]
fn entries_that_are_left_out_are_said_with_what_is_wrong() {
    let dirs = test_dirs();
    let config =
        json!({"mcpServers": {"wire": {"type": "ws", "url": "ftp://h"}, "odd": {"command": 5}}});
    std::fs::write(dirs.file(".mcp.json"), config.to_string()).expect("a file");
    let settings = dirs.file(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
    std::fs::write(settings, r#"{"permissions": {"defaultMode": "sideways"}}"#).expect("a file");
    let settings = dirs.file(".claude/settings.local.json");
    std::fs::write(settings, r#"{"permissions": {"defaultMode": "auto"}}"#).expect("a file");
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi", "--trust-project"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for words in [
        "`wire` is left out: its `url`",
        "`odd` is left out",
        "\"sideways\" is not a mode",
        "there is no mode `auto`",
    ] {
        assert!(finished.stderr.contains(words), "{words}: {finished:?}");
    }
    let doctor = run(&mut dirs.windlass(&["doctor", "--offline", "--trust-project"]));
    assert!(doctor.stdout.contains("`wire` is left out: its `url`"), "{doctor:?}");
}

#[test]
fn what_servers_are_called_steers_no_terminal() {
    let dirs = TestDirs::new();
    let servers = json!({
        "one\u{1b}[2J\ntwo": {"command": "no-such\u{1b}]0;x\u{7}"},
        "three\u{1b}[2J\nfour": {"type": "pigeon\u{1b}c"},
    });
    let config = json!({ "mcpServers": servers });
    std::fs::write(dirs.home().join(".claude.json"), config.to_string()).expect("a file");
    let listed = run(&mut dirs.windlass(&["mcp", "list"]));
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "a line for each: {listed:?}");
    assert!(!listed.stdout.contains('\u{1b}') && !listed.stderr.contains('\u{1b}'), "{listed:?}");
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    let report = run(&mut dirs.asking(&server.url(), &["-p", "/mcp"]));
    assert!(!report.stdout.contains('\u{1b}') && report.stdout.contains("two"), "{report:?}");
}

#[test]
fn an_entry_with_an_address_and_no_type_is_a_server_over_http() {
    let dirs = TestDirs::new();
    let headers = json!({"Authorization": format!("Bearer {}", login::TOKEN)});
    let entry = json!({"url": format!("{}/mcp", login::serve()), "headers": headers});
    let config = json!({"mcpServers": {"box": entry}}).to_string();
    std::fs::write(dirs.file(".mcp.json"), config).expect("a file");
    let script = Script::new()
        .answer(ScriptedAnswer::call("mcp__box__open", json!({})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    let arguments = ["-p", "go", "--trust-project", "--allowedTools", "mcp__box"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    assert!(last_result(&server).contains("it is open"), "{}", last_result(&server));
}

#[test]
fn a_long_name_of_a_server_leaves_the_other_columns_where_they_are() {
    let dirs = TestDirs::new();
    let command = json!({"command": "no-such-program-at-all"});
    let servers = json!({"n".repeat(5_000): command, "box": command});
    let config = json!({ "mcpServers": servers }).to_string();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    let arguments = ["-p", "/mcp", "--mcp-config", &config];
    let report = run(&mut dirs.asking(&server.url(), &arguments));
    let row = |name: &str| report.stdout.lines().find(|line| line.starts_with(name));
    let widths = ["nnnn", "box"].map(|name| row(name).expect("a row").chars().count());
    assert!(widths.iter().all(|width| *width < 200), "{widths:?}");
    assert!(row("nnnn").is_some_and(|row| row.contains('…')), "{report:?}");
}
