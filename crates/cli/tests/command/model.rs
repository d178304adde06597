//! Which model is asked, over which wire, at which server, with whose key.

use serde_json::{Value, json};
use windlass_rehearsal::{ReceivedRequest, Rehearsal, Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{TestDirs, play, run};

fn ok_server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

fn last(server: &Rehearsal) -> (ReceivedRequest, Value) {
    let request = server.requests().pop().expect("a request");
    let body = request.json().expect("JSON");
    (request, body)
}

#[test]
fn choosing_a_model_chooses_wire_key_and_address() {
    // Model, variables (`URL` is the server), path, header, its value, the model's name in the body.
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a str, &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (
            "anthropic/claude-opus-5-5",
            &[("ANTHROPIC_BASE_URL", "URL"), ("ANTHROPIC_API_KEY", "a-key")],
            "/v1/messages",
            "x-api-key",
            "a-key",
            "claude-opus-5-5",
        ),
        (
            "gpt-5.5-2026-04-23",
            &[("OPENAI_BASE_URL", "URL/v1"), ("OPENAI_API_KEY", "o-key")],
            "/v1/responses",
            "authorization",
            "Bearer o-key",
            "gpt-5.5-2026-04-23",
        ),
        (
            "openai-chat/gpt-4.1",
            &[("OPENAI_BASE_URL", "URL/v1/"), ("OPENAI_API_KEY", "o-key\n")],
            "/v1/chat/completions",
            "authorization",
            "Bearer o-key",
            "gpt-4.1",
        ),
        (
            "gemini/gemini-4-argon",
            &[
                ("GOOGLE_GEMINI_BASE_URL", "URL"),
                ("GEMINI_API_KEY", ""),
                ("GOOGLE_API_KEY", "g-key"),
            ],
            "/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            "g-key",
            "",
        ),
        (
            "openrouter/qwen/qwen3-coder",
            &[("OPENROUTER_BASE_URL", "URL"), ("OPENROUTER_API_KEY", "r-key")],
            "/v1/chat/completions",
            "authorization",
            "Bearer r-key",
            "qwen/qwen3-coder",
        ),
        (
            "ollama/qwen3:8b",
            &[("OLLAMA_BASE_URL", "URL")],
            "/v1/chat/completions",
            "content-type",
            "application/json",
            "qwen3:8b",
        ),
    ];
    for (model, variables, path, header, value, name) in cases {
        let dirs = TestDirs::new();
        let server = ok_server();
        let mut command = dirs.windlass(&["-p", "hi", "--model", model]);
        for (variable, value) in *variables {
            command.env(variable, value.replace("URL", &server.url()));
        }
        assert_eq!(run(&mut command).answer(), "ok\n", "{model}");
        let (request, body) = last(&server);
        assert_eq!(request.path, *path, "{model}");
        assert_eq!(request.header(header), Some(*value), "{model}");
        assert_eq!(body["model"].as_str().unwrap_or_default(), *name, "{model}");
        assert_eq!(dirs.leftovers(), Vec::<String>::new(), "{model}");
    }
}

#[test]
fn a_plain_name_finds_its_provider() {
    let server = ok_server();
    let paths = [
        ("claude-sonnet-4-6", "/v1/messages"),
        ("claude-of-tomorrow", "/v1/messages"),
        ("opus", "/v1/messages"),
        ("nobody-knows-me", "/v1/messages"),
        ("gpt-5.4-mini", "/v1/responses"),
        ("gpt-99", "/v1/responses"),
        ("o3-mini", "/v1/responses"),
        ("gemini-3.8-flash", "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"),
    ];
    for (name, path) in paths {
        let dirs = TestDirs::new();
        let mut command = dirs.asking(&server.url(), &["-p", "hi", "--model", name]);
        command.env("OPENAI_BASE_URL", server.url()).env("GEMINI_BASE_URL", server.url());
        run(&mut command).answer();
        assert_eq!(last(&server).0.path, path, "{name}");
    }
}

#[test]
fn variables_name_the_model_and_change_what_a_short_name_means() {
    let dirs = TestDirs::new();
    let server = ok_server();
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a str);
    let cases: &[Case<'_>] = &[
        (&[("ANTHROPIC_MODEL", "haiku")], &[], "claude-haiku-5-5"),
        (&[("ANTHROPIC_MODEL", "haiku"), ("WINDLASS_MODEL", "opus")], &[], "claude-opus-5-5"),
        (&[("WINDLASS_MODEL", "opus")], &["--model", "fable"], "claude-fable-5-1"),
        (
            &[("ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-9")],
            &["--model", "opus"],
            "claude-opus-9",
        ),
    ];
    for (variables, flags, name) in cases {
        let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
        run(command.envs(variables.iter().copied()).args(*flags)).answer();
        assert_eq!(last(&server).1["model"], *name, "{variables:?} {flags:?}");
    }
}

