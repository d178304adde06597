//! Where keys come from and where they do not go.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{
    NO_WAIT_MAX, RunningCommand, TestDirs, play, run, wait_for_file, wait_until_gone,
};

fn program(dirs: &TestDirs, script: &str) -> String {
    let path = dirs.file("give-key");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    set_mode(&path, 0o755);
    path.display().to_string()
}

fn set_mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).expect("a mode");
}

#[test]
fn a_file_holds_the_key_if_it_is_the_users_alone() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let config = dirs.config(&format!(
        "[provider.anthropic]\nbase_url = \"{}\"\nkey_file = \"anthropic.key\"\n",
        server.url()
    ));
    let file = config.with_file_name("anthropic.key");
    let ask = || run(&mut dirs.windlass(&["-p", "hi"]));
    assert!(ask().error_line(1).contains(&file.display().to_string()));
    std::fs::write(&file, "file-key\n").expect("a file");
    set_mode(&file, 0o640);
    assert!(ask().error_line(1).contains("chmod 600"));
    set_mode(&file, 0o600);
    ask().answer();
    assert_eq!(server.requests()[0].header("x-api-key"), Some("file-key"));
    std::fs::write(&file, " \n").expect("a file");
    assert!(ask().error_line(1).contains("empty"));
}

#[test]
fn a_program_gives_the_key_and_is_asked_again_when_it_is_refused() {
    let dirs = TestDirs::new();
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(401)))
            .answer(ScriptedAnswer::text("ok").repeat(0)),
    );
    let give = program(&dirs, "echo called >> calls; echo \"key-$(wc -l < calls | tr -d ' ')\"");
    let config = format!(
        "[provider.anthropic]\nbase_url = \"{}\"\nkey_command = [\"{give}\"]\n",
        server.url()
    );
    dirs.config(&config);
    run(&mut dirs.windlass(&["-p", "hi"])).answer();
    let requests = server.requests();
    let keys: Vec<_> = requests.iter().map(|request| request.header("x-api-key")).collect();
    assert_eq!(keys, [Some("key-1"), Some("key-2")]);

    // The environment is set for one run and goes first; then nothing is started.
    let mut command = dirs.windlass(&["-p", "hi"]);
    run(command.env("ANTHROPIC_API_KEY", "env-key")).answer();
    let calls = std::fs::read_to_string(dirs.file("calls")).expect("calls");
    assert_eq!(calls.lines().count(), 2);
}

#[test]
fn a_program_that_gives_no_key_is_told_with_its_own_words() {
    let cases = [
        ("echo 'the vault is locked' >&2; exit 3", &["exit status: 3", "the vault is locked"][..]),
        ("true", &["prints nothing"]),
        ("printf '\\377'", &["no text"]),
    ];
    for (script, words) in cases {
        let dirs = TestDirs::new();
        let give = program(&dirs, script);
        dirs.config(&format!("[provider.openai]\nkey_command = [\"{give}\", \"x\"]\n"));
        let finished = run(&mut dirs.windlass(&["-p", "hi", "--model", "openai/gpt-5.5"]));
        let line = finished.error_line(1);
        for word in words.iter().chain(&["give-key", "[provider.openai]", "OPENAI_API_KEY"]) {
            assert!(line.contains(word), "{line}");
        }
    }
    let dirs = TestDirs::new();
    dirs.config("[provider.openai]\nkey_command = [\"no-such-program\"]\n");
    let finished = run(&mut dirs.windlass(&["-p", "hi", "--model", "openai/gpt-5.5"]));
    assert!(finished.error_line(1).contains("cannot be started"), "{finished:?}");
}

