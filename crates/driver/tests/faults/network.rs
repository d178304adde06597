//! Rows 5, 12 and 13: a network that fails before anything is said.

use std::net::TcpListener;
use std::time::Duration;

use crate::fixture::{
    FixtureOptions, WIRES, assert_completed, assert_failed, block_on, ended, retractions, shown,
    tls, until, waits,
};
use crate::http2::{Does, serve};
use windlass_driver::ModelTimeouts;
use windlass_rehearsal::{
    Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says, ScriptedFault,
};
use windlass_vocabulary::{FailureKind, Notice};

#[test]
fn m05_goaway_and_reset_streams_are_retried() {
    if let Some(directory) = tls::trusting("network::m05_goaway_and_reset_streams_are_retried") {
        block_on(async move {
            for wire in WIRES {
                let events = |says: &str| Says::text(says).chunk(4).encode_events(wire, 1);
                let mut half = events("half of");
                half.truncate(half.len().saturating_sub(3).max(1));
                for (case, does, is_shown) in [
                    ("reset", Does::Reset(Vec::new()), false),
                    ("reset in the middle", Does::Reset(half.clone()), true),
                    ("goaway", Does::GoAway(Vec::new()), false),
                    ("goaway in the middle", Does::GoAway(half), true),
                ] {
                    let script = vec![does, Does::Answer(events("all of it"))];
                    let url = serve(&directory, script).await;
                    let (session, mut notices) =
                        FixtureOptions::on(wire).builder(&url).start().unwrap();
                    session.submit("hi").unwrap();
                    let (ending, received) = ended(&mut notices).await;
                    assert_completed(&ending);
                    assert_eq!(shown(&received), "all of it", "{wire:?} {case}");
                    assert_eq!(retractions(&received), usize::from(is_shown), "{wire:?} {case}");
                    let is_ours = |wait: &(FailureKind, u64)| wait.0 == FailureKind::Transport;
                    assert!(waits(&received).iter().all(is_ours), "{wire:?} {case}: {received:#?}");
                }
            }
        });
    }
}

#[tokio::test]
async fn m12_unreachable_servers_are_told_as_offline_and_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = listener.local_addr().unwrap();
    drop(listener);
    let plain = crate::fixture::rehearse([Says::text("never heard")]).await;
    let plain_port = plain.address().port();
    for (url, reason) in [
        (format!("http://{refused}"), "cannot be reached"),
        ("http://no.such.host.invalid".to_owned(), "cannot be reached"),
        (format!("https://127.0.0.1:{plain_port}"), "cannot be reached"),
    ] {
        for wire in WIRES {
            let options = FixtureOptions::on(wire).with(|settings| settings.limits.retries_max = 1);
            let (session, mut notices) = options.builder(&url).start().unwrap();
            session.submit("hi").unwrap();
            let (ending, received) = ended(&mut notices).await;
            assert_failed(&ending, FailureKind::Transport);
            let failure = ending.failure.unwrap();
            assert!(failure.message.contains(reason), "{url}: {failure:?}");
            assert!(failure.message.contains("offline"), "{url}: {failure:?}");
            assert!(matches!(waits(&received)[..], [(FailureKind::Transport, _)]), "{url}");
        }
    }
    assert_eq!(plain.request_count(), 0);
}

#[tokio::test]
async fn m12_back_online_the_run_goes_on_at_a_word() {
    for wire in WIRES {
        let address = free_address();
        let url = format!("http://{address}");
        // A seed whose first wait is long: only a word can end it in time. A busy machine may need as
        // long for the answer, but not every time.
        let mut rounds = 0;
        loop {
            rounds += 1;
            let options =
                FixtureOptions::on(wire).with(|settings| settings.retry.jitter_seed = LONG_WAIT);
            let (session, mut notices) = options.builder(&url).start().unwrap();
            session.submit("hi").unwrap();
            let is_long = |notice: &Notice| matches!(notice, Notice::RetryScheduled { wait, .. } if wait.0 > 900);
            until(&mut notices, is_long).await;
            let script = Script::new().answer(Says::text("online"));
            let rehearsal_options = RehearsalOptions { port: address.port() };
            let server = Rehearsal::start(script, rehearsal_options).await.unwrap();
            let began = std::time::Instant::now();
            session.retry_now().unwrap();
            let (ending, received) = ended(&mut notices).await;
            assert_completed(&ending);
            assert_eq!((shown(&received), server.request_count()), ("online".to_owned(), 1));
            server.stop().await;
            if began.elapsed() < Duration::from_millis(800) {
                break;
            }
            assert!(rounds < 20, "{:?}", began.elapsed());
        }
    }
}

#[tokio::test]
async fn m12_a_server_on_this_machine_gets_time_to_come_up() {
    for wire in WIRES {
        let address = free_address();
        let timeouts =
            ModelTimeouts { local_start: Duration::from_secs(60), ..ModelTimeouts::default() };
        let options = FixtureOptions::on(wire).timeouts(timeouts).without_retries();
        let (session, mut notices) = options.builder(&format!("http://{address}")).start().unwrap();
        session.submit("hi").unwrap();
        until(&mut notices, |notice| matches!(notice, Notice::RequestStarted { .. })).await;
        // Long enough for the first look, and no matter if it is not.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let script = Script::new().answer(Says::text("up"));
        let rehearsal_options = RehearsalOptions { port: address.port() };
        let server = Rehearsal::start(script, rehearsal_options).await.unwrap();
        let (ending, received) = ended(&mut notices).await;
        assert_completed(&ending);
        assert_eq!((shown(&received), server.request_count()), ("up".to_owned(), 1));
    }
}

/// Where nothing listens.
fn free_address() -> std::net::SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn m13_reset_before_the_headers_is_retried_in_silence() {
    for wire in WIRES {
        for reset in [false, true] {
            let fault = ScriptedFault::DropConnection { reset };
            let answers = [Says::from_fault(fault).repeat(2), Says::text("here")];
            let mut fixture = FixtureOptions::on(wire).play(answers).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert_eq!((shown(&received), retractions(&received)), ("here".to_owned(), 0));
            let waits = waits(&received);
            let is_short =
                |wait: &(FailureKind, u64)| wait.0 == FailureKind::Transport && wait.1 < 2_000;
            assert!(waits.len() == 2 && waits.iter().all(is_short), "{wire:?}: {waits:?}");
        }
    }
}

/// A seed whose first wait is over 900 ms.
const LONG_WAIT: u64 = 17;
