//! Flags that programs send: each does what it says, or is refused.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::{LINES, StreamJsonProcess};
use crate::fixture::{TestDirs, play, run};

#[test]
fn knobs_of_the_model_reach_it() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    let flags = [
        "-p",
        "hi",
        "--betas",
        "one-2025,two-2025",
        "--task-budget",
        "4000",
        "--max-thinking-tokens",
        "0",
    ];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let request = server.requests().remove(0);
    assert_eq!(request.header("anthropic-beta"), Some("one-2025,two-2025"));
    assert!(request.body.contains("about 4000 tokens of output"), "{}", request.body);
    let body = request.json().expect("JSON");
    assert_eq!(body["thinking"]["type"], "disabled", "{body}");
    let flags = ["-p", "hi", "--max-thinking-tokens", "9000"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let body = server.requests().remove(1).json().expect("JSON");
    assert_eq!(body["thinking"]["type"], "adaptive", "{body}");
}

#[test]
fn what_was_thought_may_be_left_out() {
    let script = || Script::new().answer(ScriptedAnswer::text("Four.").thinking("Two and two."));
    for (display, told) in [("summarized", "Two and two."), ("omitted", "")] {
        let dirs = TestDirs::new();
        let server = play(script());
        let flags = ["--thinking-display", display, "--include-partial-messages"];
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
        driven.prompt("2 + 2");
        driven.result();
        let over = driven.end();
        let mut thoughts =
            over.frames.iter().filter_map(|frame| frame["message"]["content"].get(0));
        let thought = thoughts.find(|block| block["type"] == "thinking").expect("one");
        assert_eq!(thought["thinking"], told);
        let is_streamed =
            over.frames.iter().any(|f| f["event"]["delta"]["type"] == "thinking_delta");
        assert_eq!(is_streamed, display == "summarized");
    }
    let flags = ["-p", "hi", "--thinking-display", "sideways"];
    assert!(run(&mut TestDirs::new().windlass(&flags)).error_line(2).contains("sideways"));
}

/// A plugin with one of everything.
fn plugin(dirs: &TestDirs) -> std::path::PathBuf {
    let root = dirs.home().join("tides");
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    };
    write(".claude-plugin/plugin.json", r#"{"name":"tides","version":"1.0.0"}"#);
    write("commands/low.md", "---\ndescription: Low water\n---\nWhen is low water in $ARGUMENTS?");
    write("agents/pilot.md", "---\nname: pilot\ndescription: Pilots\n---\nPilot the ship.");
    write("skills/knots/SKILL.md", "---\nname: knots\ndescription: Knots\n---\nTie them.");
    write(
        "hooks/hooks.json",
        r#"{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"cat ${CLAUDE_PLUGIN_ROOT}/words"}]}]}}"#,
    );
    write("words", "the wind is fair\n");
    root
}

#[test]
fn a_plugin_brings_commands_agents_skills_and_hooks() {
    let dirs = TestDirs::new();
    let root = plugin(&dirs);
    let server = play(Script::new().answer(ScriptedAnswer::text("Noon.").repeat(0)));
    let path = root.to_str().expect("a path");
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--plugin-dir", path]);
    driven.prompt("/tides:low Bremen");
    let init = driven.until(|frame| frame["subtype"] == "init");
    let has =
        |key: &str, name: &str| init[key].as_array().expect("a list").iter().any(|one| one == name);
    assert!(has("slash_commands", "tides:low"), "{init}");
    assert!(has("agents", "tides:pilot") && has("skills", "tides:knots"), "{init}");
    assert_eq!(init["plugins"][0]["name"], "tides", "{init}");
    driven.result();
    assert_eq!(driven.end().code, Some(0));
    let body = &server.requests()[0].body;
    assert!(body.contains("When is low water in Bremen?"), "{body}");
    assert!(body.contains("the wind is fair"), "{body}");

    // A client that says so brings them with its first words, and may choose among skills.
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--await-initialize"]);
    let greeting = json!({"subtype": "initialize", "skills": [],
        "plugins": [{"type": "local", "path": path}]});
    let answer = driven.ask(&greeting).expect("a greeting");
    assert_eq!(answer["plugins_applied"], true, "{answer}");
    driven.prompt("hi");
    let init = driven.until(|frame| frame["subtype"] == "init");
    assert_eq!(init["plugins"][0]["name"], "tides", "{init}");
    assert_eq!(init["skills"], json!([]), "{init}");
    driven.result();
    driven.end();

    let flags = ["-p", "hi", "--plugin-dir", "nowhere"];
    let finished = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("nowhere is not a plugin"), "{finished:?}");
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
}

