//! Row 37: the summary itself fails.

use crate::fixture::recorder::Recorder;
use crate::fixture::{FixtureOptions, SessionFixture, WIRES, assert_completed, warnings};
use serde_json::json;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{RequestSource, Terminal, Tokens, WireFormat};

/// A window so small that a few long results fill it.
async fn cramped(wire: WireFormat, summaries: impl IntoIterator<Item = Says>) -> SessionFixture {
    let (_, registry) = Recorder::new();
    let options = FixtureOptions::on(wire).tools(registry).with(|settings| {
        settings.model.window = Tokens(4_000);
        settings.model.output_default = Tokens(500);
        settings.context.microcompact_percent = 100;
        settings.context.collapse_percent = 101;
        settings.limits.reactive_compact = false;
    });
    let says = [
        Says::text("seen").when_source(RequestSource::Main).when_result("did Look").repeat(0),
        Says::call("Look", json!({"at": "a", "lines": 350}))
            .when_source(RequestSource::Main)
            .repeat(0),
    ];
    let summaries = summaries.into_iter().map(|says| says.when_source(RequestSource::Compaction));
    options.play(summaries.chain(says)).await
}

fn summaries_asked(fixture: &SessionFixture) -> usize {
    let requests = fixture.rehearsal.requests();
    let is_summary = |source: Option<&str>| source == Some("compaction");
    requests.iter().filter(|request| is_summary(request.header("x-windlass-source"))).count()
}

#[tokio::test]
async fn m37_failing_summaries_are_told_and_switched_off_after_three() {
    for wire in WIRES {
        let cut = Says::text("the story").chunk(2).fault(ScriptedFault::cut_after_event(3));
        for (name, summary) in [
            ("refused", Says::from_fault(ScriptedFault::refuse(500))),
            ("unauthorised", Says::from_fault(ScriptedFault::refuse(401))),
            ("cut", cut),
            ("empty", Says::empty()),
        ] {
            let mut fixture = cramped(wire, [summary.repeat(0)]).await;
            let (mut failed, mut was_off) = (0, false);
            for run in 1..=20 {
                let before = fixture.rehearsal.request_count();
                let (ending, received) = fixture.run("look").await;
                let received = warnings(&received);
                failed +=
                    received.iter().filter(|words| words.contains("the summary failed")).count();
                was_off |= received.iter().any(|words| words.contains("auto-compaction is off"));
                assert_eq!((failed, was_off), (summaries_asked(&fixture), failed == 3), "{name}");
                if ending.terminal == Terminal::BlockingLimit {
                    // Refused before anything was sent that could not work.
                    assert!(was_off && fixture.rehearsal.request_count() <= before + 1, "{name}");
                    break;
                }
                assert_completed(&ending);
                assert!(run < 20, "{wire:?}, {name}: the window never filled");
            }
            assert_eq!(failed, 3, "{wire:?}, {name}");
        }
    }
}

#[tokio::test]
async fn m37_a_summary_that_works_starts_the_count_again() {
    for wire in WIRES {
        let bad = || Says::from_fault(ScriptedFault::refuse(500));
        let good = || Says::text("the story so far");
        let mut fixture = cramped(wire, [bad(), bad(), good(), bad(), bad(), good()]).await;
        let mut runs = 0;
        while summaries_asked(&fixture) < 6 {
            let (ending, received) = fixture.run("look").await;
            assert_completed(&ending);
            let is_off = |words: &&str| words.contains("auto-compaction is off");
            assert!(!warnings(&received).iter().any(is_off), "{wire:?}: {received:#?}");
            runs += 1;
            assert!(runs < 40, "{wire:?}: the window never filled");
        }
    }
}
