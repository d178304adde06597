//! Rows 3 and 6 to 11: a server that refuses the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fixture::recorder::Recorder;
use crate::fixture::{
    FixtureOptions, SessionFixture, WIRES, added, assert_completed, assert_ended, assert_failed,
    ended, facts, rehearse, shown, transitions, waits,
};
use crate::waiting::switches;
use crate::words::{Words, too_long};
use serde_json::json;
use windlass_driver::{Credential, Endpoint, SessionBuilder};
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault, StopReason};
use windlass_vocabulary::{
    ContentBlock, FailureKind, MediaContent, MessageOrigin, Notice, RequestSource, Terminal,
    ThinkingMode, Transition, WireFormat,
};

#[tokio::test]
async fn m03_money_and_daily_quota_are_not_retried() {
    let per_day = json!({"error": {
        "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota",
        "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}],
    }});
    for wire in WIRES {
        let by_words = match wire {
            WireFormat::AnthropicMessages => {
                Words::new(429, "rate_limit_error", "You have reached your usage limit.").says(wire)
            }
            WireFormat::OpenaiResponses | WireFormat::OpenaiChat => {
                Words::new(429, "insufficient_quota", "You exceeded your current quota.").says(wire)
            }
            WireFormat::Gemini => {
                Says::from_fault(ScriptedFault::refuse_with(429, per_day.to_string()))
            }
        };
        let paid = Words::new(402, "billing_error", "Your credit balance is too low.").says(wire);
        for refusal in [by_words, paid] {
            let mut fixture = FixtureOptions::on(wire).play([refusal, Says::text("paid")]).await;
            let (ending, received) = fixture.run("hi").await;
            assert_failed(&ending, FailureKind::Quota);
            assert!(ending.why.starts_with("You"), "{wire:?}: {ending:?}");
            assert_eq!(
                (waits(&received).len(), fixture.rehearsal.request_count()),
                (0, 1),
                "{wire:?}"
            );
            assert_completed(&fixture.run("I paid").await.0);
        }
    }
}

/// A session with a few turns behind it, the older of which may be collapsed.
async fn with_history(wire: WireFormat, then: impl IntoIterator<Item = Says>) -> SessionFixture {
    let turn = |at: &str| Says::call("Look", json!({"at": at, "lines": 300}));
    let turns = [turn("a"), turn("b"), turn("c"), Says::text("seen")];
    let (_, registry) = Recorder::new();
    let options = FixtureOptions::on(wire).tools(registry).with(|settings| {
        settings.context.recent_turns = 1;
        settings.context.collapse_percent = 100;
        settings.context.microcompact_percent = 100;
    });
    let mut fixture = options.play(turns.into_iter().chain(then)).await;
    assert_completed(&fixture.run("look around").await.0);
    fixture
}

/// Nobody hears of a failure that was cured.
#[track_caller]
fn assert_withheld(received: &[Notice]) {
    assert!(!format!("{received:?}").contains("PromptTooLong"), "{received:#?}");
}

#[tokio::test]
async fn m06_too_long_is_drained_then_summarised_then_given_up() {
    for wire in WIRES {
        let too_large =
            || Says::from_fault(ScriptedFault::refuse_with(413, "<html>too large</html>"));
        for refusal in [too_long(wire).says(wire), too_large()] {
            let refusal = refusal.when_source(RequestSource::Main);
            let mut fixture = with_history(
                wire,
                [
                    refusal.clone().when("first"),
                    refusal.clone().when("second"),
                    refusal.repeat(9).when("third"),
                    Says::text("the story so far").when_source(RequestSource::Compaction).repeat(0),
                    Says::text("here you are").repeat(0),
                ],
            )
            .await;
            let (ending, received) = fixture.run("first").await;
            assert_completed(&ending);
            assert_eq!(transitions(&received), [Transition::CollapseDrainRetry], "{wire:?}");
            assert_withheld(&received);
            let (ending, received) = fixture.run("second").await;
            assert_completed(&ending);
            assert_eq!(transitions(&received), [Transition::ReactiveCompactRetry], "{wire:?}");
            assert!(received.iter().any(|n| matches!(n, Notice::ContextShrunk { level: 5, .. })));
            assert_withheld(&received);
            let (ending, received) = fixture.run("third").await;
            assert_ended(&ending, Terminal::PromptTooLong);
            assert_eq!(ending.failure.unwrap().kind, FailureKind::PromptTooLong, "{received:#?}");
            // Nothing is lost: the conversation goes on.
            assert_completed(&fixture.run("fourth").await.0);
        }
    }
}

