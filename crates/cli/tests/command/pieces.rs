//! Pieces people keep beside settings: plugins, skills and agents with hooks of their own, commands
//! with a model and rules of their own, and the commands every front end knows.

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, TestDirs, play, run, run_with_input};

fn write(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn ask(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> FinishedCommand {
    run(&mut dirs.asking(&server.url(), arguments))
}

fn bash(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("Bash", json!({ "command": command }))
}

#[test]
fn a_plugin_brings_commands_agents_skills_hooks_and_styles() {
    let dirs = TestDirs::new();
    let plugin = dirs.work().join("plug");
    write(plugin.join(".claude-plugin/plugin.json"), r#"{"name": "sail", "version": "1"}"#);
    write(
        plugin.join("commands/hoist.md"),
        "---\ndescription: up it goes\n---\nHoist the $ARGUMENTS.",
    );
    write(plugin.join("agents/mate.md"), "---\nname: mate\ndescription: helps\n---\nYou help.");
    write(
        plugin.join("skills/knots/SKILL.md"),
        "---\nname: knots\ndescription: ties knots\n---\nTie.",
    );
    write(plugin.join("output-styles/salty.md"), "---\nname: Salty\n---\nTalk like a sailor.");
    let hook = json!({ "hooks": { "SessionStart": [{ "hooks": [
        { "type": "command", "command": "cat \"$CLAUDE_PLUGIN_ROOT/log.txt\"" },
    ] }] } });
    write(plugin.join("hooks/hooks.json"), &hook.to_string());
    write(plugin.join("log.txt"), "calm sea");
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.").repeat(0)));
    let settings = r#"{"outputStyle": "salty"}"#;
    let flags = ["--plugin-dir", "plug", "--settings", settings];
    let mut all = vec!["-p", "/sail:hoist main sail"];
    all.extend(flags);
    assert_eq!(ask(&dirs, &server, &all).answer(), "Aye.\n");
    let request = server.requests()[0].body.clone();
    for words in
        ["Hoist the main sail.", "calm sea", "sail:knots", "Talk like a sailor.", "sail:mate"]
    {
        assert!(request.contains(words), "{words}: {request}");
    }
    // The same by settings, where it was installed.
    let installed = json!({ "plugins": { "sail@port": [{ "installPath": plugin }] } });
    let folder = dirs.home().join(".claude");
    write(folder.join("plugins/installed_plugins.json"), &installed.to_string());
    write(
        folder.join("settings.json"),
        r#"{"enabledPlugins": {"sail@port": true, "no@port": true}}"#,
    );
    let help = ask(&dirs, &server, &["-p", "/help"]);
    assert!(help.stdout.contains("/sail:hoist"), "{help:?}");
    assert!(help.stderr.contains("no@port is not installed"), "{help:?}");
    let bare = ask(&dirs, &server, &["-p", "/help", "--bare"]);
    assert!(!bare.answer().contains("sail:hoist"));
    // One that is none costs a line.
    write(dirs.work().join("bad/.claude-plugin/plugin.json"), "{");
    let bad = ask(&dirs, &server, &["-p", "/help", "--plugin-dir", "bad"]);
    assert_eq!(bad.code, Some(0), "{bad:?}");
    let lines = bad.stderr.lines().filter(|line| line.contains("plugin.json, line 1"));
    assert_eq!(lines.count(), 1, "{bad:?}");
}

#[test]
fn a_skill_brings_hooks_when_it_is_loaded_and_not_before() {
    let dirs = TestDirs::new();
    let skill = "---\nname: careful\ndescription: takes care\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: \"echo 'not with this skill' >&2; exit 2\"\n---\nTake care.";
    write(dirs.home().join(".claude/skills/careful/SKILL.md"), skill);
    let server = play(
        Script::new()
            .answer(bash("touch before"))
            .answer(ScriptedAnswer::call("Skill", json!({ "skill": "careful" })))
            .answer(bash("touch after"))
            .answer(ScriptedAnswer::text("Over.")),
    );
    let done = ask(&dirs, &server, &["-p", "go", "--dangerously-skip-permissions"]);
    assert_eq!(done.stdout, "Over.\n", "{done:?}");
    assert!(dirs.file("before").exists() && !dirs.file("after").exists());
    assert!(server.requests()[3].body.contains("not with this skill"));
}

#[test]
fn a_skill_answers_to_the_name_of_its_folder() {
    let dirs = TestDirs::new();
    let skill =
        "---\nname: tide-table\ndescription: knows tides\n---\nRead the tides of $ARGUMENTS.";
    write(dirs.home().join(".claude/skills/tides/SKILL.md"), skill);
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.").repeat(0)));
    for name in ["/tides today", "/tide-table today"] {
        assert_eq!(ask(&dirs, &server, &["-p", name]).answer(), "Aye.\n", "{name}");
        let request = server.requests().pop().expect("a request").body;
        assert!(request.contains("Read the tides of today."), "{name}: {request}");
    }
}

#[test]
fn a_skill_that_a_person_calls_brings_its_hooks_too() {
    let dirs = TestDirs::new();
    let skill = "---\nname: careful\ndescription: takes care\nmodel: nobody-knows-it\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: \"echo 'not with this skill' >&2; exit 2\"\n---\nTake care.";
    write(dirs.home().join(".claude/skills/careful/SKILL.md"), skill);
    let server = play(
        Script::new()
            .answer(bash("touch after"))
            .answer(ScriptedAnswer::text("Over."))
            .answer(bash("touch much_later"))
            .answer(ScriptedAnswer::text("Over again.")),
    );
    let said = [
        json!({ "type": "user", "message": { "role": "user", "content": "/careful go" } }),
        json!({ "type": "user", "message": { "role": "user", "content": "and now?" } }),
    ];
    let lines: String = said.iter().map(|line| format!("{line}\n")).collect();
    let flags = [&crate::driven::LINES[..], &["--dangerously-skip-permissions"]].concat();
    let mut command = dirs.asking(&server.url(), &flags);
    let done = run_with_input(&mut command, lines.as_bytes());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(server.requests()[0].body.contains("Take care."), "{done:?}");
    assert!(server.requests()[1].body.contains("not with this skill"), "{done:?}");
    assert!(!dirs.file("after").exists() && !dirs.file("much_later").exists(), "to the end");
    // A model that cannot be asked costs one line, and the usual one is asked.
    let told = done.stdout.matches("wants nobody-knows-it").count();
    assert_eq!(told, 1, "{done:?}");
}

#[test]
fn an_agent_has_hooks_of_its_own_for_as_long_as_it_runs() {
    let dirs = TestDirs::new();
    let agent = "---\nname: diver\ndescription: dives\ntools: Bash\nhooks:\n  PreToolUse:\n    - hooks:\n        - {type: command, command: 'echo too deep >&2; exit 2'}\n  Stop:\n    - hooks: [{type: command, command: 'cat > stopped.json'}]\n---\nDive.";
    write(dirs.home().join(".claude/agents/diver.md"), agent);
    let dive = json!({ "description": "dive", "prompt": "dive now", "subagent_type": "diver" });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Agent", dive))
            .answer(bash("touch deep").when("dive now"))
            .answer(ScriptedAnswer::text("could not").when_result("too deep"))
            .answer(bash("touch shallow").when_result("could not"))
            .answer(ScriptedAnswer::text("Over.")),
    );
    let done = ask(&dirs, &server, &["-p", "go", "--dangerously-skip-permissions"]);
    assert_eq!(done.stdout, "Over.\n", "{done:?}");
    assert!(!dirs.file("deep").exists() && dirs.file("shallow").exists());
    let told = std::fs::read_to_string(dirs.file("stopped.json")).expect("it was told");
    assert!(told.contains("SubagentStop") && told.contains("diver"), "{told}");
}

#[test]
fn a_command_has_a_model_and_rules_of_its_own_for_one_run() {
    let dirs = TestDirs::new();
    let page = "---\nmodel: small-one\nallowed-tools: Bash(touch once)\n---\nDo it.";
    write(dirs.home().join(".claude/commands/do.md"), page);
    let server = play(
        Script::new()
            .answer(bash("touch once"))
            .answer(ScriptedAnswer::text("Done."))
            .answer(bash("touch once; touch twice"))
            .answer(ScriptedAnswer::text("Over.")),
    );
    let prompt =
        |text: &str| json!({ "type": "user", "message": { "role": "user", "content": text } });
    let input = format!("{}\n{}\n", prompt("/do"), prompt("again"));
    let flags = [
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--model",
        "large-one",
        "--fallback-model",
        "small-one",
    ];
    let done = run_with_input(&mut dirs.asking(&server.url(), &flags), input.as_bytes());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(dirs.file("once").exists() && !dirs.file("twice").exists(), "{done:?}");
    let models: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json().expect("JSON")["model"].clone())
        .collect();
    assert_eq!(models, ["small-one", "small-one", "large-one", "large-one"]);
}

#[test]
fn the_commands_are_there_without_a_model() {
    let dirs = TestDirs::new();
    let settings =
        json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "true" }] }] } });
    write(dirs.home().join(".claude/settings.json"), &settings.to_string());
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.").repeat(0)));
    ask(&dirs, &server, &["-p", "the first prompt"]).answer();
    for (prompt, words) in [
        ("/help", "/resume [SESSION]"),
        ("/hooks", "Stop *"),
        ("/resume", "the first prompt"),
        ("/model", "claude"),
        ("/agents", "No agents"),
        ("/permissions", "mode default"),
        ("/memory", "No memory files"),
    ] {
        let said = run(&mut dirs.windlass(&["-p", prompt]));
        assert!(said.answer().contains(words), "{prompt}: {said:?}");
    }
    let cleared = ask(&dirs, &server, &["-p", "/clear"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    assert_eq!(server.requests().len(), 1, "no model was asked");
}

#[test]
fn a_skill_is_a_command_too_and_a_broken_head_costs_one_line() {
    let dirs = TestDirs::new();
    write(
        dirs.home().join(".claude/skills/tie/SKILL.md"),
        "---\ndescription: ties\n---\nTie $ARGUMENTS.",
    );
    let broken = "---\nname: split\ndescription: splits\nthis is no line of a head\n---\nSplit it.";
    write(dirs.home().join(".claude/skills/split/SKILL.md"), broken);
    let server = play(Script::new().answer(ScriptedAnswer::text("Aye.").repeat(0)));
    let done = ask(&dirs, &server, &["-p", "/tie a bowline"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Aye.\n"), "{done:?}");
    assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    assert!(done.stderr.contains("split/SKILL.md: line 4 cannot be read"), "{done:?}");
    let request = &server.requests()[0].body;
    assert!(request.contains("Tie a bowline.") && request.contains("splits"), "{request}");
}

#[test]
fn commands_in_folders_keep_their_folders_and_none_hides_another() {
    let dirs = TestDirs::new();
    let pages = [
        ("ops/apply", "Apply the ops.", "/ops:apply"),
        ("web/apply", "Apply the web.", "/web:apply"),
        ("web/sail", "Set sails.", "/sail"),
    ];
    for (name, words, _) in pages {
        let path = dirs.file(&format!(".claude/commands/{name}.md"));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, words).expect("a file");
    }
    let server = play(Script::new().answer(ScriptedAnswer::text("Done.").repeat(0)));
    for (_, words, prompt) in pages {
        run(&mut dirs.asking(&server.url(), &["-p", prompt])).answer();
        let body = server.requests().pop().expect("a request").body;
        assert!(body.contains(words), "{prompt}: {body}");
    }
}
