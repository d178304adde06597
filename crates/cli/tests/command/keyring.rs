//! Keys in the system's key ring: a real one, as on a desktop, and programs that only pretend.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer, ScriptedFault};

use crate::acp_client::AcpClient;
use crate::conversation::talk::{READY, Talk};
use crate::fixture::{NO_WAIT_MAX, PATIENCE, TestDirs, play, run, run_with_input, wait_until_gone};
use crate::session_bus::SessionBus;
use crate::terminal::terminal;

fn ok_server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

/// A home in which Anthropic lives here, and asks for a key.
fn moved(server: &Rehearsal) -> TestDirs {
    let dirs = TestDirs::new();
    dirs.config(&format!("[provider.anthropic]\nbase_url = \"{}\"\n", server.url()));
    dirs
}

fn listed(bus: &SessionBus, dirs: &TestDirs) -> Value {
    let finished = run(&mut bus.windlass(dirs, &["key", "list", "--json"]));
    serde_json::from_str(finished.answer()).expect("one object")
}

fn sources(list: &Value, name: &str) -> Value {
    let rows = list["providers"].as_array().expect("rows");
    rows.iter().find(|row| row["provider"] == name).expect("a row")["sources"].clone()
}

#[test]
fn a_key_is_kept_used_listed_and_removed() {
    let server = ok_server();
    let dirs = moved(&server);
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let set =
        |key: &[u8]| run_with_input(&mut bus.windlass(&dirs, &["key", "set", "anthropic"]), key);
    let finished = set(b"sk-first\n");
    let text = finished.answer();
    assert!(text.contains(&server.url()) && text.contains("sent only to"), "{text}");
    let ask = || run(&mut bus.windlass(&dirs, &["-p", "hi"]));
    ask().answer();
    // A second one takes its place.
    set(b"  sk-second").answer();
    ask().answer();
    let used: Vec<_> =
        server.requests().iter().map(|it| it.header("x-api-key").map(str::to_owned)).collect();
    assert_eq!(used, [Some("sk-first".to_owned()), Some("sk-second".to_owned())]);

    let list = listed(&bus, &dirs);
    assert_eq!(sources(&list, "anthropic"), json!(["key ring"]));
    assert_eq!(sources(&list, "gemini"), json!([]));
    assert_eq!(list["keyring_problem"], Value::Null);
    let finished = run(&mut bus.windlass(&dirs, &["key", "list"]));
    let table = finished.answer();
    assert!(table.contains("anthropic    key ring\n"), "{table}");
    assert!(table.contains("ollama       not needed\n"), "{table}");
    assert!(!table.contains("sk-"), "{table}");
    let finished = run(&mut bus.windlass(&dirs, &["models", "haiku-5-5", "--json"]));
    assert!(finished.answer().contains("\"key\":\"set\""), "{finished:?}");

    let remove = || run(&mut bus.windlass(&dirs, &["key", "remove", "anthropic"]));
    assert!(remove().answer().contains("from the key ring"));
    assert!(remove().error_line(1).contains("no key for anthropic in the key ring"));
    assert_eq!(sources(&listed(&bus, &dirs), "anthropic"), json!([]));
}

#[test]
fn a_key_that_is_entered_at_the_first_start_goes_into_the_key_ring() {
    let dirs = TestDirs::new();
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let mut talk = Talk::sized(bus.windlass(&dirs, &[]), 24, 100);
    talk.until("Enter an API key");
    talk.key("Enter\r");
    talk.until("Key for which provider?");
    talk.key("anthropic\r");
    talk.until("API key for anthropic");
    talk.key("sk-typed\r");
    talk.until("Stored the key for anthropic in the key ring");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
    assert_eq!(sources(&listed(&bus, &dirs), "anthropic"), json!(["key ring"]));
    assert!(!dirs.home().join(".config/windlass/keys").exists());
}

