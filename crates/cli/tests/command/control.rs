//! What a client may ask beside the conversation, and what it is asked.

use std::time::Instant;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::{LINES, StreamJsonProcess};
use crate::fixture::{PATIENCE, TestDirs, play};

fn bash(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("Bash", json!({ "command": command }))
}

#[test]
fn a_command_in_the_background_is_told_shown_and_stopped() {
    let dirs = TestDirs::new();
    let left = json!({ "command": "echo begun; sleep 600", "run_in_background": true });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", left))
            .answer(ScriptedAnswer::text("It runs.")),
    );
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash"]);
    driven.prompt("start it");
    let started = driven.until(|frame| frame["subtype"] == "task_started");
    assert_eq!(started["task_type"], "local_bash", "{started}");
    let changed = driven.until(|frame| frame["subtype"] == "background_tasks_changed");
    assert_eq!(changed["tasks"].as_array().map(Vec::len), Some(1), "{changed}");
    driven.result();
    let id = &started["task_id"];
    let mut output = json!(null);
    // It may not have spoken yet.
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit {
        output = driven.ask(&json!({"subtype": "get_task_output", "task_id": id})).expect("output");
        if output["total_bytes"] != 0 {
            break;
        }
    }
    assert_eq!(output, json!({"output": "begun\n", "total_bytes": 6, "truncated": false}));
    driven.ask(&json!({"subtype": "stop_task", "task_id": id})).expect("it stops");
    let ended = |frame: &Value| frame["subtype"] == "task_notification";
    let ended = driven.seen.iter().find(|frame| ended(frame)).expect("told before it is answered");
    assert_eq!((&ended["status"], &ended["task_id"]), (&json!("stopped"), id), "{ended}");
    let wrong = driven.ask(&json!({"subtype": "stop_task", "task_id": "b99"}));
    assert!(wrong.expect_err("there is none").contains("b99"));
    let moved = driven.ask(&json!({"subtype": "background_tasks"})).expect("an answer");
    assert_eq!(moved["backgrounded"], false);
    assert_eq!(driven.end().code, Some(0));
}

#[test]
fn settings_are_shown_changed_and_written_down() {
    let dirs = TestDirs::new();
    let server =
        play(Script::new().answer(bash("touch made")).answer(ScriptedAnswer::text("Over.")));
    let mut driven =
        StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash(touch:*)"]);
    let rules = |driven: &mut StreamJsonProcess| {
        let state = driven.ask(&json!({"subtype": "list_permission_rules"})).expect("rules");
        state["state"]["rules"].as_array().cloned().expect("a list")
    };
    let given = |rules: &[Value], behavior: &str, source: &str| {
        rules.iter().any(|rule| {
            rule["behavior"] == behavior
                && rule["source"] == source
                && rule["rule"].as_str().is_some_and(|rule| rule.starts_with("Bash"))
        })
    };
    let before = rules(&mut driven);
    assert!(given(&before, "allow", "cliArg"), "{before:?}");
    let denied = json!({"permissions": {"deny": ["Bash(touch made)"]}, "effortLevel": "low"});
    driven
        .ask(&json!({"subtype": "apply_flag_settings", "settings": denied}))
        .expect("it is taken");
    let after = rules(&mut driven);
    assert!(given(&after, "deny", "flagSettings"), "{after:?}");
    let shown = driven.ask(&json!({"subtype": "get_settings"})).expect("settings");
    assert_eq!(shown["applied"]["effort"], "low", "{shown}");
    assert_eq!(shown["effective"]["effortLevel"], "low", "{shown}");
    driven.prompt("make it");
    let result = driven.result();
    assert_eq!(result["permission_denials"].as_array().map(Vec::len), Some(1), "{result}");
    assert!(!dirs.file("made").exists());
    assert!(server.requests()[0].body.contains("\"low\""), "the effort counts from now on");
    let style = json!({"subtype": "update_settings", "source": "localSettings",
        "settings": {"outputStyle": "Concise"}});
    driven.ask(&style).expect("it is written");
    let written =
        std::fs::read_to_string(dirs.file(".claude/settings.local.json")).expect("a file");
    assert!(written.contains("\"outputStyle\": \"Concise\""), "{written}");
    let other = json!({"subtype": "update_settings", "source": "localSettings",
        "settings": {"hooks": {}}});
    assert!(driven.ask(&other).expect_err("no").contains("hooks"));
    let wrong = json!({"subtype": "apply_flag_settings", "settings": {"permissions": 3}});
    driven.ask(&wrong).expect_err("a wrong type is refused");
    assert_eq!(driven.end().code, Some(0));
}

