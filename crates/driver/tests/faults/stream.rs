//! Rows 20 to 22 and 27: a stream that breaks its promises, or only stops.

use std::time::Duration;

use crate::cut::complete;
use crate::fixture::recorder::Recorder;
use crate::fixture::{
    FixtureOptions, WIRES, assert_completed, assert_failed, retractions, shown, transitions, waits,
    warnings,
};
use crate::words::overload;
use serde_json::json;
use windlass_driver::ModelTimeouts;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{FailureKind, Notice, Transition, WireFormat};

const LONG: Duration = Duration::from_secs(60);

/// Nothing runs out.
const CALM: ModelTimeouts = ModelTimeouts {
    quiet: LONG,
    connect: LONG,
    local_start: Duration::ZERO,
    headers: LONG,
    silence: LONG,
    event: LONG,
    pings: LONG,
};

fn half() -> Says {
    Says::text("half an answer that").chunk(4)
}

#[tokio::test]
async fn m20_error_in_the_stream_is_acted_on_at_once() {
    for wire in WIRES {
        for hold_open in [false, true] {
            for (after_event, kind, expected) in [
                (0, overload(wire), FailureKind::Overloaded),
                (half().encode_events(wire, 1).len() - 3, overload(wire), FailureKind::Overloaded),
                (half().encode_events(wire, 1).len() - 3, "api_error", FailureKind::ServerFault),
            ] {
                let message = "the cooks are on strike".to_owned();
                let fault = ScriptedFault::ErrorEvent {
                    kind: kind.to_owned(),
                    message,
                    after_event,
                    hold_open,
                };
                let says = [half().fault(fault), Says::text("all of it")];
                let mut fixture = FixtureOptions::on(wire).timeouts(CALM).play(says).await;
                let (ending, received) = fixture.run("hi").await;
                let context = format!("{wire:?} {kind} {after_event} {hold_open}");
                assert_completed(&ending);
                assert_eq!(shown(&received), "all of it", "{context}");
                assert_eq!(retractions(&received), usize::from(after_event > 0), "{context}");
                let retried_failure = received.iter().find_map(|notice| match notice {
                    Notice::RetryScheduled { failure, .. } => {
                        Some((failure.kind, failure.message.as_str()))
                    }
                    _ => None,
                });
                assert_eq!(
                    retried_failure,
                    Some((expected, "the cooks are on strike")),
                    "{context}"
                );
            }
        }
    }
}

#[tokio::test]
async fn m20_error_in_the_stream_after_a_tool_started_seals_the_answer() {
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses, WireFormat::Gemini] {
        let says = Says::call("Act", json!({"at": "b"})).text_after("And then?");
        let events = says.encode_events(wire, 1);
        let whole =
            (1..events.len()).find(|count| complete(wire, &events[..*count].concat()).0 == 1);
        let fault = ScriptedFault::ErrorEvent {
            kind: overload(wire).to_owned(),
            message: "no more".to_owned(),
            after_event: whole.unwrap(),
            hold_open: true,
        };
        let (recorder, registry) = Recorder::new();
        let options = FixtureOptions::on(wire).timeouts(CALM).tools(registry);
        let says = [says.fault(fault), Says::text("done").when_result("did Act")];
        let mut fixture = options.play(says).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        assert!(received.iter().any(|notice| matches!(notice, Notice::Sealed { .. })), "{wire:?}");
        assert_eq!(transitions(&received), [Transition::NextTurn], "{wire:?}");
        assert_eq!(recorder.ran().len(), 1, "{wire:?}");
    }
}

/// One answer that stops like this, one that does not; the words of the failure and what is told
/// before it.
async fn stops(
    wire: WireFormat,
    timeouts: ModelTimeouts,
    fault: ScriptedFault,
) -> (String, Vec<Notice>) {
    let says = [half().fault(fault.clone()), Says::text("all of it")];
    let mut fixture = FixtureOptions::on(wire).timeouts(timeouts).play(says).await;
    let (ending, received) = fixture.run("hi").await;
    assert_completed(&ending);
    assert_eq!(shown(&received), "all of it", "{wire:?} {fault:?}");
    let failure = received.iter().find_map(|notice| match notice {
        Notice::RetryScheduled { failure, .. } => Some(failure.clone()),
        _ => None,
    });
    let failure = failure.unwrap_or_else(|| panic!("{wire:?} {fault:?}: no wait in {received:#?}"));
    assert_eq!(failure.kind, FailureKind::Transport);
    (failure.message, received)
}

/// How long a silence is before it is told, and how long before it is cut: so much longer than a busy
/// machine needs for the next piece that the second try is never cut.
const QUIET: Duration = Duration::from_millis(400);
const CUT: Duration = Duration::from_secs(3);

/// Told after a while, and then after twice as long each time, so that a long silence does not fill
/// the screen. How often depends on how busy the machine is.
#[track_caller]
fn assert_quiet_told(received: &[Notice]) {
    let spans = ["400 ms", "800 ms", "1600 ms"];
    let spans = spans.map(|span| format!("no data from the model server for {span}"));
    let warnings: Vec<String> = warnings(received).into_iter().map(str::to_owned).collect();
    assert!(!warnings.is_empty() && spans.starts_with(&warnings), "{warnings:?}");
}

