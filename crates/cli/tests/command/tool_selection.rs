//! Which tools are offered, and what searching tools do not show.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

fn offered_tools(flags: &[&str]) -> Vec<String> {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
    run(command.args(flags)).answer();
    let body = server.requests()[0].json().expect("JSON");
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_base_set_is_chosen_by_name() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--tools", "Read,Bash"], &["Bash", "Read"]),
        (&["--tools", "Grep", "Read"], &["Read", "Grep"]),
        (&["--tools", ""], &[]),
        (&["--tools", "Read,Bash", "--disallowedTools", "Bash"], &["Read"]),
        (&["--tools", "Read,Agent"], &["Read", "Agent"]),
        (&["--tools", "Read,Task", "--disallowedTools", "Agent"], &["Read"]),
        (&["--tools", "Read,NotebookEdit"], &["Read", "NotebookEdit"]),
    ];
    for (flags, names) in cases {
        assert_eq!(offered_tools(flags), *names, "{flags:?}");
    }
    let all = offered_tools(&[]);
    assert!(all.starts_with(&["Bash", "Read", "Edit", "Write"].map(str::to_owned)), "{all:?}");
    assert_eq!(offered_tools(&["--tools", "default"]), all);
    assert!(all.contains(&"Agent".to_owned()), "{all:?}");
    let without = offered_tools(&["--disallowedTools", "Agent"]);
    assert_eq!(without.len() + 1, all.len(), "{without:?}");
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.asking("http://127.0.0.1:9", &["-p", "hi", "--tools", "Raed"]));
    assert!(finished.error_line(2).contains("did you mean Read?"), "{finished:?}");
    let finished = run(&mut dirs.asking("http://127.0.0.1:9", &["-p", "hi", "--tools", "Quux"]));
    assert!(finished.error_line(2).contains("Glob, Grep"), "{finished:?}");
}

/// What the model was told last.
fn last_result(server: &windlass_rehearsal::Rehearsal) -> Value {
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    let messages = body["messages"].as_array().cloned().expect("messages");
    messages.last().expect("a message")["content"].clone()
}

#[test]
fn what_may_not_be_read_is_not_even_found() {
    let dirs = TestDirs::new();
    for (name, text) in [("open.txt", "needle in the open\n"), ("secret.env", "needle: hush\n")] {
        std::fs::write(dirs.file(name), text).expect("a file");
    }
    for (tool, input) in
        [("Grep", json!({"pattern": "needle"})), ("Glob", json!({"pattern": "*.*"}))]
    {
        let script = Script::new()
            .answer(ScriptedAnswer::call(tool, input))
            .answer(ScriptedAnswer::text("done"));
        let server = play(script);
        let arguments = ["-p", "go", "--disallowedTools", "Read(secret.env)"];
        run(&mut dirs.asking(&server.url(), &arguments)).answer();
        let said = last_result(&server).to_string();
        assert!(said.contains("open.txt"), "{tool}: {said}");
        assert!(!said.contains("secret.env") && !said.contains("hush"), "{tool}: {said}");
    }
}

#[test]
fn a_long_output_can_be_read_back_without_a_question() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "seq 1 40000"})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    let arguments = ["-p", "go", "--allowedTools", "Bash(seq:*)", "--journal", "run.jsonl"];
    run(&mut dirs.asking(&server.url(), &arguments)).answer();
    let said = last_result(&server).to_string();
    let spill = dirs.file("run.spill").canonicalize().expect("the long output is kept");
    let kept = std::fs::read_dir(&spill).expect("a folder").next().expect("a file");
    let kept = kept.expect("an entry").path();
    assert!(said.contains(&*kept.file_name().expect("a name").to_string_lossy()), "{said}");

    // A run that stands elsewhere continues the session: the folder is outside of where it works.
    let read = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({"file_path": kept.to_string_lossy()})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(read);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let journal = dirs.file("run.jsonl");
    let arguments = ["-p", "again", "--journal", &*journal.to_string_lossy()];
    let mut command = dirs.asking(&server.url(), &arguments);
    let finished = run(command.current_dir(elsewhere.path()));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "done\n"), "{finished:?}");
    let said = last_result(&server).to_string();
    assert!(!said.contains("\"is_error\":true"), "{said}");
}

/// Skills are there wherever they are found, named within bounds, and loaded by name.
#[test]
fn skills_are_offered_where_there_are_any() {
    let dirs = TestDirs::new();
    let about = "Rig the mast. ".repeat(100);
    for number in 0..60 {
        let folder = dirs.file(&format!(".claude/skills/rigging-{number:02}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let text =
            format!("---\nname: rigging-{number:02}\ndescription: {about}\n---\nHaul away.\n");
        std::fs::write(folder.join("SKILL.md"), text).expect("a skill");
    }
    let hidden = dirs.file(".claude/skills/a-hidden");
    std::fs::create_dir_all(&hidden).expect("a folder");
    let text = "---\ndisable-model-invocation: true\n---\nNot for models.\n";
    std::fs::write(hidden.join("SKILL.md"), text).expect("a skill");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Skill", json!({"skill": "rigging-59"})))
        .answer(ScriptedAnswer::call("Skill", json!({"skill": "a-hidden"})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    run(&mut dirs.asking(&server.url(), &["-p", "go"])).answer();
    let requests = server.requests();
    let body = requests[0].json().expect("JSON");
    let tools = body["tools"].as_array().expect("tools");
    let skill = tools.iter().find(|tool| tool["name"] == "Skill").expect("the tool");
    let words = skill["description"].as_str().expect("words");
    assert!(words.contains("- rigging-00: Rig") && words.contains(" more"), "{words}");
    assert!(words.len() < 2_500 && !words.contains("a-hidden"), "{words}");
    assert!(requests[1].body.contains("Haul away."), "{}", requests[1].body);
    let last = last_result(&server).to_string();
    assert!(
        last.contains("There is no skill `a-hidden`") && !last.contains("for models"),
        "{last}"
    );
}

#[test]
fn the_default_prompt_and_tools_are_short() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    run(&mut dirs.asking(&server.url(), &["-p", "hi"])).answer();
    let body = server.requests()[0].json().expect("JSON");
    let bytes = body["tools"].to_string().len() + body["system"].to_string().len();
    // About four bytes of such text are one token.
    assert!(bytes / 4 < 6_000, "{bytes} bytes");
    let names: Vec<&str> = body["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect();
    let tools = body["tools"].to_string();
    assert!(names.contains(&"ToolSearch"), "{names:?}");
    assert!(tools.contains("WebSearch"), "it can be searched for: {tools}");
    assert!(!tools.contains("AskUserQuestion") && !tools.contains("PlanMode"), "{tools}");
}
