//! Rows 28 to 32: answers that are whole and yet not what one hopes for.

use crate::fixture::recorder::Recorder;
use crate::fixture::{
    FixtureOptions, WIRES, added, assert_completed, assert_ended, assert_failed, ended, facts,
    last_request, retractions, serve_bytes, shown, transitions, waits,
};
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer as Says, StopReason};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    FailureKind, MessageOrigin, Notice, Outcome, Terminal, Tokens, Transition, WireFormat,
};

#[tokio::test]
async fn m28_empty_answers_complete_and_are_not_sent_back() {
    for wire in WIRES {
        for (name, says) in [
            ("nothing", Says::empty()),
            ("blanks", Says::text(" \n\t ")),
            ("thoughts", Says::empty().thinking("nothing to add")),
        ] {
            let mut fixture = FixtureOptions::on(wire).play([says, Says::text("oh, sorry")]).await;
            let (ending, received) = fixture.run("hi").await;
            assert_ended(&ending, Terminal::Completed);
            assert_eq!(ending.outcome, Some(Outcome::Empty), "{wire:?} {name}");
            assert!(ending.why.contains("empty answer"), "{ending:?}");
            assert_eq!(added(&received).len(), 1, "{wire:?} {name}: {received:#?}");
            // The next request is lawful (the fixture checks) and holds nothing of it.
            assert_completed(&fixture.run("are you there?").await.0);
            let body = fixture.rehearsal.requests().pop().unwrap().body;
            assert!(!body.contains("nothing to add") && !body.contains("assistant"), "{body}");
        }
    }
}

/// One run with this stream, and its notices.
async fn flooded(wire: WireFormat, stream: Vec<u8>) -> (RunEnding, Vec<Notice>) {
    let url = serve_bytes(stream).await;
    let (session, mut notices) =
        FixtureOptions::on(wire).without_retries().builder(&url).start().unwrap();
    session.submit("hi").unwrap();
    ended(&mut notices).await
}

/// The stream of a plain answer whose words are so many bytes in one piece.
fn flood(wire: WireFormat, bytes: usize) -> Vec<u8> {
    let events = Says::text("FLOOD").chunk(99).encode_events(wire, 1).concat();
    String::from_utf8(events).unwrap().replace("FLOOD", &"x".repeat(bytes)).into_bytes()
}

