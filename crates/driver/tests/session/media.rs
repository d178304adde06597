//! Images that a provider would refuse are made to fit before they are sent.

use crate::fixture::{FixtureOptions, assert_ended};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbImage};
use serde_json::json;
use windlass_rehearsal::{ReceivedRequest, ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{ContentBlock, MediaContent, Notice, Terminal};

/// Wider than the messages wire takes.
const TOO_WIDE: u32 = 9_000;

fn picture_of(width: u32, name: &str) -> MediaContent {
    let mut bytes = std::io::Cursor::new(Vec::new());
    RgbImage::new(width, 2).write_to(&mut bytes, ImageFormat::Png).unwrap();
    let data = STANDARD.encode(bytes.into_inner());
    MediaContent { media_type: "image/png".into(), data: data.into(), name: name.into() }
}

/// The base64 text of the first image of a request.
fn picture(request: &ReceivedRequest) -> String {
    let body = request.json().unwrap();
    let blocks = body["messages"][0]["content"].as_array().unwrap();
    let image = blocks.iter().find(|block| block["type"] == "image").unwrap();
    image["source"]["data"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_image_is_made_to_fit_once_and_told() {
    let answers = [Says::text("A line."), Says::text("Still a line.")];
    let mut fixture = FixtureOptions::default().play(answers).await;
    let content = vec![
        ContentBlock::Text("what is this?".to_owned()),
        ContentBlock::Media(picture_of(TOO_WIDE, "wide.png")),
    ];
    fixture.session.submit(content).unwrap();
    let (ending, received) = fixture.ending().await;
    assert_ended(&ending, Terminal::Completed);
    let is_told = received
        .iter()
        .any(|notice| matches!(notice, Notice::Warning(words) if words.contains("wide.png")));
    assert!(is_told, "{received:#?}");
    let (ending, received) = fixture.run("are you sure?").await;
    assert_ended(&ending, Terminal::Completed);
    assert!(!received.iter().any(|notice| matches!(notice, Notice::Warning(_))), "{received:#?}");

    let requests = fixture.rehearsal.requests();
    let sent = picture(&requests[0]);
    // The width stands at a fixed place in a PNG's head.
    let bytes = STANDARD.decode(&sent).unwrap();
    let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
    assert!((1..=8_000).contains(&width), "{width}");
    assert_eq!(sent, picture(&requests[1]), "the same message is sent in the same form");
}

#[tokio::test]
async fn only_the_image_that_the_provider_names_is_left_out() {
    let refusal = json!({
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "messages.2.content.1.image.source.base64: Could not process image",
        },
    });
    let answers = [
        Says::text("One."),
        Says::from_fault(ScriptedFault::refuse_with(400, refusal.to_string())),
        Says::text("Two, but I cannot see the second."),
    ];
    let mut fixture = FixtureOptions::default().play(answers).await;
    for (words, name) in [("first", "first.png"), ("second", "second.png")] {
        let content =
            vec![ContentBlock::Text(words.to_owned()), ContentBlock::Media(picture_of(4, name))];
        fixture.session.submit(content).unwrap();
        let (ending, received) = fixture.ending().await;
        assert_ended(&ending, Terminal::Completed);
        if words == "second" {
            let repaired = received.iter().find_map(|notice| match notice {
                Notice::Repaired { why } => Some(why),
                _ => None,
            });
            assert!(repaired.is_some_and(|why| why.contains("second.png")), "{received:#?}");
        }
    }
    let body = fixture.rehearsal.requests().pop().unwrap().body.to_string();
    assert_eq!(body.matches("\"image\"").count(), 1, "{body}");
    assert!(body.contains("second.png was left out"), "{body}");
}
