//! What happens on the way and needs nobody: each is one quiet line, and the conversation goes on.

use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault, StopReason};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

/// Everything that was shown, with one blank between words: a quiet line may be broken.
fn words(talk: &Talk) -> String {
    talk.scrolled().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Says something, waits for the last words of the answer, and gives everything shown.
fn shown(script: Script, flags: &[&str], last: &str) -> String {
    let dirs = TestDirs::new();
    let server = play(script);
    let arguments: Vec<&str> = flags.iter().copied().chain(["--", "go"]).collect();
    let talk = Talk::sized(dirs.asking(&server.url(), &arguments), 40, 100);
    talk.until(last);
    talk.until(READY);
    let shown = words(&talk);
    assert_eq!(talk.end(), Some(0));
    shown
}

fn cut(text: &str) -> ScriptedAnswer {
    ScriptedAnswer::text(text).stop(StopReason::MaxTokens)
}

#[test]
fn retries_are_told_with_their_reason() {
    let script = Script::new()
        .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(529)))
        .answer(ScriptedAnswer::text("There you are.").repeat(0));
    let shown = shown(script, &[], "There you are.");
    assert!(shown.contains("· Retried once: the model is overloaded"), "{shown}");
}

#[test]
fn another_model_is_told() {
    let script = Script::new()
        .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(404)).when_model("first"))
        .answer(ScriptedAnswer::text("Fine.").when_model("second"));
    let flags = ["--model", "first", "--fallback-model", "second"];
    let shown = shown(script, &flags, "Fine.");
    assert!(shown.contains("· Switched from first to second"), "{shown}");
}

#[test]
fn an_answer_that_broke_off_is_taken_back() {
    let text = "Half of a sentence that is never";
    let script = Script::new()
        .answer(ScriptedAnswer::text(text).chunk(4).fault(ScriptedFault::cut_after_event(5)))
        .answer(ScriptedAnswer::text("Whole again.").repeat(0));
    let shown = shown(script, &[], "Whole again.");
    assert!(shown.contains("· Partial answer discarded: "), "{shown}");
    assert!(!shown.contains("Half of"), "nothing of it is left: {shown}");
}

/// The answer is withheld while it is mended, and the way it was mended is told.
#[test]
fn an_answer_cut_at_the_limit_is_mended() {
    let script = Script::new()
        .answer(cut("void"))
        .answer(cut("One, "))
        .answer(cut("two, "))
        .answer(ScriptedAnswer::text("three.").repeat(0));
    let shown = shown(script, &[], "three.");
    for words in [
        "· Answer cut at the output limit; asked again with a higher limit",
        "· Answer cut at the output limit again; asked the model to continue",
        "One,",
        "two,",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("void"), "what was withheld is not shown: {shown}");
}

/// A conversation with two long answers behind it.
fn told_a_lot(dirs: &TestDirs, url: &str) -> Talk {
    let mut talk = Talk::sized(dirs.asking::<&str>(url, &[]), 40, 100);
    talk.until(READY);
    for (prompt, answer) in [("tell me a lot", "long long"), ("tell me more", "more more")] {
        talk.key(&format!("{prompt}\r"));
        talk.until(answer);
        talk.until(READY);
    }
    talk
}

#[test]
fn history_that_is_made_shorter_is_told() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("long ".repeat(4_000)))
        .answer(ScriptedAnswer::text("more ".repeat(4_000)))
        .answer(ScriptedAnswer::text("A summary: two long answers."))
        .answer(ScriptedAnswer::text("Here I am.").repeat(0));
    let server = play(script);
    let mut talk = told_a_lot(&dirs, &server.url());
    talk.key("/compact\r");
    talk.until("Conversation summarised");
    talk.until(READY);
    talk.key("are you there?\r");
    talk.until("Here I am.");
    let shown = words(&talk);
    assert!(shown.contains("· Conversation summarised: about"), "{shown}");
    talk.until(READY);
    talk.key("/why\r");
    talk.until("because you asked for it");
    assert!(!words(&talk).contains("the window was getting full"), "{}", words(&talk));
    assert_eq!(talk.end(), Some(0));
}

/// The provider says that it is too long: what it said is withheld, history is made shorter, and the
/// answer to the same prompt comes after all.
#[test]
fn a_prompt_that_is_too_long_is_mended() {
    let dirs = TestDirs::new();
    let long = r#"{"type":"error","error":{"type":"invalid_request_error",
        "message":"prompt is too long: 300000 tokens > 200000 maximum"}}"#;
    let script = Script::new()
        .answer(ScriptedAnswer::text("long ".repeat(4_000)))
        .answer(ScriptedAnswer::text("more ".repeat(4_000)))
        .answer(
            ScriptedAnswer::from_fault(ScriptedFault::refuse_with(400, long)).when("where are we"),
        )
        .answer(ScriptedAnswer::text("A summary: two long answers."))
        .answer(ScriptedAnswer::text("Here I am.").repeat(0));
    let server = play(script);
    let mut talk = told_a_lot(&dirs, &server.url());
    talk.key("where are we?\r");
    talk.until("Here I am.");
    talk.until(READY);
    let shown = words(&talk);
    assert!(shown.contains("· Prompt too long; "), "{shown}");
    assert!(shown.contains("and asked again"), "{shown}");
    assert!(!shown.contains("300000"), "withheld: {shown}");
    assert_eq!(talk.end(), Some(0));
}
