//! The front end for editors, driven by a client of its own over the real pipes. What published clients
//! make of it is tried in `.ci/acp`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::acp_client::{AcpClient, selected};
use crate::fixture::{TestDirs, play, run};
use crate::remote::SERVER;

#[test]
fn an_editor_opens_a_session_asks_and_is_answered() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(
        ScriptedAnswer::text("Hello from the other side.").thinking("let me see").chunk(5),
    ));
    let mut client = AcpClient::start(&dirs, &server.url());
    let initialized = client.initialize();
    assert_eq!(initialized["protocolVersion"], 1);
    assert_eq!(initialized["agentCapabilities"]["loadSession"], true);
    let opened = client.request("session/new", &json!({"cwd": dirs.work(), "mcpServers": []}));
    let opened = opened.expect("a session");
    assert_eq!(opened["modes"]["currentModeId"], "default");
    let options = opened["configOptions"].as_array().expect("options");
    let ids: Vec<&str> = options.iter().filter_map(|option| option["id"].as_str()).collect();
    assert_eq!(ids.first(), Some(&"mode"), "{ids:?}");
    assert!(ids.contains(&"model"), "{ids:?}");
    let session = opened["sessionId"].as_str().expect("an id").to_owned();
    let answer = client.prompt(&session, "hi").expect("an answer");
    assert_eq!(answer, json!({"stopReason": "end_turn"}));
    assert_eq!(client.text("agent_message_chunk"), "Hello from the other side.");
    assert_eq!(client.text("agent_thought_chunk"), "let me see");
    assert_eq!(client.updates("available_commands_update").len(), 1);
    let usage = client.updates("usage_update");
    assert!(usage[0]["used"].as_u64().expect("a number") > 0, "{usage:?}");
    assert_eq!(client.end(), Some(0));
    assert_eq!(dirs.journals().len(), 1, "the session is kept");
}

