//! A prompt through every floor: flags and environment in, HTTP out, tools run, an answer printed.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};
use windlass_vocabulary::{Tokens, Usage};

use crate::fixture::{ManualServer, RunningCommand, TestDirs, play, run, run_with_input};

#[test]
fn a_prompt_goes_out_and_its_answer_is_printed() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("It is a windlass.")));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "What is it?"]));
    assert_eq!(finished.answer(), "It is a windlass.\n");

    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.header("x-api-key"), Some("test-key"));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let body = request.json().expect("JSON");
    assert_eq!(body["model"], "claude-sonnet-5-5");
    assert_eq!(body["stream"], true);
    let system = body["system"].to_string();
    assert!(system.contains("You are Windlass"), "{system}");
    let work = dirs.work().canonicalize().expect("the folder");
    assert!(system.contains(&format!("Working directory: {}", work.display())), "{system}");
    let said = body["messages"].to_string();
    assert!(said.contains("What is it?"), "{said}");
    let tools = body["tools"].to_string();
    assert!(tools.contains("\"Bash\"") && tools.contains("\"Edit\""), "{tools}");
    assert_eq!(dirs.leftovers(), Vec::<String>::new());
}

#[test]
fn tools_really_run_and_their_results_go_back() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("notes.txt"), "forty-two\n").expect("a file");
    let script = Script::new()
        .answer(
            ScriptedAnswer::call("Bash", json!({"command": "cat notes.txt"})).add_text("I look."),
        )
        .answer(ScriptedAnswer::text("It says forty-two.").when_result("forty-two"));
    let server = play(script);
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "What does it say?"]));
    assert_eq!(finished.answer(), "It says forty-two.\n");
    assert_eq!(server.request_count(), 2);
}

#[test]
fn the_environment_and_the_flags_choose_model_headers_and_words() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let ask = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = dirs.asking(&server.url(), arguments);
        command.envs(variables.iter().copied());
        run(&mut command).answer();
        server.requests().pop().expect("a request")
    };

    let request = ask(
        &["-p", "hi", "--append-system-prompt", "Be brief."],
        &[
            ("ANTHROPIC_MODEL", "opus"),
            ("ANTHROPIC_AUTH_TOKEN", "a-token"),
            ("ANTHROPIC_CUSTOM_HEADERS", "X-Team: red\nX-Two: 2"),
        ],
    );
    assert_eq!(request.header("authorization"), Some("Bearer a-token"));
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.header("x-team"), Some("red"));
    assert_eq!(request.header("x-two"), Some("2"));
    let body = request.json().expect("JSON");
    assert_eq!(body["model"], "claude-opus-5-5");
    assert!(body["system"].to_string().contains("Be brief."));
    assert!(body["system"].to_string().contains("You are Windlass"));

    // Flags go before the environment, and the prompt may stand behind them.
    let request = ask(
        &["-p", "--model", "mystery-1", "--system-prompt", "Only this.", "a late prompt"],
        &[("ANTHROPIC_MODEL", "opus")],
    );
    let body = request.json().expect("JSON");
    assert_eq!(body["model"], "mystery-1");
    assert!(body["system"].to_string().contains("Only this."));
    assert!(!body["system"].to_string().contains("You are Windlass"));
    assert!(body["messages"].to_string().contains("a late prompt"));
}

#[test]
fn a_server_on_this_machine_needs_no_key() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok")));
    let mut command = dirs.windlass(&["-p", "hi"]);
    command.env("ANTHROPIC_BASE_URL", server.url());
    run(&mut command).answer();
    let request = &server.requests()[0];
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.header("authorization"), None);
}

#[test]
fn piped_text_is_added_to_the_prompt_or_is_the_prompt() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let said = || {
        let body = server.requests().pop().expect("a request").json().expect("JSON");
        body["messages"][0]["content"].to_string()
    };
    let mut both = dirs.asking(&server.url(), &["-p", "Review this."]);
    run_with_input(&mut both, "diff --git a b\n+ä\n".as_bytes()).answer();
    assert!(said().contains(r"Review this.\n\ndiff --git a b\n+ä"), "{}", said());

    let mut alone = dirs.asking(&server.url(), &["-p"]);
    run_with_input(&mut alone, b"Only from the pipe.").answer();
    assert!(said().contains("Only from the pipe."), "{}", said());

    let mut empty = dirs.asking(&server.url(), &["-p", "Only from the line."]);
    run_with_input(&mut empty, b"").answer();
    assert!(said().contains("\"Only from the line.\""), "{}", said());

    // A directory cannot be read, but the prompt itself is there.
    let mut unreadable = dirs.asking(&server.url(), &["-p", "Go on."]);
    unreadable.stdin(Stdio::from(std::fs::File::open("/").expect("the root")));
    let finished = run(&mut unreadable);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"));
    assert!(finished.stderr.contains("continuing without it"), "{finished:?}");
}