/// A command prints the key that was found in the ring; it reaches nothing that is kept or sent.
#[test]
fn an_editor_logs_out_and_the_key_is_gone() {
    let server = ok_server();
    let dirs = moved(&server);
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    run_with_input(&mut bus.windlass(&dirs, &["key", "set", "anthropic"]), b"sk-first\n").answer();
    let mut client = AcpClient::spawn(&mut bus.windlass(&dirs, &["acp"]));
    let initialized = client.initialize();
    assert_eq!(initialized["agentCapabilities"]["auth"]["logout"], json!({}));
    let session = client.open(&dirs.work());
    assert_eq!(client.request("session/close", &json!({"sessionId": session})), Ok(json!({})));
    let log_in = json!({"methodId": "windlass-key"});
    assert_eq!(client.request("authenticate", &log_in), Ok(json!({})));
    assert_eq!(client.request("logout", &json!({})), Ok(json!({})));
    let refused = client.request("authenticate", &log_in).expect_err("no key");
    assert_eq!(refused["code"], -32000, "{refused}");
    assert_eq!(client.request("logout", &json!({})), Ok(json!({})), "twice is no mistake");
    assert_eq!(client.end(), Some(0));
    assert_eq!(sources(&listed(&bus, &dirs), "anthropic"), json!([]));
}

#[test]
fn a_key_of_the_ring_is_taken_out_of_what_tools_print() {
    const CANARY: &str = "canary-ring-77c0e1b2";
    let print =
        ScriptedAnswer::call("Bash", json!({ "command": "printf 'canary-%s\\n' ring-77c0e1b2" }));
    let server = play(Script::new().answer(print).answer(ScriptedAnswer::text("Over.").repeat(0)));
    let dirs = moved(&server);
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let mut set = bus.windlass(&dirs, &["key", "set", "anthropic"]);
    run_with_input(&mut set, CANARY.as_bytes()).answer();
    let flags = ["-p", "go", "--dangerously-skip-permissions", "--verbose"];
    let finished = run(&mut bus.windlass(&dirs, &flags));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let requests = server.requests();
    let sent = requests.last().expect("requests");
    assert_eq!(sent.header("x-api-key"), Some(CANARY));
    assert!(sent.body.to_string().contains("[key removed]"), "{}", sent.body);
    let journal = std::fs::read_to_string(&dirs.journals()[0]).expect("a journal");
    for text in [&sent.body.to_string(), &journal, &finished.stdout, &finished.stderr] {
        assert!(!text.contains(CANARY), "{text}");
    }
}

#[test]
fn what_is_set_for_one_run_or_named_in_the_file_goes_first() {
    let server = ok_server();
    let dirs = moved(&server);
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let mut command = bus.windlass(&dirs, &["key", "set", "anthropic"]);
    command.env("ANTHROPIC_API_KEY", "sk-variable");
    let finished = run_with_input(&mut command, b"sk-ring");
    assert!(finished.answer().contains("environment (ANTHROPIC_API_KEY)"), "{finished:?}");
    let mut command = bus.windlass(&dirs, &["-p", "hi"]);
    run(command.env("ANTHROPIC_API_KEY", "sk-variable")).answer();
    let give = "key_command = [\"echo\", \"sk-command\"]\n";
    let config = |line: &str| {
        let table = "[provider.anthropic]\nbase_url =";
        dirs.config(&format!("{table} \"{}\"\n{line}", server.url()));
    };
    config(give);
    run(&mut bus.windlass(&dirs, &["-p", "hi"])).answer();
    let list = listed(&bus, &dirs);
    assert_eq!(sources(&list, "anthropic"), json!(["key command (echo)", "key ring"]));
    config("keyring = false\n");
    // The server is on this machine, so it may be asked without a key.
    run(&mut bus.windlass(&dirs, &["-p", "hi"])).answer();
    config("keyring = true\n");
    run(&mut bus.windlass(&dirs, &["-p", "hi"])).answer();
    let requests = server.requests();
    let used: Vec<_> = requests.iter().map(|request| request.header("x-api-key")).collect();
    assert_eq!(used, [Some("sk-variable"), Some("sk-command"), None, Some("sk-ring")]);
    run(&mut bus.windlass(&dirs, &["key", "remove", "anthropic"])).answer();
    let finished = run(&mut bus.windlass(&dirs, &["-p", "hi"]));
    assert!(finished.error_line(1).contains("windlass key set anthropic"), "{finished:?}");
}

#[test]
fn a_key_goes_to_its_own_origin_and_its_own_company() {
    let server = ok_server();
    let stranger = ok_server();
    let dirs = TestDirs::new();
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let mut command = bus.windlass(&dirs, &["key", "set", "openai"]);
    run_with_input(command.env("OPENAI_BASE_URL", server.url()), b"sk-open").answer();
    for (model, url) in [
        ("openai/gpt-5.5", server.url()),
        // The same company over its other wire.
        ("openai-chat/gpt-5.5", format!("{}/v1", server.url())),
        ("openai/gpt-5.5", stranger.url()),
    ] {
        let mut command = bus.windlass(&dirs, &["-p", "hi", "--model", model]);
        run(command.env("OPENAI_BASE_URL", url)).answer();
    }
    let mut command = bus.windlass(&dirs, &["-p", "hi", "--model", "openrouter/x/y"]);
    run(command.env("OPENROUTER_BASE_URL", server.url())).answer();
    let requests = server.requests();
    let shown: Vec<_> = requests.iter().map(|request| request.header("authorization")).collect();
    assert_eq!(shown, [Some("Bearer sk-open"), Some("Bearer sk-open"), None]);
    assert_eq!(stranger.requests()[0].header("authorization"), None);
}