#[tokio::test]
async fn m06_full_window_in_mid_answer_shrinks_too() {
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses] {
        let cut = Says::text("this is as far as").stop(StopReason::WindowExceeded);
        let mut fixture = with_history(wire, [cut, Says::text("it goes on")]).await;
        let (ending, received) = fixture.run("and now").await;
        assert_completed(&ending);
        assert_eq!(transitions(&received), [Transition::CollapseDrainRetry], "{wire:?}");
        assert_eq!(shown(&received), "it goes on");
        assert_withheld(&received);
    }
}

/// A turn with reasoning behind it, and then a refusal of what it left.
async fn after_reasoning(wire: WireFormat, then: impl IntoIterator<Item = Says>) -> SessionFixture {
    let (_, registry) = Recorder::new();
    let turn = Says::text("I look.").thinking("deep thought").tool("Look", json!({"at": "a"}));
    let options = FixtureOptions::on(wire)
        .tools(registry)
        .with(|settings| settings.reasoning.thinking = ThinkingMode::Adaptive);
    options.play([turn].into_iter().chain(then)).await
}

fn repairs(received: &[Notice]) -> Vec<&str> {
    let all = received.iter().filter_map(|notice| match notice {
        Notice::Repaired { why } => Some(why.as_str()),
        _ => None,
    });
    all.collect()
}

/// What is in the transcript, by origin; repair changes nothing in it.
fn origins(received: &[Notice]) -> Vec<MessageOrigin> {
    added(received).iter().map(|message| message.origin).collect()
}

/// A result whose very words are refused, with its place: they go, and history stays.
#[tokio::test]
async fn m07_a_named_result_is_left_out_before_history_is_cut() {
    for (wire, words) in [
        (WireFormat::AnthropicMessages, "messages.2.content.0: text is not allowed here"),
        (WireFormat::OpenaiChat, "messages[2].content: text is not allowed here"),
    ] {
        let refusal = Words::new(400, "invalid_request_error", words);
        let mut fixture = after_reasoning(wire, [refusal.says(wire), Says::text("fine")]).await;
        let (ending, received) = fixture.run("go").await;
        assert_completed(&ending);
        assert!(
            matches!(repairs(&received)[..], [why] if why.ends_with("the result of a tool left out")),
            "{received:#?}"
        );
        let body = fixture.rehearsal.requests().pop().unwrap().body;
        assert!(!body.contains("did Look") && body.contains("the result was left out"), "{body}");
        assert!(body.contains("I look.") && body.contains("go"), "{body}");
    }
}

#[tokio::test]
async fn m07_invalid_history_is_repaired_once_and_never_bricks_the_session() {
    for wire in WIRES {
        let refusal = match wire {
            WireFormat::AnthropicMessages => Words::new(
                400,
                "invalid_request_error",
                "messages.1: `tool_use` ids were found without `tool_result` blocks",
            ),
            WireFormat::OpenaiResponses => {
                Words::new(400, "", "No tool output found for function call call_1_0.")
            }
            WireFormat::OpenaiChat => Words::new(
                400,
                "",
                "An assistant message with 'tool_calls' must be followed by tool messages.",
            ),
            WireFormat::Gemini => Words::new(
                400,
                "INVALID_ARGUMENT",
                "Please ensure that function call turn comes immediately after a user turn.",
            ),
        };
        let mut fixture = after_reasoning(wire, [refusal.says(wire), Says::text("repaired")]).await;
        let (ending, received) = fixture.run("go").await;
        assert_completed(&ending);
        assert!(
            matches!(repairs(&received)[..], [why] if why.contains(refusal.message)),
            "{received:#?}"
        );
        let all = [
            MessageOrigin::User,
            MessageOrigin::Model,
            MessageOrigin::ToolResults,
            MessageOrigin::Model,
        ];
        assert_eq!(origins(&received), all, "{wire:?}");
        let body = fixture.rehearsal.requests().pop().unwrap().body;
        assert!(body.contains("I look.") && body.contains("did Look"), "{wire:?}: {body}");

        // Refused again: the run ends, the session does not.
        let says = [refusal.says(wire).repeat(2), Says::text("alive")];
        let mut fixture = after_reasoning(wire, says).await;
        let (ending, received) = fixture.run("go").await;
        assert_failed(&ending, FailureKind::InvalidRequest);
        assert_eq!(
            (repairs(&received).len(), fixture.rehearsal.request_count()),
            (1, 3),
            "{wire:?}"
        );
        assert_completed(&fixture.run("still there?").await.0);
    }
}