#[test]
fn input_that_has_begun_is_waited_for_and_silent_input_is_not() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let mut command = dirs.asking(&server.url(), &["-p", "Review this."]);
    let (ours, theirs) = std::io::pipe().expect("a pipe");
    command.stdin(Stdio::from(ours));
    std::io::Write::write_all(&mut &theirs, b"early and ").expect("room");
    let mut slow = RunningCommand::start(&mut command);
    let (ours, open_pipe) = std::io::pipe().expect("a pipe");
    let (theirs_socket, open_socket) = std::os::unix::net::UnixStream::pair().expect("a socket");
    let silent = [Stdio::from(ours), Stdio::from(std::os::fd::OwnedFd::from(theirs_socket))];
    let silent: Vec<RunningCommand> = silent
        .into_iter()
        .map(|input| {
            let mut command = dirs.asking(&server.url(), &["-p", "Go on."]);
            command.stdin(input);
            RunningCommand::start(&mut command)
        })
        .collect();

    slow.wait_for_stderr("waiting for standard input");
    std::io::Write::write_all(&mut &theirs, b"late words").expect("somebody reads");
    drop(theirs);
    let finished = slow.finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"));
    for one in silent {
        let finished = one.finish();
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"));
        assert!(finished.stderr.contains("continuing without it"), "{finished:?}");
    }
    drop((open_pipe, open_socket));
    let bodies: Vec<_> = server.requests().iter().map(|request| request.body.clone()).collect();
    let heard = bodies.iter().filter(|body| body.contains("early and late words"));
    assert_eq!(heard.count(), 1);
}

#[test]
fn megabytes_of_input_go_through() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("long").repeat(0)));
    // Short lines of a word: long enough to need many reads, small enough for the window.
    let input = "word\n".repeat(200_000);
    let mut command = dirs.asking(&server.url(), &["-p", "Count.", "--model", "sonnet"]);
    let finished = run_with_input(&mut command, input.as_bytes());
    assert_eq!(finished.answer(), "long\n");
    assert!(server.requests()[0].body_bytes > 1_000_000);
}

#[test]
fn json_tells_everything_about_the_run() {
    let dirs = TestDirs::new();
    let usage = Usage {
        input: Tokens(1_000),
        output: Tokens(100),
        cache_write: Tokens(10),
        cache_read: Tokens(20),
    };
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").usage(usage)));
    let arguments = ["-p", "How are you?", "--output-format", "json"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    let result: Value = serde_json::from_str(finished.answer()).expect("one object");
    assert_eq!(result["type"], "result");
    assert_eq!(result["subtype"], "success");
    assert_eq!(result["is_error"], false);
    assert_eq!(result["result"], "Fine.");
    assert_eq!(result["terminal_reason"], "completed");
    assert_eq!(result["num_turns"], 1);
    assert_eq!(result["usage"]["input_tokens"], 1_000);
    assert_eq!(result["usage"]["cache_read_input_tokens"], 20);
    // 1,000 at $2, 100 at $10, 10 at $2.50 and 20 at $0.20 a million.
    assert_eq!(result["total_cost_usd"], 0.003027);
    assert!(result["duration_ms"].is_u64() && result["duration_api_ms"].is_u64());
    assert_eq!(result["session_id"].as_str().map(str::len), Some(36));
}

#[test]
fn limits_end_the_run_with_a_reason_and_a_code() {
    let dirs = TestDirs::new();
    let looping = ScriptedAnswer::call("Bash", json!({"command": "ls"})).repeat(0);
    let server = play(Script::new().answer(looping));
    let arguments = ["-p", "go", "--max-turns", "2", "--output-format", "json"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!(result["terminal_reason"], "max_turns");
    assert_eq!(result["is_error"], true);
    assert_eq!(finished.stderr.lines().count(), 1);
    assert!(finished.stderr.contains("--max-turns"), "{finished:?}");
    assert_eq!(server.request_count(), 2);

    let arguments = ["-p", "go", "--max-budget-usd", "0.000001"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    assert!(finished.error_line(1).contains("--max-budget-usd"), "{finished:?}");
    assert_eq!(server.request_count(), 2, "nothing was asked that cannot be paid");
    // The smallest limit that would do is named, and does.
    let said = finished.error_line(1);
    let least = said.split("at least $").nth(1).and_then(|rest| rest.split(' ').next());
    let least = least.expect("a smallest limit").to_owned();
    let arguments = ["-p", "go", "--max-turns", "1", "--max-budget-usd", &least];
    run(&mut dirs.asking(&server.url(), &arguments));
    assert_eq!(server.request_count(), 3, "{least} is enough for one request");
}

#[test]
fn a_refusal_and_a_failure_are_not_taken_for_answers() {
    let dirs = TestDirs::new();
    let refuses = ScriptedAnswer::text("I will not.").stop(windlass_rehearsal::StopReason::Refusal);
    let server = play(Script::new().answer(refuses));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "go"]));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");

    let refused = ScriptedFault::Refuse { status: 401, headers: Vec::new(), body: None };
    let server = play(Script::new().answer(ScriptedAnswer::from_fault(refused)));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "go"]));
    let line = finished.error_line(1);
    assert!(line.contains("401") && line.contains("ANTHROPIC_API_KEY"), "{line}");
    assert!(!line.contains("test-key"), "{line}");
}