#[test]
fn a_recording_passes_the_key_on_and_does_not_keep_it() {
    let server = ok_server();
    let dirs = moved(&server);
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let mut command = bus.windlass(&dirs, &["key", "set", "anthropic"]);
    run_with_input(&mut command, b"sk-recorded").answer();
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let arguments = ["record", "--out", "tape", "--", windlass, "-p", "hi"];
    let finished = run(&mut bus.windlass(&dirs, &arguments));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"), "{finished:?}");
    assert_eq!(server.requests()[0].header("x-api-key"), Some("sk-recorded"));
    for entry in std::fs::read_dir(dirs.file("tape")).expect("the recording") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        assert!(!String::from_utf8_lossy(&bytes).contains("sk-recorded"));
    }
}

#[test]
fn a_locked_key_ring_is_told_only_to_those_who_need_it() {
    let server = ok_server();
    let dirs = moved(&server);
    {
        let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
        let mut command = bus.windlass(&dirs, &["key", "set", "anthropic"]);
        run_with_input(&mut command, b"sk-locked-in").answer();
    }
    let Some(bus) = SessionBus::with_locked_keyring(&dirs) else { return };
    let finished = run(&mut bus.windlass(&dirs, &["-p", "hi"]));
    let line = finished.error_line(1);
    for words in ["the key for anthropic is in the key ring", "locked", "ANTHROPIC_API_KEY"] {
        assert!(line.contains(words), "{line}");
    }
    assert_eq!(sources(&listed(&bus, &dirs), "anthropic"), json!(["key ring (locked)"]));
    let mut command = bus.windlass(&dirs, &["key", "set", "anthropic"]);
    let finished = run_with_input(&mut command, b"sk-other");
    assert!(finished.error_line(1).contains("locked"), "{finished:?}");
    // A user without a key there sees nothing of it.
    let mut command = bus.windlass(&dirs, &["-p", "hi", "--model", "gemini/gemini-4-argon"]);
    let finished = run(&mut command);
    assert!(!finished.error_line(1).contains("locked"), "{finished:?}");
    let mut command = bus.windlass(&dirs, &["-p", "hi"]);
    run(command.env("ANTHROPIC_API_KEY", "sk-variable")).answer();
}

#[test]
fn a_refused_key_is_told_with_where_to_put_another() {
    let server = play(
        Script::new().answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(401)).repeat(0)),
    );
    let dirs = moved(&server);
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let mut command = bus.windlass(&dirs, &["key", "set", "anthropic"]);
    run_with_input(&mut command, b"sk-wrong").answer();
    let finished = run(&mut bus.windlass(&dirs, &["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(line.contains("key ring with `windlass key set anthropic`"), "{line}");
    assert!(line.contains("ANTHROPIC_API_KEY") && !line.contains("sk-wrong"), "{line}");
}

#[test]
fn a_key_that_was_changed_meanwhile_is_taken_up() {
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "sh change.sh"})))
        .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(401)))
        .answer(ScriptedAnswer::text("ok").repeat(0));
    let server = play(script);
    let dirs = moved(&server);
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    let set = ["key", "set", "anthropic"];
    run_with_input(&mut bus.windlass(&dirs, &set), b"sk-old").answer();
    let change = format!("echo sk-new | '{}' key set anthropic", env!("CARGO_BIN_EXE_windlass"));
    let mut command = bus.windlass(&dirs, &["-p", "hi", "--dangerously-skip-permissions"]);
    std::fs::write(dirs.file("change.sh"), change).expect("a file");
    run(&mut command).answer();
    let requests = server.requests();
    let used: Vec<_> = requests.iter().map(|request| request.header("x-api-key")).collect();
    assert_eq!(used, [Some("sk-old"), Some("sk-old"), Some("sk-new")]);
}