#[test]
fn a_call_is_shown_asked_about_and_its_change_stays() {
    let dirs = TestDirs::new();
    let path = dirs.file("new.txt");
    let input = json!({"file_path": path, "content": "made\n"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Write", input))
        .answer(ScriptedAnswer::text("Done."))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch other.txt"})))
        .answer(ScriptedAnswer::text("Not done."));
    let server = play(script);
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    let id = client.send_prompt(&session, "write it");
    let asked = client.answer("session/request_permission", &selected("allow_once"));
    assert_eq!(asked["toolCall"]["kind"], "edit");
    assert_eq!(asked["toolCall"]["content"][0]["type"], "diff");
    assert_eq!(asked["toolCall"]["content"][0]["newText"], "made\n");
    assert_eq!(asked["toolCall"]["locations"][0]["path"], json!(path));
    let kinds: Vec<&str> = asked["options"]
        .as_array()
        .expect("options")
        .iter()
        .filter_map(|option| option["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"allow_once") && kinds.contains(&"reject_once"), "{kinds:?}");
    assert_eq!(client.response(id).expect("an answer")["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "made\n");
    let statuses: Vec<Value> = client
        .updates("tool_call")
        .into_iter()
        .chain(client.updates("tool_call_update"))
        .map(|update| update["status"].clone())
        .collect();
    assert_eq!(statuses.first(), Some(&json!("pending")), "{statuses:?}");
    assert_eq!(statuses.last(), Some(&json!("completed")), "{statuses:?}");
    // A no is told to the model, which goes on.
    let id = client.send_prompt(&session, "and the other");
    let asked = client.answer("session/request_permission", &selected("reject_once"));
    assert_eq!(asked["toolCall"]["title"], "`touch other.txt`");
    assert_eq!(client.response(id).expect("an answer")["stopReason"], "end_turn");
    assert!(!dirs.file("other.txt").exists());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn always_is_a_rule_that_the_terminal_would_keep() {
    let dirs = TestDirs::new();
    let touch = || ScriptedAnswer::call("Bash", json!({"command": "npm run build"}));
    let script = Script::new()
        .answer(touch())
        .answer(ScriptedAnswer::text("Once."))
        .answer(touch())
        .answer(ScriptedAnswer::text("Twice."));
    let server = play(script);
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    let id = client.send_prompt(&session, "build");
    client.answer("session/request_permission", &selected("allow_always"));
    client.response(id).expect("an answer");
    client.prompt(&session, "again").expect("nothing is asked this time");
    let rules = std::fs::read_to_string(dirs.file(".claude/settings.local.json")).expect("rules");
    assert!(rules.contains("Bash(npm run"), "{rules}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn cancel_ends_the_prompt_at_any_moment_and_the_session_goes_on() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch asked.txt"})))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "sleep 600"})))
        .answer(
            ScriptedAnswer::text("never")
                .fault(ScriptedFault::StallAfterEvent { events: 3, ping: None }),
        )
        .answer(ScriptedAnswer::text("Still here."));
    let server = play(script.lenient());
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    // While a question is open.
    let id = client.send_prompt(&session, "one");
    client.until(|frame| frame["method"] == "session/request_permission");
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.response(id).expect("no error")["stopReason"], "cancelled");
    // While a command runs.
    let id = client.send_prompt(&session, "and one");
    client.until(|frame| frame["params"]["update"]["status"] == "in_progress");
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.response(id).expect("no error")["stopReason"], "cancelled");
    // While the model is silent; and twice, because people press twice.
    let id = client.send_prompt(&session, "two");
    client.until(|frame| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    client.notify("session/cancel", &json!({"sessionId": session}));
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.response(id).expect("no error")["stopReason"], "cancelled");
    assert_eq!(client.prompt(&session, "three").expect("an answer")["stopReason"], "end_turn");
    assert!(client.text("agent_message_chunk").ends_with("Still here."));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn answers_that_come_twice_or_too_late_answer_nothing_else() {
    let dirs = TestDirs::new();
    let touch =
        |name: &str| ScriptedAnswer::call("Bash", json!({"command": format!("touch {name}")}));
    let script = Script::new()
        .answer(touch("first.txt"))
        .answer(touch("second.txt"))
        .answer(ScriptedAnswer::text("Neither."))
        .answer(touch("third.txt"))
        .answer(touch("fourth.txt"))
        .answer(ScriptedAnswer::text("Still here."));
    let server = play(script);
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    let is_question = |frame: &Value| frame["method"] == "session/request_permission";
    let answer = |asked: &Value, option: &str| json!({"jsonrpc": "2.0", "id": asked["id"], "result": selected(option)});
    // A no, then a yes to the same question: before the next one is asked, and while it is open.
    let id = client.send_prompt(&session, "one");
    let first = client.until(is_question);
    client.say(&answer(&first, "reject_once"));
    client.say(&answer(&first, "allow_once"));
    let second = client.until(is_question);
    assert_ne!(first["id"], second["id"]);
    client.say(&answer(&first, "allow_once"));
    client.say(&answer(&second, "reject_once"));
    client.say(&answer(&second, "allow_once"));
    assert_eq!(client.response(id).expect("an answer")["stopReason"], "end_turn");
    // A yes after the cancel: at once, and while the question of the next prompt is open.
    let id = client.send_prompt(&session, "two");
    let third = client.until(is_question);
    client.notify("session/cancel", &json!({"sessionId": session}));
    client.say(&answer(&third, "allow_once"));
    assert_eq!(client.response(id).expect("no error")["stopReason"], "cancelled");
    let id = client.send_prompt(&session, "three");
    let fourth = client.until(is_question);
    client.say(&answer(&third, "allow_once"));
    client.say(&answer(&third, "allow_once"));
    client.say(&answer(&fourth, "reject_once"));
    assert_eq!(client.response(id).expect("an answer")["stopReason"], "end_turn");
    assert!(client.text("agent_message_chunk").ends_with("Still here."));
    for name in ["first.txt", "second.txt", "third.txt", "fourth.txt"] {
        assert!(!dirs.file(name).exists(), "{name} was not allowed");
    }
    let errors = client.seen.iter().filter(|frame| frame.get("error").is_some());
    assert_eq!(errors.count(), 0, "{:#?}", client.seen);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_session_is_closed_and_deleted_in_one_breath() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "echo begun; sleep 600"})));
    let server = play(script);
    // Closing waits for the hook, so that the other request always comes before the end.
    let hook = json!({"type": "command", "command": "while [ ! -e ended ]; do sleep 0.05; done"});
    let settings = json!({"hooks": {"SessionEnd": [{"hooks": [hook]}]}}).to_string();
    let arguments = ["acp", "--allowedTools", "Bash", "--settings", &settings];
    let mut client = AcpClient::spawn(&mut dirs.asking(&server.url(), &arguments));
    client.initialize();
    let session = client.open(&dirs.work());
    let running = client.send_prompt(&session, "begin");
    client.until(|frame| frame["params"]["update"]["status"] == "in_progress");
    let known = json!({"sessionId": session});
    let closed = client.send("session/close", &known);
    let deleted = client.send("session/delete", &known);
    // When this is answered, the two before it were taken.
    let listed = client.send("session/list", &json!({}));
    let sent = [running, closed, deleted, listed];
    let mut answered = Vec::new();
    while answered.len() < sent.len() {
        let is_answer = |frame: &Value| sent.iter().any(|id| frame["id"] == *id);
        let frame = client.until(|frame| frame.get("method").is_none() && is_answer(frame));
        assert!(frame.get("error").is_none(), "{frame}");
        let id = frame["id"].as_u64().expect("a number");
        if id == listed {
            std::fs::write(dirs.file("ended"), "").expect("a file");
        }
        answered.push(id);
    }
    let place = |id| answered.iter().position(|other| *other == id);
    assert!(place(closed) < place(deleted), "{answered:?}");
    let listed = client.request("session/list", &json!({})).expect("a list");
    assert_eq!(listed["sessions"], json!([]));
    assert_eq!(client.end(), Some(0));
    assert_eq!(dirs.journals().len(), 0);
}

