//! Every command in every front end that can show it: something comes of each, and none is missing.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play, run};

/// A command, what a terminal shows of it, and what others get, or why not.
type Case = (&'static str, &'static str, Result<&'static str, &'static str>);

const CASES: &[Case] = &[
    ("/agents", "Create an agent", Ok("No agents of your own")),
    ("/btw what is it", "Second.", Ok("Second.")),
    ("/config", "Settings files", Err("only in the terminal")),
    ("/copy", "Copied the last answer", Err("only in the terminal")),
    ("/doctor", "No problems found", Err("only in the terminal")),
    ("/effort", "Choose an effort", Err("only in the terminal")),
    ("/export", "Conversation written to", Err("only in the terminal")),
    ("/status", "Background tasks", Err("only in the terminal")),
    ("/tasks", "No background tasks", Err("only in the terminal")),
    ("/compact", "too little to summarise", Err("too little to summarise")),
    ("/context", "reserved for the answer", Ok("reserved for the answer")),
    ("/cost", "requests", Ok("requests")),
    ("/help", "/permissions", Ok("/permissions")),
    ("/hooks", "No hooks", Ok("No hooks")),
    ("/init", "Second.", Ok("Second.")),
    ("/mcp", "No MCP servers", Ok("No MCP servers")),
    ("/memory", "Show what was read", Ok("No memory files")),
    ("/model", "Choose a model", Ok("claude")),
    ("/permissions", "Check a command", Ok("mode default")),
    ("/pin never push", "Second.", Ok("Second.")),
    ("/resume", "No other session", Ok("hello")),
    ("/rewind", "Rewind to before which prompt?", Ok("hello")),
    ("/theme", "Choose a theme", Err("only in the terminal")),
    ("/vim", "Vim mode on", Err("only in the terminal")),
    ("/why", "You: hello", Ok("You: hello")),
    ("/clear", "", Ok("")),
    ("/exit", "", Err("only in the terminal")),
];

fn server() -> Rehearsal {
    let script = Script::new();
    play(
        script
            .answer(ScriptedAnswer::text("First."))
            .answer(ScriptedAnswer::text("Second.").repeat(0)),
    )
}

fn names() -> BTreeSet<&'static str> {
    CASES.iter().filter_map(|(prompt, ..)| prompt.split(' ').next()).collect()
}

#[test]
fn every_command_means_something_in_a_terminal() {
    for (prompt, words, _) in CASES {
        let dirs = TestDirs::new();
        let server = server();
        let mut talk = Talk::sized(dirs.asking(&server.url(), &["hello"]), 30, 100);
        talk.until("First.");
        talk.until(READY);
        talk.key(&format!("{prompt}\r"));
        match *prompt {
            "/exit" => assert_eq!(talk.over().code(), Some(0)),
            "/clear" => {
                talk.when("a second session", |screen| {
                    screen.contents().matches("shows all keys").count() == 2
                });
                talk.until(READY);
            }
            "/help" => {
                // Every command is explained, page by page.
                let mut shown = talk.until("Esc to go back");
                while !shown.contains("Ctrl-D") {
                    talk.key(" ");
                    let page =
                        talk.when("another page", |screen| !shown.ends_with(&screen.contents()));
                    shown.push_str(&page);
                }
                for name in names() {
                    assert!(shown.contains(name), "{name}:\n{shown}");
                }
            }
            _ => {
                if talk.until(words).contains("Esc cancels") {
                    talk.key("\u{1b}");
                }
                talk.until(READY);
                assert_eq!(talk.end(), Some(0), "{prompt}");
            }
        }
    }
}

#[test]
fn every_command_means_something_to_whoever_prints_one_answer() {
    for (prompt, _, outcome) in CASES {
        let dirs = TestDirs::new();
        let server = server();
        run(&mut dirs.asking(&server.url(), &["-p", "hello"])).answer();
        let said = run(&mut dirs.asking(&server.url(), &["-c", "-p", prompt]));
        match outcome {
            Ok(words) => assert!(said.answer().contains(words), "{prompt}: {said:?}"),
            // This one is only known when it is tried.
            Err(words) if *prompt == "/compact" => assert!(said.error_line(1).contains(words)),
            Err(words) => assert!(said.error_line(2).contains(words), "{prompt}: {said:?}"),
        }
    }
}

#[test]
fn every_command_means_something_to_a_program() {
    let dirs = TestDirs::new();
    let begun = |dirs: &TestDirs, server: &Rehearsal| {
        let mut driven = StreamJsonProcess::start(dirs, &server.url(), &[]);
        driven.prompt("hello");
        driven.result();
        driven
    };
    for (prompt, _, outcome) in CASES {
        let server = server();
        let mut driven = begun(&dirs, &server);
        let init = driven.seen.iter().find(|frame| frame["subtype"] == "init").cloned();
        let listed = init.expect("a beginning")["slash_commands"].clone();
        let listed: BTreeSet<String> = serde_json::from_value(listed).expect("names");
        let name = prompt.split(' ').next().expect("a name").trim_start_matches('/');
        let is_refused = outcome.is_err();
        let is_listed = !is_refused || name == "compact";
        assert_eq!(listed.contains(name), is_listed, "{name}: {listed:?}");
        driven.prompt(prompt);
        let result = driven.result();
        let text = format!("{}{}", result["result"].as_str().unwrap_or_default(), result["errors"]);
        let (Ok(words) | Err(words)) = outcome;
        assert!(text.contains(words), "{prompt}: {result:#}");
        assert_eq!(result["is_error"], Value::Bool(is_refused), "{prompt}: {result:#}");
        assert_eq!(driven.end().results().len(), 2, "{prompt}");
    }
}

#[test]
fn what_changes_something_is_not_taken_from_a_program() {
    let dirs = TestDirs::new();
    let server = server();
    for prompt in
        ["/permissions add local allow Bash", "/model opus", "/hooks off 1", "/agents new it"]
    {
        let said = run(&mut dirs.asking(&server.url(), &["-p", prompt]));
        assert!(said.error_line(2).contains("works only in the terminal"), "{said:?}");
    }
    assert!(!dirs.file(".claude").exists());
    assert!(server.requests().is_empty());
}

#[test]
fn a_question_beside_the_conversation_leaves_no_trace_in_it() {
    let dirs = TestDirs::new();
    let second = ScriptedAnswer::text("**Second.**").repeat(0);
    let server = play(Script::new().answer(ScriptedAnswer::text("First.")).answer(second));
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["hello"]));
    talk.until("First.");
    talk.until(READY);
    talk.key("/btw which way is north\r");
    talk.until("Side question: which way is north");
    let answered = talk.until("Second.");
    assert!(!answered.contains("**"), "as answers look: {answered}");
    talk.key("go on\r");
    talk.until("> go on");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
    let bodies: Vec<String> =
        server.requests().iter().map(|request| request.body.to_string()).collect();
    let asked: Vec<&String> =
        bodies.iter().filter(|body| body.contains("which way is north")).collect();
    assert_eq!(asked.len(), 1, "asked once, and never heard of again: {bodies:#?}");
    assert!(asked[0].contains("First."), "it knows what was said: {}", asked[0]);
    assert!(bodies.iter().any(|body| body.contains("go on")));
}