#[test]
fn a_yes_may_be_written_down_and_is_not_asked_again() {
    let dirs = TestDirs::new();
    let script = || Script::new().answer(bash("touch made")).answer(ScriptedAnswer::text("Over."));
    let server = play(script());
    let flags = ["--permission-prompt-tool", "stdio"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    driven.prompt("make it");
    let asked = driven.asked("can_use_tool");
    assert_eq!(asked["request"]["title"], "Bash touch made", "{asked}");
    assert_eq!(asked["request"]["display_name"], "Bash");
    let update = |destination: &str, rule: &str| {
        json!({"type": "addRules", "behavior": "allow", "destination": destination,
            "rules": [{"toolName": "Bash", "ruleContent": rule}]})
    };
    let updates = [update("localSettings", "touch:*"), update("userSettings", "ls:*")];
    let yes = json!({"behavior": "allow", "updatedPermissions": updates});
    driven.answer(&asked, &yes);
    driven.result();
    assert_eq!(driven.end().code, Some(0));
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    assert!(read(dirs.file(".claude/settings.local.json")).contains("Bash(touch:*)"));
    assert!(read(dirs.home().join(".claude/settings.json")).contains("Bash(ls:*)"));
    let server = play(script());
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    driven.prompt("make it");
    driven.result();
    let over = driven.end();
    assert!(!over.frames.iter().any(|frame| frame["type"] == "control_request"), "{over:?}");

    let dirs = TestDirs::new();
    let server = play(script());
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    driven.prompt("make it");
    let asked = driven.asked("can_use_tool");
    let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "projectSettings"});
    driven.answer(&asked, &json!({"behavior": "allow", "updatedPermissions": [mode]}));
    driven.result();
    driven.end();
    assert!(read(dirs.file(".claude/settings.json")).contains("acceptEdits"));
}

#[test]
fn a_question_says_what_it_is_about_and_whose_it_is() {
    let dirs = TestDirs::new();
    let away = dirs.home().join("away.txt");
    let write = json!({ "file_path": away, "content": "hello" });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call(
                "Agent",
                json!({ "description": "a", "prompt": "write it" }),
            ))
            .answer(ScriptedAnswer::call("Write", write).when("write it"))
            .answer(ScriptedAnswer::text("Over.").repeat(0)),
    );
    let mut driven =
        StreamJsonProcess::start(&dirs, &server.url(), &["--permission-prompt-tool", "stdio"]);
    driven.prompt("have it written");
    let mut asked = driven.asked("can_use_tool");
    if asked["request"]["tool_name"] == "Agent" {
        driven.answer(&asked, &json!({"behavior": "allow"}));
        asked = driven.asked("can_use_tool");
    }
    let request = &asked["request"];
    assert_eq!(request["blocked_path"], json!(away), "{asked}");
    assert_eq!(request["agent_id"], "agent-1", "{asked}");
    driven.answer(&asked, &json!({"behavior": "deny", "message": "not there"}));
    driven.result();
    driven.end();
}

#[test]
fn another_model_may_live_at_another_provider() {
    let dirs = TestDirs::new();
    let (first, second) =
        (play(Script::new()), play(Script::new().answer(ScriptedAnswer::text("Here."))));
    dirs.config(&format!(
        "[provider.elsewhere]\nwire = \"openai_chat\"\nbase_url = \"{}\"\nkey_env = \"OTHER_KEY\"\n",
        second.url()
    ));
    let mut command = dirs.asking(&first.url(), &LINES);
    let mut driven = StreamJsonProcess::spawn(command.env("OTHER_KEY", "k"));
    let listed = driven.ask(&json!({"subtype": "list_models"})).expect("models");
    assert_eq!(listed["models"][0]["value"], "default", "{listed}");
    driven.ask(&json!({"subtype": "set_model", "model": "elsewhere/big"})).expect("it is taken");
    driven.prompt("hello");
    let result = driven.result();
    assert_eq!(result["result"], "Here.", "{result}");
    assert_eq!(driven.seen.iter().find(|f| f["subtype"] == "init").expect("init")["model"], "big");
    assert_eq!((first.request_count(), second.request_count()), (0, 1));
    driven.ask(&json!({"subtype": "set_model", "model": "no such/model/at all"})).ok();
    assert_eq!(driven.end().code, Some(0));
}

/// A server whose tool asks the user something and says what came of it.
const ASKING: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"ask","description":"Asks.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Which tide?","requestedSchema":{"type":"object","properties":{"tide":{"type":"string"}}}}}\n'
      read -r said
      tide=$(printf '%s' "$said" | sed -n 's/.*"tide":"\([a-z]*\)".*/\1/p')
      result="{\"content\":[{\"type\":\"text\",\"text\":\"the tide is $tide\"}]}" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[test]
