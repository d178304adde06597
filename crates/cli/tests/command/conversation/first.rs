//! The first time: no key, a new folder.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

#[test]
fn without_a_key_it_is_kind() {
    let dirs = TestDirs::new();
    let mut talk = Talk::begin(dirs.windlass::<&str>(&[]));
    let shown = talk.until("What would you like to do?");
    for words in ["Welcome to Windlass", "Watch the demo", "Show how to set a key"] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    talk.key("set a key\r");
    talk.until("ANTHROPIC_API_KEY");
    assert_eq!(talk.over().code(), Some(1));
    let mut talk = Talk::begin(dirs.windlass::<&str>(&[]));
    talk.until("What would you like to do?");
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
    talk.until("Use qwen3:8b on this machine");
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
    assert!(shown.contains("› 1. No, continue without it"), "{shown}");
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

/// There is no key ring in a test, so the key goes into a file.
#[test]
fn a_key_can_be_entered_and_is_never_shown() {
    let dirs = TestDirs::new();
    let mut talk = Talk::sized(dirs.windlass::<&str>(&[]), 24, 100);
    talk.until("Enter an API key");
    talk.key("Enter\r");
    talk.until("Key for which provider?");
    talk.key("anthropic\r");
    talk.until("API key for anthropic");
    talk.key("two words\r");
    talk.until("a key is one word without blanks");
    talk.key("\u{15}\u{1b}[200~sk-secret-1234\u{1b}[201~");
    talk.until("••••••••••••••▏");
    talk.key("\r");
    talk.until("Stored the key for anthropic in ~/.config/windlass/keys/anthropic");
    talk.until(READY);
    assert!(!talk.sent().contains("secret"), "{:?}", talk.sent());
    assert_eq!(talk.end(), Some(0));
    let folder = dirs.home().join(".config/windlass");
    let file = folder.join("keys/anthropic");
    assert_eq!(std::fs::read_to_string(&file).expect("a key"), "sk-secret-1234\n");
    let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let config = std::fs::read_to_string(folder.join("config.toml")).expect("a file");
    assert_eq!(config, "[provider.anthropic]\nkey_file = \"keys/anthropic\"\n");
}
