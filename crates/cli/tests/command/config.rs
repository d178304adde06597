//! The user's configuration: what it changes, and how its mistakes are told.

use std::os::unix::fs::PermissionsExt;

use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

fn ok_server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

#[test]
fn a_provider_and_a_model_of_ones_own() {
    let dirs = TestDirs::new();
    let server = ok_server();
    dirs.config(&format!(
        "default_model = \"mine/big-one\"\n\
         [provider.mine]\n\
         wire = \"openai_chat\"\n\
         base_url = \"{}/v1\"\n\
         key_env = \"MINE_KEY\"\n\
         headers = {{ X-Team = \"red\" }}\n\
         [model.\"mine/big-one\"]\n\
         window = 64_000\n\
         output_default = 1_000\n\
         output_max = 2_000\n\
         price = {{ input = 0.5, output = 1.5 }}\n",
        server.url()
    ));
    let mut command = dirs.windlass(&["-p", "hi", "--max-budget-usd", "1"]);
    run(command.env("MINE_KEY", "m-key")).answer();
    let request = server.requests().pop().expect("a request");
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some("Bearer m-key"));
    assert_eq!(request.header("x-team"), Some("red"));
    let body = request.json().expect("JSON");
    assert_eq!((&body["model"], &body["max_tokens"]), (&"big-one".into(), &1_000.into()));
}

#[test]
fn a_known_model_and_a_known_provider_can_be_corrected() {
    let dirs = TestDirs::new();
    let server = ok_server();
    dirs.config(&format!(
        "[provider.anthropic]\n\
         base_url = \"{}\"\n\
         [short]\n\
         mine = \"anthropic/claude-haiku-5-5\"\n\
         [model.\"anthropic/claude-haiku-5-5\"]\n\
         output_default = 777\n\
         tools = false\n",
        server.url()
    ));
    let arguments = ["-p", "hi", "--model", "mine", "--tools", ""];
    run(&mut dirs.windlass(&arguments)).answer();
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    assert_eq!((&body["model"], &body["max_tokens"]), (&"claude-haiku-5-5".into(), &777.into()));
    let finished = run(&mut dirs.windlass(&["-p", "hi", "--model", "mine"]));
    assert!(finished.error_line(2).contains("cannot call tools"));

    // The environment is set for one run and goes before the file.
    let other = ok_server();
    run(&mut dirs.asking(&other.url(), &arguments)).answer();
    assert_eq!(other.request_count(), 1);
}