#[tokio::test]
async fn m29_a_huge_piece_is_taken_and_a_monstrous_one_refused() {
    for wire in WIRES {
        let (ending, received) = flooded(wire, flood(wire, 10 << 20)).await;
        assert_completed(&ending);
        assert_eq!(added(&received)[1].text().len(), 10 << 20, "{wire:?}");
        let (ending, received) = flooded(wire, flood(wire, 17 << 20)).await;
        assert_failed(&ending, FailureKind::ServerFault);
        assert!(ending.why.contains("over 16777216 bytes"), "{wire:?}: {ending:?}");
        assert_eq!(added(&received).len(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn m29_a_hundred_calls_run_ten_at_a_time_and_answer_in_order() {
    for wire in WIRES {
        let (recorder, registry) = Recorder::new();
        let calls = (0..100)
            .fold(Says::empty(), |says, at| says.tool("Look", json!({"at": format!("{at}")})));
        let says = [
            calls,
            Says::text("Done.").when_result("\\\"at\\\":\\\"99").repeat(0),
            Says::text("Done."),
        ];
        let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        assert_eq!(recorder.ran().len(), 100, "{wire:?}");
        assert!((2..=10).contains(&recorder.peak()), "{wire:?}: {}", recorder.peak());
        let messages = added(&received);
        let calls: Vec<_> = messages[1].tool_calls().map(|call| call.id.clone()).collect();
        let results: Vec<_> =
            messages[2].tool_results().map(|result| result.call.clone()).collect();
        assert_eq!((calls.len(), &calls), (100, &results), "{wire:?}");
    }
}

#[tokio::test]
async fn m29_a_flood_of_blocks_is_cut_off() {
    let block = |number: usize| -> String {
        let text = json!({"type": "text", "text": "x"});
        let start = json!({"type": "content_block_start", "index": number, "content_block": text});
        let stop = json!({"type": "content_block_stop", "index": number});
        format!("data: {start}\n\ndata: {stop}\n\n")
    };
    let item = |number: usize| -> String {
        let item = json!({"type": "mood", "id": format!("m{number}")});
        let done =
            json!({"type": "response.output_item.done", "output_index": number, "item": item});
        format!("data: {done}\n\n")
    };
    let call = |number: usize| -> String {
        let function = json!({"name": "Look", "arguments": "{}"});
        let call = json!({"index": number, "id": format!("c{number}"), "function": function});
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    };
    let part = |number: usize| -> String {
        let part = json!({"mood": number});
        format!("data: {}\n\n", json!({"candidates": [{"content": {"parts": [part]}}]}))
    };
    let kinds: [&dyn Fn(usize) -> String; 4] = [&block, &item, &call, &part];
    for (wire, one) in WIRES.into_iter().zip(kinds) {
        let first = Says::text("x").encode_events(wire, 1).remove(0);
        let first = if wire == WireFormat::Gemini { Vec::new() } else { first };
        let stream = [first, (0..10_050).map(one).collect::<String>().into_bytes()].concat();
        let (ending, received) = flooded(wire, stream).await;
        assert_failed(&ending, FailureKind::ServerFault);
        assert!(ending.why.contains("over 10000 blocks"), "{wire:?}: {ending:?}");
        assert_eq!((added(&received).len(), retractions(&received)), (1, 1), "{wire:?}");
    }
}

/// An answer that is cut at the output limit in the middle of a call's arguments.
fn cut_call() -> Says {
    Says::text("I act.").tool_text("Act", "{\"at\":\"half of").stop(StopReason::MaxTokens)
}

#[tokio::test]
async fn m30_output_limit_is_raised_once_then_resumed_then_told() {
    for wire in WIRES {
        let (recorder, registry) = Recorder::new();
        let options = FixtureOptions::on(wire).tools(registry);
        let mut fixture = options.play([cut_call().repeat(5), Says::text("enough")]).await;
        let (ending, received) = fixture.run("hi").await;
        assert_ended(&ending, Terminal::Completed);
        assert_eq!(ending.outcome, Some(Outcome::OutputLimitExhausted), "{wire:?}");
        let recovery = Transition::MaxOutputTokensRecovery;
        let all = [Transition::MaxOutputTokensEscalate, recovery, recovery, recovery];
        assert_eq!(transitions(&received), all, "{wire:?}");
        assert_eq!(ending.failure.map(|failure| failure.kind), Some(FailureKind::OutputLimit));
        // Complete blocks stay, the call that was cut does not, and nothing ran.
        assert_eq!(recorder.ran(), [""; 0], "{wire:?}");
        let kept: Vec<_> = added(&received);
        assert!(kept.iter().all(|message| message.tool_calls().next().is_none()), "{kept:#?}");
        assert_eq!(kept.iter().filter(|message| message.origin == MessageOrigin::Model).count(), 4);
        assert_completed(&fixture.run("never mind").await.0);
    }
}

#[tokio::test]
async fn m30_output_limit_that_can_be_raised_costs_only_the_cut_answer() {
    for wire in WIRES {
        let (recorder, registry) = Recorder::new();
        let says = [
            cut_call(),
            Says::text("I act.").tool("Act", json!({"at": "b"})),
            Says::text("Done.").when_result("did Act"),
        ];
        let options = FixtureOptions::on(wire).tools(registry).with(|settings| {
            settings.model.output_default = Tokens(1_000);
        });
        let mut fixture = options.play(says).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        let all = [Transition::MaxOutputTokensEscalate, Transition::NextTurn];
        assert_eq!(transitions(&received), all, "{wire:?}");
        assert_eq!((shown(&received), recorder.ran().len()), ("I act.Done.".to_owned(), 1));
        let body = fixture.rehearsal.requests()[1].body.clone();
        assert!(body.contains("64000") && !body.contains("I act."), "{wire:?}: {body}");
    }
}

#[tokio::test]
async fn m30_a_whole_call_beside_the_cut_one_runs() {
    // On the fourth wire calls come whole.
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses, WireFormat::OpenaiChat]
    {
        let (recorder, registry) = Recorder::new();
        let cut = Says::call("Look", json!({"at": "a"})).tool_text("Act", "{\"at\":\"half of");
        let says = [cut.stop(StopReason::MaxTokens), Says::text("Done.").when_result("did Look")];
        let mut fixture = FixtureOptions::on(wire).tools(registry).play(says).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        assert_eq!(transitions(&received), [Transition::NextTurn], "{wire:?}");
        assert_eq!(recorder.ran(), ["Look {\"at\":\"a\"}"], "{wire:?}");
    }
}

#[tokio::test]
async fn m31_refusals_complete_and_are_not_sent_back() {
    for wire in WIRES {
        let says =
            [Says::text("I would rather not.").stop(StopReason::Refusal), Says::text("Gladly.")];
        let options =
            FixtureOptions::on(wire).with(|settings| settings.fallbacks = vec![facts("second")]);
        let mut fixture = options.play(says).await;
        let (ending, received) = fixture.run("hi").await;
        assert_ended(&ending, Terminal::Completed);
        assert_eq!(ending.outcome, Some(Outcome::Refusal), "{wire:?}");
        assert_eq!(
            (shown(&received), waits(&received).len()),
            ("I would rather not.".to_owned(), 0)
        );
        assert_eq!((transitions(&received).len(), fixture.rehearsal.request_count()), (0, 1));
        assert!(
            added(&received).iter().any(|message| message.origin == MessageOrigin::Display),
            "{received:#?}"
        );
        assert_completed(&fixture.run("please").await.0);
        let body = last_request(&fixture.rehearsal).to_string();
        assert!(!body.contains("rather not") && body.contains("hi"), "{wire:?}: {body}");
    }
}

/// An answer that pauses in the middle of a tool of the provider's own.
fn paused(wire: WireFormat, number: usize) -> Says {
    let events = Says::text(format!("Part {number}.")).stop(StopReason::PauseTurn).chunk(99);
    let events = events.encode_events(wire, u64::try_from(number).unwrap());
    let text = String::from_utf8(events.concat()).unwrap();
    match wire {
        WireFormat::AnthropicMessages => {
            let id = format!("srvtoolu_{number}");
            let kind = "server_tool_use";
            let block = json!({"type": kind, "id": id, "name": "web_search", "input": {}});
            let start = json!({"type": "content_block_start", "index": 1, "content_block": block});
            let stop = json!({"type": "content_block_stop", "index": 1});
            let more = format!("data: {start}\n\ndata: {stop}\n\nevent: message_delta");
            Says::raw(text.replace("event: message_delta", &more))
        }
        _ => Says::raw(text.replace("\"STOP\"", "\"CONTINUATION\"")),
    }
}

#[tokio::test]
async fn m32_pauses_are_resumed_eight_times() {
    for wire in [WireFormat::AnthropicMessages, WireFormat::Gemini] {
        for (pauses, outcome) in [(8, Outcome::Natural), (9, Outcome::PausesExhausted)] {
            let script = (1..=pauses)
                .fold(Script::new(), |script, number| script.answer(paused(wire, number)));
            let script = script.answer(Says::text("The end.")).lenient();
            let rehearsal = windlass_rehearsal::Rehearsal::start(script, Default::default()).await;
            let rehearsal = rehearsal.unwrap();
            let (session, mut notices) =
                FixtureOptions::on(wire).builder(&rehearsal.url()).start().unwrap();
            session.submit("hi").unwrap();
            let (ending, received) = ended(&mut notices).await;
            assert_ended(&ending, Terminal::Completed);
            assert_eq!(ending.outcome, Some(outcome), "{wire:?}");
            assert_eq!(rehearsal.request_count(), 9, "{wire:?}");
            assert_eq!((ending.turns, waits(&received).len(), retractions(&received)), (1, 0, 0));
            let parts = added(&received).iter().filter(|m| m.text().starts_with("Part")).count();
            assert_eq!(parts, pauses, "{wire:?}");
            crate::fixture::assert_lawful(wire, &rehearsal);
            let last = rehearsal.requests().pop().unwrap().body;
            assert!(last.contains("Part 8."), "{wire:?}: {last}");
        }
    }
}
