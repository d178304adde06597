//! What hooks may say besides yes and no, with the real binary: names, first words, going on by
//! themselves, waking the model; and hooks that are no programs.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};
use windlass_vocabulary::RequestSource;

use crate::fixture::{RunningCommand, TestDirs, play, run, wait_for_file};

fn with(dirs: &TestDirs, settings: &Value) {
    let path = dirs.home().join(".claude/settings.json");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, settings.to_string()).expect("a file");
}

fn hook(hook: &Value) -> Value {
    json!([{ "hooks": [hook] }])
}

fn command(line: &str) -> Value {
    json!({ "type": "command", "command": line, "timeout": 60 })
}

fn output_hook(event: &str, mut output: Value) -> Value {
    output["hookEventName"] = event.into();
    let said = json!({ "hookSpecificOutput": output });
    command(&format!("cat > /dev/null; printf '%s' '{said}'"))
}

#[test]
fn a_hook_names_the_session_and_says_the_first_words() {
    let dirs = TestDirs::new();
    let start = json!({ "initialUserMessage": "The ship is at sea.", "sessionTitle": "Log book" });
    with(&dirs, &json!({ "hooks": { "SessionStart": hook(&output_hook("SessionStart", start)) } }));
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.")));
    run(&mut dirs.asking(&server.url(), &["-p", "Where are we?"])).answer();
    let request = server.requests()[0].json().expect("JSON");
    let said = request["messages"].to_string();
    let places = (said.find("The ship is at sea."), said.find("Where are we?"));
    assert!(places.0.is_some() && places.0 < places.1, "{said}");
    let list = run(&mut dirs.windlass(&["sessions", "list", "--json"]));
    assert!(list.answer().contains(r#""name":"Log book""#), "{list:?}");
}

#[test]
fn hooks_are_told_the_transcript_that_others_read_and_why_a_session_ends() {
    let dirs = TestDirs::new();
    let keep = "cat > end.json; echo >> end.json";
    with(&dirs, &json!({ "hooks": { "SessionEnd": hook(&command(keep)) } }));
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.")));
    run(&mut dirs.asking(&server.url(), &["-p", "hi"])).answer();
    let told: Value = serde_json::from_str(&wait_for_file(&dirs.file("end.json"))).expect("JSON");
    assert_eq!(told["reason"], "other");
    let path = told["transcript_path"].as_str().expect("a path");
    let transcript = std::fs::read_to_string(path).expect("a transcript");
    assert!(
        path.contains(".claude/projects/") && transcript.contains(r#""type":"user""#),
        "{path}"
    );
}

#[test]
fn a_program_may_go_on_by_itself_and_wake_the_model() {
    let dirs = TestDirs::new();
    // Neither is waited for: both run until the run is nearly over.
    let until = "while [ ! -e seen ]; do sleep 0.02; done";
    let alone = format!("echo '{{\"async\":true}}'; {until}; echo by-itself > alone");
    let waking = format!("{until}; echo 'the mast is broken' >&2; exit 2");
    let waking = json!({ "type": "command", "command": waking, "asyncRewake": true });
    let hooks = json!({ "PreToolUse": [{ "hooks": [command(&alone), waking] }] });
    with(&dirs, &json!({ "hooks": hooks }));
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call(
                "Bash",
                json!({ "command": "touch seen; while [ ! -s alone ]; do sleep 0.02; done" }),
            ))
            .answer(ScriptedAnswer::call("Bash", json!({ "command": "sleep 1" })))
            .answer(ScriptedAnswer::text("Over.").repeat(0)),
    );
    let flags = ["-p", "go", "--dangerously-skip-permissions"];
    let done = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Over.\n"), "{done:?}");
    assert_eq!(wait_for_file(&dirs.file("alone")), "by-itself\n");
    let last = server.requests().pop().expect("a request").body;
    assert!(last.contains("the mast is broken"), "{last}");
}

#[test]
fn a_model_judges_and_what_it_says_is_heard() {
    let dirs = TestDirs::new();
    let judge = json!({ "type": "prompt", "prompt": "Are the masts counted? $ARGUMENTS" });
    with(&dirs, &json!({ "hooks": { "Stop": hook(&judge) } }));
    let no = r#"{"ok": false, "reason": "the mizzen is missing"}"#;
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::text("Two.").when_source(RequestSource::Main))
            .answer(ScriptedAnswer::text(no).when_source(RequestSource::Aside))
            .answer(ScriptedAnswer::text("Three.").when_source(RequestSource::Main))
            .answer(ScriptedAnswer::text("Sure: {\"ok\": true}").when_source(RequestSource::Aside)),
    );
    let done = run(&mut dirs.asking(&server.url(), &["-p", "count", "--output-format", "json"]));
    let result: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(result["result"], "Three.", "{done:?}");
    let requests = server.requests();
    assert!(requests[1].body.contains("Are the masts counted? {"), "{}", requests[1].body);
    assert!(requests[2].body.contains("the mizzen is missing"), "{}", requests[2].body);
}

