//! What a failure says: the same sentence as `-p`, and what can be done about it here.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use super::talk::Talk;
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
