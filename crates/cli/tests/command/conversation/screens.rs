//! Lists that do something: rules, hooks, servers, agents, instructions, models.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{ASKED, READY, Talk};
use crate::fixture::{TestDirs, play};
use crate::remote::SERVER;

const SETTINGS: &str = "{\n  \"z\": 1,\n  \"permissions\": {\n    \"allow\": [\n      \
                        \"Bash(ls:*)\"\n    ]\n  },\n  \"env\": {}\n}\n";

fn touches() -> Script {
    Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch one.txt"})))
        .answer(ScriptedAnswer::text("The first is there."))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch two.txt"})))
        .answer(ScriptedAnswer::text("No second one.").repeat(0))
}

#[test]
fn a_rule_is_checked_as_it_is_typed_kept_in_its_file_and_taken_out_again() {
    let dirs = TestDirs::new();
    let file = dirs.home().join(".claude/settings.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(&file, SETTINGS).expect("a file");
    let server = play(touches());
    let managed = json!({"permissions": {"deny": ["WebFetch"]}}).to_string();
    let flags = ["--managed-settings", managed.as_str(), "--disallowedTools", "WebSearch"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 100);
    talk.until(READY);
    talk.key("/permissions\r");
    let shown = talk.until("Check a command");
    for row in [
        "deny WebFetch     managed · --managed-settings:1",
        "allow Bash(ls:*)  user · ~/.claude/settings.json:5",
        "deny WebSearch    this session",
    ] {
        assert!(shown.contains(row), "{row}:\n{shown}");
    }
    talk.key("Add a rule\r");
    talk.until("Add which kind of rule?");
    talk.key("allow for me in all\r");
    talk.until("Rule to allow for me in all projects");
    talk.key("Bash(touch:*\r");
    talk.until("the closing parenthesis is missing");
    talk.key(")");
    talk.until("allow Bash(touch:*), saved in ~/.claude/settings.json");
    talk.key("\r");
    talk.until("Added to ~/.claude/settings.json: allow Bash(touch:*)");
    talk.key("\u{1b}");
    talk.until(READY);
    let with = std::fs::read_to_string(&file).expect("a file");
    let more = "      \"Bash(ls:*)\",\n      \"Bash(touch:*)\"\n";
    assert_eq!(with, SETTINGS.replace("      \"Bash(ls:*)\"\n", more));
    // It counts at once.
    talk.key("make it\r");
    talk.until("The first is there.");
    assert!(dirs.file("one.txt").exists());
    talk.until(READY);
    // No is the first answer.
    talk.key("/permissions\r");
    talk.until("Check a command");
    talk.key("touch\r");
    talk.until("Remove allow Bash(touch:*)?");
    talk.key("\r");
    talk.until("Check a command");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), with);
    talk.key("touch\r");
    talk.until("Remove allow Bash(touch:*)?");
    talk.key("\u{1b}[B\r");
    talk.until("Removed from ~/.claude/settings.json: allow Bash(touch:*)");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), SETTINGS);
    // What is not ours to write stays: the list stays open, too.
    talk.key("WebFetch\r");
    talk.until("Search: WebFetch");
    talk.key("\u{1b}");
    talk.until(READY);
    talk.key("make another\r");
    talk.until("touch two.txt");
    talk.until(ASKED);
    talk.key("n");
    talk.until("No second one.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn what_would_come_of_a_command_is_said_as_it_is_typed() {
    let dirs = TestDirs::new();
    let server = play(touches());
    let flags = ["--allowedTools", "Bash(ls:*)", "--disallowedTools", "Bash(rm:*)"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 100);
    talk.until(READY);
    talk.key("/permissions check\r");
    talk.until("nothing is run");
    talk.key("ls -l");
    talk.until("allow: ");
    talk.key(" && rm x");
    let shown = talk.until("deny: ");
    assert!(shown.contains("by Bash(rm:*)"), "{shown}");
    talk.key("\r");
    talk.until("$ ls -l && rm x");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_hook_says_how_it_went_and_is_switched_off_for_the_session() {
    let dirs = TestDirs::new();
    let file = dirs.home().join(".claude/settings.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    let guard = json!({"type": "command", "command": "echo not here >&2; exit 2"});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [guard]}]}});
    std::fs::write(&file, settings.to_string()).expect("a file");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch one.txt"})))
        .answer(ScriptedAnswer::text("It was stopped.").when_result("not here"))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch two.txt"})))
        .answer(ScriptedAnswer::text("Now it is there.").repeat(0));
    let server = play(script);
    let kept = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}});
    let kept = kept.to_string();
    let flags = ["--allowedTools", "Bash(touch:*)", "--managed-settings", kept.as_str()];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 160);
    talk.until(READY);
    talk.key("/hooks\r");
    let shown = talk.until("PreToolUse Bash");
    assert!(shown.contains("on · not run yet · ~/.claude/settings.json"), "{shown}");
    assert!(shown.contains("on, managed"), "{shown}");
    talk.key("\u{1b}");
    talk.until(READY);
    talk.key("make it\r");
    talk.until("It was stopped.");
    talk.until(READY);
    talk.key("/hooks\r");
    talk.until("on · last: exited with 2");
    talk.key("PreTool\r");
    talk.until("Hook off for this session");
    talk.until("off · last:");
    // The administrator's stays as it is.
    talk.key("Stop\r");
    talk.until("Search: Stop");
    talk.key("\u{1b}");
    talk.until(READY);
    talk.key("again\r");
    talk.until("Now it is there.");
    assert!(!dirs.file("one.txt").exists() && dirs.file("two.txt").exists());
    assert_eq!(talk.end(), Some(0));
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), settings.to_string());
}