#[test]
fn every_model_of_a_chain_is_asked_at_its_own_provider_with_its_own_key() {
    let dirs = TestDirs::new();
    let (anthropic, openai, gemini) = (
        play(
            Script::new().answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(404)).repeat(0)),
        ),
        play(
            Script::new().answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(404)).repeat(0)),
        ),
        ok_server(),
    );
    let chain = "openai/gpt-5.5,gemini/gemini-3.8-flash";
    let arguments = ["-p", "hi", "--model", "sonnet", "--fallback-model", chain];
    let mut command = dirs.windlass(&arguments);
    command
        .env("ANTHROPIC_BASE_URL", anthropic.url())
        .env("ANTHROPIC_API_KEY", "a-key")
        .env("OPENAI_BASE_URL", format!("{}/v1", openai.url()))
        .env("OPENAI_API_KEY", "o-key")
        .env("GOOGLE_GEMINI_BASE_URL", gemini.url())
        .env("GEMINI_API_KEY", "g-key");
    assert_eq!(run(&mut command).answer(), "ok\n");
    for (server, own, others) in [
        (&anthropic, "a-key", ["o-key", "g-key"]),
        (&openai, "o-key", ["a-key", "g-key"]),
        (&gemini, "g-key", ["a-key", "o-key"]),
    ] {
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        let all = format!("{:?}", requests[0].headers);
        assert!(all.contains(own), "{all}");
        assert!(others.iter().all(|other| !all.contains(other)), "{all}");
    }
}

#[test]
fn a_fallback_without_a_key_is_told_before_anything_is_asked() {
    let dirs = TestDirs::new();
    let server = ok_server();
    let arguments = ["-p", "hi", "--fallback-model", "openai/gpt-5.5"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    let line = finished.error_line(1);
    assert!(line.contains("openai/gpt-5.5") && line.contains("OPENAI_API_KEY"), "{line}");
    assert_eq!(server.request_count(), 0);
}

#[test]
fn names_that_mean_nothing_are_refused_with_advice() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--model", "antropic/claude-opus-5-5"], &["anthropic/claude-opus-5-5"]),
        (&["--model", "mycloud/llama"], &["`mycloud`", "[provider.mycloud]", "config.toml"]),
        (&["--model", "openai/"], &["openai/", "windlass models"]),
        (&["--model", " "], &["empty", "--model"]),
        (&["--fallback-model", "opus,nowhere/x"], &["`nowhere`"]),
        (
            &["--model", "openai/gpt-5.5", "--fallback-model", "openai-chat/gpt-5.5"],
            &["openai/gpt-5.5", "openai-chat/gpt-5.5", "same name"],
        ),
        (&["--small-model", "gemni/x"], &["gemini/x"]),
    ];
    for (flags, words) in cases {
        let dirs = TestDirs::new();
        let mut command = dirs.windlass(&["-p", "hi"]);
        let finished = run(command.args(*flags));
        let line = finished.error_line(2);
        for word in *words {
            assert!(line.contains(word), "{flags:?}: {line}");
        }
    }
}

#[test]
fn what_a_model_cannot_do_is_said_before_the_network() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--model", "openai-chat/gpt-6.1-sol"], &["cannot call tools", "openai/gpt-6.1-sol"]),
        (&["--model", "fable", "--thinking", "disabled"], &["always thinks", "--effort low"]),
        (
            &["--model", "claude-haiku-4-5", "--thinking", "adaptive"],
            &["does not support thinking"],
        ),
        (&["--model", "claude-haiku-4-5", "--effort", "low"], &["does not support effort"]),
        (&["--model", "claude-opus-4-6", "--effort", "xhigh"], &["`xhigh`", "high, max"]),
        (&["--fallback-model", "openai-chat/gpt-6-astra"], &["gpt-6-astra", "tools"]),
    ];
    for (flags, words) in cases {
        let dirs = TestDirs::new();
        let server = ok_server();
        let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
        command.env("OPENAI_BASE_URL", server.url());
        let finished = run(command.args(*flags));
        let line = finished.error_line(2);
        for word in *words {
            assert!(line.contains(word), "{flags:?}: {line}");
        }
        assert_eq!(server.request_count(), 0);
    }
}

