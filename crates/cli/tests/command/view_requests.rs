//! Requests in the time machine of `windlass view`: as they were sent, and on which wire.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::view::RunningViewer;

#[test]
fn a_request_is_shown_as_it_was_sent() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("I look.").tool("Bash", json!({"command": "echo one"})))
        .answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let asked = run(&mut dirs.asking(&server.url(), &["-p", "look here", "--trust-project"]));
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    let journals = dirs.journals();
    let id = journals[0].file_stem().unwrap().to_string_lossy().into_owned();
    let viewer =
        RunningViewer::start_command(&mut dirs.asking(&server.url(), &["view", "--no-open"]));
    let of = |part: &str| viewer.get(&format!("/api/sessions/{id}{part}"));
    let listed = of("/requests");
    let seqs: Vec<u64> = listed["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| request["seq"].as_u64().unwrap())
        .collect();
    let sent = server.requests();
    assert_eq!(seqs.len(), sent.len(), "{listed}");
    for (seq, sent) in seqs.iter().zip(&sent) {
        let shown = of(&format!("/request/{seq}?form=wire"));
        assert_eq!(shown["wire"], "anthropic_messages", "{shown}");
        assert_eq!((&shown["path"], &shown["bytes"]), (&json!(sent.path), &json!(sent.body_bytes)));
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(parse(shown["text"].as_str().unwrap()), parse(&sent.body));
        let key = sent.headers.iter().find(|(name, _)| name == "x-api-key").expect("a key");
        assert!(!shown.to_string().contains(&key.1), "{shown}");
    }
    let other = of(&format!("/request/{}?form=wire&wire=gemini", seqs[0]));
    assert!(other["text"].as_str().unwrap().contains("\"contents\": ["), "{other}");
    let difference = of(&format!("/request-diff?a={}&b={}&form=wire", seqs[0], seqs[1]));
    let common = sent[0].body.bytes().zip(sent[1].body.bytes());
    let common = common.take_while(|(one, two)| one == two).count();
    assert_eq!(
        (&difference["form"], &difference["shared_bytes"]),
        (&json!("wire"), &json!(common))
    );
    assert!(difference["first"].as_str().unwrap().starts_with("messages"), "{difference}");
    for wrong in ["form=x", "form=wire&wire=x"] {
        let path = format!("/api/sessions/{id}/request/{}?{wrong}", seqs[0]);
        assert_eq!(viewer.get_with(&path, &[&viewer.bearer()]).status, 400);
    }
    viewer.end();
}

/// An answer with reasoning says over which wire it came; the configuration of today may be another.
#[test]
fn a_request_is_shown_on_the_wire_that_the_session_had() {
    let dirs = TestDirs::new();
    let server = play(
        Script::new()
            .answer(
                ScriptedAnswer::text("I look.")
                    .thinking("What is there?")
                    .tool("Bash", json!({"command": "echo one"})),
            )
            .answer(ScriptedAnswer::text("Done.")),
    );
    let configure = |wire: &str| {
        dirs.config(&format!(
            "[provider.mine]\nwire = \"{wire}\"\nbase_url = \"{}\"\nkey_env = \"MINE_KEY\"\n",
            server.url()
        ));
    };
    configure("openai_responses");
    let arguments = ["-p", "look", "--model", "mine/large", "--dangerously-skip-permissions"];
    let asked = run(dirs.windlass(&arguments).env("MINE_KEY", "test-key"));
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    configure("openai_chat");
    let journals = dirs.journals();
    let id = journals[0].file_stem().unwrap().to_string_lossy().into_owned();
    let viewer = RunningViewer::start(&dirs, &[]);
    let of = |part: &str| viewer.get(&format!("/api/sessions/{id}{part}"));
    let listed = of("/requests");
    let show = |n: usize| of(&format!("/request/{}?form=wire", listed["requests"][n]["seq"]));
    let wires = |shown: &Value| {
        [&shown["wire"], &shown["recorded"], &shown["configured"]].map(Value::clone)
    };
    // Before the first answer only the configuration is known.
    assert_eq!(wires(&show(0)), [json!("openai_chat"), Value::Null, json!("openai_chat")]);
    let [responses, chat] = ["openai_responses", "openai_chat"].map(Value::from);
    assert_eq!(wires(&show(1)), [responses.clone(), responses, chat]);
    assert!(show(1)["text"].as_str().unwrap().contains("\"input\": ["));
    viewer.end();
}
