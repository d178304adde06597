//! A tree that a stranger wrote by hand, with a mistake in every kind of file: one clear line for each, the
//! doctor names them all, and everything else works.

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

fn write(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn tree() -> TestDirs {
    let dirs = TestDirs::new();
    let own = |name: &str| dirs.home().join(".claude").join(name);
    write(
        own("settings.json"),
        r#"{"model": 5, "statusLine": "x", "availableModels": "opus", "cleanupPeriodDays": 0,
            "permisions": {}, "hooks": {"Nonsense": [], "Stop": "x", "PostToolUse": [
                {"hooks": [{"type": "command", "command": "/nowhere/hook.sh --now"}]}]}}"#,
    );
    write(own("skills/good/SKILL.md"), "---\nname: good\ndescription: A good one\n---\nBe good.\n");
    write(own("skills/broken/SKILL.md"), "---\nname: [broken\ndescription: x\n---\nBody.\n");
    write(own("skills/bare/SKILL.md"), "No head at all.\n");
    write(own("agents/fine.md"), "---\nname: fine\ndescription: d\ntools: Read\n---\nYou.\n");
    write(own("agents/broken.md"), "---\nname: bad: [yaml\n---\nYou.\n");
    write(own("agents/nameless.md"), "---\ndescription: d\n---\nYou.\n");
    write(own("commands/say.md"), "---\ndescription: Says it\n---\nSay $0, and then $ARGUMENTS.\n");
    write(own("output-styles/salty.md"), "---\nname: [salty\n---\nTalk like a sailor.\n");
    write(dirs.file("CLAUDE.md"), "The rule of the root. @missing.md @more.md\n");
    write(dirs.file("more.md"), "More of it.\n");
    dirs
}

/// What is wrong, and a word of the line that says so.
const SETTINGS: [(&str, &str); 7] = [
    ("`model`", "expected a string"),
    ("`statusLine`", "expected an object"),
    ("`availableModels`", "expected a list"),
    ("`cleanupPeriodDays`", "expected a whole number above 0"),
    ("`permisions`", "did you mean `permissions`?"),
    ("hooks.Nonsense", "there is no such event"),
    ("hooks.Stop", "must be a list"),
];

#[test]
fn each_mistake_of_a_stranger_is_one_line_and_all_else_works() {
    let dirs = tree();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "echo one"})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let flags = ["-p", "/say aye \"two words\"", "--allowedTools", "Bash(echo:*)"];
    let finished = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "Over.\n"), "{finished:?}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    let skill = ("skills/broken/SKILL.md", "line 2 cannot be read");
    let hook = ("/nowhere/hook.sh", "does not exist");
    for (what, words) in SETTINGS.iter().copied().chain([skill, hook]) {
        let said = lines.iter().filter(|line| line.contains(what));
        let said: Vec<&&str> = said.collect();
        assert_eq!(said.len(), 1, "{what}: {finished:?}");
        assert!(said[0].contains(words), "{what}: {said:?}");
    }
    assert_eq!(lines.len(), SETTINGS.len() + 2, "{finished:?}");
    let first = server.requests()[0].body.to_string();
    assert!(first.contains("Say aye, and then aye \\\"two words\\\"."), "{first}");
    assert!(first.contains("The rule of the root.") && first.contains("More of it."), "{first}");
    assert!(first.contains("fine: d"), "the agent is offered: {first}");
    let listed = run(&mut dirs.windlass(&["-p", "/help"])).stdout;
    for (name, is_there) in
        [("/good", true), ("/broken", true), ("/bare", true), ("/say", true), ("[broken", false)]
    {
        assert_eq!(listed.contains(name), is_there, "{name}: {listed}");
    }
}

#[test]
fn the_doctor_names_every_mistake_of_a_stranger() {
    let dirs = tree();
    let finished = run(&mut dirs.asking("http://127.0.0.1:9", &["doctor", "--offline", "--json"]));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(1), ""), "{finished:?}");
    let report: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let problems = report["problems"].as_array().into_iter().flatten();
    let problems = problems.filter_map(|problem| problem["what"].as_str());
    let wrong = report["wrong"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let lines: Vec<&str> = problems.chain(wrong).collect();
    let pieces = [
        ("/nowhere/hook.sh", "does not exist"),
        ("skills/broken/SKILL.md", "line 2 cannot be read"),
        ("agents/broken.md", "is not an agent"),
        ("agents/nameless.md", "it has no name"),
        ("output-styles/salty.md", "line 2 cannot be read"),
    ];
    for (what, words) in SETTINGS.into_iter().chain(pieces) {
        let said: Vec<&&str> = lines.iter().filter(|line| line.contains(what)).collect();
        assert_eq!(said.len(), 1, "{what}: {lines:#?}");
        assert!(said[0].contains(words), "{what}: {said:?}");
    }
    assert_eq!(lines.len(), SETTINGS.len() + pieces.len(), "{lines:#?}");
}
