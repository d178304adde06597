//! A model server that misbehaves: what the session makes of it.

use std::net::TcpListener;
use std::time::Duration;

use crate::fixture::{FixtureOptions, SessionFixture, assert_ended, streamed};
use windlass_driver::{Credential, Endpoint, ModelTimeouts, SessionStartError};
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{FailureKind, Notice, Terminal, WireFormat};

#[tokio::test]
async fn cut_stream_is_retracted_and_tried_again() {
    let answers = [
        Says::text("half of it").fault(ScriptedFault::cut_after_event(4)),
        Says::text("all of it"),
    ];
    let mut fixture = FixtureOptions::default().play(answers).await;
    let (ending, received) = fixture.run("hi").await;
    assert_ended(&ending, Terminal::Completed);
    assert!(
        received.iter().any(|notice| matches!(notice, Notice::Retracted { .. })),
        "{received:#?}"
    );
    assert!(streamed(&received).ends_with("all of it"));
}

#[tokio::test]
async fn overload_is_waited_out_as_long_as_the_server_asks() {
    let answers = [Says::from_fault(ScriptedFault::refuse_for(529, 1)), Says::text("better now")];
    let mut fixture = FixtureOptions::default().play(answers).await;
    let (ending, received) = fixture.run("hi").await;
    assert_ended(&ending, Terminal::Completed);
    let waits: Vec<_> = received
        .iter()
        .filter_map(|notice| match notice {
            Notice::RetryScheduled { failure, wait, .. } => Some((failure.kind, wait.0)),
            _ => None,
        })
        .collect();
    assert!(matches!(waits.as_slice(), [(FailureKind::Overloaded, 1_000..)]), "{received:#?}");
}

#[tokio::test]
async fn what_is_not_a_stream_is_not_read_as_one() {
    for fault in [ScriptedFault::Html { status: 200 }, ScriptedFault::BrokenGzip] {
        let mut fixture =
            FixtureOptions::default().without_retries().play([Says::from_fault(fault)]).await;
        let (ending, _) = fixture.run("hi").await;
        assert_ended(&ending, Terminal::ModelError);
        let failure = ending.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::ServerFault, "{failure:?}");
    }
}

#[tokio::test]
async fn silence_signs_of_life_and_dripping_all_run_out() {
    let short = Duration::from_millis(150);
    let long = Duration::from_secs(60);
    let calm =
        ModelTimeouts { silence: long, event: long, pings: long, ..ModelTimeouts::default() };
    let every = Duration::from_millis(20);
    let cases = [
        (
            ModelTimeouts { silence: short, ..calm },
            ScriptedFault::stall_after_event(2),
            "sent nothing",
        ),
        (
            ModelTimeouts { pings: short, ..calm },
            ScriptedFault::StallAfterEvent { events: 2, ping: Some(every) },
            "signs of life",
        ),
        (
            ModelTimeouts { event: short, ..calm },
            ScriptedFault::Slow { per_byte: every },
            "no whole event",
        ),
        (
            ModelTimeouts { headers: short, ..calm },
            // Never answers: the listener below takes the connection and stays mute.
            ScriptedFault::stall_after_event(0),
            "did not begin to answer",
        ),
    ];
    for (timeouts, fault, words) in cases {
        let options = FixtureOptions { timeouts, ..FixtureOptions::default() }.without_retries();
        let mute = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut fixture = options.play([Says::text("a long enough text").fault(fault)]).await;
        if timeouts.headers == short {
            let url = format!("http://{}", mute.local_addr().unwrap());
            let options =
                FixtureOptions { timeouts, ..FixtureOptions::default() }.without_retries();
            let (session, notices) = options.builder(&url).start().unwrap();
            fixture = SessionFixture { session, notices, ..fixture };
        }
        let (ending, received) = fixture.run("hi").await;
        assert_ended(&ending, Terminal::ModelError);
        let failure = ending.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Transport, "{received:#?}");
        assert!(failure.message.contains(words), "{words}: {failure:?}");
    }
}

#[tokio::test]
async fn unreachable_server_ends_in_words() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = FixtureOptions::default().without_retries();
    let (session, mut notices) = options.builder(&format!("http://{port}")).start().unwrap();
    session.submit("hi").unwrap();
    let ending = tokio::time::timeout(crate::fixture::PATIENCE, notices.wait_for_run_end())
        .await
        .unwrap()
        .unwrap();
    assert_ended(&ending, Terminal::ModelError);
    let failure = ending.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Transport);
    assert!(failure.message.contains("cannot be reached"), "{failure:?}");
}

#[tokio::test]
async fn redirect_to_another_host_gets_no_credential() {
    let elsewhere = crate::fixture::rehearse([Says::text("stolen")]).await;
    let to = ("location".to_owned(), format!("{}/v1/messages", elsewhere.url()));
    let answer = Says::from_fault(ScriptedFault::Refuse {
        status: 307,
        headers: vec![to],
        body: Some(String::new()),
    });
    let here = crate::fixture::rehearse([answer]).await;
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, here.url())
        .credential(Credential::Key("sesame".to_owned()))
        .header("x-extra", "also mine");
    let (session, mut notices) =
        windlass_driver::SessionBuilder::new(FixtureOptions::default().settings, endpoint)
            .start()
            .unwrap();
    session.submit("hi").unwrap();
    let ending = tokio::time::timeout(crate::fixture::PATIENCE, notices.wait_for_run_end())
        .await
        .unwrap()
        .unwrap();
    assert_ended(&ending, Terminal::ModelError);
    assert_eq!(ending.failure.as_ref().unwrap().kind, FailureKind::Misconfigured);
    assert!(!format!("{ending:?}").contains("sesame"));
    let sent = here.requests().pop().unwrap();
    assert_eq!(sent.header("x-api-key"), Some("sesame"));
    assert_eq!(sent.header("x-extra"), Some("also mine"));
    assert_eq!(elsewhere.request_count(), 0);
}

#[tokio::test]
async fn endpoints_that_cannot_work_are_refused_at_the_start() {
    let start = |endpoint: Endpoint| {
        windlass_driver::SessionBuilder::new(FixtureOptions::default().settings, endpoint)
            .start()
            .map(|_| ())
    };
    for url in ["ftp://host", "nonsense", "http://host/?q=1", "http://user:sesame@host"] {
        let error = start(Endpoint::new(WireFormat::AnthropicMessages, url)).unwrap_err();
        assert!(matches!(error, SessionStartError::Address { .. }), "{error}");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, "http://host").header("x", "a\nb");
    assert!(matches!(start(endpoint), Err(SessionStartError::Header { .. })));
}

#[tokio::test]
async fn connection_is_kept_between_requests() {
    let answers = (0..5).map(|number| Says::text(format!("answer {number}")));
    let rehearsal = crate::fixture::rehearse(answers).await;
    let (url, accepted) = crate::fixture::counting_proxy(rehearsal.address()).await;
    let (session, mut notices) = FixtureOptions::default().builder(&url).start().unwrap();
    for _ in 0..5 {
        session.submit("next").unwrap();
        crate::fixture::until(&mut notices, |notice| matches!(notice, Notice::RunEnded(_))).await;
    }
    assert_eq!(rehearsal.request_count(), 5);
    assert_eq!(*accepted.borrow(), 1);
}