#[test]
fn what_happens_can_be_told_into_a_file() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    let arguments: Vec<&str> = LINES.into_iter().chain(["--debug-file", "log"]).collect();
    let mut driven = StreamJsonProcess::spawn(&mut dirs.asking(&server.url(), &arguments));
    driven.prompt("hi");
    driven.result();
    let over = driven.end();
    assert_eq!(over.stderr, "");
    let log = std::fs::read_to_string(dirs.file("log")).expect("a file");
    assert!(log.contains("claude-sonnet"), "{log}");
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi", "--debug=api"]));
    assert!(finished.stderr.contains("claude-sonnet"), "{finished:?}");
    let flags = ["-p", "hi", "--debug-file", "no/such/folder"];
    assert!(run(&mut dirs.windlass(&flags)).error_line(2).contains("--debug-file"));
}

/// A server whose tool lets commands run that touch something, and denies the rest.
const JUDGE: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"judge","description":"Judges.","inputSchema":{"type":"object"}}]}' ;;
    *'touch made'*) result='{"content":[{"type":"text","text":"{\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"touch changed\"}}"}]}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"{\"behavior\":\"deny\",\"message\":\"not on my watch\"}"}]}' ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[test]
fn a_tool_of_a_server_may_decide_what_runs() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("judge.sh"), JUDGE).expect("a file");
    let config = json!({"mcpServers": {"court": {"command": "sh", "args": ["judge.sh"]}}});
    let bash = |command: &str| ScriptedAnswer::call("Bash", json!({ "command": command }));
    let script = Script::new()
        .answer(bash("touch made"))
        .answer(bash("mkdir made"))
        .answer(ScriptedAnswer::text("Over.").when_result("not on my watch"));
    let server = play(script);
    let config = config.to_string();
    let flags = [
        "-p",
        "go",
        "--mcp-config",
        &config,
        "--output-format",
        "json",
        "--permission-prompt-tool",
        "mcp__court__judge",
    ];
    let finished = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "mkdir made", "{result}");
    assert!(dirs.file("changed").exists() && !dirs.file("made").exists());
    let flags = ["-p", "go", "--permission-prompt-tool", "somebody"];
    assert!(run(&mut dirs.windlass(&flags)).error_line(2).contains("somebody"));
}