#[test]
fn an_agent_looks_for_itself_before_the_end() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("masts"), "three\n").expect("a file");
    let agent = json!({ "type": "agent", "prompt": "Look into masts.", "timeout": 60 });
    with(&dirs, &json!({ "hooks": { "Stop": hook(&agent) } }));
    let path = dirs.file("masts");
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::text("Three.").when("count them"))
            .answer(
                ScriptedAnswer::call("Read", json!({ "file_path": path })).when("Look into masts."),
            )
            .answer(ScriptedAnswer::text(r#"{"ok": true}"#).when_result("three")),
    );
    let done = run(&mut dirs.asking(&server.url(), &["-p", "count them"]));
    assert_eq!(done.answer(), "Three.\n");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn settings_say_which_servers_hooks_may_ask() {
    let dirs = TestDirs::new();
    let post = json!({ "type": "http", "url": "http://127.0.0.1:9/hook" });
    with(
        &dirs,
        &json!({
            "allowedHttpHookUrls": ["https://hooks.example/*"],
            "hooks": { "UserPromptSubmit": hook(&post) },
        }),
    );
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.")));
    let ask = ["-p", "hi", "--verbose"];
    let mut running = RunningCommand::start(&mut dirs.asking(&server.url(), &ask));
    running.wait_for_stderr("names an address that settings do not allow");
    assert_eq!(running.finish().code, Some(0));
}

#[test]
fn hooks_are_told_of_tasks_and_may_undo_what_is_new_or_done() {
    let dirs = TestDirs::new();
    let keep =
        "cat >> told; echo >> told; grep -q mizzen told && { echo 'not yet' >&2; exit 2; }; exit 0";
    let hooks =
        json!({ "TaskCreated": hook(&command(keep)), "TaskCompleted": hook(&command(keep)) });
    with(&dirs, &json!({ "hooks": hooks }));
    let todo = |status: &str, content: &str| json!({ "content": content, "status": status, "activeForm": content });
    let write = |todos: Vec<Value>| ScriptedAnswer::call("TodoWrite", json!({ "todos": todos }));
    let server = play(
        Script::new()
            .answer(write(vec![todo("pending", "count the fore mast")]))
            .answer(write(vec![todo("completed", "count the fore mast")]))
            .answer(write(vec![
                todo("completed", "count the fore mast"),
                todo("pending", "count the mizzen"),
            ]))
            .answer(ScriptedAnswer::text("Over.")),
    );
    let done = run(&mut dirs.asking(&server.url(), &["-p", "go"]));
    assert_eq!(done.stdout, "Over.\n", "{done:?}");
    let told = std::fs::read_to_string(dirs.file("told")).expect("it was told");
    let told: Vec<Value> = told
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let seen: Vec<(&str, &str)> = told
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().expect("a text");
            (text("hook_event_name"), text("task_subject"))
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("TaskCreated", "count the fore mast"),
            ("TaskCompleted", "count the fore mast"),
            ("TaskCreated", "count the mizzen"),
        ]
    );
    let last = server.requests().pop().expect("a request").body;
    assert!(last.contains("not yet") && last.contains("1 of 1 done"), "{last}");
}

