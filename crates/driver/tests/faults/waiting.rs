//! Rows 1 to 5: a server that wants to be left alone for a while.

use std::time::Duration;

use crate::stage::{
    Setting, WIRES, assert_completed, assert_ended, assert_failed, facts, shown, waits,
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
            let mut stage = Setting::on(wire).play(answers).await;
            let (ending, told) = stage.run("hi").await;
            assert_completed(&ending);
            assert_eq!(ending.turns, 1, "a retry is no turn");
            let expected = (FailureKind::RateLimited, expected);
            assert_eq!(waits(&told), [expected], "{wire:?} {header}");
            assert_eq!(shown(&told), "now");
        }
    }
}

#[tokio::test]
async fn m01_rate_limit_without_a_sane_wish_is_our_own_backoff() {
    for wire in WIRES {
        for wish in ["-5", "soon", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            let answers = [refuse(429, &[("retry-after", wish)]), Says::text("now")];
            let mut stage = Setting::on(wire).play(answers).await;
            let (ending, told) = stage.run("hi").await;
            assert_completed(&ending);
            assert!(matches!(waits(&told)[..], [(_, 1..=1_000)]), "{wire:?}, {wish}: {told:#?}");
        }
    }
}

#[tokio::test]
async fn m01_rate_limit_beyond_reason_is_clamped_or_given_up() {
    for wire in WIRES {
        for wish in ["Fri, 31 Dec 9998 23:59:59 GMT", "99999999999999"] {
            // More than anybody waits: the run gives up at once and says why.
            let answers = [refuse(429, &[("retry-after", wish)]).repeat(2), Says::text("again")];
            let mut stage = Setting::on(wire).play(answers.clone()).await;
            let (ending, told) = stage.run("hi").await;
            assert_failed(&ending, FailureKind::RateLimited);
            assert_eq!(waits(&told), [], "{wire:?}, {wish}");
            // Somebody who would wait for ever waits an hour.
            let setting =
                Setting::on(wire).with(|settings| settings.retry.wait_max = Millis(u64::MAX));
            let mut stage = setting.play(answers).await;
            stage.session.submit("hi").unwrap();
            let told = stage.until(|notice| matches!(notice, Notice::RetryScheduled { .. })).await;
            assert_eq!(waits(&told), [(FailureKind::RateLimited, 3_600_000)], "{wire:?}, {wish}");
        }
    }
}

#[tokio::test]
async fn m02_rate_limit_without_a_wish_backs_off_with_jitter_and_gives_up() {
    for wire in WIRES {
        let setting = Setting::on(wire).with(|settings| settings.limits.retries_max = 3);
        let mut stage = setting.play([refuse(429, &[]).repeat(4)]).await;
        let (ending, told) = stage.run("hi").await;
        assert_failed(&ending, FailureKind::RateLimited);
        let waits: Vec<u64> = waits(&told).into_iter().map(|(_, wait)| wait).collect();
        assert!(matches!(waits[..], [1..=1_000, 1..=2_000, 1..=4_000]), "{waits:?}");
        assert!(waits[0] != waits[1] && waits[1] != waits[2], "no jitter: {waits:?}");
        assert_eq!(stage.rehearsal.request_count(), 4);
    }
}

#[tokio::test]
async fn m02_ten_tries_and_no_more() {
    let mut stage = Setting::default().play([refusals(429, 99)]).await;
    let (ending, told) = stage.run("hi").await;
    assert_failed(&ending, FailureKind::RateLimited);
    assert_eq!((waits(&told).len(), stage.rehearsal.request_count()), (10, 11));
    let counted = told.iter().filter_map(|notice| match notice {
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
            let setting =
                Setting::on(wire).with(|settings| settings.fallbacks = vec![facts("second-model")]);
            let mut stage = setting.play(answers).await;
            let (ending, told) = stage.run("hi").await;
            assert_completed(&ending);
            assert_eq!(waits(&told), [(FailureKind::Overloaded, 1); 2], "{wire:?} {status}");
            assert_eq!(switches(&told), [("rehearsed-model".into(), "second-model".into())]);
            assert_eq!(shown(&told), "I can help");
        }
    }
}

