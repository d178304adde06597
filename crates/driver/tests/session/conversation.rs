//! A session from submission to ending: text, tools, questions, notices.

use crate::fixture::{FixtureOptions, assert_ended, streamed};
use serde_json::json;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{
    Delta, Json, Notice, Outcome, PermissionAnswer, PermissionMode, RequestSource, Terminal,
};

#[tokio::test]
async fn text_answer_is_streamed_and_kept() {
    let mut fixture = FixtureOptions::default().play([Says::text("Hello, world.")]).await;
    let (ending, received) = fixture.run("hi").await;
    assert_ended(&ending, Terminal::Completed);
    assert_eq!(ending.outcome, Some(Outcome::Natural));
    assert_eq!(streamed(&received), "Hello, world.");
    let kept = received.iter().any(
        |notice| matches!(notice, Notice::MessageAdded(message) if message.text() == "Hello, world."),
    );
    assert!(kept, "{received:#?}");
    let ends = received.iter().filter(|notice| matches!(notice, Notice::RunEnded(_))).count();
    assert_eq!(ends, 1);
    fixture.session.close().await;
    assert!(fixture.session.is_closed());
    assert_eq!(fixture.notices.next().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_runs_and_its_result_reaches_the_model() {
    let answers = [
        Says::call("Bash", json!({ "command": "echo sum-$((40 + 2))" })),
        Says::text("It is 42.").when_result("sum-42"),
    ];
    let mut fixture = FixtureOptions::default().play(answers).await;
    let (ending, received) = fixture.run("what is the sum?").await;
    assert_ended(&ending, Terminal::Completed);
    assert_eq!(ending.turns, 2, "{received:#?}");
    assert_eq!(fixture.rehearsal.answers_left(), Vec::<String>::new());
}

#[tokio::test]
async fn runs_of_a_session_share_the_conversation() {
    let answers = [Says::text("first"), Says::text("second").when("and now")];
    let mut fixture = FixtureOptions::default().play(answers).await;
    assert_ended(&fixture.run("one").await.0, Terminal::Completed);
    assert_ended(&fixture.run("and now").await.0, Terminal::Completed);
    let last = fixture.rehearsal.requests().pop().unwrap();
    assert!(last.body.contains("first"), "{}", last.body);
    assert_eq!(last.header("x-windlass-source"), Some("main"));
}

#[tokio::test]
async fn questions_carry_answers_back() {
    for (answer, expected) in [
        (allow(None), "asked-for"),
        (allow(Some(r#"{"command":"echo changed-by-me"}"#)), "changed-by-me"),
        (
            PermissionAnswer::Deny { message: "not on a Sunday".to_owned(), interrupt: false },
            "Sunday",
        ),
    ] {
        let options = FixtureOptions::default().with(|settings| {
            settings.policy.mode = PermissionMode::Default;
            settings.policy.can_ask = true;
        });
        let answers = [
            Says::call("Bash", json!({ "command": "touch made && echo asked-for" })),
            Says::text("seen").when_result(expected),
        ];
        let mut fixture = options.play(answers).await;
        fixture.session.submit("make it").unwrap();
        let received =
            fixture.until(|notice| matches!(notice, Notice::PermissionAsked { .. })).await;
        let Some(Notice::PermissionAsked { ticket, question }) = received.last() else {
            panic!("no question")
        };
        assert!(question.call.input.as_str().contains("touch made"));
        fixture.session.answer(*ticket, answer).unwrap();
        let (ending, received) = fixture.ending().await;
        assert_ended(&ending, Terminal::Completed);
        assert_eq!(streamed(&received), "seen", "{received:#?}");
    }
}

#[tokio::test]
async fn raw_events_are_told_only_when_wanted() {
    for wanted in [false, true] {
        let options = FixtureOptions::default();
        let rehearsal = crate::fixture::rehearse([Says::text("hello")]).await;
        let builder = options.builder(&rehearsal.url()).raw_events(wanted);
        let (session, mut notices) = builder.start().unwrap();
        session.submit("hi").unwrap();
        let received =
            crate::fixture::until(&mut notices, |notice| matches!(notice, Notice::RunEnded(_)))
                .await;
        let is_raw = |notice: &Notice| {
            matches!(notice, Notice::Streamed { delta: Delta::Raw(json), .. }
                if json.as_str().contains("message_start"))
        };
        assert_eq!(received.iter().any(is_raw), wanted);
    }
}

#[tokio::test]
async fn a_reader_that_never_reads_holds_nothing_up() {
    let text = "word ".repeat(1_000);
    let mut fixture = FixtureOptions::default().play([Says::text(&text).chunk(1)]).await;
    fixture.session.submit("talk").unwrap();
    assert!(fixture.rehearsal.wait_for_requests(1, crate::fixture::PATIENCE).await);
    // Closing works although nothing was read, and everything told is still there, in order.
    let (ending, received) = fixture.ending().await;
    assert_ended(&ending, Terminal::Completed);
    assert_eq!(streamed(&received), text);
}

#[tokio::test]
async fn a_summary_is_a_call_of_its_own_and_survives_a_failing_model() {
    let too_long = r#"{"type":"error","error":{"type":"invalid_request_error",
        "message":"prompt is too long: 300000 tokens > 200000 maximum"}}"#;
    let answers = [
        Says::call("Bash", json!({ "command": "seq 4000" })),
        Says::text("noted"),
        Says::from_fault(ScriptedFault::refuse_with(400, too_long))
            .when_source(RequestSource::Main),
        Says::from_fault(ScriptedFault::refuse(500))
            .when_source(RequestSource::Compaction)
            .when_model("rehearsed"),
        Says::text("the story so far").when_source(RequestSource::Compaction).when_model("second"),
        Says::text("all is well").when_source(RequestSource::Main),
    ];
    let options = FixtureOptions::default()
        .with(|settings| settings.fallbacks = vec![crate::fixture::facts("second-model")]);
    let mut fixture = options.play(answers).await;
    assert_ended(&fixture.run("count").await.0, Terminal::Completed);
    let (ending, received) = fixture.run("tell me").await;
    assert_eq!(fixture.rehearsal.answers_left(), Vec::<String>::new(), "{received:#?}");
    assert_ended(&ending, Terminal::Completed);
    let last = fixture.rehearsal.requests().pop().unwrap();
    assert!(last.body.contains("the story so far"), "{}", last.body);
}

fn allow(input: Option<&str>) -> PermissionAnswer {
    PermissionAnswer::Allow { updated_input: input.map(Json::from_checked), remember: Vec::new() }
}
