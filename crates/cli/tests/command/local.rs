//! Servers on this machine: found when there is no key, and offered.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use crate::fixture::{FinishedCommand, NO_WAIT_MAX, TestDirs, run};

/// A server that gives one reply on one path, and 404 elsewhere.
fn serve(path: &'static str, body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut head = [0; 2048];
            let read = stream.read(&mut head).unwrap_or(0);
            let asked = String::from_utf8_lossy(&head[..read]).into_owned();
            let (status, body) = match asked.starts_with(&format!("GET {path} ")) {
                true => ("200 OK", body),
                false => ("404 Not Found", "{}"),
            };
            let _ =
                write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    });
    port
}

/// A port that takes connections and never says a word.
fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

/// A port nobody listens on.
fn closed() -> u16 {
    silent().1
}

fn with_ports(ollama: u16, llamacpp: u16, lmstudio: u16, vllm: u16) -> TestDirs {
    let dirs = TestDirs::new();
    let mut config = String::new();
    for (name, port) in
        [("ollama", ollama), ("llamacpp", llamacpp), ("lmstudio", lmstudio), ("vllm", vllm)]
    {
        config.push_str(&format!("[provider.{name}]\nbase_url = \"http://127.0.0.1:{port}\"\n"));
    }
    dirs.config(&config);
    dirs
}

#[test]
fn what_answers_is_offered_when_there_is_no_key() {
    let ollama = serve("/api/tags", r#"{"models":[{"name":"qwen3:8b"},{"name":"gemma3:4b"}]}"#);
    let llamacpp = serve("/v1/models", r#"{"object":"list","data":[{"id":"smollm2"}]}"#);
    let other = serve("/", "<html>a web server of mine</html>");
    let (_kept, mute) = silent();
    let dirs = with_ports(ollama, llamacpp, other, mute);
    let expected = [
        "ANTHROPIC_API_KEY".to_owned(),
        format!("Ollama answers on port {ollama}: --model ollama/qwen3:8b (also gemma3:4b)"),
        format!("llama.cpp answers on port {llamacpp}: --model llamacpp/smollm2;"),
        "windlass demo".to_owned(),
    ];
    let finished = ask_until(&expected, || dirs.windlass(&["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(!line.contains("LM Studio") && !line.contains("vLLM"), "{line}");
    // A variable may say where it is.
    ask_until(&["--model ollama/smollm2".to_owned()], || {
        let mut command = dirs.windlass(&["-p", "hi"]);
        command.env("OLLAMA_HOST", format!("localhost:{llamacpp}"));
        command
    });
    // A server that is mute holds nothing up; the rest is room for a busy machine.
    assert!(finished.took < NO_WAIT_MAX, "{finished:?}");
}

/// The command asks servers for a moment only, which may be too short for them on a busy machine.
fn ask_until(expected: &[String], command: impl Fn() -> Command) -> FinishedCommand {
    let mut finished = run(&mut command());
    for _ in 0..20 {
        let line = finished.error_line(1);
        if expected.iter().all(|words| line.contains(words)) {
            return finished;
        }
        finished = run(&mut command());
    }
    panic!("{expected:?}: {finished:?}")
}

#[test]
fn nobody_there_is_no_news() {
    let dirs = with_ports(closed(), closed(), closed(), closed());
    let finished = run(&mut dirs.windlass(&["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(!line.contains("answers on port"), "{line}");
    let mut command = dirs.windlass(&["-p", "hi"]);
    let finished = run(command.env("OPENAI_API_KEY", "x").env("GOOGLE_API_KEY", "y"));
    let line = finished.error_line(1);
    assert!(line.contains("OPENAI_API_KEY is set: --model openai/gpt-"), "{line}");
    assert!(line.contains("GOOGLE_API_KEY is set: --model gemini/gemini-"), "{line}");
}

#[test]
fn whoever_moved_the_provider_is_not_offered_others() {
    let llamacpp = serve("/v1/models", r#"{"data":[{"id":"smollm2"}]}"#);
    let dirs = with_ports(closed(), llamacpp, closed(), closed());
    let mut command = dirs.windlass(&["-p", "hi"]);
    let finished = run(command.env("ANTHROPIC_BASE_URL", "https://gateway.example"));
    let line = finished.error_line(1);
    assert!(line.contains("ANTHROPIC_API_KEY") && !line.contains("smollm2"), "{line}");
    assert!(line.contains("store one for https://gateway.example in the key ring"), "{line}");
}

#[test]
fn the_list_of_models_has_them_too() {
    let llamacpp = serve("/v1/models", r#"{"data":[{"id":"smollm2"}]}"#);
    let dirs = with_ports(closed(), llamacpp, closed(), closed());
    let finished = run(&mut dirs.windlass(&["models", "smol"]));
    let text = finished.answer();
    assert!(text.contains("llamacpp/smollm2"), "{text}");
    assert!(text.contains("not needed"), "{text}");
}
