//! Rows 14 to 19: a stream that is cut, at the places that matter.

use crate::fixture::recorder::Recorder;
use crate::fixture::{
    FixtureOptions, SessionFixture, WIRES, added, assert_completed, retractions, shown,
    transitions, waits,
};
use serde_json::json;
use windlass_dialect::{DecodedEvent, dialect};
use windlass_driver::engine_settings::Settings;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{
    ContentBlock, FailureKind, Notice, PermissionMode, Transition, WireFormat,
};

/// Reasoning, text, a call that reads, a call with effects, and a last word.
fn rich() -> Says {
    Says::text("I begin.")
        .thinking("Let me see.")
        .tool("Look", json!({"at": "a"}))
        .tool("Act", json!({"at": "b"}))
        .text_after("And now?")
}

const LOOK: &str = "Look {\"at\":\"a\"}";
const ACT: &str = "Act {\"at\":\"b\"}";

/// The rich answer with a fault, then whole, and a last answer as soon as tools were heard of.
fn script(fault: Option<ScriptedFault>) -> [Says; 3] {
    let first = fault.into_iter().fold(rich(), Says::fault);
    [first, Says::text("Done.").when_result("did"), rich()]
}

async fn play(
    wire: WireFormat,
    fault: ScriptedFault,
    change: impl FnOnce(&mut Settings),
) -> (SessionFixture, Recorder) {
    let (recorder, registry) = Recorder::new();
    let options = FixtureOptions::on(wire).tools(registry).with(change);
    (options.play(script(Some(fault))).await, recorder)
}

/// The number of the first event that contains this.
fn event_with(wire: WireFormat, part: &str) -> usize {
    let events = rich().encode_events(wire, 1);
    let found = events.iter().position(|event| String::from_utf8_lossy(event).contains(part));
    found.unwrap_or_else(|| panic!("no {part} on {wire:?}")) + 1
}

fn is_sealed(received: &[Notice]) -> bool {
    received.iter().any(|notice| matches!(notice, Notice::Sealed { .. }))
}

#[tokio::test]
async fn m14_cut_before_the_answer_begins() {
    for wire in WIRES {
        let (mut fixture, recorder) = play(wire, ScriptedFault::cut_after_event(0), |_| {}).await;
        let (ending, received) = fixture.run("go").await;
        assert_completed(&ending);
        assert!(matches!(waits(&received)[..], [(FailureKind::Transport, 1..2_000)]), "{wire:?}");
        assert_eq!((retractions(&received), recorder.ran()), (0, vec![LOOK.into(), ACT.into()]));
    }
}

#[tokio::test]
async fn m15_cut_inside_text_or_reasoning() {
    for wire in WIRES {
        for part in ["Let me see.", "I begin."] {
            let fault = ScriptedFault::cut_after_event(event_with(wire, part));
            let (mut fixture, recorder) = play(wire, fault, |_| {}).await;
            let (ending, received) = fixture.run("go").await;
            assert_completed(&ending);
            // Withdrawn, and not sent again.
            assert_eq!(retractions(&received), 1, "{wire:?} {part}: {received:#?}");
            assert_eq!(shown(&received), "I begin.And now?Done.", "{wire:?} {part}");
            let again = &fixture.rehearsal.requests()[1].body;
            assert!(!again.contains(part), "{wire:?} {part}: {again}");
            assert_eq!(recorder.ran(), [LOOK, ACT], "{wire:?} {part}");
        }
    }
}

#[tokio::test]
async fn m16_cut_inside_the_arguments_of_a_call() {
    // On the fourth wire arguments are never cut: calls come whole.
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses, WireFormat::OpenaiChat]
    {
        let events = rich().encode_events(wire, 1);
        let at = event_with(wire, "at\\\"");
        let bytes: usize = events[..at - 1].iter().map(Vec::len).sum();
        for fault in [
            ScriptedFault::cut_after_event(at),
            ScriptedFault::cut_after_byte(bytes + events[at - 1].len() / 2),
        ] {
            let (mut fixture, recorder) = play(wire, fault, |_| {}).await;
            let (ending, received) = fixture.run("go").await;
            assert_completed(&ending);
            assert_eq!(
                (retractions(&received), is_sealed(&received)),
                (1, false),
                "{wire:?}: {received:#?}"
            );
            assert!(!fixture.rehearsal.requests()[1].body.contains("Let me see"), "{wire:?}");
            assert_eq!(recorder.ran(), [LOOK, ACT], "{wire:?}");
        }
    }
}

/// Where the first call is complete and the second has not begun.
fn after_first_call(wire: WireFormat) -> usize {
    let whole: Vec<usize> = (0..rich().encode_events(wire, 1).len())
        .filter(|events| complete(wire, &prefix(wire, *events)).0 == 1)
        .collect();
    *whole.first().unwrap_or_else(|| panic!("no such place on {wire:?}"))
}

