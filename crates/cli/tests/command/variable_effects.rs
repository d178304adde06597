//! Variables of other agents that choose models, shells, certificates and memory files.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::tls_server::TlsServer;

const BYPASS: &str = "--dangerously-skip-permissions";

fn ok() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

/// What a command printed, as the model was told.
fn output_of(command: &str, dirs: &TestDirs, flags: &[&str], variables: &[(&str, &str)]) -> String {
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({ "command": command })))
            .answer(ScriptedAnswer::text("done").repeat(0)),
    );
    let mut asking = dirs.asking(&server.url(), &["-p", "go", BYPASS]);
    let finished = run(asking.args(flags).envs(variables.iter().copied()));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let request = server.requests().pop().expect("a request").json().expect("JSON");
    request["messages"].as_array().and_then(|all| all.last()).expect("a message").to_string()
}

#[test]
fn agents_ask_the_model_of_the_variable() {
    let task = json!({"description": "look", "prompt": "dive now", "model": "sonnet"});
    for (model, line) in [("claude-haiku-5-5", ""), ("no-such-model", "no effect")] {
        let dirs = TestDirs::new();
        let server = play(
            Script::new()
                .answer(ScriptedAnswer::call("Agent", task.clone()))
                .answer(ScriptedAnswer::text("ok").repeat(0)),
        );
        let mut command = dirs.asking(&server.url(), &["-p", "go", BYPASS]);
        let finished = run(command.env("CLAUDE_CODE_SUBAGENT_MODEL", model));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stderr.contains(line), "{finished:?}");
        let asked = |words: &str| {
            let all = server.requests().into_iter().map(|request| request.json().expect("JSON"));
            let mut all = all.filter(|body| body["messages"][0].to_string().contains(words));
            all.next().expect("a request")["model"].clone()
        };
        let expected = if line.is_empty() { model } else { "claude-sonnet-5-5" };
        assert_eq!(asked("dive now"), expected);
        assert_eq!(asked("go"), "claude-sonnet-5-5");
    }
}

#[test]
fn certificates_of_the_variable_are_trusted() {
    let dirs = TestDirs::new();
    let server = TlsServer::start(rustls::ALL_VERSIONS);
    let file = dirs.file("extra.pem");
    std::fs::write(&file, &server.pem).expect("a file");
    // The first connection is refused by the client, the second is not.
    for _ in 0..2 {
        server.go_on.send(()).expect("a server");
    }
    let ask = |path: Option<&std::path::Path>| {
        let mut command = dirs.asking(&server.url, &["-p", "go", "--max-retries", "0"]);
        path.map(|path| command.env("NODE_EXTRA_CA_CERTS", path));
        run(&mut command)
    };
    let refused = ask(None);
    assert!(refused.error_line(1).contains("certificate is not trusted"), "{refused:?}");
    assert_eq!(ask(Some(&file)).answer(), "ok\n");
    // One that cannot be used is named, and harms nothing else.
    let other = ok();
    for broken in ["missing.pem", "server.sh"] {
        std::fs::write(dirs.file("server.sh"), "no certificate").expect("a file");
        let mut command = dirs.asking(&other.url(), &["-p", "go"]);
        let finished = run(command.env("NODE_EXTRA_CA_CERTS", dirs.file(broken)));
        assert_eq!(finished.stdout, "ok\n", "{finished:?}");
        assert!(finished.stderr.contains("NODE_EXTRA_CA_CERTS"), "{finished:?}");
    }
}