#[test]
fn a_session_is_loaded_resumed_listed_and_deleted() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Glob", json!({"pattern": "*.none"})))
        .answer(ScriptedAnswer::text("First answer."))
        .answer(ScriptedAnswer::text("Second answer."));
    let server = play(script);
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    client.prompt(&session, "look around").expect("an answer");
    assert_eq!(client.end(), Some(0));
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let listed = client.request("session/list", &json!({"cwd": dirs.work()})).expect("a list");
    assert_eq!(listed["sessions"][0]["sessionId"], json!(session), "{listed}");
    let known = json!({"sessionId": session, "cwd": dirs.work(), "mcpServers": []});
    let loaded = client.request("session/load", &known).expect("it is loaded");
    assert!(loaded.get("modes").is_some());
    assert_eq!(client.text("user_message_chunk"), "look around");
    assert_eq!(client.text("agent_message_chunk"), "First answer.");
    assert_eq!(client.updates("tool_call").len(), 1);
    client.request("session/close", &json!({"sessionId": session})).expect("closed");
    assert!(client.prompt(&session, "hello?").is_err());
    // What finds a session for a person is no id: the client would not find it again.
    for word in [&session[..8], "look around"] {
        let part = json!({"sessionId": word, "cwd": dirs.work(), "mcpServers": []});
        let refused = client.request("session/load", &part).expect_err("no id");
        assert_eq!(refused["code"], -32002, "{word}: {refused}");
    }
    let before = client.updates("agent_message_chunk").len();
    client.request("session/resume", &known).expect("resumed");
    assert_eq!(client.updates("agent_message_chunk").len(), before, "nothing is replayed");
    client.prompt(&session, "go on").expect("an answer");
    assert!(client.text("agent_message_chunk").ends_with("Second answer."));
    let open = client.request("session/delete", &json!({"sessionId": session}));
    assert!(open.is_err(), "it is open");
    client.request("session/close", &json!({"sessionId": session})).expect("closed");
    client.request("session/delete", &json!({"sessionId": session})).expect("deleted");
    let listed = client.request("session/list", &json!({})).expect("a list");
    assert_eq!(listed["sessions"], json!([]));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn what_began_in_the_editor_goes_on_in_the_terminal_and_back() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("From the editor."))
        .answer(ScriptedAnswer::text("From the terminal.").when("second words"))
        .answer(ScriptedAnswer::text("Back again."));
    let server = play(script);
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    client.prompt(&session, "first words").expect("an answer");
    assert_eq!(client.end(), Some(0));
    let told = run(&mut dirs.asking(&server.url(), &["-r", &session, "-p", "second words"]));
    assert_eq!(told.answer(), "From the terminal.\n");
    let asked = server.requests().last().expect("a request").body.to_string();
    assert!(asked.contains("first words") && asked.contains("From the editor."), "{asked}");
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let known = json!({"sessionId": session, "cwd": dirs.work(), "mcpServers": []});
    client.request("session/load", &known).expect("it is loaded");
    assert_eq!(client.text("user_message_chunk"), "first wordssecond words");
    assert_eq!(client.text("agent_message_chunk"), "From the editor.From the terminal.");
    client.prompt(&session, "third words").expect("an answer");
    let asked = server.requests().last().expect("a request").body.to_string();
    for words in ["first words", "From the editor.", "second words", "From the terminal."] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn mode_and_model_are_chosen_and_told_in_both_ways() {
    let dirs = TestDirs::new();
    let server = play(Script::new());
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    let mode = json!({"sessionId": session, "modeId": "plan"});
    client.request("session/set_mode", &mode).expect("set");
    let current = client.updates("current_mode_update");
    assert_eq!(current.last().expect("one")["currentModeId"], "plan");
    let told = client.updates("config_option_update");
    assert_eq!(told.last().expect("one")["configOptions"][0]["currentValue"], "plan");
    let wanted = json!({"sessionId": session, "configId": "mode", "value": "acceptEdits"});
    let options = client.request("session/set_config_option", &wanted).expect("set");
    assert_eq!(options["configOptions"][0]["currentValue"], "acceptEdits");
    let option =
        |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
    let bypass = client.request("session/set_config_option", &option("mode", "bypassPermissions"));
    assert!(bypass.is_err(), "it has to be allowed when the agent starts");
    let unknown = client.request("session/set_config_option", &option("model", "no/such"));
    assert_eq!(unknown.expect_err("unknown")["code"], -32602);
    let chosen = client.request("session/set_config_option", &option("model", "claude-haiku-4-5"));
    let chosen = chosen.expect("set");
    assert_eq!(chosen["configOptions"][1]["currentValue"], "anthropic/claude-haiku-4-5");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn todos_are_a_plan_and_questions_are_a_form() {
    let dirs = TestDirs::new();
    let todos = json!({"todos": [
        {"content": "look", "status": "completed", "activeForm": "looking"},
        {"content": "act", "status": "in_progress", "activeForm": "acting"},
    ]});
    let questions = json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    }]});
    let script = Script::new()
        .answer(ScriptedAnswer::call("TodoWrite", todos))
        .answer(ScriptedAnswer::call("AskUserQuestion", questions))
        .answer(ScriptedAnswer::text("Blue it is.").when_result("Blue"));
    let server = play(script);
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    let id = client.send_prompt(&session, "plan");
    let accepted = json!({"action": "accept", "content": {"answer_1": "Blue"}});
    let form = client.answer("elicitation/create", &accepted);
    assert_eq!(form["requestedSchema"]["properties"]["answer_1"]["oneOf"][1]["const"], "Blue");
    client.response(id).expect("an answer");
    assert_eq!(client.text("agent_message_chunk"), "Blue it is.");
    let plan = client.updates("plan");
    assert_eq!(plan.last().expect("a plan")["entries"][1]["status"], "in_progress");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn bad_messages_are_answered_and_harm_nothing() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("fine")));
    let mut client = AcpClient::start(&dirs, &server.url());
    let codes = [
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":"x","method":"no/such"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":"x","method":"_own/thing"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"rel"}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":"no","prompt":[]}}"#,
            -32002,
        ),
        (r#"{"jsonrpc":"2.0","id":"x","method":"session/list","params":{"cursor":"x"}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/load","params":{"sessionId":"no","cwd":"/","mcpServers":[]}}"#,
            -32002,
        ),
    ];
    for (line, code) in codes {
        let stdin = client.stdin.as_mut().expect("open");
        writeln!(stdin, "{line}").expect("it reads");
        let frame = client.until(|frame| frame.get("error").is_some());
        assert_eq!(frame["error"]["code"], code, "{line}: {frame}");
    }
    client.notify("no/such", &json!({}));
    client.notify("session/cancel", &json!({"sessionId": "no"}));
    client.say(&json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
    client.initialize();
    let session = client.open(&dirs.work());
    assert_eq!(client.prompt(&session, "hi").expect("an answer")["stopReason"], "end_turn");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn without_a_key_it_says_how_to_give_one() {
    let dirs = TestDirs::new();
    let mut client = AcpClient::spawn(&mut dirs.windlass(&["acp"]));
    client.initialize();
    let refused = client.request("session/new", &json!({"cwd": dirs.work(), "mcpServers": []}));
    let refused = refused.expect_err("no key");
    assert_eq!(refused["code"], -32000, "{refused}");
    let login = client.request("authenticate", &json!({"methodId": "windlass-key"}));
    let login = login.expect_err("no key");
    assert!(login["message"].as_str().expect("words").contains("windlass key set"), "{login}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_that_leaves_in_the_middle_leaves_nothing_running() {
    let dirs = TestDirs::new();
    let script = Script::new().answer(
        ScriptedAnswer::text("slow")
            .fault(ScriptedFault::StallAfterEvent { events: 3, ping: None }),
    );
    let server = play(script);
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let session = client.open(&dirs.work());
    client.send_prompt(&session, "hi");
    client.until(|frame| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    assert_eq!(client.end(), Some(0));
    assert_eq!(dirs.leftovers(), Vec::<String>::new(), "scratch folders are gone");
}

#[test]
fn the_entry_of_an_editor_is_shown_first_and_written_with_a_yes() {
    let dirs = TestDirs::new();
    let settings = dirs.home().join(".config/zed/settings.json");
    std::fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
    std::fs::write(&settings, "{\n  // mine\n  \"theme\": \"One\"\n}\n").expect("a file");
    let shown = run(&mut dirs.windlass(&["acp", "setup", "--editor", "zed"]));
    assert!(shown.answer().contains("Nothing was written"), "{shown:?}");
    assert!(!std::fs::read_to_string(&settings).expect("a file").contains("Windlass"));
    run(&mut dirs.windlass(&["acp", "setup", "--editor", "zed", "--yes"])).answer();
    let text = std::fs::read_to_string(&settings).expect("a file");
    assert!(text.contains("// mine") && text.contains("\"Windlass\""), "{text}");
    run(&mut dirs.windlass(&["acp", "setup", "--editor", "jetbrains", "--yes"])).answer();
    let text = std::fs::read_to_string(dirs.home().join(".jetbrains/acp.json")).expect("a file");
    let entry: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(entry["agent_servers"]["Windlass"]["args"], json!(["acp"]), "{text}");
    let lua = run(&mut dirs.windlass(&["acp", "setup", "--editor", "nvim"]));
    assert!(lua.answer().contains("codecompanion"), "{lua:?}");
}

#[test]
fn an_entry_keeps_what_its_user_wrote_and_a_link_stays_one() {
    let dirs = TestDirs::new();
    let settings = dirs.home().join(".config/zed/settings.json");
    let real = dirs.home().join("dotfiles/zed.json");
    for path in [&settings, &real] {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    }
    let own = r#"{
  "agent_servers": {
    "Windlass": { "type": "custom", "command": "/old", "args": ["acp", "--model", "mine"] } // mine
  },
}
"#;
    std::fs::write(&real, own).expect("a file");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).expect("its rights");
    std::os::unix::fs::symlink(&real, &settings).expect("a link");
    let bin = dirs.home().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let program = bin.join("windlass");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_windlass"), &program).expect("a link");
    let setup = |arguments: &[&str]| {
        let mut command = dirs.windlass(&["acp", "setup", "--editor", "zed"]);
        run(command
            .args(arguments)
            .env("PATH", format!("relative:{}:/usr/bin:/bin", bin.display())))
    };
    let shown = setup(&[]);
    assert!(shown.answer().contains("replace the entry"), "{shown:?}");
    assert!(shown.answer().contains("\"mine\""), "{shown:?}");
    assert_eq!(std::fs::read_to_string(&real).expect("a file"), own);
    setup(&["--yes"]).answer();
    assert!(settings.is_symlink(), "the link is still one");
    let text = std::fs::read_to_string(&real).expect("a file");
    let own_flags = r#""args": ["acp", "--model", "mine"]"#;
    assert!(text.contains(own_flags) && text.contains("} // mine\n"), "{text}");
    assert!(text.contains(&json!(program).to_string()) && !text.contains("/old"), "{text}");
    assert_eq!(real.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    // A link that leads nowhere is not replaced, and what is no settings file stays.
    for broken in ["[1]", "{ \"agent_servers\": 3 }", "{"] {
        std::fs::write(&real, broken).expect("a file");
        assert!(setup(&["--yes"]).error_line(1).contains("not changed"), "{broken}");
        assert_eq!(std::fs::read_to_string(&real).expect("a file"), broken);
    }
    std::fs::remove_file(&real).expect("it is there");
    assert!(setup(&["--yes"]).error_line(1).contains("not changed"));
    assert!(settings.is_symlink() && !real.exists());
}

#[test]
fn a_logout_says_which_key_it_cannot_take_away() {
    let dirs = TestDirs::new();
    let server = play(Script::new());
    let mut client = AcpClient::start(&dirs, &server.url());
    client.initialize();
    let refused = client.request("logout", &json!({})).expect_err("the environment has a key");
    let words = refused["message"].as_str().expect("words");
    assert!(words.contains("ANTHROPIC_API_KEY"), "{words}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_client_is_told_when_what_it_opened_a_page_for_is_done() {
    let dirs = TestDirs::new();
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.invalid/login","elicitationId":"e1"}}"#;
    let done = r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"%s"}}"#;
    // It also names one that nobody was asked about.
    let branch = format!(
        "printf '{ask}\\n'; read -r said; printf '{done}\\n{done}\\n' other e1; \
         result='{{\"content\":[{{\"type\":\"text\",\"text\":\"logged in\"}}]}}' ;;\n"
    );
    let call = "*'\"method\":\"tools/call\"'*) ";
    let text = SERVER.replacen(call, &format!("{call}{branch}    *never*) "), 1);
    std::fs::write(dirs.file("server.sh"), text).expect("a file");
    let script = Script::new()
        .answer(ScriptedAnswer::call("mcp__box__place", json!({})))
        .answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let arguments = ["acp", "--allowedTools", "mcp__box"];
    let mut client = AcpClient::spawn(&mut dirs.asking(&server.url(), &arguments));
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}});
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    client.request("initialize", &params).expect("it answers");
    let tool = json!({"name": "box", "command": "sh", "args": ["server.sh"], "env": []});
    let opened = client.request("session/new", &json!({"cwd": dirs.work(), "mcpServers": [tool]}));
    let session = opened.expect("a session")["sessionId"].as_str().expect("an id").to_owned();
    let id = client.send_prompt(&session, "log in");
    let asked = client.answer("elicitation/create", &json!({"action": "accept"}));
    assert_eq!((&asked["mode"], &asked["elicitationId"]), (&json!("url"), &json!("e1")));
    let told = client.until(|frame| frame["method"] == "elicitation/complete");
    assert_eq!(told["params"], json!({"elicitationId": "e1"}), "only what it was asked");
    client.response(id).expect("an answer");
    assert_eq!(client.end(), Some(0));
}
