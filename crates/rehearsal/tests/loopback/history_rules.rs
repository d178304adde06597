//! Histories that the provider of the messages wire would refuse.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::client::{Client, play, prompt};

/// A history in short: `u` and `m` begin a message of the user or the model, `+1` calls tool 1,
/// `=1` is its result, anything else is text (`-` for an empty one).
fn history(short: &str) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for word in short.split_whitespace() {
        let block = match (word, word.split_at(1)) {
            ("u", _) => {
                messages.push(("user", Vec::new()));
                continue;
            }
            ("m", _) => {
                messages.push(("assistant", Vec::new()));
                continue;
            }
            (_, ("+", id)) => json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}}),
            (_, ("=", id)) => json!({"type": "tool_result", "tool_use_id": id, "content": "ok"}),
            ("-", _) => json!({"type": "text", "text": ""}),
            (text, _) => json!({"type": "text", "text": text}),
        };
        messages.last_mut().expect("a message").1.push(block);
    }
    let message = |(role, content)| json!({"role": role, "content": content});
    messages.into_iter().map(message).collect()
}

fn body(short: &str) -> Value {
    let mut body = prompt("");
    body["messages"] = Value::from(history(short));
    body
}

#[test]
fn breaches_are_refused_unless_the_script_is_lenient() {
    let breaches = [
        ("", "the first message must be the user's"),
        ("m hi u hi", "the first message must be the user's"),
        ("u hi m hi", "the last message must be the user's"),
        ("u", "message 0 is empty"),
        ("u hi m - u hi", "message 1 is empty or has an empty text block"),
        ("u a m +1 u b", "call 1 has no result"),
        ("u a m +1 +2 u =2", "call 1 has no result"),
        ("u a m +1 u b m c u =1", "call 1 has no result before message 3"),
        ("u =1", "result for 1, which is not an open call"),
        ("u a m +1 u =1 =1", "result for 1, which is not an open call"),
        ("u a m +1 u =1 m +1 u =1", "repeats the call id 1"),
    ];
    for (short, problem) in breaches {
        let strict = play(Script::new().answer(ScriptedAnswer::text("hi")));
        let seen = Client::connect(strict.address()).ask(&body(short));
        assert_eq!(seen.status, Some(400), "{short}");
        assert_eq!(seen.json()["error"]["type"], "invalid_request_error");
        assert!(seen.text().contains(problem), "{short}: {}", seen.text());
        let left = strict.answers_left().len();
        assert_eq!(left, 1, "a refused request uses nothing up");
        let lenient = play(Script::new().lenient().answer(ScriptedAnswer::text("hi")));
        let seen = Client::connect(lenient.address()).ask(&body(short));
        assert_eq!(seen.said(), "hi", "{short}");
    }
}

#[test]
fn a_model_and_an_output_limit_are_demanded() {
    for (key, value) in
        [("model", json!("")), ("max_tokens", json!(0)), ("max_tokens", json!(null))]
    {
        let mut body = prompt("hello");
        body[key] = value;
        let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
        let seen = Client::connect(rehearsal.address()).ask(&body);
        assert_eq!(seen.status, Some(400));
        assert!(seen.text().contains(&format!("`{key}`")), "{}", seen.text());
    }
}

#[test]
fn lawful_histories_are_answered() {
    for short in [
        "u a u b",
        "u a m x +1 +2 u =2 =1 and",
        // Neighbours of one role are one message.
        "u a m +1 m +2 u =1 u =2",
        "u a m +1 u =1 m +2 u =2",
    ] {
        let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
        let seen = Client::connect(rehearsal.address()).ask(&body(short));
        assert_eq!(seen.said(), "hi", "{short}: {}", seen.text());
    }
}
