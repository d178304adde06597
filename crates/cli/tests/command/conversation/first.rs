//! The first time: no key, a new folder.

use std::io::{Read, Write};
use std::net::TcpListener;

use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

#[test]
fn without_a_key_it_is_kind() {
    let dirs = TestDirs::new();
    let mut talk = Talk::begin(dirs.windlass::<&str>(&[]));
    let shown = talk.until("What shall it be?");
    for words in ["Welcome to Windlass", "Watch the demo", "Show how to set a key"] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    talk.key("set a key\r");
    talk.until("ANTHROPIC_API_KEY");
    assert_eq!(talk.over().code(), Some(1));
    let mut talk = Talk::begin(dirs.windlass::<&str>(&[]));
    talk.until("What shall it be?");
    talk.key("\u{1b}");
    assert_eq!(talk.over().code(), Some(0));
}

#[test]
fn a_server_on_this_machine_is_offered_and_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 2048]);
            let body = r#"{"models":[{"name":"qwen3:8b"}]}"#;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    let dirs = TestDirs::new();
    dirs.config(&format!("[provider.ollama]\nbase_url = \"http://127.0.0.1:{port}\"\n"));
    let mut talk = Talk::begin(dirs.windlass::<&str>(&[]));
    talk.until("Ask qwen3:8b on this machine");
    talk.key("qwen\r");
    let shown = talk.until(READY);
    assert!(shown.contains("qwen3:8b"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_folder_that_brings_something_along_is_asked_about_once() {
    let dirs = TestDirs::new();
    std::fs::create_dir(dirs.file(".claude")).expect("a folder");
    let settings = r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#;
    std::fs::write(dirs.file(".claude/settings.json"), settings).expect("a file");
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    let shown = talk.until("Do you trust this folder?");
    assert!(shown.contains("Bash(touch:*)"), "all of it is shown:\n{shown}");
    assert!(shown.contains("› No, go on without it"), "{shown}");
    talk.key("yes\r");
    talk.until(READY);
    talk.key("/permissions\r");
    talk.until("allow Bash(touch:*)");
    talk.key("\u{1b}");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
    let talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    assert!(!talk.sent().contains("Do you trust"), "once");
    assert_eq!(talk.end(), Some(0));
}