#[test]
fn another_model_is_asked_and_a_clean_run_says_nothing_of_it() {
    let dirs = TestDirs::new();
    let gone = ScriptedFault::Refuse { status: 404, headers: Vec::new(), body: None };
    let script = || {
        Script::new()
            .answer(ScriptedAnswer::from_fault(gone.clone()).when_model("first"))
            .answer(ScriptedAnswer::text("from the second").when_model("second"))
    };
    let arguments = ["-p", "go", "--model", "first", "--fallback-model", "second,third"];
    let server = play(script());
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    assert_eq!(finished.answer(), "from the second\n");

    let server = play(script());
    let mut command = dirs.asking(&server.url(), &arguments);
    command.arg("--verbose");
    let finished = run(&mut command);
    assert_eq!(finished.stdout, "from the second\n");
    assert!(finished.stderr.contains("asking second instead of first"), "{finished:?}");
    assert!(finished.stderr.contains("first is not in the table"), "{finished:?}");
}

#[test]
fn an_answer_in_parts_is_printed_whole() {
    let dirs = TestDirs::new();
    // An unknown model can raise its output limit once, so the cut comes three times.
    let cut =
        |text: &str| ScriptedAnswer::text(text).stop(windlass_rehearsal::StopReason::MaxTokens);
    let script = Script::new()
        .answer(cut("void"))
        .answer(cut("One, "))
        .answer(cut("two, "))
        .answer(ScriptedAnswer::text("three."));
    let server = play(script);
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "count"]));
    assert_eq!(finished.answer(), "One, two, three.\n");
}

#[test]
fn a_journal_is_written_and_continued() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("Noted."))
        .answer(ScriptedAnswer::text("You said blue.").when("What colour"));
    let server = play(script);
    let ask = |prompt: &str| {
        let arguments = ["-p", prompt, "--journal", "session.jsonl"];
        run(&mut dirs.asking(&server.url(), &arguments)).answer().to_owned()
    };
    assert_eq!(ask("My colour is blue."), "Noted.\n");
    assert_eq!(ask("What colour is it?"), "You said blue.\n");
    let body = server.requests()[1].json().expect("JSON");
    let said = body["messages"].to_string();
    assert!(said.contains("My colour is blue.") && said.contains("Noted."), "{said}");
    assert_eq!(dirs.leftovers(), ["work/session.jsonl"]);
}

#[test]
fn a_session_whose_process_was_killed_goes_on() {
    let dirs = TestDirs::new();
    let manual_server = ManualServer::open();
    let arguments = |prompt| ["-p", prompt, "--journal", "session.jsonl"];
    let running =
        RunningCommand::start(&mut dirs.asking(&manual_server.url(), &arguments("Begin.")));
    let _held = manual_server.request();
    running.signal(Signal::KILL);
    running.finish();
    let server = play(Script::new().answer(ScriptedAnswer::text("Gone on.")));
    let finished = run(&mut dirs.asking(&server.url(), &arguments("Go on.")));
    assert_eq!(finished.answer(), "Gone on.\n");
    let said = server.requests()[0].json().expect("JSON")["messages"].to_string();
    assert!(said.contains("Begin.") && said.contains("Go on."), "{said}");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let dirs = TestDirs::new();
    let server =
        play(Script::new().answer(ScriptedAnswer::text("x".repeat(1_000_000)).chunk(100_000)));
    let finished =
        RunningCommand::start_unread(&mut dirs.asking(&server.url(), &["-p", "go"])).finish();
    assert_eq!(finished.stderr, "", "{finished:?}");
}