#[test]
fn a_project_may_keep_its_things_elsewhere() {
    let dirs = TestDirs::new();
    let commands = dirs.file("kept/.claude/commands");
    std::fs::create_dir_all(&commands).expect("folders");
    std::fs::write(commands.join("low.md"), "When is low water?").expect("a file");
    std::fs::write(dirs.file("kept/CLAUDE.md"), "Speak of the sea.").expect("a file");
    let server = play(Script::new().answer(ScriptedAnswer::text("Noon.").repeat(0)));
    let flags = ["-p", "/low", "--project-config-root=kept"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let body = &server.requests()[0].body;
    assert!(body.contains("When is low water?") && body.contains("Speak of the sea."), "{body}");
    let flags = ["-p", "hi", "--project-config-root=nowhere"];
    assert!(run(&mut dirs.windlass(&flags)).error_line(2).contains("nowhere"));
}

#[test]
fn flags_of_others_work_or_say_why_not() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    std::fs::write(dirs.file("more.txt"), "Speak like a sailor.\n").expect("a file");
    let flags =
        ["-p", "hi", "--append-system-prompt-file", "more.txt", "--agent", "general-purpose"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    assert!(server.requests()[0].body.contains("Speak like a sailor."));
    let flags = ["-p", "hi", "--append-system-prompt-file", "none.txt"];
    let refused = run(&mut dirs.asking(&server.url(), &flags));
    assert!(refused.error_line(2).contains("none.txt"), "{refused:?}");
    for flag in ["-d", "--debug", "--mcp-debug"] {
        let told = run(&mut dirs.asking(&server.url(), &["-p", "hi", flag]));
        assert_eq!(told.code, Some(0), "{told:?}");
    }
    for (flag, words) in
        [("--chrome", "browser"), ("--bg", "windlass view"), ("--ide=x", "acp setup")]
    {
        let refused = run(&mut dirs.asking(&server.url(), &["-p", "hi", flag]));
        assert!(refused.error_line(2).contains(words), "{refused:?}");
    }
    let window = |flag: &str| {
        let flags = ["-p", "hi", "--output-format", "json", flag];
        let finished = run(&mut dirs.asking(&server.url(), &flags));
        let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
        let models = result["modelUsage"].as_object().expect("models").clone();
        models.values().next().expect("one")["contextWindow"].as_u64().expect("a number")
    };
    assert_eq!(window("--autocompact=300k"), 300_000);
    assert_eq!(window("--autocompact=auto"), window("--ax-screen-reader"));
    for wrong in ["99999", "many", "18446744073709551615k"] {
        let flags = ["-p", "hi", "--autocompact", wrong];
        let refused = run(&mut dirs.asking(&server.url(), &flags));
        assert!(refused.error_line(2).contains("at least 100000"), "{refused:?}");
    }
    let command = dirs.file(".claude/commands");
    std::fs::create_dir_all(&command).expect("a folder");
    std::fs::write(command.join("sail.md"), "Set the sails.").expect("a file");
    for (flags, is_there) in [(&[][..], true), (&["--disable-slash-commands"], false)] {
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), flags);
        driven.prompt("hi");
        let init = driven.until(|frame| frame["subtype"] == "init");
        let commands = init["slash_commands"].as_array().cloned().expect("commands");
        assert_eq!(commands.contains(&json!("sail")), is_there, "{init}");
        driven.result();
        driven.end();
    }
}

#[test]
fn a_server_is_added_with_a_row_of_variables_or_with_its_login() {
    let dirs = TestDirs::new();
    let add =
        |arguments: &[&str]| run(dirs.windlass(&["mcp", "add", "-s", "project"]).args(arguments));
    assert_eq!(add(&["--env", "A=1", "B=x=y", "box", "--", "sh", "-e", "C=3"]).code, Some(0));
    let login = ["-t", "http", "--client-id", "me", "--callback-port", "4000", "web", "http://h/m"];
    assert_eq!(add(&login).code, Some(0));
    let kept = std::fs::read_to_string(dirs.file(".mcp.json")).expect("a file");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    let expected = json!({
        "box": {"type": "stdio", "command": "sh", "args": ["-e", "C=3"], "env": {"A": "1", "B": "x=y"}},
        "web": {"type": "http", "url": "http://h/m", "oauth": {"clientId": "me", "callbackPort": 4000}},
    });
    assert_eq!(kept["mcpServers"], expected);
    let refused = add(&["--client-id", "me", "other", "sh"]);
    assert!(refused.error_line(2).contains("--transport http"), "{refused:?}");
}

#[test]
fn what_agents_say_is_sent_along_on_request() {
    for (flags, is_sent) in [(&[][..], false), (&["--forward-subagent-text"], true)] {
        let dirs = TestDirs::new();
        let task =
            json!({"description": "d", "prompt": "dive", "subagent_type": "general-purpose"});
        let script = Script::new()
            .answer(ScriptedAnswer::text("Deep here.").when("dive"))
            .answer(ScriptedAnswer::call("Agent", task))
            .answer(ScriptedAnswer::text("Back."));
        let server = play(script);
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), flags);
        driven.prompt("hi");
        driven.result();
        let frames = driven.end().frames;
        let says = |frame: &&Value| {
            frame["type"] == "assistant" && frame["message"].to_string().contains("Deep here.")
        };
        let told: Vec<&Value> = frames.iter().filter(says).collect();
        assert_eq!(!told.is_empty(), is_sent, "{told:?}");
        assert!(told.iter().all(|frame| frame["parent_tool_use_id"].is_string()), "{told:?}");
    }
}
