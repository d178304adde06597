//! Rows 33 and 34: a reply that is no answer at all.

use crate::fixture::{
    FixtureOptions, WIRES, assert_completed, assert_failed, rehearse, retractions, shown, waits,
};
use windlass_driver::Credential;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::FailureKind;

/// A reply with status 200 that claims to be compressed.
fn packed(coding: &str, kind: &str, body: &str) -> ScriptedFault {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = vec![header("content-encoding", coding), header("content-type", kind)];
    ScriptedFault::Refuse { status: 200, headers, body: Some(body.to_owned()) }
}

#[tokio::test]
async fn m33_pages_and_packed_replies_are_retried_and_then_given_up() {
    let stream = "text/event-stream";
    let sound = "data: {\"type\":\"message_start\",\"message\":{}}\n\n";
    for wire in WIRES {
        for (name, fault, words) in [
            ("a page", ScriptedFault::Html { status: 200 }, "<!DOCTYPE html>"),
            ("broken gzip", ScriptedFault::BrokenGzip, "compressed (gzip)"),
            ("a wrong header", packed("gzip", stream, sound), "compressed (gzip)"),
            ("cut brotli", packed("br", stream, "\u{1b}"), "compressed (br)"),
            (
                "something new",
                packed("zstd, gzip", "application/json", "?"),
                "compressed (zstd,gzip)",
            ),
        ] {
            let options =
                || FixtureOptions::on(wire).with(|settings| settings.limits.retries_max = 2);
            let says = [Says::from_fault(fault.clone()), Says::text("really")];
            let mut fixture = options().play(says).await;
            let (ending, received) = fixture.run("hi").await;
            assert_completed(&ending);
            assert_eq!((shown(&received), retractions(&received)), ("really".to_owned(), 0));

            let mut fixture = options().play([Says::from_fault(fault).repeat(3)]).await;
            let (ending, received) = fixture.run("hi").await;
            assert_failed(&ending, FailureKind::ServerFault);
            assert_eq!(waits(&received).len(), 2, "{wire:?}, {name}");
            assert!(ending.why.contains(words), "{wire:?}, {name}: {}", ending.why);
            assert!(!ending.why.contains(char::is_control), "{wire:?}, {name}: {:?}", ending.why);
            let asked = &fixture.rehearsal.requests()[0];
            assert_eq!(asked.header("accept-encoding"), Some("identity"));
        }
    }
}

#[tokio::test]
async fn m34_redirects_get_no_credential_and_are_told() {
    for wire in WIRES {
        for status in [301, 302, 303, 307, 308] {
            let elsewhere = rehearse([Says::text("stolen")]).await;
            let to = ("location".to_owned(), format!("{}/v1/messages", elsewhere.url()));
            let fault =
                ScriptedFault::Refuse { status, headers: vec![to], body: Some(String::new()) };
            let credential = Credential::Key("sesame".to_owned());
            let options = FixtureOptions { credential, ..FixtureOptions::on(wire) };
            let mut fixture =
                options.play([Says::from_fault(fault), Says::text("moved back")]).await;
            let (ending, received) = fixture.run("hi").await;
            assert_failed(&ending, FailureKind::Misconfigured);
            assert!(ending.why.contains(&elsewhere.url()), "{wire:?} {status}: {ending:?}");
            assert!(!format!("{received:?}").contains("sesame"), "{received:#?}");
            let counts = (fixture.rehearsal.request_count(), elsewhere.request_count());
            assert_eq!((counts, waits(&received).len()), ((1, 0), 0), "{wire:?} {status}");
            assert_completed(&fixture.run("again").await.0);
        }
    }
}
