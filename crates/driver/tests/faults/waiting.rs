//! Rows 1 to 5: a server that wants to be left alone for a while.

use std::time::Duration;

use crate::fixture::{
    FixtureOptions, WIRES, assert_completed, assert_ended, assert_failed, facts, shown, waits,
};
use crate::words::{refusals, refuse};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{FailureKind, Millis, ModelName, Notice, Terminal, WireFormat};

#[tokio::test]
async fn m01_rate_limit_waits_as_long_as_the_server_says() {
    for wire in WIRES {
        for (header, value, expected) in [("retry-after-ms", "30", 30), ("retry-after", "0.04", 40)]
        {
            let answers = [refuse(429, &[(header, value)]), Says::text("now")];
            let mut fixture = FixtureOptions::on(wire).play(answers).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert_eq!(ending.turns, 1, "a retry is no turn");
            let expected = (FailureKind::RateLimited, expected);
            assert_eq!(waits(&received), [expected], "{wire:?} {header}");
            assert_eq!(shown(&received), "now");
        }
    }
}

#[tokio::test]
async fn m01_rate_limit_without_a_sane_wish_is_our_own_backoff() {
    for wire in WIRES {
        for wish in ["-5", "soon", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            let answers = [refuse(429, &[("retry-after", wish)]), Says::text("now")];
            let mut fixture = FixtureOptions::on(wire).play(answers).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert!(
                matches!(waits(&received)[..], [(_, 1..=1_000)]),
                "{wire:?}, {wish}: {received:#?}"
            );
        }
    }
}

#[tokio::test]
async fn m01_rate_limit_beyond_reason_is_clamped_or_given_up() {
    for wire in WIRES {
        for wish in ["Fri, 31 Dec 9998 23:59:59 GMT", "99999999999999"] {
            // More than anybody waits: the run gives up at once and says why.
            let answers = [refuse(429, &[("retry-after", wish)]).repeat(2), Says::text("again")];
            let mut fixture = FixtureOptions::on(wire).play(answers.clone()).await;
            let (ending, received) = fixture.run("hi").await;
            assert_failed(&ending, FailureKind::RateLimited);
            assert_eq!(waits(&received), [], "{wire:?}, {wish}");
            // A caller that would wait forever waits an hour.
            let options = FixtureOptions::on(wire)
                .with(|settings| settings.retry.wait_max = Millis(u64::MAX));
            let mut fixture = options.play(answers).await;
            fixture.session.submit("hi").unwrap();
            let received =
                fixture.until(|notice| matches!(notice, Notice::RetryScheduled { .. })).await;
            assert_eq!(
                waits(&received),
                [(FailureKind::RateLimited, 3_600_000)],
                "{wire:?}, {wish}"
            );
        }
    }
}

#[tokio::test]
async fn m02_rate_limit_without_a_wish_backs_off_with_jitter_and_gives_up() {
    for wire in WIRES {
        let options = FixtureOptions::on(wire).with(|settings| settings.limits.retries_max = 3);
        let mut fixture = options.play([refuse(429, &[]).repeat(4)]).await;
        let (ending, received) = fixture.run("hi").await;
        assert_failed(&ending, FailureKind::RateLimited);
        let waits: Vec<u64> = waits(&received).into_iter().map(|(_, wait)| wait).collect();
        assert!(matches!(waits[..], [1..=1_000, 1..=2_000, 1..=4_000]), "{waits:?}");
        assert!(waits[0] != waits[1] && waits[1] != waits[2], "no jitter: {waits:?}");
        assert_eq!(fixture.rehearsal.request_count(), 4);
    }
}