fn servers_come_on_the_way_and_ask_the_client() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("asking.sh"), ASKING).expect("a file");
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("mcp__sea__ask", json!({})).when_tool("mcp__sea__ask"))
            .answer(ScriptedAnswer::text("Noted.").when_result("the tide is out")),
    );
    let mut driven =
        StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "mcp__sea"]);
    let sea = json!({"sea": {"command": "sh", "args": ["asking.sh"]}});
    let set = driven.ask(&json!({"subtype": "mcp_set_servers", "servers": sea})).expect("set");
    assert_eq!(set, json!({"added": ["sea"], "removed": [], "errors": {}}));
    driven.prompt("how is the sea");
    let asked = driven.asked("elicitation");
    assert_eq!(asked["request"]["mcp_server_name"], "sea", "{asked}");
    assert_eq!(asked["request"]["message"], "Which tide?");
    driven.answer(&asked, &json!({"action": "accept", "content": {"tide": "out"}}));
    let result = driven.result();
    assert_eq!(result["result"], "Noted.", "{result}");
    let set = driven.ask(&json!({"subtype": "mcp_set_servers", "servers": {}})).expect("set");
    assert_eq!(set["removed"], json!(["sea"]));
    let status = driven.ask(&json!({"subtype": "mcp_status"})).expect("status");
    assert_eq!(status["mcpServers"], json!([]));
    assert_eq!(driven.end().code, Some(0));
}

#[test]
fn hooks_are_listed_names_are_given_and_what_is_unknown_is_refused() {
    let dirs = TestDirs::new();
    std::fs::create_dir_all(dirs.home().join(".claude")).expect("a folder");
    let hook = json!({"hooks": {"PreToolUse": [{"matcher": "Bash",
        "hooks": [{"type": "command", "command": "true"}]}]}});
    std::fs::write(dirs.home().join(".claude/settings.json"), hook.to_string()).expect("a file");
    let server = play(Script::new().answer(ScriptedAnswer::text("Over.")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    let own = json!({"Stop": [{"matcher": null, "hookCallbackIds": ["mine"]}]});
    driven.ask(&json!({"subtype": "initialize", "hooks": own})).expect("a greeting");
    let listed = driven.ask(&json!({"subtype": "get_hooks_listing"})).expect("hooks");
    let sources: Vec<&Value> =
        listed["hooks"].as_array().expect("rows").iter().map(|row| &row["source"]).collect();
    assert_eq!(sources, [&json!("userSettings"), &json!("sessionHook")], "{listed}");
    driven.prompt("hello");
    let asked = driven.asked("hook_callback");
    driven.answer(&asked, &json!({}));
    driven.result();
    driven.ask(&json!({"subtype": "rename_session", "title": "the sea"})).expect("a name");
    let usage = driven.ask(&json!({"subtype": "get_context_usage"})).expect("usage");
    assert_eq!(
        usage["categories"].as_array().and_then(|all| all.last()).expect("one")["kind"],
        "free"
    );
    driven.ask(&json!({"subtype": "make_coffee"})).expect_err("there is no such request");
    driven.ask(&json!({"subtype": "get_task_output", "task_id": "b1"})).expect_err("no task");
    assert_eq!(driven.end().code, Some(0));
    let arguments = ["sessions", "list"];
    let listed = crate::fixture::run(&mut dirs.windlass(&arguments));
    assert!(listed.stdout.contains("the sea"), "{listed:?}");
}

/// What adapters ask for before they show a session: models with their efforts, and a title.
#[test]
fn models_come_with_their_efforts_and_a_session_gets_a_title() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Over.")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    let greeting = driven.ask(&json!({"subtype": "initialize"})).expect("a greeting");
    let models = greeting["models"].as_array().expect("models");
    let default = models.iter().find(|row| row["value"] == "default").expect("the session's own");
    assert_eq!(default["supportsEffort"], true, "{default}");
    let levels = default["supportedEffortLevels"].as_array().expect("levels");
    assert!(levels.contains(&json!("low")) && levels.contains(&json!("high")), "{default}");
    let without_key =
        |row: &&Value| row["value"].as_str().is_some_and(|name| name.starts_with("openai/"));
    assert!(!models.iter().any(|row| without_key(&row)), "models without a key are not listed");
    driven.prompt("hello");
    driven.result();
    let about = json!({"subtype": "generate_session_title",
        "description": "repair the date test of the calendar", "persist": true});
    let titled = driven.ask(&about).expect("a title");
    let title = titled["title"].as_str().expect("words").to_owned();
    assert!(title.starts_with("repair the date test"), "{titled}");
    assert_eq!(driven.end().code, Some(0));
    let listed = crate::fixture::run(&mut dirs.windlass(&["sessions", "list"]));
    assert!(listed.stdout.contains(&title), "{listed:?}");
}

/// An open conversation goes back to before a prompt, and on from there.
#[test]
fn a_prompt_takes_the_conversation_back() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    for words in ["plant a tree", "cut it down", "/rewind 2", "water it"] {
        driven.prompt(words);
        let result = driven.result();
        assert_eq!(result["is_error"], false, "{words}: {result}");
    }
    assert_eq!(driven.end().code, Some(0));
    let last = server.requests().pop().expect("a request").body.to_string();
    assert!(last.contains("plant a tree") && last.contains("water it"), "{last}");
    assert!(!last.contains("cut it down"), "{last}");
}