#[test]
fn one_key_serves_all_models_of_a_provider() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let give = program(&dirs, "echo called >> calls; echo sk-one");
    dirs.config(&format!(
        "[provider.anthropic]\nbase_url = \"{}\"\nkey_command = [\"{give}\"]\n",
        server.url()
    ));
    let arguments = ["-p", "hi", "--fallback-model", "opus", "--small-model", "haiku"];
    run(&mut dirs.windlass(&arguments)).answer();
    assert_eq!(std::fs::read_to_string(dirs.file("calls")).expect("calls"), "called\n");
}

#[test]
fn a_signal_ends_the_program_that_is_waited_for_with_its_children() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let dirs = TestDirs::new();
        let give = program(&dirs, "sleep 600 & echo $$ $! > pids.txt; wait");
        dirs.config(&format!("[provider.anthropic]\nkey_command = [\"{give}\"]\n"));
        let running = RunningCommand::start(&mut dirs.windlass(&["-p", "hi"]));
        let pids = wait_for_file(&dirs.file("pids.txt"));
        running.signal(signal);
        let finished = running.finish();
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert!(finished.took < NO_WAIT_MAX, "{finished:?}");
        pids.split_whitespace().for_each(wait_until_gone);
    }
}

#[test]
fn tools_see_no_key() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "env"})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    dirs.config(
        "[provider.mine]\nwire = \"gemini\"\nbase_url = \"https://x.example\"\nkey_env = \"MY_KEY\"\n",
    );
    let arguments = ["-p", "go", "--dangerously-skip-permissions"];
    let mut command = dirs.asking(&server.url(), &arguments);
    let secrets = [
        ("ANTHROPIC_API_KEY", "hush-1"),
        ("OPENAI_API_KEY", "hush-2"),
        ("OPENROUTER_API_KEY", "hush-3"),
        ("GOOGLE_API_KEY", "hush-4"),
        ("MY_KEY", "hush-5"),
        ("ANTHROPIC_CUSTOM_HEADERS", "X-Secret: hush-6"),
    ];
    run(command.envs(secrets).env("HARMLESS", "seen")).answer();
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    let said = body["messages"].to_string();
    assert!(said.contains("HARMLESS=seen"), "{said}");
    assert!(!said.contains("hush-"), "{said}");
}

#[test]
fn programs_can_ask_whether_there_is_a_key() {
    let dirs = TestDirs::new();
    let ask = |arguments: &[&str], key: Option<&str>| {
        let mut command = dirs.windlass(&["auth"]);
        command.env_remove("ANTHROPIC_API_KEY");
        key.map(|key| command.env("ANTHROPIC_API_KEY", key));
        run(command.args(arguments))
    };
    let without = ask(&["status", "--json"], None);
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stdout.contains(r#""loggedIn":false"#), "{without:?}");
    let with = ask(&["status"], Some("sk-test"));
    assert_eq!(with.code, Some(0), "{with:?}");
    assert!(with.stdout.contains(r#""loggedIn":true"#), "{with:?}");
    assert!(!with.stdout.contains("sk-test"), "{with:?}");
    assert!(ask(&["login"], None).error_line(2).contains("windlass key set"));
}

/// Adapters ask with the settings of a session before the command; a key may stand there, or in a file.
#[test]
fn the_answer_about_a_key_knows_the_settings() {
    let dirs = TestDirs::new();
    let ask = |arguments: &[&str]| run(dirs.windlass(arguments).env_remove("ANTHROPIC_API_KEY"));
    let settings = r#"{"env": {"ANTHROPIC_API_KEY": "sk-test"}}"#;
    for arguments in [
        ["--settings", settings, "auth", "status", "--json"],
        ["auth", "status", "--json", "--settings", settings],
    ] {
        let answer = ask(&arguments);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        assert!(answer.stdout.contains(r#""loggedIn":true"#), "{answer:?}");
    }
    assert_eq!(ask(&["--settings", "{}", "auth", "status", "--json"]).code, Some(1));
    let folder = dirs.home().join(".claude");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("settings.json"), settings).expect("a file");
    assert_eq!(ask(&["auth", "status", "--json"]).code, Some(0));
}