#[test]
fn commands_run_in_the_bash_and_behind_the_program_of_the_variables() {
    let dirs = TestDirs::new();
    let own = dirs.home().join("bin");
    std::fs::create_dir(&own).expect("a folder");
    let bash = own.join("bash");
    std::os::unix::fs::symlink("/bin/bash", &bash).expect("a link");
    let logger = own.join("logger.sh");
    let script = "#!/bin/sh\nprintf '%s\\n' \"$2\" >> log.txt\nexec bash -c \"$2\"\n";
    std::fs::write(&logger, script).expect("a file");
    std::fs::set_permissions(&logger, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = bash.display().to_string();
    let shown = output_of("echo \"$BASH\"", &dirs, &[], &[("CLAUDE_CODE_SHELL", &path)]);
    assert!(shown.contains(&path), "{shown}");
    let prefix = format!("{} audit", logger.display());
    let command = "cd /; echo \"it's $PWD\" | tr a-z A-Z";
    let shown = output_of(command, &dirs, &[], &[("CLAUDE_CODE_SHELL_PREFIX", &prefix)]);
    assert!(shown.contains("IT'S /"), "{shown}");
    let log = std::fs::read_to_string(dirs.file("log.txt")).expect("a log");
    assert!(log.contains(command), "{log}");
    // Another shell would read the command otherwise than it was judged.
    let server = ok();
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let finished = run(command.env("CLAUDE_CODE_SHELL", "/bin/zsh"));
    assert_eq!(finished.stdout, "ok\n", "{finished:?}");
    assert!(finished.stderr.contains("CLAUDE_CODE_SHELL=/bin/zsh has no effect"), "{finished:?}");
}

/// What a program of the user's does besides was not judged, so what a cell would have held is asked
/// about.
#[test]
fn behind_a_program_of_the_variable_no_command_runs_in_a_cell() {
    let dirs = TestDirs::new();
    let call = || ScriptedAnswer::call("Bash", json!({ "command": "printenv XDG_STATE_HOME" }));
    for (variables, runs) in [(&[("CLAUDE_CODE_SHELL_PREFIX", "sh -c")][..], false), (&[], true)] {
        let server = play(Script::new().answer(call()).answer(ScriptedAnswer::text("done")));
        run(dirs.asking(&server.url(), &["-p", "go"]).envs(variables.iter().copied()));
        let request = server.requests().pop().expect("a request").json().expect("JSON");
        let shown = request["messages"][2].to_string();
        assert_eq!(shown.contains("/state"), runs, "{variables:?}: {shown}");
    }
}

#[test]
fn commands_and_hooks_are_told_the_effort() {
    let dirs = TestDirs::new();
    let hook = json!({ "type": "command", "command": "echo \"$CLAUDE_EFFORT\" > effort.txt" });
    let hooks = json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } }).to_string();
    let command = "echo \"effort: ${CLAUDE_EFFORT-none}\"";
    let flags = ["--effort", "low", "--settings", &hooks];
    let shown = output_of(command, &dirs, &flags, &[("CLAUDE_EFFORT", "max")]);
    assert!(shown.contains("effort: low"), "{shown}");
    assert_eq!(std::fs::read_to_string(dirs.file("effort.txt")).expect("a file"), "low\n");
    let shown = output_of(command, &dirs, &[], &[("CLAUDE_EFFORT", "max")]);
    assert!(shown.contains("effort: none"), "{shown}");
}

#[test]
fn memory_files_of_more_directories_are_read_if_the_variable_says_so() {
    let dirs = TestDirs::new();
    let more = dirs.home().join("more");
    std::fs::create_dir(&more).expect("a folder");
    std::fs::write(more.join("CLAUDE.md"), "Say aye.").expect("a file");
    for (value, is_read) in [("0", false), ("1", true)] {
        let server = ok();
        let mut command =
            dirs.asking(&server.url(), &["-p", "go", "--add-dir", more.to_str().expect("text")]);
        command.env("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", value);
        assert_eq!(run(&mut command).answer(), "ok\n");
        let body = server.requests().pop().expect("a request").body;
        assert_eq!(body.contains("Say aye."), is_read, "{value}: {body}");
    }
}

#[test]
fn nothing_is_asked_after_a_run_if_the_variable_says_so() {
    let dirs = TestDirs::new();
    let settings = json!({"afterRun": {"title": true, "suggestion": true}}).to_string();
    for (value, is_more) in [("0", true), ("1", false)] {
        let server = ok();
        let mut command = dirs.asking(&server.url(), &["-p", "go", "--settings", &settings]);
        command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", value);
        assert_eq!(run(&mut command).answer(), "ok\n");
        assert_eq!(server.request_count() > 1, is_more, "{value}");
    }
}

#[test]
fn switches_without_effect_are_named_at_the_start() {
    let switches = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
    for name in switches {
        for (value, is_named) in [("1", true), ("true", true), ("0", false)] {
            let (dirs, server) = (TestDirs::new(), ok());
            let mut command = dirs.asking(&server.url(), &["-p", "go"]);
            let finished = run(command.env(name, value));
            assert_eq!(finished.stdout, "ok\n", "{finished:?}");
            let line = format!("{name} has no effect");
            assert_eq!(finished.stderr.contains(&line), is_named, "{value}: {finished:?}");
        }
    }
}
