//! A scripted server, by itself and around a command.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::fixture::{RunningCommand, TestDirs, run};

fn with_script(script: &str) -> TestDirs {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("script.toml"), script).expect("a script");
    dirs
}

const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

#[test]
fn the_example_plays_against_our_own_command() {
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.windlass(&["rehearse", "--example"]));
    std::fs::write(dirs.file("script.toml"), finished.answer()).expect("a script");
    let arguments = ["rehearse", "script.toml", "--", WINDLASS, "-p", "what is in here?"];
    let finished = run(&mut dirs.windlass(&arguments));
    assert_eq!(finished.answer(), "I have seen the files. That is all this script knows.\n");
}

#[test]
fn the_commands_code_is_passed_on() {
    let dirs = with_script("[[answer]]\ntext = \"hi\"\n");
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        let arguments = ["rehearse", "script.toml", "--", "sh", "-c", script];
        let finished = run(&mut dirs.windlass(&arguments));
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("", ""));
    }
    let arguments = ["rehearse", "script.toml", "--", "no-such-program"];
    let finished = run(&mut dirs.windlass(&arguments));
    assert!(finished.error_line(127).contains("no-such-program"));
}

#[test]
fn the_command_knows_the_server_and_no_real_token() {
    let dirs = with_script("[[answer]]\ntext = \"hi\"\n");
    let script = "echo $ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY [$ANTHROPIC_AUTH_TOKEN]";
    let arguments = ["rehearse", "script.toml", "--", "sh", "-c", script];
    let mut command = dirs.windlass(&arguments);
    command.env("ANTHROPIC_AUTH_TOKEN", "a-real-one");
    let finished = run(&mut command);
    let text = finished.answer();
    assert!(text.starts_with("http://127.0.0.1:"), "{text}");
    assert!(text.ends_with(" rehearsal []\n"), "{text}");
}

#[test]
fn with_verbose_the_commands_requests_are_logged() {
    let dirs = with_script("[[answer]]\ntext = \"hello\"\n");
    let arguments =
        ["rehearse", "script.toml", "--verbose", "--", WINDLASS, "-p", "hi", "--model", "m-1"];
    let finished = run(&mut dirs.windlass(&arguments));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "hello\n"));
    assert!(finished.stderr.starts_with("1 POST /v1/messages m-1 "), "{finished:?}");
    assert!(finished.stderr.ends_with("-> answer 1\n"), "{finished:?}");
}

#[test]
fn by_itself_it_tells_its_address_and_every_request() {
    let dirs = with_script("[[answer]]\ntext = \"hello\"\n");
    // A free port, as likely to stay free as any.
    let mut running = RunningCommand::start(&mut dirs.windlass(&["rehearse", "script.toml"]));
    running.wait_for_stdout("export ANTHROPIC_BASE_URL=http://127.0.0.1:");
    let greeting = running.seen_stdout();
    let url = greeting
        .split_whitespace()
        .find_map(|word| word.strip_prefix("ANTHROPIC_BASE_URL="))
        .expect("the address")
        .to_owned();
    let finished = run(&mut dirs.asking(&url, &["-p", "hi"]));
    assert_eq!(finished.answer(), "hello\n");
    running.wait_for_stdout("1 POST /v1/messages claude-sonnet-5-5");

    let place = url.trim_start_matches("http://");
    let mut other = TcpStream::connect(place).expect("the server");
    write!(other, "GET /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    other.read_to_string(&mut answer).expect("an answer");
    running.wait_for_stdout("2 GET /nothing");
    running.signal(Signal::TERM);
    assert_eq!(running.finish().code, Some(143));
}

#[test]
fn a_port_that_is_taken_is_told() {
    let dirs = with_script("[[answer]]\ntext = \"hello\"\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let finished = run(&mut dirs.windlass(&["rehearse", "script.toml", "--port", &port]));
    assert!(finished.error_line(1).contains(&port));
}

#[test]
fn a_mistake_in_the_script_is_named_with_its_line() {
    let cases = [
        ("[[answer]]\ntext = \"a\"\n\n[[answer]]\ntxet = \"b\"\n", "line 5", "text"),
        ("[[answer]]\ntext = \"open\n", "line 2", "script.toml"),
        ("", "line 1", "answer"),
    ];
    for (script, line, words) in cases {
        let dirs = with_script(script);
        let arguments = ["rehearse", "script.toml", "--", "touch", "began.txt"];
        let finished = run(&mut dirs.windlass(&arguments));
        let told = finished.error_line(2);
        assert!(told.contains(line) && told.contains(words), "{told}");
        assert_eq!(dirs.leftovers(), ["work/script.toml"], "nothing was begun");
    }
}
