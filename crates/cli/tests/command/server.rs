//! Servers that do not answer as a model server would: one line that says which and what to do.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{FinishedCommand, NO_WAIT_MAX, RunningCommand, TestDirs, play, run};
use crate::tls_server::TlsServer;

/// Asks a server with this fault over each of the wires.
fn over_all_wires(fault: &ScriptedFault, check: impl Fn(&str, &str, &FinishedCommand)) {
    let wires = [
        ("sonnet", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        ("openai/gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        ("openai-chat/gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        ("gemini/gemini-4-argon", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    ];
    for (model, address, key) in wires {
        let dirs = TestDirs::new();
        let server =
            play(Script::new().answer(ScriptedAnswer::from_fault(fault.clone()).repeat(0)));
        let mut command = dirs.windlass(&["-p", "hi", "--model", model]);
        let finished = run(command.env(address, server.url()).env(key, "wrong-key"));
        let line = finished.error_line(1);
        assert!(line.contains(&server.url()), "{line}");
        assert!(!line.contains("wrong-key"), "{line}");
        assert!(finished.took < NO_WAIT_MAX, "no long waiting: {finished:?}");
        let is_page = *fault == ScriptedFault::Html { status: 200 };
        let tries = if is_page { 3 } else { 1 };
        assert_eq!(server.request_count(), tries, "that is enough: {line}");
        check(address, key, &finished);
    }
}

#[test]
fn a_wrong_key_is_told_with_how_to_set_another() {
    for status in [401, 403] {
        over_all_wires(&ScriptedFault::refuse(status), |_, key, finished| {
            let line = finished.error_line(1);
            assert!(line.contains(&format!("the key was refused (status {status})")), "{line}");
            let provider = match key {
                "ANTHROPIC_API_KEY" => "anthropic",
                "GEMINI_API_KEY" => "gemini",
                _ => "openai",
            };
            assert!(line.contains(&format!("; set {key} to a valid key, or unset")), "{line}");
            assert!(line.contains(&format!("`windlass key set {provider}")), "{line}");
        });
    }
}

#[test]
fn a_wrong_address_and_a_page_instead_of_an_answer() {
    for status in [404, 200] {
        over_all_wires(&ScriptedFault::Html { status }, |address, _, finished| {
            let line = finished.error_line(1);
            assert!(line.contains("not a model server"), "{line}");
            assert!(line.contains(&format!("status {status}")), "{line}");
            assert!(line.ends_with(&format!("; check {address}")), "{line}");
        });
    }
}

/// A page in the middle of a run is a proxy that stumbled, not a wrong address.
#[test]
fn pages_in_the_middle_of_a_run_are_tried_again() {
    let page = || ScriptedAnswer::from_fault(ScriptedFault::Html { status: 200 });
    let call = ScriptedAnswer::call("Bash", json!({ "command": "echo here" }));
    let begun = Script::new().answer(page()).answer(page()).answer(call);
    let script = (0..3).fold(begun, |script, _| script.answer(page()));
    let server = play(script.answer(ScriptedAnswer::text("Through.")));
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi"]));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "Through.\n"), "{finished:?}");
    assert_eq!(server.request_count(), 7);
}

#[test]
fn a_gateway_that_comes_up_late_is_waited_for() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let dirs = TestDirs::new();
    let arguments = ["-p", "hi", "--max-retries", "0"];
    let url = format!("http://127.0.0.1:{port}");
    let running = RunningCommand::start(&mut dirs.asking(&url, &arguments));
    // Later than the first look, unless the machine is very busy; then it is only found sooner.
    std::thread::sleep(Duration::from_secs(2));
    let script = Script::new().answer(ScriptedAnswer::text("Up."));
    let _server = Rehearsal::start_blocking(script, RehearsalOptions { port }).expect("a server");
    assert_eq!(running.finish().answer(), "Up.\n");
}

#[test]
fn a_proxy_that_wants_a_login() {
    over_all_wires(
        &ScriptedFault::Refuse { status: 407, headers: Vec::new(), body: None },
        |_, _, end| {
            let line = end.error_line(1);
            assert!(line.contains("a proxy requires a login (status 407)"), "{line}");
            assert!(line.contains("HTTPS_PROXY") && line.contains("NO_PROXY"), "{line}");
        },
    );
}

#[test]
fn a_real_proxy_that_wants_a_login() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let proxy = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            head(&mut stream);
            let _ = stream.write_all(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\
                  content-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
    });
    for scheme in ["http", "https"] {
        let dirs = TestDirs::new();
        let mut command = dirs.asking(&format!("{scheme}://models.invalid"), &["-p", "hi"]);
        let variable = format!("{scheme}_proxy");
        let finished = run(command.env(variable.to_uppercase(), &proxy).env(variable, &proxy));
        let line = finished.error_line(1);
        assert!(line.contains("a proxy requires a login"), "{line}");
        assert!(line.contains("name:password@proxy"), "{line}");
        assert!(finished.took < NO_WAIT_MAX, "{finished:?}");
    }
}

