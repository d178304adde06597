//! What a failure says: the same sentence as `-p`, and what can be done about it here.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

fn refusing(status: u16, kind: &str, message: &str) -> Script {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    let fault = ScriptedFault::refuse_with(status, body.to_string());
    Script::new().answer(ScriptedAnswer::from_fault(fault).repeat(0))
}

/// The screen as one line: it may be broken anywhere.
fn joined(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_refused_key_says_which_and_what_to_do() {
    let dirs = TestDirs::new();
    let server = play(refusing(401, "authentication_error", "invalid x-api-key"));
    let talk = Talk::sized(dirs.asking(&server.url(), &["hello"]), 24, 100);
    let shown = joined(&talk.until("/model switches to a model you have a key for"));
    assert!(shown.contains("The key was refused (status 401)"), "{shown}");
    assert!(shown.contains("ANTHROPIC_API_KEY") && shown.contains("windlass key set"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_sentence_of_the_server_is_not_ended_twice() {
    let dirs = TestDirs::new();
    let server = play(refusing(401, "authentication_error", "That is no key for this API."));
    let talk = Talk::sized(dirs.asking(&server.url(), &["hello"]), 24, 100);
    let shown = joined(&talk.until("/model switches"));
    assert!(shown.contains("no key for this API; "), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_missing_model_offers_another() {
    let dirs = TestDirs::new();
    let server = play(refusing(404, "not_found_error", "model: claude-sonet-5-5"));
    let flags = ["--model", "claude-sonet-5-5", "--", "hello"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 100);
    let shown = joined(&talk.until("/model switches to another model"));
    assert!(shown.contains("There is no such model"), "{shown}");
    assert!(shown.contains("claude-sonnet-5-5"), "{shown}");
    talk.key("/why\r");
    let shown = joined(&talk.until("stopped (model_error)"));
    assert!(shown.contains("The model server refused the request."), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

/// The model is told, and goes on; the person sees what it tried.
#[test]
fn a_call_of_a_tool_that_does_not_exist_is_shown() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(
            ScriptedAnswer::text("I look.")
                .tool("Grpe", json!({"pattern": "needle"}))
                .tool("Bash", json!({"description": "no command"}))
                .text_after("So far."),
        )
        .answer(ScriptedAnswer::text("I give up.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "find it"];
    let talk = Talk::sized(dirs.asking(&server.url(), &flags), 40, 100);
    talk.until("I give up.");
    talk.until(READY);
    let first = talk.scrolled();
    assert_eq!(talk.end(), Some(0));
    let talk = Talk::sized(dirs.asking(&server.url(), &["-c"]), 40, 100);
    talk.until(READY);
    for shown in [first, talk.scrolled()] {
        let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}:\n{shown}"));
        let order = [
            at("● I look."),
            at("✗ Grpe(needle)\n  There is no tool `Grpe`. Did you mean `Grep`?"),
            at("✗ Bash(no command)\n"),
            at("● So far."),
            at("● I give up."),
        ];
        assert!(order.is_sorted(), "{shown}");
        assert!(!shown.contains("tool_use_error"), "{shown}");
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_command_that_cannot_be_followed_is_marked_as_an_error() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 100);
    talk.until(READY);
    talk.key("/theme purple\r");
    let shown = talk.until("/theme takes");
    assert!(shown.contains("✗ /theme takes auto"), "{shown}");
    talk.key("/hepl\r");
    let shown = talk.until("/help");
    assert!(shown.contains("✗ Unknown command"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}