#[tokio::test]
async fn m21_silence_is_told_and_then_cut() {
    let timeouts = ModelTimeouts { quiet: QUIET, silence: CUT, ..CALM };
    let stalled = WIRES.map(|wire| {
        [0, half().encode_events(wire, 1).len() - 3].map(|events| {
            let fault = ScriptedFault::stall_after_event(events);
            (wire, events, tokio::spawn(stops(wire, timeouts, fault)))
        })
    });
    for (wire, events, stopped) in stalled.into_iter().flatten() {
        let (words, received) = stopped.await.unwrap();
        assert_eq!(words, "the server sent nothing for 3 s", "{wire:?}");
        assert_quiet_told(&received);
        assert_eq!(retractions(&received), usize::from(events > 0), "{wire:?}");
    }
}

#[tokio::test]
async fn m21_signs_of_life_alone_are_cut_later() {
    let timeouts =
        ModelTimeouts { event: Duration::from_secs(3), pings: Duration::from_secs(4), ..CALM };
    let fault = |wire| ScriptedFault::StallAfterEvent {
        events: half().encode_events(wire, 1).len() - 3,
        ping: Some(Duration::from_millis(10)),
    };
    let stopped = WIRES.map(|wire| tokio::spawn(stops(wire, timeouts, fault(wire))));
    // A caller that wants the raw events gets no longer patience.
    let wire = WireFormat::AnthropicMessages;
    let rehearsal = crate::fixture::rehearse([half().fault(fault(wire))]).await;
    let options = FixtureOptions::on(wire).timeouts(timeouts).without_retries();
    let (session, mut notices) =
        options.builder(&rehearsal.url()).raw_events(true).start().unwrap();
    session.submit("hi").unwrap();
    assert_failed(&crate::fixture::ended(&mut notices).await.0, FailureKind::Transport);
    for (wire, stopped) in WIRES.into_iter().zip(stopped) {
        let (words, received) = stopped.await.unwrap();
        assert_eq!(words, "the server sent only signs of life for 4 s", "{wire:?}");
        assert_eq!(warnings(&received), [""; 0], "{wire:?}");
    }
}

#[tokio::test]
async fn m21_a_server_that_never_begins_is_told_and_then_cut() {
    let timeouts = ModelTimeouts { quiet: QUIET, headers: CUT, ..CALM };
    let cut = WIRES.map(|wire| {
        tokio::spawn(async move {
            // Takes the connection and stays mute.
            let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}", mute.local_addr().unwrap());
            let options = FixtureOptions::on(wire).timeouts(timeouts).without_retries();
            let (session, mut notices) = options.builder(&url).start().unwrap();
            session.submit("hi").unwrap();
            crate::fixture::ended(&mut notices).await
        })
    });
    for cut in cut {
        let (ending, received) = cut.await.unwrap();
        assert_failed(&ending, FailureKind::Transport);
        assert!(ending.why.contains("did not begin to answer within 3 s"), "{ending:?}");
        assert_quiet_told(&received);
    }
}

#[tokio::test]
async fn m22_a_server_that_drips_is_cut() {
    let timeouts = ModelTimeouts { event: Duration::from_secs(2), ..CALM };
    let fault = ScriptedFault::Slow { per_byte: Duration::from_millis(100) };
    let dripped = WIRES.map(|wire| (wire, tokio::spawn(stops(wire, timeouts, fault.clone()))));
    for (wire, stopped) in dripped {
        let (words, received) = stopped.await.unwrap();
        assert_eq!(words, "the server sent no whole event for 2 s", "{wire:?}");
        assert_eq!(retractions(&received), 0);
    }
}

#[tokio::test]
async fn m27_events_out_of_order_void_the_answer() {
    let messages = WireFormat::AnthropicMessages;
    let responses = WireFormat::OpenaiResponses;
    let text = Says::text("half an answer that").chunk(4);
    for (wire, name, broken) in [
        (messages, "a second start", [0, 1, 2, 0, 3, 4, 5]),
        (messages, "a block twice", [0, 1, 2, 3, 1, 4, 5]),
        (messages, "a piece of no block", [0, 2, 1, 2, 3, 4, 5]),
        (messages, "an end inside a block", [0, 1, 2, 3, 8, 4, 5]),
        (messages, "a piece after the end", [0, 1, 2, 7, 8, 2, 9]),
        (responses, "a second start", [0, 1, 2, 3, 4, 5, 0]),
    ] {
        let events = text.encode_events(wire, 1);
        let stream: Vec<u8> = broken.iter().flat_map(|at| events[*at].clone()).collect();
        let mut fixture =
            FixtureOptions::on(wire).play([Says::raw(stream), Says::text("all of it")]).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        assert_eq!(shown(&received), "all of it", "{wire:?} {name}");
        let waits = waits(&received);
        assert!(matches!(waits[..], [(FailureKind::ServerFault, _)]), "{wire:?} {name}: {waits:?}");
        assert!(!fixture.rehearsal.requests()[1].body.contains("half"), "{wire:?} {name}");
    }
}