#[test]
fn a_certificate_nobody_trusts_and_no_tls_at_all() {
    // Without a sender its gate is open: it answers the hello at once.
    let TlsServer { url, go_on, .. } = TlsServer::start(rustls::DEFAULT_VERSIONS);
    drop(go_on);
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.asking(&url, &["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(line.contains("certificate is not trusted") && line.contains(&url), "{line}");
    assert!(line.ends_with("; check ANTHROPIC_BASE_URL"), "{line}");
    assert!(finished.took < NO_WAIT_MAX, "{finished:?}");

    let server = play(Script::new().answer(ScriptedAnswer::text("never")));
    let url = server.url().replace("http://", "https://");
    let finished = run(&mut dirs.asking(&url, &["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(line.contains("does not speak TLS") && line.contains("http://"), "{line}");
    assert!(finished.took < NO_WAIT_MAX, "{finished:?}");
}

#[test]
fn a_name_with_a_typo_is_mended_from_the_table_or_by_the_server() {
    let gone = r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-sonet-5-5"}}"#;
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse_with(404, gone)).repeat(0)),
    );
    let dirs = TestDirs::new();
    let arguments = ["-p", "hi", "--model", "claude-sonet-5-5"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    let line = finished.error_line(1);
    assert!(line.contains("there is no such model"), "{line}");
    assert!(line.ends_with("did you mean --model anthropic/claude-sonnet-5-5?"), "{line}");

    // A server on this machine says itself what it has.
    let port = local(r#"{"data":[{"id":"qwen3:8b"},{"id":"gemma3:4b"}]}"#);
    for (model, advice) in [
        ("ollama/qwen3:8", "did you mean --model ollama/qwen3:8b?"),
        ("ollama/phi", "it has qwen3:8b, gemma3:4b; choose one with --model ollama/NAME"),
    ] {
        let mut command = dirs.windlass(&["-p", "hi", "--model", model]);
        let finished = run(command.env("OLLAMA_HOST", format!("127.0.0.1:{port}")));
        let line = finished.error_line(1);
        assert!(line.ends_with(advice), "{line}");
    }
}

/// A server that knows the names of its models and nothing else.
fn local(list: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let gone =
        r#"{"error":{"message":"model not found","type":"api_error","code":"model_not_found"}}"#;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let asked = head(&mut stream);
            let (status, body) = match asked.starts_with("GET /v1/models ") {
                true => ("200 OK", list),
                false => ("404 Not Found", gone),
            };
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    port
}

/// The head of a request; its body is read too, or closing would reset the connection.
fn head(stream: &mut std::net::TcpStream) -> String {
    use std::io::{BufRead, BufReader, Read};
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") && reader.read_line(&mut text).is_ok_and(|read| read > 0) {}
    let length = text
        .to_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse::<u64>().ok());
    let _ = reader.take(length.unwrap_or(0)).read_to_end(&mut Vec::new());
    text
}

#[test]
fn a_fallback_that_is_not_there_is_told_soon_and_by_its_own_name() {
    let dirs = TestDirs::new();
    let gone = play(
        Script::new().answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(404)).repeat(0)),
    );
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let other = format!("http://127.0.0.1:{port}");
    let arguments = ["-p", "hi", "--fallback-model", "ollama/qwen3:8b"];
    let mut command = dirs.asking(&gone.url(), &arguments);
    let finished = run(command.env("OLLAMA_BASE_URL", &other));
    let line = finished.error_line(1);
    assert!(line.contains(&format!("nothing answers at {other}")), "{line}");
    assert!(line.ends_with("check OLLAMA_BASE_URL"), "{line}");
    assert!(finished.took < NO_WAIT_MAX, "{finished:?}");
}

#[test]
fn a_model_that_cannot_call_tools() {
    for words in [
        "registry.ollama.ai/library/phi:latest does not support tools",
        "tools param requires --jinja flag",
        "the tool choice `auto` requires --enable-auto-tool-choice and --tool-call-parser to be set",
        "No endpoints found that support tool use",
    ] {
        let dirs = TestDirs::new();
        let refusal =
            format!(r#"{{"error":{{"message":"{words}","type":"invalid_request_error"}}}}"#);
        let fault = ScriptedFault::refuse_with(400, refusal);
        let server = play(Script::new().answer(ScriptedAnswer::from_fault(fault).repeat(0)));
        let mut command = dirs.windlass(&["-p", "hi", "--model", "ollama/phi"]);
        let finished = run(command.env("OLLAMA_BASE_URL", server.url()));
        let line = finished.error_line(1);
        assert!(line.contains("the model cannot call tools (status 400)"), "{line}");
        assert!(line.ends_with("or ask without tools: --tools \"\""), "{line}");
    }
}