#[tokio::test]
async fn m08_foreign_signatures_are_dropped_with_their_reasoning() {
    // On the chat wire reasoning never goes back.
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses, WireFormat::Gemini] {
        let refusal = match wire {
            WireFormat::AnthropicMessages => Words::new(
                400,
                "invalid_request_error",
                "messages.1.content.0: Invalid `signature` in `thinking` block",
            ),
            WireFormat::Gemini => {
                Words::new(400, "INVALID_ARGUMENT", "Thought signature is not valid.")
            }
            _ => Words::new(
                400,
                "invalid_encrypted_content",
                "The encrypted content for item rs_1 could not be verified.",
            ),
        };
        let says = [refusal.says(wire), Says::text("fine"), Says::text("still fine")];
        let mut fixture = after_reasoning(wire, says).await;
        let (ending, received) = fixture.run("go").await;
        assert_completed(&ending);
        assert_eq!(repairs(&received).len(), 1, "{wire:?}: {received:#?}");
        assert_completed(&fixture.run("and on").await.0);
        let bodies: Vec<_> =
            fixture.rehearsal.requests().into_iter().map(|request| request.body).collect();
        let is_sealed = |body: &str| body.contains("signature_1") || body.contains("sealed_1");
        let sealed: Vec<bool> = bodies.iter().map(|body| is_sealed(body)).collect();
        assert_eq!(sealed, [false, true, false, false], "{wire:?}: {bodies:#?}");
        assert!(bodies[2].contains("I look.") && bodies[2].contains("did Look"), "{}", bodies[2]);

        let says = [refusal.says(wire).repeat(2), Says::text("alive")];
        let mut fixture = after_reasoning(wire, says).await;
        assert_failed(&fixture.run("go").await.0, FailureKind::ForeignSignature);
        assert_completed(&fixture.run("still there?").await.0);
    }
}

fn picture(name: &str) -> ContentBlock {
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA\
                AABJRU5ErkJggg==";
    ContentBlock::Media(MediaContent {
        media_type: "image/png".into(),
        data: data.into(),
        name: name.into(),
    })
}

fn bad_image(wire: WireFormat) -> Words {
    match wire {
        WireFormat::AnthropicMessages => {
            Words::new(400, "invalid_request_error", "Could not process image")
        }
        WireFormat::OpenaiResponses | WireFormat::OpenaiChat => {
            Words::new(400, "invalid_image", "The image data is not a valid image.")
        }
        WireFormat::Gemini => Words::new(400, "INVALID_ARGUMENT", "Unable to process input image."),
    }
}

fn media_too_large(wire: WireFormat) -> Words {
    match wire {
        WireFormat::AnthropicMessages => Words::new(
            400,
            "invalid_request_error",
            "messages.0.content.0.image: image exceeds 5 MB maximum",
        ),
        WireFormat::OpenaiResponses | WireFormat::OpenaiChat => {
            Words::new(400, "image_too_large", "The image is too large.")
        }
        WireFormat::Gemini => Words::new(400, "INVALID_ARGUMENT", "The image is too large."),
    }
}

#[tokio::test]
async fn m09_refused_media_are_left_out_and_named() {
    for wire in WIRES {
        for (refusal, transition) in [
            (bad_image(wire), None),
            (media_too_large(wire), Some(Transition::ReactiveCompactRetry)),
        ] {
            let says = [refusal.says(wire), Says::text("without it"), Says::text("and on")];
            let mut fixture = FixtureOptions::on(wire).play(says).await;
            let words = ContentBlock::Text("what is this?".to_owned());
            fixture.session.submit(vec![picture("diagram.png"), words]).unwrap();
            let (ending, received) = fixture.ending().await;
            assert_completed(&ending);
            assert!(
                matches!(repairs(&received)[..], [why] if why.contains("diagram.png")),
                "{wire:?}: {:?}",
                repairs(&received)
            );
            assert_eq!(transitions(&received), Vec::from_iter(transition), "{wire:?}");
            assert_completed(&fixture.run("go on").await.0);
            let pictures: Vec<bool> = fixture
                .rehearsal
                .requests()
                .iter()
                .map(|request| request.body.contains("iVBORw0KGgo"))
                .collect();
            assert_eq!(pictures, [true, false, false], "{wire:?}");
            let last = fixture.rehearsal.requests().pop().unwrap().body;
            assert!(last.contains("what is this?") && last.contains("diagram.png"), "{last}");
        }
    }
}