fn prefix(wire: WireFormat, events: usize) -> Vec<u8> {
    rich().encode_events(wire, 1)[..events].concat()
}

/// How many calls are complete in these bytes, and whether the answer is.
pub(crate) fn complete(wire: WireFormat, bytes: &[u8]) -> (usize, bool) {
    let mut decoder = dialect(wire).unwrap().new_decoder();
    let mut out = Vec::new();
    decoder.push(bytes, &mut out);
    decoder.finish(&mut out);
    let calls = out.iter().filter(|piece| matches!(piece, DecodedEvent::Call { .. })).count();
    (calls, matches!(out.last(), Some(DecodedEvent::Ended { .. })))
}

#[tokio::test]
async fn m17_cut_after_a_call_that_has_not_started() {
    // On the chat wire calls are complete only when the answer is.
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses, WireFormat::Gemini] {
        // Tools wait for the end of the answer.
        let fault = ScriptedFault::cut_after_event(after_first_call(wire));
        let (mut fixture, recorder) =
            play(wire, fault.clone(), |settings| settings.switches.batch_tools = true).await;
        let (ending, received) = fixture.run("go").await;
        assert_completed(&ending);
        assert_eq!(
            (retractions(&received), is_sealed(&received)),
            (1, false),
            "{wire:?}: {received:#?}"
        );
        assert!(!fixture.rehearsal.requests()[1].body.contains("I begin."), "{wire:?}");
        assert_eq!(recorder.ran(), [LOOK, ACT], "{wire:?}");

        // The user is still being asked: the question goes with the answer.
        let first = Says::call("Act", json!({"at": "b"})).text_after("And now?");
        let cut = (1..first.encode_events(wire, 1).len()).find(|events| {
            complete(wire, &first.encode_events(wire, 1)[..*events].concat()).0 == 1
        });
        let fault = ScriptedFault::cut_after_event(cut.unwrap());
        let (recorder, registry) = Recorder::new();
        let options = FixtureOptions::on(wire).tools(registry).with(|settings| {
            settings.policy.mode = PermissionMode::Default;
            settings.policy.can_ask = true;
        });
        let mut fixture = options.play([first.fault(fault), Says::text("never mind")]).await;
        let (ending, received) = fixture.run("go").await;
        assert_completed(&ending);
        let asked: Vec<_> = received
            .iter()
            .filter_map(|notice| match notice {
                Notice::PermissionAsked { ticket, .. } => Some((true, *ticket)),
                Notice::PermissionWithdrawn(ticket) => Some((false, *ticket)),
                _ => None,
            })
            .collect();
        assert!(matches!(asked[..], [(true, a), (false, b)] if a == b), "{wire:?}: {asked:?}");
        assert_eq!((shown(&received), recorder.ran().len()), ("never mind".to_owned(), 0));
    }
}

#[tokio::test]
async fn m18_cut_after_a_call_that_has_started() {
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses, WireFormat::Gemini] {
        let fault = ScriptedFault::cut_after_event(after_first_call(wire));
        let (mut fixture, recorder) = play(wire, fault, |_| {}).await;
        // The tool is still running when the cut is noticed.
        recorder.hold();
        fixture.session.submit("go").unwrap();
        fixture.until(|notice| matches!(notice, Notice::Sealed { .. })).await;
        recorder.release();
        let (ending, received) = fixture.ending().await;
        assert_completed(&ending);
        assert_eq!(transitions(&received), [Transition::NextTurn], "{wire:?}");
        assert_eq!((retractions(&received), waits(&received).len()), (0, 0), "{wire:?}");
        assert_eq!(recorder.ran(), [LOOK], "{wire:?}");
        let next = &fixture.rehearsal.requests()[1].body;
        assert!(next.contains("I begin.") && next.contains("did Look"), "{wire:?}: {next}");
        assert_eq!(next.matches("Act").count(), 1, "only on offer: {next}");
        assert_eq!(fixture.rehearsal.request_count(), 2);
    }
}

#[tokio::test]
async fn m19_cut_after_the_stop_reason() {
    for wire in WIRES {
        let says = Says::text("All of it.");
        let events = says.encode_events(wire, 1);
        let whole = (1..=events.len()).find(|count| complete(wire, &events[..*count].concat()).1);
        for cut in whole.unwrap()..=events.len() {
            let cut = says.clone().fault(ScriptedFault::cut_after_event(cut));
            let mut fixture = FixtureOptions::on(wire).play([cut, Says::text("and more")]).await;
            let (ending, received) = fixture.run("go").await;
            assert_completed(&ending);
            assert_eq!((shown(&received), waits(&received).len()), ("All of it.".to_owned(), 0));
            let kept = added(&received);
            assert!(
                matches!(&kept[1].content[..], [ContentBlock::Text(text)] if text == "All of it.")
            );
            assert_completed(&fixture.run("more").await.0);
        }
    }
}
