//! Instructions, skills, notes and agents that people keep in files reach the model, in order and in
//! bounds.

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

fn write(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// The first message the model sees.
fn first(server: &Rehearsal) -> String {
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    let content = &body["messages"][0]["content"];
    let texts = content.as_array().cloned().unwrap_or_default();
    texts.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn ask(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> String {
    run(&mut dirs.asking(&server.url(), arguments)).answer().to_owned()
}

fn server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

#[test]
fn instructions_come_first_from_broad_to_narrow_with_what_they_take_in() {
    let dirs = TestDirs::new();
    let server = server();
    let deep = dirs.work().join("sub/deep");
    std::fs::create_dir_all(&deep).expect("a folder");
    std::fs::create_dir(dirs.file(".git")).expect("a folder");
    write(dirs.home().join(".claude/CLAUDE.md"), "user-says @~/mine.md");
    write(dirs.home().join("mine.md"), "mine-says");
    write(
        dirs.file("CLAUDE.md"),
        "root-says @docs/style.md <!-- kept\n<!-- secret-words -->\n`@no.md`",
    );
    write(dirs.file("AGENTS.md"), "not-read");
    write(dirs.file("docs/style.md"), "style-says @../CLAUDE.md @more.md");
    write(dirs.file("docs/more.md"), "more-says");
    write(dirs.file("no.md"), "not-imported");
    write(dirs.file("sub/AGENTS.md"), "agents-says");
    write(dirs.file("CLAUDE.local.md"), "local-says");
    write(deep.join(".claude/CLAUDE.md"), "deep-says");
    let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
    run(command.current_dir(&deep)).answer();
    let said = first(&server);
    let order = [
        "user-says",
        "mine-says",
        "root-says",
        "style-says",
        "more-says",
        "local-says",
        "agents-says",
        "deep-says",
    ];
    let places: Vec<_> = order.iter().map(|words| said.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {said}");
    for words in ["not-read", "not-imported", "secret-words"] {
        assert!(!said.contains(words), "{words}: {said}");
    }
    assert_eq!(said.matches("root-says").count(), 1, "{said}");
    // A reproducible run reads none of it.
    let mut command = dirs.asking(&server.url(), &["-p", "hi", "--bare"]);
    run(command.current_dir(&deep)).answer();
    assert!(!first(&server).contains("-says"));
}

#[test]
fn a_project_cannot_take_in_what_is_not_its_own() {
    let dirs = TestDirs::new();
    let server = server();
    std::fs::create_dir(dirs.file(".git")).expect("a folder");
    write(dirs.home().join("secret.txt"), "private-words");
    write(dirs.file("CLAUDE.md"), "Take @~/secret.txt and @../home/secret.txt too.");
    std::os::unix::fs::symlink(dirs.home().join("secret.txt"), dirs.file("CLAUDE.local.md"))
        .expect("a link");
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi", "--verbose"]));
    assert!(finished.stderr.contains("lies outside the project"), "{finished:?}");
    let said = first(&server);
    assert!(said.contains("Take @~") && !said.contains("private-words"), "{said}");
}

#[test]
fn what_is_too_long_is_cut_and_said_and_pushes_nothing_out() {
    let dirs = TestDirs::new();
    let server = server();
    write(dirs.home().join(".claude/CLAUDE.md"), "broad-says");
    write(dirs.file("CLAUDE.md"), &format!("narrow-says {}", "y".repeat(300_000)));
    write(dirs.file("CLAUDE.local.md"), &"z".repeat((4 << 20) + 1));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi", "--verbose"]));
    assert!(finished.stderr.contains("over 4 MiB"), "{finished:?}");
    assert!(finished.stderr.contains("was cut at"), "{finished:?}");
    let said = first(&server);
    assert!(said.contains("narrow-says") && said.contains("broad-says"), "{}", said.len());
    assert!(said.len() < 270_000, "{}", said.len());
}

/// What the model was told with the results of its calls, one text for each request.
fn last_messages(server: &Rehearsal) -> Vec<String> {
    let bodies = server.requests().into_iter().map(|request| request.json().expect("JSON"));
    let last = |body: Value| body["messages"].as_array().and_then(|all| all.last().cloned());
    bodies.map(|body| last(body).unwrap_or_default().to_string()).collect()
}

#[test]
fn what_counts_for_some_files_is_said_once_with_the_first_of_them() {
    let dirs = TestDirs::new();
    std::fs::create_dir(dirs.file(".git")).expect("a folder");
    write(dirs.file("CLAUDE.md"), "root-says");
    write(dirs.file(".claude/rules/all.md"), "everywhere-says");
    write(
        dirs.file(".claude/rules/rust/tests.md"),
        "---\npaths:\n  - \"**/*_test.{rs,py}\"\n---\ntests-says @more.md\n",
    );
    write(dirs.file(".claude/rules/rust/more.md"), "---\npaths: none/*\n---\nmore-says\n");
    write(dirs.home().join(".claude/rules/mine.md"), "mine-says");
    write(dirs.file("api/AGENTS.md"), "api-says");
    write(dirs.file("api/v1/one_test.rs"), "1\n");
    write(dirs.file("api/v1/two.rs"), "2\n");
    write(dirs.file("top.rs"), "0\n");
    let read = |path: &str| ScriptedAnswer::call("Read", json!({ "file_path": dirs.file(path) }));
    let script = Script::new()
        .answer(read("top.rs"))
        .answer(read("api/v1/two.rs"))
        .answer(read("api/v1/one_test.rs"))
        .answer(read("api/v1/two.rs"))
        .answer(ScriptedAnswer::text("ok"));
    let server = play(script);
    ask(&dirs, &server, &["-p", "hi"]);
    let told = last_messages(&server);
    let first = &told[0];
    for words in ["root-says", "everywhere-says", "mine-says"] {
        assert!(first.contains(words), "{words}: {first}");
    }
    for words in ["api-says", "tests-says", "more-says"] {
        assert!(!first.contains(words) && !told[1].contains(words), "{words}");
    }
    assert!(told[2].contains("api-says") && !told[2].contains("tests-says"), "{}", told[2]);
    assert!(told[3].contains("tests-says") && told[3].contains("more-says"), "{}", told[3]);
    assert!(!told[3].contains("api-says"), "{}", told[3]);
    assert!(!told[4].contains("-says"), "{}", told[4]);
}

#[test]
fn instructions_and_what_was_said_survive_a_summary() {
    let dirs = TestDirs::new();
    write(dirs.file("CLAUDE.md"), "Always answer in verse.");
    let script = Script::new()
        .answer(ScriptedAnswer::text("long ".repeat(4_000)))
        .answer(ScriptedAnswer::text("more ".repeat(4_000)))
        .answer(ScriptedAnswer::text("A summary."))
        .answer(ScriptedAnswer::text("ok").repeat(0));
    let server = play(script);
    ask(&dirs, &server, &["-p", "one"]);
    ask(&dirs, &server, &["-p", "two", "-c"]);
    ask(&dirs, &server, &["-p", "/compact", "-c"]);
    ask(&dirs, &server, &["-p", "three", "-c"]);
    let body = server.requests().pop().expect("a request").json().expect("JSON").to_string();
    assert!(body.contains("Always answer in verse.") && !body.contains("long long"), "{body}");
    let drawn = run(&mut dirs.windlass(&["context"])).answer().to_owned();
    assert!(drawn.contains("memory"), "{drawn}");
}

#[test]
fn skills_and_notes_that_fit_the_prompt_are_shown_and_may_be_read() {
    let dirs = TestDirs::new();
    let skill = dirs.home().join(".claude/skills/leap-years/SKILL.md");
    write(
        &skill,
        "---\nname: leap-years\ndescription: Calendar rules for February\n---\nCount days.\n",
    );
    let notes = dirs.home().join(".config/windlass/memory/dates.md");
    write(notes, "The calendar module handles February badly.");
    write(dirs.file("a.txt"), "text\n");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({"file_path": skill.to_string_lossy()})))
        .answer(ScriptedAnswer::call(
            "Read",
            json!({"file_path": dirs.file("a.txt").to_string_lossy()}),
        ))
        .answer(ScriptedAnswer::text("ok"));
    let server = play(script);
    ask(&dirs, &server, &["-p", "the calendar module is wrong in February"]);
    let body =
        server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string();
    assert!(body.contains("Skills that may help") && body.contains("leap-years"), "{body}");
    assert!(body.contains("handles February badly"), "{body}");
    assert!(body.contains("Count days.") && !body.contains("\"is_error\":true"), "{body}");
}

fn agent_tool(server: &Rehearsal, request: usize) -> Value {
    let body = server.requests()[request].json().expect("JSON");
    let tools = body["tools"].as_array().cloned().expect("tools");
    tools.into_iter().find(|tool| tool["name"] == "Agent").unwrap_or(Value::Null)
}

#[test]
fn agents_of_the_project_run_with_their_own_prompt_and_tools_and_are_paid_for() {
    let dirs = TestDirs::new();
    let page = "---\nname: reviewer\ndescription: Reviews changes\ntools: Read, Grep\nmaxTurns: 3\n---\n\
                You review with care.\n";
    write(dirs.file(".claude/agents/reviewer.md"), page);
    write(dirs.home().join(".claude/agents/reviewer.md"), &page.replace("with care", "badly"));
    write(dirs.file(".claude/agents/broken.md"), "no name");
    let task =
        json!({"description": "review", "prompt": "Look at it.", "subagent_type": "reviewer"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Agent", task))
        .answer(ScriptedAnswer::text("It is fine.").when("Look at it."))
        .answer(ScriptedAnswer::text("The reviewer is content."));
    let server = play(script);
    let flags = ["-p", "review it", "--allowedTools", "Agent", "--price", "3,15"];
    assert_eq!(ask(&dirs, &server, &flags), "The reviewer is content.\n");
    let tool = agent_tool(&server, 0);
    assert!(tool["description"].to_string().contains("reviewer: Reviews changes"), "{tool}");
    let nested = server.requests()[1].json().expect("JSON");
    assert!(nested["system"].to_string().contains("You review with care."), "{nested}");
    let names = nested["tools"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = names.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["Read", "Grep"]);
    // What the agent cost is part of what the session cost.
    let cost = run(&mut dirs.windlass(&["cost", "--json"])).answer().to_owned();
    let cost: Value = serde_json::from_str(&cost).expect("one object");
    assert_eq!(cost["account"]["all"]["requests"], 3);
    let list = run(&mut dirs.windlass(&["sessions", "list", "--json"])).answer().to_owned();
    let list: Value = serde_json::from_str(&list).expect("one object");
    assert_eq!(list["total"], 1);
    assert_eq!(list["sessions"][0]["cost_micro_usd"], cost["account"]["all"]["cost_micro_usd"]);
    let id = list["sessions"][0]["session_id"].as_str().expect("an id").to_owned();
    run(&mut dirs.windlass(&["sessions", "delete", &id])).answer();
    let folder = dirs.journals();
    assert!(folder.is_empty(), "{folder:?}");
}

/// Without any notes or skills, too: a file that changed behind the model's back is told.
#[test]
fn a_file_that_changed_meanwhile_is_told() {
    let dirs = TestDirs::new();
    let path = dirs.file("plan.txt");
    std::fs::write(&path, "first\n").expect("a file");
    let change = format!("echo second >> {}", path.display());
    let script = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({ "file_path": path })))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": change })))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "true" })))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "true" })))
        .answer(ScriptedAnswer::text("Over."));
    let server = play(script);
    let flags = ["-p", "go", "--dangerously-skip-permissions"];
    assert_eq!(run(&mut dirs.asking(&server.url(), &flags)).answer(), "Over.\n");
    let last = server.requests().last().expect("a request").body.to_string();
    assert!(last.contains("Files you have seen changed since"), "{last}");
}

#[test]
fn a_style_is_told_to_the_model_and_one_that_is_not_there_is_named() {
    let dirs = TestDirs::new();
    let server = server();
    write(dirs.home().join(".claude/output-styles/poet.md"), "Answer in verse.");
    let system = |style: &str| {
        let settings = json!({ "outputStyle": style }).to_string();
        let flags = ["-p", "hi", "--verbose", "--settings", &settings];
        let finished = run(&mut dirs.asking(&server.url(), &flags));
        let body = server.requests().pop().expect("a request").json().expect("JSON");
        (body["system"].to_string(), finished.stderr)
    };
    let (usual, _) = system("default");
    assert!(usual.contains("With code") && !usual.contains("verse"), "{usual}");
    let (poet, _) = system("Poet");
    assert!(!poet.contains("With code") && poet.contains("Answer in verse."), "{poet}");
    let (concise, _) = system("Concise");
    assert!(concise.contains("With code") && concise.contains("Style: concise"), "{concise}");
    let (none, said) = system("nobody");
    assert_eq!(none, usual);
    assert!(said.contains("no output style `nobody`"), "{said}");
}