#[test]
fn no_key_stands_on_the_command_line_and_none_is_repeated() {
    let dirs = TestDirs::new();
    let cases: &[&[&str]] = &[
        &["key", "set", "anthropic", "sk-hush"],
        &["key", "set", "anthropic", "--key=sk-hush"],
        &["key", "set", "sk-hush-and-much-more"],
        &["key", "sk-hush"],
        &["key", "add", "sk-hush"],
        &["key", "set"],
        &["key"],
    ];
    for arguments in cases {
        let finished = run(&mut dirs.windlass(arguments));
        let line = finished.error_line(2);
        assert!(!line.contains("sk-hush"), "{line}");
        assert!(line.contains("key set") || line.contains("anthropic"), "{line}");
    }
    let finished = run(&mut dirs.windlass(&["key", "set", "antropic"]));
    assert!(finished.error_line(2).contains("did you mean anthropic?"), "{finished:?}");
    let finished = run(&mut dirs.windlass(&["key", "set", "ollama"]));
    assert!(finished.error_line(2).contains("ollama takes no key"), "{finished:?}");
}

#[test]
fn what_is_no_key_is_refused_without_being_repeated() {
    let dirs = TestDirs::new();
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    for (input, words) in [
        (&b""[..], "no key was given"),
        (b" \n\n", "no key was given"),
        (b"sk-hush two", "one word"),
        (b"sk-hush\nsecond line\n", "one word"),
        (b"sk-hush\xff", "characters"),
        (b"sk-hush\x1b[0m", "characters"),
        (&[b'x'; 20_000], "too long"),
    ] {
        let mut command = bus.windlass(&dirs, &["key", "set", "anthropic"]);
        let finished = run_with_input(&mut command, input);
        let line = finished.error_line(2);
        assert!(line.contains(words) && !line.contains("sk-hush"), "{line}");
    }
    assert_eq!(sources(&listed(&bus, &dirs), "anthropic"), json!([]));
}

/// Types at the question for a key, and gives the exit code, the screen and whether the terminal
/// shows again what is typed.
fn typed(bus: &SessionBus, dirs: &TestDirs, keys: &[u8]) -> (Option<i32>, String, bool) {
    let (ours, theirs) = terminal();
    let mut command = bus.windlass(dirs, &["key", "set", "anthropic"]);
    let end = || theirs.try_clone().expect("the other end");
    // A session of its own, whose terminal sends Ctrl-C as a signal.
    let mut shell = std::process::Command::new("setsid");
    shell.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command = shell;
    command.current_dir(dirs.work()).stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().expect("the command starts");
    drop(command);
    let mut ours = std::fs::File::from(ours);
    let mut screen = Vec::new();
    let mut chunk = [0; 1024];
    let mut take = |until: &[u8], ours: &mut std::fs::File| {
        while !screen.windows(until.len()).any(|seen| seen == until) {
            wait_for_bytes(ours);
            let count = ours.read(&mut chunk).expect("something on the screen");
            screen.extend_from_slice(&chunk[..count]);
            assert!(screen.len() < 10_000, "{}", String::from_utf8_lossy(&screen));
        }
        String::from_utf8_lossy(&screen).into_owned()
    };
    take(b"not shown): ", &mut ours);
    ours.write_all(keys).expect("keys are taken");
    let code = child.wait().expect("an end").code();
    // What is written now comes behind everything the command has written.
    (&theirs).write_all(b"-end-").expect("a mark");
    let shown = take(b"-end-", &mut ours);
    let modes = rustix::termios::tcgetattr(&theirs).expect("modes").local_modes;
    (code, shown, modes.contains(rustix::termios::LocalModes::ECHO))
}

fn wait_for_bytes(ours: &std::fs::File) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let limit = Timespec::try_from(PATIENCE).expect("a span");
    let ready = poll(&mut [PollFd::new(ours, PollFlags::IN)], Some(&limit)).expect("a terminal");
    assert_eq!(ready, 1, "nothing more appears");
}

#[test]
fn a_typed_key_is_not_shown_and_the_terminal_is_left_as_it_was() {
    let dirs = TestDirs::new();
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    // Ctrl-C, which is no key; then one with a letter too many, taken back.
    let (code, screen, is_shown) = typed(&bus, &dirs, b"sk-hu\x03");
    assert_eq!((code, is_shown), (Some(130), true), "{screen}");
    assert_eq!(sources(&listed(&bus, &dirs), "anthropic"), json!([]));
    let (code, screen, is_shown) = typed(&bus, &dirs, b"sk-hushh\x7f\n");
    assert_eq!((code, is_shown), (Some(0), true), "{screen}");
    assert!(screen.contains("in the key ring") && !screen.contains("sk-"), "{screen}");
    assert_eq!(sources(&listed(&bus, &dirs), "anthropic"), json!(["key ring"]));
}

