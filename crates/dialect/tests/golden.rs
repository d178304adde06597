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

mod fixture;

use fixture::transcript::{
    answer, call, failed_result, media, message, png, request, result, results, text, thinking,
    user,
};
use windlass_dialect::{Credential, dialect};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, Effort, MessageOrigin, MetaKind, ModelName, Role, ToolResultPart,
    WireFormat,
};

#[test]
fn anthropic_messages() {
    check(WireFormat::AnthropicMessages, include_str!("golden/anthropic_messages.json"));
}

#[test]
fn openai_chat() {
    check(WireFormat::OpenaiChat, include_str!("golden/openai_chat.json"));
}

#[test]
fn openai_responses() {
    check(WireFormat::OpenaiResponses, include_str!("golden/openai_responses.json"));
}

#[test]
fn gemini() {
    check(WireFormat::Gemini, include_str!("golden/gemini.json"));
}

fn check(wire: WireFormat, golden: &str) {
    let dialect = dialect(wire).expect("spoken");
    let encoded = dialect.encode(&conversation(), dialect.rules());
    assert_eq!(encoded.refusal, None);
    assert_eq!(encoded.notes, Vec::<String>::new());
    let body = String::from_utf8(encoded.body).expect("text");
    assert_eq!(body, golden.trim_end(), "{wire:?}");
}

fn conversation() -> windlass_vocabulary::ModelRequest {
    let mut request = request(vec![
        message(
            Role::User,
            MessageOrigin::Meta(MetaKind::Context),
            vec![text("Today is a \"day\".")],
        ),
        user(vec![
            text("Why does it fail?\n"),
            ContentBlock::Media(media("shot.png", "image/png", &png(4, 3, 0))),
        ]),
        answer(vec![
            thinking("Look first.", Some("c2VhbA==")),
            text("I will look."),
            call("toolu_1", "Read", "{\"path\": \"/w/ä.rs\"}"),
            call("toolu_2", "Bash", "{}"),
        ]),
        results(vec![
            result("toolu_1", "fn main() {}\u{1}"),
            failed_result("toolu_2", vec![ToolResultPart::Text("no command".into())]),
        ]),
        message(
            Role::User,
            MessageOrigin::Attachment(AttachmentKind::QueuedInput),
            vec![text("Be quick.")],
        ),
        answer(vec![text("Found it.")]),
        user(vec![text("Fix it.")]),
    ]);
    request.effort = Some(Effort::Low);
    request
}

#[test]
fn addresses_and_headers() {
    let plain = ["content-type: application/json", "accept: text/event-stream"];
    let table: [(WireFormat, &str, &[&str], &str); 4] = [
        (
            WireFormat::AnthropicMessages,
            "/v1/messages",
            &["anthropic-version: 2023-06-01"],
            "x-api-key: k",
        ),
        (WireFormat::OpenaiChat, "/v1/chat/completions", &[], "authorization: Bearer k"),
        (WireFormat::OpenaiResponses, "/v1/responses", &[], "authorization: Bearer k"),
        (
            WireFormat::Gemini,
            "/v1beta/models/model%2Fx:streamGenerateContent?alt=sse",
            &[],
            "x-goog-api-key: k",
        ),
    ];
    for (wire, path, own, key) in table {
        let dialect = dialect(wire).expect("spoken");
        assert_eq!(dialect.wire(), wire);
        assert_eq!(dialect.rules().wire, wire);
        assert_eq!(dialect.path(&ModelName::from("model/x")), path);
        let lines = |credential: &Credential| -> Vec<String> {
            let headers = dialect.headers(credential).into_iter();
            headers.map(|(name, value)| format!("{name}: {value}")).collect()
        };
        let expected = [plain.as_slice(), own].concat();
        assert_eq!(lines(&Credential::None), expected);
        let with = |last: &'static str| [expected.as_slice(), &[last]].concat();
        assert_eq!(lines(&Credential::Bearer("t".into())), with("authorization: Bearer t"));
        assert_eq!(lines(&Credential::Key("k".into())), with(key));
    }
    let path =
        dialect(WireFormat::Gemini).expect("spoken").path(&ModelName::from("models/gemini-3"));
    assert_eq!(path, "/v1beta/models/gemini-3:streamGenerateContent?alt=sse");
    assert!(!format!("{:?}", Credential::Key("secret".into())).contains("secret"));
}
