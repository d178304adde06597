//! Streams of `POST /v1/responses`, one row per thing that can happen in them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

mod fixture;

use fixture::decode_whole;
use fixture::openai_responses::{
    added, completed, created, delta, done, events, function_call, incomplete, message,
};
use serde_json::{Value, json};
use windlass_dialect::{DecodedEvent, Dialect, ResponseLimits, dialect};
use windlass_vocabulary::{ContentBlock, FailureKind, ModelStopReason, WireFormat};

fn wire() -> &'static dyn Dialect {
    dialect(WireFormat::OpenaiResponses).expect("spoken")
}

fn read(list: &[Value]) -> Vec<DecodedEvent> {
    decode_whole(wire(), &events(list))
}

fn kind_of(items: &[DecodedEvent]) -> FailureKind {
    match items.last() {
        Some(DecodedEvent::Failed(failure)) => failure.kind,
        other => panic!("not a failure: {other:?}"),
    }
}

fn calls(items: &[DecodedEvent]) -> Vec<(String, String, bool)> {
    let calls = items.iter().filter_map(|item| match item {
        DecodedEvent::Call { call, problem } => {
            Some((call.id.to_string(), call.input.to_string(), problem.is_some()))
        }
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_call_is_complete_when_its_item_is_done_not_before() {
    let begun = [
        created(),
        added(0, function_call("c1", "Read", "")),
        delta("function_call_arguments", 0, "{\"x\":1}"),
    ];
    assert_eq!(calls(&read(&begun)), []);
    let ended = [&begun[..], &[done(0, function_call("c1", "Read", "{\"x\":1}"))]].concat();
    assert_eq!(calls(&read(&ended)), [("c1".into(), "{\"x\":1}".into(), false)]);
    assert_eq!(kind_of(&read(&ended)), FailureKind::Transport, "but the answer is void");
}

#[test]
fn a_call_cut_by_the_limit_does_not_run() {
    for (arguments, input) in [("", "{}"), ("{\"x\":", "{\"x\":"), ("{}", "{}")] {
        let mut item = function_call("c1", "Read", arguments);
        item["status"] = json!("incomplete");
        let items = read(&[created(), done(0, item), incomplete("max_output_tokens")]);
        assert_eq!(calls(&items), [("c1".into(), input.into(), true)], "{arguments}");
        assert!(matches!(
            items.last(),
            Some(DecodedEvent::Ended { stop: ModelStopReason::OutputLimit, .. })
        ));
    }
}

#[test]
fn only_a_terminal_event_makes_an_answer() {
    let text = [created(), added(0, message("")), done(0, message("hi"))];
    assert_eq!(kind_of(&read(&text)), FailureKind::Transport);
    assert_eq!(kind_of(&read(&[])), FailureKind::Transport);
    let table = [
        (completed(), ModelStopReason::EndTurn, false),
        (incomplete("max_output_tokens"), ModelStopReason::OutputLimit, false),
        (incomplete("content_filter"), ModelStopReason::Refusal, false),
        (incomplete("steered"), ModelStopReason::EndTurn, true),
    ];
    for (terminal, stop, has_detail) in table {
        let items = read(&[&text[..], std::slice::from_ref(&terminal)].concat());
        let Some(DecodedEvent::Ended { stop: read, detail, .. }) = items.last() else {
            panic!("{terminal}")
        };
        assert_eq!((*read, detail.is_some()), (stop, has_detail), "{terminal}");
    }
}

#[test]
fn a_refusal_is_text_and_a_stop() {
    let item = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    let items = read(&[created(), delta("refusal", 0, "No."), done(0, item), completed()]);
    assert!(items.contains(&DecodedEvent::Text("No.".into())));
    assert!(items.contains(&DecodedEvent::Block(ContentBlock::Text("No.".into()))));
    assert!(matches!(
        items.last(),
        Some(DecodedEvent::Ended { stop: ModelStopReason::Refusal, .. })
    ));
}

#[test]
fn unknown_items_are_kept_verbatim() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "z": [1, {"a": null}],
        "encrypted_content": "x"});
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let items = read(&[
        created(),
        json!({"type": "response.brand_new", "delta": 7}),
        done(0, reasoning.clone()),
        done(1, search.clone()),
        completed(),
    ]);
    let kept: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            DecodedEvent::Block(ContentBlock::Provider(block)) => Some(block.json.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(kept, [reasoning.to_string(), search.to_string()]);
}

#[test]
fn items_sent_only_in_the_final_event_are_read_from_it() {
    let mut end = completed();
    end["response"]["output"] = json!([message("hi"), function_call("c1", "Read", "{}")]);
    let items = read(&[created(), delta("output_text", 0, "hi"), end.clone()]);
    assert!(items.contains(&DecodedEvent::Block(ContentBlock::Text("hi".into()))));
    assert_eq!(calls(&items).len(), 1);
    let told = read(&[created(), done(0, message("hi")), end]);
    assert_eq!(calls(&told).len(), 0, "never twice");
    assert!(matches!(told.last(), Some(DecodedEvent::Ended { .. })));
}

#[test]
fn a_protocol_error_voids_the_answer() {
    let table: Vec<(&str, Vec<Value>)> = vec![
        ("second beginning", vec![created(), created()]),
        ("item before the beginning", vec![done(0, message("x"))]),
        ("end before the beginning", vec![completed()]),
        ("item done twice", vec![created(), done(0, message("x")), done(0, message("x"))]),
        ("item begun again", vec![created(), done(0, message("x")), added(0, message(""))]),
        ("item without a type", vec![created(), done(0, json!({}))]),
        (
            "done without an item",
            vec![created(), json!({"type": "response.output_item.done", "output_index": 0})],
        ),
    ];
    for (name, list) in table {
        assert_eq!(kind_of(&read(&list)), FailureKind::ServerFault, "{name}");
    }
}

#[test]
fn the_number_of_items_is_limited() {
    let piece = "x".repeat(1024);
    let mut decoder = wire().new_decoder();
    decoder.set_limits(ResponseLimits { bytes: 64 * 1024, ..ResponseLimits::default() });
    let mut out = Vec::new();
    decoder.push(&events(&[created()]), &mut out);
    for index in 0..80 {
        if out.last().is_some_and(fixture::is_terminal) {
            break;
        }
        out.clear();
        decoder.push(&events(&[done(index, message(&piece))]), &mut out);
    }
    assert_eq!(kind_of(&out), FailureKind::ServerFault);
}

#[test]
fn arguments_are_shown_only_for_the_call_that_began_last() {
    let items = read(&[
        created(),
        added(0, function_call("c1", "Read", "")),
        added(1, function_call("c2", "Read", "")),
        delta("function_call_arguments", 0, "hidden"),
        delta("function_call_arguments", 1, "{}"),
        done(0, function_call("c1", "Read", "{\"a\":1}")),
        done(1, function_call("c2", "Read", "{}")),
        completed(),
    ]);
    let shown: Vec<&DecodedEvent> =
        items.iter().filter(|item| matches!(item, DecodedEvent::CallInput(_))).collect();
    assert_eq!(shown, [&DecodedEvent::CallInput("{}".into())]);
    assert_eq!(calls(&items).len(), 2);
}

#[test]
fn items_without_an_index_are_read_in_order() {
    let numbered = [
        created(),
        added(0, message("")),
        delta("output_text", 0, "I look."),
        done(0, message("I look.")),
        added(1, function_call("c1", "Read", "")),
        delta("function_call_arguments", 1, "{\"a\":1}"),
        done(1, function_call("c1", "Read", "{\"a\":1}")),
        added(2, function_call("c2", "Read", "")),
        delta("function_call_arguments", 2, "{}"),
        done(2, function_call("c2", "Read", "{}")),
        completed(),
    ];
    let mut bare = numbered.clone();
    for event in &mut bare {
        event.as_object_mut().expect("an object").remove("output_index");
    }
    assert_ne!(bare, numbered);
    assert_eq!(read(&bare), read(&numbered));
}