#[tokio::test]
async fn m09_media_refused_again_end_the_run_and_not_the_session() {
    for wire in WIRES {
        for refusal in [bad_image(wire), media_too_large(wire)] {
            let says = [refusal.says(wire).repeat(2), Says::text("alive")];
            let mut fixture = FixtureOptions::on(wire).play(says).await;
            let words = ContentBlock::Text("what is this?".to_owned());
            fixture.session.submit(vec![picture("diagram.png"), words]).unwrap();
            let (ending, _) = fixture.ending().await;
            assert_ended(&ending, Terminal::ImageError);
            assert_completed(&fixture.run("never mind").await.0);
        }
    }
}

#[tokio::test]
async fn m10_refused_credentials_end_the_run_at_once() {
    for wire in WIRES {
        for status in [401, 403] {
            let answers = [Says::from_fault(ScriptedFault::refuse(status)), Says::text("welcome")];
            let mut fixture = FixtureOptions::on(wire).play(answers).await;
            let (ending, received) = fixture.run("hi").await;
            assert_failed(&ending, FailureKind::Unauthorised);
            assert!(ending.why.contains(&status.to_string()), "{wire:?}: {ending:?}");
            assert_eq!(
                (waits(&received).len(), fixture.rehearsal.request_count()),
                (0, 1),
                "{wire:?}"
            );
            // What was typed is kept, and sent the next time.
            assert_eq!(origins(&received), [MessageOrigin::User]);
            assert_completed(&fixture.run("again").await.0);
            let body = fixture.rehearsal.requests().pop().unwrap().body;
            assert!(body.contains("\"hi") && body.contains("again"), "{wire:?}: {body}");
        }
    }
}

#[tokio::test]
async fn m10_refused_credentials_are_renewed_once() {
    let key = |text: &str| Credential::Key(text.to_owned());
    for wire in WIRES {
        let refuse = |count| Says::from_fault(ScriptedFault::refuse(401)).repeat(count);
        for (found, answers, sent, is_well) in [
            (Some("new"), vec![refuse(1), Says::text("welcome")], vec!["old", "new"], true),
            (Some("new"), vec![refuse(2)], vec!["old", "new"], false),
            (Some("old"), vec![refuse(1)], vec!["old"], false),
            (None, vec![refuse(1)], vec!["old"], false),
        ] {
            let server = rehearse(answers.into_iter().chain([Says::text("later")])).await;
            let asked = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&asked);
            let endpoint =
                Endpoint::new(wire, server.url()).credential(key("old")).with_renewal(move || {
                    counted.fetch_add(1, Ordering::SeqCst);
                    found.map(key)
                });
            let (session, mut notices) =
                SessionBuilder::new(FixtureOptions::default().settings, endpoint).start().unwrap();
            session.submit("hi").unwrap();
            let (ending, _) = ended(&mut notices).await;
            match is_well {
                true => assert_completed(&ending),
                false => assert_failed(&ending, FailureKind::Unauthorised),
            }
            assert_eq!(asked.load(Ordering::SeqCst), 1);
            let keys = || -> Vec<String> {
                let values = |request: &windlass_rehearsal::ReceivedRequest| {
                    let names = ["x-api-key", "authorization", "x-goog-api-key"];
                    names.iter().find_map(|name| request.header(name)).unwrap().to_owned()
                };
                server.requests().iter().map(values).collect()
            };
            let shorter = |key: String| key.trim_start_matches("Bearer ").to_owned();
            assert_eq!(keys().into_iter().map(shorter).collect::<Vec<_>>(), sent, "{wire:?}");
            // The new one is kept.
            session.submit("more").unwrap();
            assert_completed(&ended(&mut notices).await.0);
            assert_eq!(shorter(keys().pop().unwrap()), *sent.last().unwrap(), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn m11_unknown_model_ends_the_run_or_asks_the_next() {
    for wire in WIRES {
        let gone = Says::from_fault(ScriptedFault::refuse(404)).when_model("rehearsed");
        let answers = [gone.clone(), Says::text("other settings")];
        let mut fixture = FixtureOptions::on(wire).play(answers).await;
        let (ending, _) = fixture.run("hi").await;
        assert_failed(&ending, FailureKind::ModelGone);
        assert_eq!(fixture.rehearsal.request_count(), 1, "{wire:?}");
        assert_completed(&fixture.run("again").await.0);

        let options = FixtureOptions::on(wire)
            .with(|settings| settings.fallbacks = vec![facts("second-model")]);
        let mut fixture = options.play([gone, Says::text("I am there")]).await;
        let (ending, received) = fixture.run("hi").await;
        assert_completed(&ending);
        assert_eq!((switches(&received).len(), waits(&received).len()), (1, 0), "{wire:?}");
    }
}
