//! One full request per wire, byte for byte. A change of what we send must be seen here.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

mod stage;

use stage::transcript::{
    answer, call, failed_result, media, message, png, request, result, results, text, thinking,
    user,
};
use windlass_dialect::{Credential, dialect};
use windlass_vocabulary::{
    AttachmentKind, Block, Effort, MetaKind, ModelName, Origin, ResultPart, Role, Wire,
};

#[test]
fn anthropic_messages() {
    check(Wire::AnthropicMessages, include_str!("golden/anthropic_messages.json"));
}

fn check(wire: Wire, golden: &str) {
    let dialect = dialect(wire).expect("spoken");
    let encoded = dialect.encode(&conversation(), dialect.law());
    assert_eq!(encoded.refusal, None);
    assert_eq!(encoded.notes, Vec::<String>::new());
    let body = String::from_utf8(encoded.body).expect("text");
    assert_eq!(body, golden.trim_end(), "{wire:?}");
}

fn conversation() -> windlass_vocabulary::ModelRequest {
    let mut request = request(vec![
        message(Role::User, Origin::Meta(MetaKind::Context), vec![text("Today is a \"day\".")]),
        user(vec![
            text("Why does it fail?\n"),
            Block::Media(media("shot.png", "image/png", &png(4, 3, 0))),
        ]),
        answer(vec![
            thinking("Look first.", Some("c2VhbA==")),
            text("I will look."),
            call("toolu_1", "Read", "{\"path\": \"/w/ä.rs\"}"),
            call("toolu_2", "Bash", "{}"),
        ]),
        results(vec![
            result("toolu_1", "fn main() {}\u{1}"),
            failed_result("toolu_2", vec![ResultPart::Text("no command".into())]),
        ]),
        message(
            Role::User,
            Origin::Attachment(AttachmentKind::QueuedInput),
            vec![text("Be quick.")],
        ),
        answer(vec![text("Found it.")]),
        user(vec![text("Fix it.")]),
    ]);
    request.effort = Effort::Low;
    request
}

#[test]
fn addresses_and_headers() {
    let model = ModelName::from("claude-x");
    let dialect = dialect(Wire::AnthropicMessages).expect("spoken");
    assert_eq!(dialect.path(&model), "/v1/messages");
    let names = |credential: &Credential| -> Vec<String> {
        dialect
            .headers(credential)
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    };
    let common = [
        "content-type: application/json",
        "accept: text/event-stream",
        "anthropic-version: 2023-06-01",
    ];
    assert_eq!(names(&Credential::None), common);
    assert_eq!(names(&Credential::Key("k".into()))[3..], ["x-api-key: k"]);
    assert_eq!(names(&Credential::Bearer("t".into()))[3..], ["authorization: Bearer t"]);
    assert!(!format!("{:?}", Credential::Key("secret".into())).contains("secret"));
}
