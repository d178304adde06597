//! Where keys come from and where they do not go.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::stage::{Running, World, play, run, wait_for_file, wait_until_gone};

fn program(world: &World, script: &str) -> String {
    let path = world.file("give-key");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    set_mode(&path, 0o755);
    path.display().to_string()
}

fn set_mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).expect("a mode");
}

#[test]
fn a_file_holds_the_key_if_it_is_the_users_alone() {
    let world = World::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let config = world.config(&format!(
        "[provider.anthropic]\nbase_url = \"{}\"\nkey_file = \"anthropic.key\"\n",
        server.url()
    ));
    let file = config.with_file_name("anthropic.key");
    let ask = || run(&mut world.windlass(&["-p", "hi"]));
    assert!(ask().refusal(1).contains(&file.display().to_string()));
    std::fs::write(&file, "file-key\n").expect("a file");
    set_mode(&file, 0o640);
    assert!(ask().refusal(1).contains("chmod 600"));
    set_mode(&file, 0o600);
    ask().answer();
    assert_eq!(server.requests()[0].header("x-api-key"), Some("file-key"));
    std::fs::write(&file, " \n").expect("a file");
    assert!(ask().refusal(1).contains("empty"));
}

#[test]
fn a_program_gives_the_key_and_is_asked_again_when_it_is_refused() {
    let world = World::new();
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(401)))
            .answer(ScriptedAnswer::text("ok").repeat(0)),
    );
    let give = program(&world, "echo called >> calls; echo \"key-$(wc -l < calls | tr -d ' ')\"");
    let config = format!(
        "[provider.anthropic]\nbase_url = \"{}\"\nkey_command = [\"{give}\"]\n",
        server.url()
    );
    world.config(&config);
    run(&mut world.windlass(&["-p", "hi"])).answer();
    let requests = server.requests();
    let keys: Vec<_> = requests.iter().map(|request| request.header("x-api-key")).collect();
    assert_eq!(keys, [Some("key-1"), Some("key-2")]);

    // The environment is set for one run and goes first; then nothing is started.
    let mut command = world.windlass(&["-p", "hi"]);
    run(command.env("ANTHROPIC_API_KEY", "env-key")).answer();
    let calls = std::fs::read_to_string(world.file("calls")).expect("calls");
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
        let world = World::new();
        let give = program(&world, script);
        world.config(&format!("[provider.openai]\nkey_command = [\"{give}\", \"x\"]\n"));
        let finished = run(&mut world.windlass(&["-p", "hi", "--model", "openai/gpt-5.5"]));
        let line = finished.refusal(1);
        for word in words.iter().chain(&["give-key", "[provider.openai]", "OPENAI_API_KEY"]) {
            assert!(line.contains(word), "{line}");
        }
    }
    let world = World::new();
    world.config("[provider.openai]\nkey_command = [\"no-such-program\"]\n");
    let finished = run(&mut world.windlass(&["-p", "hi", "--model", "openai/gpt-5.5"]));
    assert!(finished.refusal(1).contains("cannot be started"), "{finished:?}");
}

#[test]
fn one_key_serves_all_models_of_a_provider() {
    let world = World::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let give = program(&world, "echo called >> calls; echo sk-one");
    world.config(&format!(
        "[provider.anthropic]\nbase_url = \"{}\"\nkey_command = [\"{give}\"]\n",
        server.url()
    ));
    let arguments = ["-p", "hi", "--fallback-model", "opus", "--small-model", "haiku"];
    run(&mut world.windlass(&arguments)).answer();
    assert_eq!(std::fs::read_to_string(world.file("calls")).expect("calls"), "called\n");
}

#[test]
fn a_signal_ends_the_program_that_is_waited_for_with_its_children() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let world = World::new();
        let give = program(&world, "sleep 600 & echo $$ $! > pids.txt; wait");
        world.config(&format!("[provider.anthropic]\nkey_command = [\"{give}\"]\n"));
        let running = Running::start(&mut world.windlass(&["-p", "hi"]));
        let pids = wait_for_file(&world.file("pids.txt"));
        running.signal(signal);
        let finished = running.finish();
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert!(finished.took < Duration::from_secs(20), "{finished:?}");
        pids.split_whitespace().for_each(wait_until_gone);
    }
}

#[test]
fn tools_see_no_key() {
    let world = World::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "env"})))
        .answer(ScriptedAnswer::text("done"));
    let server = play(script);
    world.config(
        "[provider.mine]\nwire = \"gemini\"\nbase_url = \"https://x.example\"\nkey_env = \"MY_KEY\"\n",
    );
    let arguments = ["-p", "go", "--dangerously-skip-permissions"];
    let mut command = world.asking(&server.url(), &arguments);
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