#[test]
fn effort_and_thinking_reach_the_model() {
    let dirs = TestDirs::new();
    let server = ok_server();
    let arguments = ["-p", "hi", "--effort", "low", "--thinking", "disabled"];
    run(&mut dirs.asking(&server.url(), &arguments)).answer();
    let (_, body) = last(&server);
    assert_eq!(body["output_config"]["effort"], "low");
    assert_eq!(body["thinking"]["type"], "disabled");

    // A model that is known to think may do so; one that is not known is left alone.
    run(&mut dirs.asking(&server.url(), &["-p", "hi", "--model", "opus"])).answer();
    assert_eq!(last(&server).1["thinking"]["type"], "adaptive");
    run(&mut dirs.asking(&server.url(), &["-p", "hi", "--model", "mystery"])).answer();
    assert_eq!(last(&server).1["thinking"], Value::Null);
}

#[test]
fn effort_is_sent_when_it_was_asked_for_and_only_then() {
    let server = ok_server();
    let sent = |model: &str, flags: &[&str]| {
        let dirs = TestDirs::new();
        let mut command = dirs.asking(&server.url(), &["-p", "hi", "--model", model]);
        command.env("OPENAI_BASE_URL", server.url()).env("OPENAI_API_KEY", "x");
        command.env("GEMINI_BASE_URL", server.url()).env("GEMINI_API_KEY", "x");
        run(command.args(flags)).answer();
        last(&server).1
    };
    let places = [
        ("sonnet", "/output_config/effort"),
        ("openai/gpt-5.5", "/reasoning/effort"),
        ("openai-chat/gpt-5.5", "/reasoning_effort"),
        ("gemini/gemini-4-argon", "/generationConfig/thinkingConfig/thinkingLevel"),
    ];
    for (model, place) in places {
        assert_eq!(sent(model, &[]).pointer(place), None, "{model}");
        for effort in ["low", "medium", "high"] {
            let body = sent(model, &["--effort", effort]);
            assert_eq!(body.pointer(place), Some(&effort.into()), "{model}: {body}");
        }
    }
}

#[test]
fn an_unknown_model_works_and_says_what_is_assumed() {
    let dirs = TestDirs::new();
    let server = ok_server();
    let arguments = ["-p", "hi", "--model", "ollama/tiny", "--verbose"];
    let mut command = dirs.windlass(&arguments);
    let finished = run(command.env("OLLAMA_BASE_URL", server.url()));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"));
    assert!(finished.stderr.contains("ollama/tiny is not in the table"), "{finished:?}");
    assert!(finished.stderr.contains("32768 tokens"), "{finished:?}");
    let (_, body) = last(&server);
    assert_eq!(body["max_tokens"], 4096, "imitations know the older name");

    // A snapshot is known by its family.
    let snapshot = ["-p", "hi", "--model", "claude-haiku-4-5-20251001", "--verbose"];
    let finished = run(&mut dirs.asking(&server.url(), &snapshot));
    assert!(!finished.stderr.contains("not in the table"), "{finished:?}");
    assert_eq!(last(&server).1["max_tokens"], 32_000);

    // What costs nothing cannot cost too much.
    let arguments = ["-p", "hi", "--model", "ollama/tiny", "--max-budget-usd", "0.01"];
    let mut command = dirs.windlass(&arguments);
    run(command.env("OLLAMA_BASE_URL", server.url())).answer();
}

#[test]
fn a_number_of_tokens_to_think_reaches_models_that_know_one() {
    let enabled = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    for (model, given, wanted) in [
        ("claude-sonnet-4-6", "5000", enabled(5_000)),
        ("claude-haiku-4-5-20251001", "10", enabled(1_024)),
        ("claude-opus-4-7", "5000", json!({ "type": "adaptive" })),
        ("claude-sonnet-4-6", "0", json!({ "type": "disabled" })),
    ] {
        let dirs = TestDirs::new();
        let server = play(Script::new().answer(ScriptedAnswer::text("Well thought.")));
        let mut command = dirs.asking(&server.url(), &["-p", "think", "--model", model]);
        run(command.env("MAX_THINKING_TOKENS", given)).answer();
        let request = server.requests()[0].json().expect("JSON");
        assert_eq!(request["thinking"], wanted, "{model} {given}");
    }
}

#[test]
fn the_environment_says_how_long_commands_may_take() {
    let dirs = TestDirs::new();
    let wait = |timeout: u64| json!({ "command": "sleep 300", "timeout": timeout });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({ "command": "sleep 300" })))
            .answer(ScriptedAnswer::call("Bash", wait(200_000)))
            .answer(ScriptedAnswer::text("Over.")),
    );
    let flags = ["-p", "wait", "--allowedTools", "Bash"];
    let mut command = dirs.asking(&server.url(), &flags);
    command.env("BASH_DEFAULT_TIMEOUT_MS", "300").env("BASH_MAX_TIMEOUT_MS", "400");
    assert_eq!(run(&mut command).answer(), "Over.\n");
    let last = server.requests().pop().expect("a request").body;
    assert!(last.contains("after 300 ms") && last.contains("after 400 ms"), "{last}");
}
