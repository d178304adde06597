//! Which models may be asked: those that settings leave to choose, wherever a user names one, and those
//! that agents ask for.

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::conversation::talk::{READY, Talk};
use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play, run};

#[allow(clippy::needless_pass_by_value, reason = "JSON is written where it is made")]
fn write(path: impl AsRef<Path>, text: impl ToString) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text.to_string()).expect("a file");
}

fn ok() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

fn models(server: &Rehearsal) -> Vec<String> {
    let name = |body: Value| body["model"].as_str().unwrap_or_default().to_owned();
    server.requests().iter().map(|request| name(request.json().expect("JSON"))).collect()
}

/// Settings, flags, a variable; whom is asked, or what is said of it.
#[test]
fn who_names_a_model_that_is_not_left_is_refused_with_the_list() {
    let list = json!({"availableModels": ["haiku", "claude-fable-5-1"]});
    for (flags, variable, asked) in [
        // The usual one is always there.
        (&[][..], None, Ok("claude-sonnet-5-5")),
        (&["--model", "haiku"], None, Ok("claude-haiku-5-5")),
        (&["--model", "claude-haiku-5-5"], None, Ok("claude-haiku-5-5")),
        (&["--model", "anthropic/claude-haiku-4"], None, Ok("claude-haiku-4")),
        (&["--model", "fable"], None, Ok("claude-fable-5-1")),
        (&["--model", "claude-fable-5"], None, Err("claude-fable-5;")),
        (&["--model", "opus"], None, Err("claude-opus-5-5")),
        (&[], Some("opus"), Err("claude-opus-5-5")),
        (&["--model", "haiku"], Some("opus"), Ok("claude-haiku-5-5")),
        (&["--fallback-model", "opus"], None, Err("claude-opus-5-5")),
    ] {
        let dirs = TestDirs::new();
        let server = ok();
        write(dirs.home().join(".claude/settings.json"), &list);
        let mut command = dirs.asking(&server.url(), &["-p", "go"]);
        if let Some(model) = variable {
            command.env("ANTHROPIC_MODEL", model);
        }
        let finished = run(command.args(flags));
        match asked {
            Ok(name) => {
                assert_eq!(finished.answer(), "ok\n", "{flags:?}");
                assert_eq!(models(&server), [name], "{flags:?}");
            }
            Err(name) => {
                let said = finished.error_line(2);
                assert!(said.contains(name) && said.contains("availableModels"), "{said}");
                assert!(said.contains("there are haiku, claude-fable-5-1"), "{said}");
                assert!(server.requests().is_empty(), "{flags:?}");
            }
        }
    }
}

#[test]
fn what_a_file_names_is_left_out_and_the_administrators_list_stands_alone() {
    let dirs = TestDirs::new();
    let server = ok();
    write(
        dirs.home().join(".claude/settings.json"),
        json!({"availableModels": ["opus"], "model": "opus", "fallbackModel": ["opus", "haiku"]}),
    );
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "go"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    assert!(finished.stderr.contains("does not include the model haiku"), "{finished:?}");
    assert_eq!(models(&server), ["claude-opus-5-5"]);
    let managed = r#"{"availableModels": ["haiku"]}"#;
    let mut command = dirs.asking(&server.url(), &["-p", "go", "--managed-settings", managed]);
    let finished = run(&mut command);
    assert_eq!(finished.stderr.lines().count(), 2, "{finished:?}");
    assert!(
        finished.stderr.contains("does not include the model opus; there are haiku"),
        "{finished:?}"
    );
    assert_eq!(models(&server).last().map(String::as_str), Some("claude-sonnet-5-5"));
    // The user's own table is no way around it.
    dirs.config("default_model = \"anthropic/claude-opus-5-5\"\n");
    std::fs::remove_file(dirs.home().join(".claude/settings.json")).expect("removed");
    let finished =
        run(&mut dirs.asking(&server.url(), &["-p", "go", "--managed-settings", managed]));
    assert!(finished.error_line(2).contains("claude-opus-5-5"));
}

#[test]
fn clients_and_people_are_held_to_it_in_the_middle_of_a_session() {
    let dirs = TestDirs::new();
    let server = ok();
    write(dirs.home().join(".claude/settings.json"), json!({"availableModels": ["haiku"]}));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    let greeting = driven.ask(&json!({"subtype": "initialize"})).expect("a greeting");
    let names = greeting["models"].to_string();
    assert!(names.contains("claude-haiku-5-5") && !names.contains("claude-opus-5-5"), "{names}");
    let refused = driven.ask(&json!({"subtype": "set_model", "model": "opus"})).expect_err("no");
    assert!(refused.contains("availableModels") && refused.contains("haiku"), "{refused}");
    driven.ask(&json!({"subtype": "set_model", "model": "haiku"})).expect("yes");
    driven.prompt("one");
    driven.result();
    driven.ask(&json!({"subtype": "set_model", "model": "default"})).expect("yes");
    driven.prompt("two");
    driven.result();
    assert_eq!(driven.end().stderr, "");
    assert_eq!(models(&server), ["claude-haiku-5-5", "claude-sonnet-5-5"]);
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("/model opus\r");
    talk.until("availableModels");
    talk.key("/model haiku\r");
    talk.until("Switched to");
    assert_eq!(talk.end(), Some(0));
}

/// An agent's own model is asked, by whatever name it has, unless settings do not leave it.
#[test]
fn an_agent_asks_the_model_it_names() {
    let page =
        |model: &str| format!("---\nname: small\ndescription: d\nmodel: {model}\n---\nYou.\n");
    let haiku = "claude-haiku-5-5";
    let own = "claude-sonnet-5-5";
    let all = json!({});
    let few = json!({"availableModels": ["opus"]});
    for (written, wished, settings, asked) in [
        ("haiku", None, &all, haiku),
        ("claude-haiku-5-5", None, &all, haiku),
        ("inherit", None, &all, own),
        ("openai/gpt-4o", None, &all, own),
        ("inherit", Some("haiku"), &all, haiku),
        ("haiku", None, &few, own),
        ("inherit", Some("haiku"), &few, own),
    ] {
        let dirs = TestDirs::new();
        write(dirs.home().join(".claude/settings.json"), settings);
        write(dirs.home().join(".claude/agents/small.md"), page(written));
        let mut call = json!({"description": "d", "prompt": "do it", "subagent_type": "small"});
        if let Some(model) = wished {
            call["model"] = json!(model);
        }
        let script = Script::new()
            .answer(ScriptedAnswer::call("Agent", call))
            .answer(ScriptedAnswer::text("Done."))
            .answer(ScriptedAnswer::text("Over."));
        let server = play(script);
        let finished =
            run(&mut dirs.asking(&server.url(), &["-p", "go", "--allowedTools", "Agent"]));
        assert_eq!(finished.answer(), "Over.\n", "{written} {wished:?}");
        assert_eq!(models(&server), [own, asked, own], "{written} {wished:?} {settings}");
    }
}

/// So does a command, for its own run.
#[test]
fn a_command_asks_the_model_it_names() {
    let dirs = TestDirs::new();
    let server = ok();
    write(dirs.home().join(".claude/commands/quick.md"), "---\nmodel: haiku\n---\nBe quick.\n");
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    driven.prompt("/quick");
    driven.result();
    driven.prompt("and now?");
    driven.result();
    assert_eq!(driven.end().stderr, "");
    assert_eq!(models(&server), ["claude-haiku-5-5", "claude-sonnet-5-5"]);
}