#[test]
fn every_mistake_is_named_with_file_line_and_column() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("x = [\n", "line", &["not TOML"]),
        ("modle = \"x\"\n", "line 1, column 1", &["`modle`", "did you mean `model`?"]),
        ("\ndefault_model = 3\n", "line 2, column 17", &["`default_model` is 3", "text"]),
        ("[provider.mine]\n", "line 1", &["mine has no wire", "openai_chat"]),
        (
            "[provider.mine]\nwire = \"openai-chat\"\n",
            "line 2, column 8",
            &["openai-chat", "\"openai_chat\""],
        ),
        ("[provider.mine]\nwire = \"gemini\"\n", "line 1", &["mine has no address", "base_url"]),
        (
            "[provider.mine]\nwire = \"gemini\"\nbase_url = \"models.example\"\n",
            "line 3, column 12",
            &["base_url", "https://"],
        ),
        (
            "[provider.mine]\nwire = \"gemini\"\nbase_url = \"https://me:pw@models.example\"\n",
            "line 3",
            &["password"],
        ),
        (
            "[provider.openai]\nkey = \"sk-very-secret\"\n",
            "line 2, column 1",
            &["secret", "key_env", "key_command"],
        ),
        ("[provider.openai]\nkey_command = \"pass show x\"\n", "line 2", &["list", "program"]),
        (
            "[provider.openai]\nkey_file = \"a\"\nkey_command = [\"b\"]\n",
            "line 3",
            &["key_file", "keep one"],
        ),
        (
            "[provider.openai]\nkeyring = true\nkey_file = \"a\"\n",
            "line 2, column 1",
            &["`key_file` and `keyring`", "keep one"],
        ),
        ("[provider.openai]\nkeyring = \"yes\"\n", "line 2, column 11", &["true or false"]),
        ("[provider.openai]\nheaders = { \"a b\" = \"c\" }\n", "line 2", &["\"a b\""]),
        ("[model.opus]\nwindow = 1\n", "line 1", &["opus", "provider/name"]),
        ("[model.\"opnai/x\"]\n", "line 1", &["`opnai`", "\"openai/x\""]),
        ("[model.\"openai/x\"]\nwindow = -1\n", "line 2, column 10", &["window", "whole number"]),
        ("[model.\"openai/x\"]\nwindows = 1\n", "line 2, column 1", &["`windows`", "`window`"]),
        (
            "[model.\"openai/x\"]\nwindow = 1000\noutput_max = 1000\n",
            "line 1",
            &["openai/x", "output_max (1000)", "window (1000)"],
        ),
        (
            "[model.\"openai/x\"]\nprice = { input = 1 }\n",
            "line 2, column 9",
            &["price", "`output`"],
        ),
        ("[model.\"openai/x\"]\nprice = { input = -1, output = 1 }\n", "line 2", &["dollars"]),
        ("[model.\"openai/x\"]\nthinking = \"maybe\"\n", "line 2", &["maybe", "optional"]),
        ("[model.\"openai/x\"]\nlike = \"openai/gpt-5.55\"\n", "line 2", &["openai/gpt-5.5"]),
        ("[model.\"openai/x\"]\neffort = [\"lowest\"]\n", "line 2", &["lowest"]),
    ];
    for (text, place, words) in cases {
        let dirs = TestDirs::new();
        let path = dirs.config(text);
        let finished = run(&mut dirs.windlass(&["-p", "hi"]));
        let line = finished.error_line(2);
        assert!(line.contains(&path.display().to_string()), "{text}: {line}");
        assert!(line.contains(place), "{text}: {line}");
        for word in *words {
            assert!(line.contains(word), "{text}: {line}");
        }
        assert!(!line.contains("very-secret"), "{line}");
    }
}

#[test]
fn a_file_that_cannot_be_trusted_or_read_is_refused() {
    let dirs = TestDirs::new();
    let path = dirs.config("default_model = \"opus\"\n");
    let mode = |bits| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).expect("a mode");
    };
    mode(0o666);
    let finished = run(&mut dirs.windlass(&["-p", "hi"]));
    assert!(finished.error_line(2).contains("chmod o-w"), "{finished:?}");
    mode(0o644);
    std::fs::write(&path, b"model = \"\xff\"").expect("a file");
    let finished = run(&mut dirs.windlass(&["-p", "hi"]));
    assert!(finished.error_line(2).contains("byte 9 is not UTF-8"), "{finished:?}");
    std::fs::write(&path, "#".repeat(1_100_000)).expect("a file");
    let finished = run(&mut dirs.windlass(&["-p", "hi"]));
    assert!(finished.error_line(2).contains("1 MiB"), "{finished:?}");
    std::fs::remove_file(&path).expect("gone");
    std::fs::create_dir(&path).expect("a folder");
    let finished = run(&mut dirs.windlass(&["-p", "hi"]));
    assert!(finished.error_line(2).contains("not a file"), "{finished:?}");
}

#[test]
fn nothing_is_read_from_the_project() {
    let dirs = TestDirs::new();
    let server = ok_server();
    let evil = "default_model = \"evil/model\"\n";
    for name in [".windlass/config.toml", "config.toml", ".config/windlass/config.toml"] {
        let path = dirs.file(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, evil).expect("a file");
    }
    let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
    // A relative value would mean the project.
    run(command.env("XDG_CONFIG_HOME", ".config")).answer();
    assert_eq!(server.request_count(), 1);
}

#[test]
fn the_configuration_may_live_elsewhere() {
    let dirs = TestDirs::new();
    let server = ok_server();
    dirs.config("default_model = \"never\"\n");
    let home = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(home.path().join("windlass")).expect("a folder");
    std::fs::write(home.path().join("windlass/config.toml"), "default_model = \"opus\"\n")
        .expect("a file");
    let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
    run(command.env("XDG_CONFIG_HOME", home.path())).answer();
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    assert_eq!(body["model"], "claude-opus-5-5");
}