#[tokio::test]
async fn m04_overload_without_a_fallback_is_waited_out() {
    for wire in WIRES {
        let answers = [refusals(529, 5), refusals(503, 4), Says::text("at last")];
        let mut stage = Setting::on(wire).play(answers).await;
        let (ending, told) = stage.run("hi").await;
        assert_completed(&ending);
        assert_eq!(waits(&told), [(FailureKind::Overloaded, 1); 9], "{wire:?}");
        assert_eq!(shown(&told), "at last");
    }
}

#[tokio::test]
async fn m05_server_faults_are_retried() {
    for wire in WIRES {
        for status in [500, 502, 504] {
            let answers = [refusals(status, 2), Says::text("recovered")];
            let mut stage = Setting::on(wire).play(answers).await;
            let (ending, told) = stage.run("hi").await;
            assert_completed(&ending);
            assert_eq!(waits(&told), [(FailureKind::ServerFault, 1); 2], "{wire:?} {status}");
            assert_eq!(shown(&told), "recovered");
        }
    }
}

/// A pause of ten seconds, on stage and told.
async fn waiting(setting: Setting, then: Says) -> crate::stage::Stage {
    let mut stage = setting.play([refuse(503, &[("retry-after", "10")]), then]).await;
    stage.session.submit("hi").unwrap();
    let told = stage.until(|notice| matches!(notice, Notice::RetryScheduled { .. })).await;
    assert_eq!(waits(&told), [(FailureKind::Overloaded, 10_000)]);
    stage
}

#[tokio::test]
async fn waits_end_at_once_when_interrupted() {
    let began = std::time::Instant::now();
    let mut stage = waiting(Setting::default(), Says::text("fresh")).await;
    stage.session.interrupt(windlass_driver::Interrupt::User).unwrap();
    assert_ended(&stage.ending().await.0, Terminal::AbortedStreaming);
    assert_completed(&stage.run("again").await.0);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn waits_end_at_once_when_somebody_wants_to_try_now() {
    let began = std::time::Instant::now();
    let mut stage = waiting(Setting::default(), Says::text("back")).await;
    stage.session.retry_now().unwrap();
    let (ending, told) = stage.ending().await;
    assert_completed(&ending);
    assert_eq!(shown(&told), "back");
    // Without a pause there is nothing to end.
    stage.session.retry_now().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn waits_of_a_run_have_a_limit_together() {
    for wire in WIRES {
        let setting = Setting::on(wire).with(|settings| settings.retry.wait_max = Millis(100));
        let wish = refuse(529, &[("retry-after-ms", "40")]).repeat(9);
        let mut stage = setting.play([wish.clone(), Says::text("free again")]).await;
        let (ending, told) = stage.run("hi").await;
        assert_failed(&ending, FailureKind::Overloaded);
        assert_eq!(waits(&told), [(FailureKind::Overloaded, 40); 2], "{wire:?}");
        assert_eq!(stage.rehearsal.request_count(), 3);
    }
}

#[tokio::test]
async fn waits_that_are_over_the_limit_ask_the_next_model() {
    let setting = Setting::on(WireFormat::Gemini).with(|settings| {
        settings.retry.wait_max = Millis(100);
        settings.fallbacks = vec![facts("second-model")];
    });
    let answers = [
        refuse(429, &[("retry-after", "3600")]).when_model("rehearsed"),
        Says::text("no wait here").when_model("second"),
    ];
    let mut stage = setting.play(answers).await;
    let (ending, told) = stage.run("hi").await;
    assert_completed(&ending);
    assert_eq!((waits(&told).len(), switches(&told).len()), (0, 1));
}

pub(crate) fn switches(told: &[Notice]) -> Vec<(ModelName, ModelName)> {
    let all = told.iter().filter_map(|notice| match notice {
        Notice::ModelSwitched { from, to, .. } => Some((from.clone(), to.clone())),
        _ => None,
    });
    all.collect()
}