#[tokio::test]
async fn m02_ten_tries_and_no_more() {
    let mut fixture = FixtureOptions::default().play([refusals(429, 99)]).await;
    let (ending, received) = fixture.run("hi").await;
    assert_failed(&ending, FailureKind::RateLimited);
    assert_eq!((waits(&received).len(), fixture.rehearsal.request_count()), (10, 11));
    let counted = received.iter().filter_map(|notice| match notice {
        Notice::RetryScheduled { attempt, attempts_max: 10, failure, .. } => {
            assert!(failure.request_id.is_some(), "{failure:?}");
            Some(*attempt)
        }
        _ => None,
    });
    assert_eq!(counted.collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
}

#[tokio::test]
async fn m04_overload_is_retried_and_the_third_in_a_row_asks_the_next_model() {
    for wire in WIRES {
        for status in [503, 529] {
            let answers = [
                refusals(status, 3).when_model("rehearsed"),
                Says::text("I can help").when_model("second"),
            ];
            let options = FixtureOptions::on(wire)
                .with(|settings| settings.fallbacks = vec![facts("second-model")]);
            let mut fixture = options.play(answers).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert_eq!(waits(&received), [(FailureKind::Overloaded, 1); 2], "{wire:?} {status}");
            assert_eq!(switches(&received), [("rehearsed-model".into(), "second-model".into())]);
            assert_eq!(shown(&received), "I can help");
        }
    }
}

#[tokio::test]
async fn m04_overload_without_a_fallback_is_waited_out() {
    for wire in WIRES {
        let answers = [refusals(529, 5), refusals(503, 4), Says::text("at last")];
        let mut fixture = FixtureOptions::on(wire).play(answers).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        assert_eq!(waits(&received), [(FailureKind::Overloaded, 1); 9], "{wire:?}");
        assert_eq!(shown(&received), "at last");
    }
}

#[tokio::test]
async fn m05_server_faults_are_retried() {
    for wire in WIRES {
        for status in [500, 502, 504] {
            let answers = [refusals(status, 2), Says::text("recovered")];
            let mut fixture = FixtureOptions::on(wire).play(answers).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert_eq!(waits(&received), [(FailureKind::ServerFault, 1); 2], "{wire:?} {status}");
            assert_eq!(shown(&received), "recovered");
        }
    }
}

/// A session that has announced a pause of ten minutes.
async fn waiting(options: FixtureOptions, then: Says) -> crate::fixture::SessionFixture {
    let mut fixture = options.play([refuse(503, &[("retry-after", "600")]), then]).await;
    fixture.session.submit("hi").unwrap();
    let received = fixture.until(|notice| matches!(notice, Notice::RetryScheduled { .. })).await;
    assert_eq!(waits(&received), [(FailureKind::Overloaded, 600_000)]);
    fixture
}

#[tokio::test]
async fn waits_end_at_once_when_interrupted() {
    let began = std::time::Instant::now();
    let mut fixture = waiting(FixtureOptions::default(), Says::text("fresh")).await;
    fixture.session.interrupt(windlass_driver::Interrupt::User).unwrap();
    assert_ended(&fixture.ending().await.0, Terminal::AbortedStreaming);
    assert_completed(&fixture.run("again").await.0);
    assert!(began.elapsed() < Duration::from_secs(300), "the pause is ten minutes");
}

#[tokio::test]
async fn waits_end_at_once_when_somebody_wants_to_try_now() {
    let began = std::time::Instant::now();
    let mut fixture = waiting(FixtureOptions::default(), Says::text("back")).await;
    fixture.session.retry_now().unwrap();
    let (ending, received) = fixture.ending().await;
    assert_completed(&ending);
    assert_eq!(shown(&received), "back");
    // Without a pause there is nothing to end.
    fixture.session.retry_now().unwrap();
    assert!(began.elapsed() < Duration::from_secs(300), "the pause is ten minutes");
}

#[tokio::test]
async fn waits_of_a_run_have_a_limit_together() {
    for wire in WIRES {
        let options =
            FixtureOptions::on(wire).with(|settings| settings.retry.wait_max = Millis(100));
        let wish = refuse(529, &[("retry-after-ms", "40")]).repeat(9);
        let mut fixture = options.play([wish.clone(), Says::text("free again")]).await;
        let (ending, received) = fixture.run("hi").await;
        assert_failed(&ending, FailureKind::Overloaded);
        assert_eq!(waits(&received), [(FailureKind::Overloaded, 40); 2], "{wire:?}");
        assert_eq!(fixture.rehearsal.request_count(), 3);
    }
}

#[tokio::test]
async fn waits_that_are_over_the_limit_ask_the_next_model() {
    let options = FixtureOptions::on(WireFormat::Gemini).with(|settings| {
        settings.retry.wait_max = Millis(100);
        settings.fallbacks = vec![facts("second-model")];
    });
    let answers = [
        refuse(429, &[("retry-after", "3600")]).when_model("rehearsed"),
        Says::text("no wait here").when_model("second"),
    ];
    let mut fixture = options.play(answers).await;
    let (ending, received) = fixture.run("hi").await;
    assert_completed(&ending);
    assert_eq!((waits(&received).len(), switches(&received).len()), (0, 1));
}

pub(crate) fn switches(received: &[Notice]) -> Vec<(ModelName, ModelName)> {
    let all = received.iter().filter_map(|notice| match notice {
        Notice::ModelSwitched { from, to, .. } => Some((from.clone(), to.clone())),
        _ => None,
    });
    all.collect()
}