#[test]
fn a_server_is_looked_at_switched_off_and_connected_anew() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("server.sh"), SERVER).expect("a file");
    let entry = json!({"command": "sh", "args": ["server.sh"]});
    let config = json!({"mcpServers": {"box": entry}}).to_string();
    let server = play(touches());
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["--mcp-config", &config]), 24, 100);
    talk.until(READY);
    // However long it takes to be there.
    talk.key("/mcp reconnect box\r");
    talk.until("box: connected");
    talk.until("connected · 1 tool · dynamic");
    talk.key("\r");
    let shown = talk.until("Reconnect");
    assert!(shown.contains("mcp__box__place"), "{shown}");
    talk.key("off\r");
    talk.until("box: disabled");
    talk.key("box\r");
    talk.until("Turn on");
    talk.key("Turn on\r");
    talk.until("connected · 1 tool · dynamic");
    talk.key("\u{1b}");
    talk.until(READY);
    talk.key("/mcp nobody\r");
    talk.until("No MCP server `nobody`");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn prompts_of_a_server_that_comes_later_stand_in_the_menu() {
    let dirs = TestDirs::new();
    let gate = dirs.file("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status().expect("mkfifo");
    assert!(made.success());
    std::fs::write(dirs.file("server.sh"), format!("read -r _ <gate\n{SERVER}")).expect("a file");
    let entry = json!({"command": "sh", "args": ["server.sh"]});
    let config = json!({"mcpServers": {"box": entry}}).to_string();
    let server = play(touches());
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["--mcp-config", &config]), 24, 100);
    talk.until(READY);
    talk.key("/mcp__b");
    talk.until("> /mcp__b");
    assert!(!talk.until("> /mcp__b").contains("mcp__box__greet"));
    talk.key("\u{3}");
    talk.until(READY);
    std::fs::write(&gate, "go\n").expect("somebody reads");
    talk.key("/mcp reconnect box\r");
    talk.until("box: connected");
    talk.key("\u{1b}");
    talk.until(READY);
    talk.key("/mcp__b");
    talk.until("mcp__box__greet");
    assert_eq!(talk.end_after_clear(), Some(0));
}

/// An editor that writes a line at the end.
fn editor(dirs: &TestDirs) -> String {
    let path = dirs.file("editor.sh");
    std::fs::write(&path, "#!/bin/sh\necho written by hand >>\"$1\"\n").expect("a file");
    let rights = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, rights).expect("rights");
    path.to_string_lossy().into_owned()
}

#[test]
fn agents_and_instructions_are_written_in_an_editor() {
    let dirs = TestDirs::new();
    let server = play(touches());
    let mut command = dirs.asking::<&str>(&server.url(), &[]);
    command.env("EDITOR", editor(&dirs));
    let mut talk = Talk::sized(command, 24, 100);
    talk.until(READY);
    talk.key("/agents\r");
    talk.until("Create an agent");
    talk.key("\r");
    talk.until("Name of the new agent");
    talk.key("Lo");
    talk.until("`Lo` is not a valid name");
    talk.key("\u{15}lookout");
    talk.until("creates .claude/agents/lookout.md");
    talk.key("\r");
    talk.until("Edited ");
    let page = std::fs::read_to_string(dirs.file(".claude/agents/lookout.md")).expect("a page");
    assert!(page.starts_with("---\nname: lookout\n") && page.ends_with("written by hand\n"));
    talk.key("/memory\r");
    talk.until("Show what was read");
    talk.key("AGENTS\r");
    talk.when("edited", |screen| screen.contents().matches("Edited ").count() == 2);
    let page = std::fs::read_to_string(dirs.file("AGENTS.md")).expect("a page");
    assert_eq!(page, "written by hand\n");
    // It is there already, and nothing is lost.
    talk.key("/agents new lookout\r");
    talk.until("already exists");
    assert_eq!(talk.end(), Some(0));
    // The next session knows both.
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 100);
    talk.until(READY);
    talk.key("/agents\r");
    talk.until(".claude/agents/lookout.md · Read, Grep, Glob · same model");
    talk.key("\u{1b}");
    talk.until(READY);
    talk.key("/memory show\r");
    talk.until("written by hand");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn another_provider_goes_on_with_the_same_conversation() {
    let dirs = TestDirs::new();
    let first = play(Script::new().answer(ScriptedAnswer::text("I am the first.").repeat(0)));
    let second = play(Script::new().answer(ScriptedAnswer::text("I am the second.").repeat(0)));
    dirs.config(&format!(
        "[provider.mine]\nwire = \"anthropic_messages\"\nbase_url = \"{}\"\nkey_env = \"MINE_KEY\"\n\
         [model.\"mine/small\"]\nwindow = 90_000\nprice = {{ input = 0.125, output = 1 }}\n",
        second.url()
    ));
    let mut command = dirs.asking(&first.url(), &["who are you"]);
    command.env("MINE_KEY", "another-key");
    let mut talk = Talk::sized(command, 24, 100);
    talk.until("I am the first.");
    talk.until(READY);
    talk.key("/model\r");
    let shown = talk.until("Choose a model");
    assert!(shown.contains("current"), "{shown}");
    talk.key("mine/");
    let shown = talk.until("mine/small  90,000 tokens");
    assert!(shown.contains("$0.125 in, $1.00 out"), "{shown}");
    talk.key("\r");
    talk.until("Switched to small");
    talk.key("and you?\r");
    talk.until("I am the second.");
    assert_eq!(talk.end(), Some(0));
    let body: Value = second.requests().pop().expect("a request").json().expect("JSON");
    assert_eq!(body["model"], "small");
    assert!(body["messages"].to_string().contains("I am the first."), "{body}");
}
