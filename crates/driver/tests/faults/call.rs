//! Row 35: calls that make no sense.

use crate::fixture::recorder::Recorder;
use crate::fixture::{FixtureOptions, WIRES, added, assert_completed, assert_ended, transitions};
use serde_json::json;
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{ContentBlock, Notice, Terminal, Transition, WireFormat};

/// The texts of a batch of results that failed.
fn failures(received: &[Notice]) -> Vec<String> {
    let messages = added(received);
    let results = messages.iter().flat_map(|message| message.tool_results());
    let failed = results.filter(|result| result.is_error);
    failed.map(|result| format!("{:?}", result.content)).collect()
}

#[tokio::test]
async fn m35_senseless_calls_are_answered_with_what_is_wrong() {
    for wire in WIRES {
        for (name, says, words) in [
            ("unknown", Says::call("Nope", json!({"at": "a"})), "Nope"),
            ("no field", Says::call("Act", json!({"where": "a"})), "needs a field `at`"),
            ("no object", Says::empty().tool_text("Act", "[1, 2]"), "object"),
            ("no JSON", Says::empty().tool_text("Act", "{\"at\": nonsense}"), "tool_use_error"),
            ("no name", Says::call("", json!({})), "tool_use_error"),
        ] {
            let (recorder, registry) = Recorder::new();
            let says = [says, Says::text("I see.").when_result("tool_use_error")];
            let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert_eq!(transitions(&received), [Transition::NextTurn], "{wire:?}, {name}");
            let failures = failures(&received);
            assert!(matches!(&failures[..], [one] if one.contains(words)), "{name}: {failures:?}");
            // The call is on record, and was not run.
            assert_eq!(added(&received)[1].tool_calls().count(), 1, "{wire:?}, {name}");
            assert_eq!(recorder.ran(), [""; 0], "{wire:?}, {name}");
        }
    }
}

#[tokio::test]
async fn m35_ids_that_repeat_never_run_twice_nor_break_the_history() {
    for wire in WIRES {
        let (recorder, registry) = Recorder::new();
        let look = |says: Says, at: &str| says.tool_with_id("same", "Look", json!({"at": at}));
        let says =
            [look(look(Says::empty(), "a"), "b"), look(Says::empty(), "c"), Says::text("Done.")];
        let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        // Within one answer the second does not run; in a later answer it is a call of its own.
        assert_eq!(recorder.ran(), ["Look {\"at\":\"a\"}", "Look {\"at\":\"c\"}"], "{wire:?}");
        assert_eq!(failures(&received).len(), 1, "{wire:?}");
        let mut ids: Vec<_> = added(&received)
            .iter()
            .flat_map(|message| {
                message.tool_calls().map(|call| call.id.clone()).collect::<Vec<_>>()
            })
            .collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 3, "{wire:?}: {ids:?}");
    }
}

#[tokio::test]
async fn m35_the_same_senseless_call_gets_a_hint_and_then_ends_the_run() {
    for wire in WIRES {
        for can_ask in [false, true] {
            let options =
                FixtureOptions::on(wire).with(|settings| settings.policy.can_ask = can_ask);
            let says = Says::call("Nope", json!({"at": "a"})).repeat(9);
            let mut fixture = options.play([says]).await;
            let (ending, received) = fixture.run("hi").await;
            assert_ended(&ending, Terminal::HookStopped);
            assert_eq!((ending.turns, failures(&received).len()), (5, 5), "{wire:?}");
            let messages = added(&received);
            let hints = messages.iter().filter(|message| {
                message.tool_results().count() > 0
                    && message.content.iter().any(|block| matches!(block, ContentBlock::Text(_)))
            });
            assert_eq!(hints.count(), 3, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn m35_calls_and_answers_without_a_name_are_told_apart() {
    // The other two wires name everything.
    for (wire, names) in [
        (WireFormat::OpenaiChat, ["\"id\":\"chatcmpl_1\",", "\"id\":\"call_1_0\","]),
        (WireFormat::Gemini, ["\"responseId\":\"resp_1\",", "\"id\":\"call_1_0\","]),
    ] {
        let nameless = |at: &str| {
            let events = Says::call("Look", json!({"at": at})).encode_events(wire, 1).concat();
            let stream = String::from_utf8(events).unwrap();
            Says::raw(names.iter().fold(stream, |stream, name| {
                assert!(stream.contains(name), "{name} in {stream}");
                stream.replace(name, "")
            }))
        };
        let (recorder, registry) = Recorder::new();
        let says = [nameless("a"), nameless("b"), Says::text("Done.")];
        let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        assert_eq!(recorder.ran(), ["Look {\"at\":\"a\"}", "Look {\"at\":\"b\"}"], "{wire:?}");
        let messages = added(&received);
        let ids: Vec<_> =
            messages.iter().flat_map(|m| m.tool_calls()).map(|call| call.id.to_string()).collect();
        assert_eq!(ids, ["call_a1_0", "call_a2_0"], "{wire:?}");
    }
}