/// A program called `secret-tool` that is none, and a bus that is none. Gives the path to use.
fn pretend(dirs: &TestDirs, script: &str) -> PathBuf {
    let folder = dirs.file("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("secret-tool");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    folder
}

fn with_pretender(
    dirs: &TestDirs,
    folder: &std::path::Path,
    arguments: &[&str],
) -> std::process::Command {
    let mut command = dirs.windlass(arguments);
    let path = std::env::var("PATH").expect("a path");
    command
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    command
}

#[test]
fn with_a_key_in_the_environment_nobody_is_asked() {
    let dirs = TestDirs::new();
    let server = ok_server();
    let folder = pretend(&dirs, "echo called >> calls");
    let mut command = with_pretender(&dirs, &folder, &["-p", "hi"]);
    command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "sk-variable");
    run(&mut command).answer();
    assert!(!dirs.file("calls").exists());
    // A provider that takes no key is no reason to ask either.
    let mut command = with_pretender(&dirs, &folder, &["-p", "hi", "--model", "ollama/tiny"]);
    run(command.env("OLLAMA_BASE_URL", server.url())).answer();
    assert!(!dirs.file("calls").exists());
    let mut command = with_pretender(&dirs, &folder, &["-p", "hi"]);
    run(command.env("ANTHROPIC_BASE_URL", server.url())).answer();
    assert!(dirs.file("calls").exists(), "without one it is");
}

#[test]
fn a_key_ring_that_hangs_is_left_alone_and_ended_with_its_children() {
    let dirs = TestDirs::new();
    let folder = pretend(&dirs, "sleep 600 & echo $$ $! > pids.txt; wait");
    let finished = run(&mut with_pretender(&dirs, &folder, &["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(line.contains("does not answer within 2 seconds"), "{line}");
    assert!(line.contains("ANTHROPIC_API_KEY"), "{line}");
    assert!(finished.took < NO_WAIT_MAX, "{finished:?}");
    let pids = std::fs::read_to_string(dirs.file("pids.txt")).expect("two ids");
    assert_eq!(pids.split_whitespace().count(), 2);
    pids.split_whitespace().for_each(wait_until_gone);
}

#[test]
fn a_key_ring_that_floods_or_fails_does_no_harm() {
    for (script, words) in [
        ("while :; do echo 'secret: no'; done", ""),
        ("echo 'secret-tool: the bus is gone' >&2; exit 1", "secret-tool says: the bus is gone"),
        ("kill -9 $$", "locked"),
        ("printf '\\377\\376'", ""),
    ] {
        let dirs = TestDirs::new();
        let folder = pretend(&dirs, script);
        let finished = run(&mut with_pretender(&dirs, &folder, &["-p", "hi"]));
        let line = finished.error_line(1);
        assert!(line.contains("no API key for anthropic/") && line.contains(words), "{line}");
    }
}

#[test]
fn what_is_missing_is_named_to_those_who_want_it() {
    let dirs = TestDirs::new();
    let without = |arguments: &[&str]| {
        let mut command = dirs.windlass(arguments);
        run(command.env("PATH", "relative:/nowhere"))
    };
    let finished = without(&["-p", "hi"]);
    assert!(!finished.error_line(1).contains("libsecret"), "no news: {finished:?}");
    let finished = without(&["key", "set", "anthropic"]);
    let line = finished.error_line(1);
    assert!(line.contains("libsecret-tools") && line.contains("ANTHROPIC_API_KEY"), "{line}");
    let finished = without(&["key", "list"]);
    assert!(finished.answer().contains("libsecret-tools"), "{finished:?}");
    // The program is there, but nobody it could ask.
    let folder = pretend(&dirs, "exit 1");
    let mut command = with_pretender(&dirs, &folder, &["key", "remove", "anthropic"]);
    let finished = run(command.env_remove("DBUS_SESSION_BUS_ADDRESS"));
    assert!(finished.error_line(1).contains("no session bus"), "{finished:?}");
    dirs.config("[provider.anthropic]\nkeyring = true\n");
    let finished = without(&["-p", "hi"]);
    assert!(finished.error_line(1).contains("libsecret-tools"), "{finished:?}");
}