#[test]
fn hooks_find_more_to_do_for_an_agent_in_the_background() {
    let dirs = TestDirs::new();
    let more =
        "cat > idle.json; [ -e once ] && exit 0; touch once; echo 'and the sails' >&2; exit 2";
    with(&dirs, &json!({ "hooks": { "TeammateIdle": hook(&command(more)) } }));
    let left =
        json!({ "description": "count", "prompt": "Count the masts.", "run_in_background": true });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Agent", left).when("start it"))
            .answer(ScriptedAnswer::text("Started.").when_result("in the background"))
            .answer(ScriptedAnswer::text("Three masts.").when("Count the masts."))
            .answer(ScriptedAnswer::text("Five sails.").when("and the sails"))
            .answer(ScriptedAnswer::text("Heard.").repeat(0)),
    );
    let done = run(&mut dirs.asking(&server.url(), &["-p", "start it"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    let requests = server.requests();
    let bodies: Vec<&str> = requests.iter().map(|request| &*request.body).collect();
    let asked = |words: &str| bodies.iter().any(|body| body.contains(words));
    assert!(asked("and the sails"), "{bodies:#?}");
    let told = std::fs::read_to_string(dirs.file("idle.json")).expect("it was told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["hook_event_name"], "TeammateIdle", "{told}");
    assert_eq!(told["teammate_name"], "agent-1", "{told}");
}

#[test]
fn a_judge_may_be_a_model_of_its_own() {
    for (wanted, asked) in [("haiku", "claude-haiku-"), ("nobody-knows-it", "")] {
        let dirs = TestDirs::new();
        let judge = json!({ "type": "prompt", "prompt": "Is it well?", "model": wanted });
        with(&dirs, &json!({ "hooks": { "Stop": hook(&judge) } }));
        let server = play(
            Script::new()
                .answer(ScriptedAnswer::text("Done.").when_source(RequestSource::Main))
                .answer(ScriptedAnswer::text("{\"ok\": true}").when_source(RequestSource::Aside)),
        );
        let flags = ["-p", "go", "--model", "claude-sonnet-5-5", "--verbose"];
        let done = run(&mut dirs.asking(&server.url(), &flags));
        assert_eq!(done.stdout, "Done.\n", "{done:?}");
        let requests = server.requests();
        match asked {
            "" => {
                assert_eq!(requests.len(), 1, "{done:?}");
                assert!(done.stderr.contains("wants nobody-knows-it"), "{done:?}");
            }
            _ => {
                let model = requests[1].json().expect("JSON")["model"].clone();
                assert!(model.as_str().is_some_and(|model| model.starts_with(asked)), "{model}");
            }
        }
    }
}

fn read_hook_input(dirs: &TestDirs, name: &str) -> Value {
    serde_json::from_str(&wait_for_file(&dirs.file(name))).expect("JSON")
}

#[test]
fn hooks_look_at_pages_that_are_called_by_their_matcher() {
    let dirs = TestDirs::new();
    let page = dirs.home().join(".claude/commands/hoist.md");
    std::fs::create_dir_all(page.parent().expect("a folder")).expect("a folder");
    std::fs::write(page, "Hoist the sails $ARGUMENTS.").expect("a page");
    let look = "cat > seen.json; echo >> seen.json; grep -q never seen.json && { echo 'no wind' >&2; exit 2; }; echo 'Mind the gusts.'";
    let group =
        |matcher: &str, line: &str| json!([{ "matcher": matcher, "hooks": [command(line)] }]);
    let hooks = json!({ "UserPromptExpansion": group("hoist", look) });
    with(&dirs, &json!({ "hooks": hooks }));
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.").repeat(0)));
    run(&mut dirs.asking(&server.url(), &["-p", "/hoist high"])).answer();
    let seen = read_hook_input(&dirs, "seen.json");
    for (field, value) in [
        ("hook_event_name", "UserPromptExpansion"),
        ("expansion_type", "slash_command"),
        ("command_name", "hoist"),
        ("command_args", "high"),
        ("command_source", "user"),
        ("prompt", "Hoist the sails high."),
    ] {
        assert_eq!(seen[field], value, "{seen}");
    }
    let body = server.requests()[0].body.to_string();
    assert!(body.contains("Mind the gusts.") && body.contains("Hoist the sails high."), "{body}");
    let refused = run(&mut dirs.asking(&server.url(), &["-p", "/hoist never"]));
    assert!(refused.stdout.is_empty() && refused.stderr.contains("no wind"), "{refused:?}");
    assert_eq!(server.requests().len(), 1, "{refused:?}");
    // What is typed in full is no page.
    std::fs::remove_file(dirs.file("seen.json")).expect("it is there");
    run(&mut dirs.asking(&server.url(), &["-p", "Hoist the sails never."])).answer();
    assert!(!dirs.file("seen.json").exists() && server.requests().len() == 2);
}

#[test]
fn hooks_at_the_end_are_told_what_goes_on_and_what_was_said_before_a_failure() {
    let dirs = TestDirs::new();
    let keep = |name: &str| hook(&command(&format!("cat > {name}; echo >> {name}")));
    with(
        &dirs,
        &json!({ "hooks": { "Stop": keep("stop.json"), "StopFailure": keep("failed.json") } }),
    );
    let left = json!({ "command": "sleep 300", "run_in_background": true });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::text("I begin.").tool("Bash", left))
            .answer(ScriptedAnswer::text("It runs."))
            .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(401))),
    );
    let flags = ["-p", "go", "--allowedTools", "Bash"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let stop = read_hook_input(&dirs, "stop.json");
    let task = &stop["background_tasks"][0];
    assert_eq!(
        (&task["task_type"], &task["status"]),
        (&json!("local_bash"), &json!("running")),
        "{stop}"
    );
    assert_eq!(task["description"], "sleep 300", "{stop}");
    run(&mut dirs.asking(&server.url(), &["-p", "again", "-c"]));
    let failed = read_hook_input(&dirs, "failed.json");
    assert_eq!(failed["error"], "authentication_failed", "{failed}");
    assert_eq!(failed["last_assistant_message"], "It runs.", "{failed}");
}
