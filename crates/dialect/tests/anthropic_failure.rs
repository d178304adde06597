//! Replies of `POST /v1/messages` that are not a stream, and what each demands.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

use windlass_dialect::{Dialect, FailedResponse, dialect};
use windlass_vocabulary::{FailureKind, Millis, ModelFailure, WireFormat};

fn wire() -> &'static dyn Dialect {
    dialect(WireFormat::AnthropicMessages).expect("spoken")
}

fn classify(status: u16, headers: &[(&str, &str)], body: &str) -> ModelFailure {
    let lookup = |name: &str| {
        headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_string())
    };
    wire().classify_failure(&FailedResponse {
        status,
        headers: &lookup,
        body: body.as_bytes(),
        now_unix_seconds: 1_700_000_000,
    })
}

fn error(kind: &str, message: &str) -> String {
    serde_json::json!({"type": "error", "error": {"type": kind, "message": message},
        "request_id": "req_body"})
    .to_string()
}

#[test]
fn every_error_gets_its_failure_kind() {
    use FailureKind as K;
    let bad = "invalid_request_error";
    let table: &[(u16, &str, &str, K)] = &[
        (400, bad, "prompt is too long: 215000 tokens > 200000 maximum", K::PromptTooLong),
        (
            400,
            bad,
            "input length and `max_tokens` exceed context limit: 1 + 2 > 3",
            K::PromptTooLong,
        ),
        (400, bad, "Input is too long for requested model.", K::PromptTooLong),
        (
            400,
            bad,
            "messages.3.content.0.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes",
            K::MediaTooLarge,
        ),
        (
            400,
            bad,
            "image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            K::BadImage,
        ),
        (400, bad, "A maximum of 100 PDF pages may be provided.", K::MediaTooLarge),
        (400, bad, "messages.1.content: Too many images", K::MediaTooLarge),
        (400, bad, "Could not process image", K::BadImage),
        (
            400,
            bad,
            "The image was specified using the image/png media type, but appears to be image/jpeg",
            K::BadImage,
        ),
        (400, bad, "The PDF specified was not valid.", K::BadImage),
        (
            400,
            bad,
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            K::ForeignSignature,
        ),
        (
            400,
            bad,
            "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            K::ForeignSignature,
        ),
        (
            400,
            bad,
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: t1",
            K::InvalidRequest,
        ),
        (
            400,
            bad,
            "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: t9",
            K::InvalidRequest,
        ),
        (400, bad, "Your credit balance is too low to access the API.", K::Quota),
        (400, bad, "You have reached your specified API usage limits.", K::Quota),
        (400, bad, "This organization has been disabled.", K::Unauthorised),
        (400, bad, "Output blocked by content filtering policy", K::Refused),
        (401, "authentication_error", "invalid x-api-key", K::Unauthorised),
        (402, "billing_error", "payment required", K::Quota),
        (403, "permission_error", "not for you", K::Unauthorised),
        (404, "not_found_error", "model: claude-nope", K::ModelGone),
        (408, "timeout_error", "slow", K::ServerFault),
        (409, "conflict_error", "conflict", K::ServerFault),
        (413, "request_too_large", "Request exceeds the maximum size", K::PromptTooLong),
        (422, bad, "odd", K::InvalidRequest),
        (
            429,
            "rate_limit_error",
            "Number of requests has exceeded your rate limit",
            K::RateLimited,
        ),
        (429, "rate_limit_error", "You have hit your monthly spend limit", K::Quota),
        (451, "x", "legal", K::Refused),
        (500, "api_error", "Internal server error", K::ServerFault),
        (502, "api_error", "bad gateway", K::ServerFault),
        (503, "api_error", "unavailable", K::Overloaded),
        (504, "timeout_error", "timeout", K::ServerFault),
        (529, "overloaded_error", "Overloaded", K::Overloaded),
        (200, "overloaded_error", "Overloaded", K::Overloaded),
        (200, bad, "prompt is too long", K::PromptTooLong),
    ];
    for (status, kind, message, expected) in table {
        let failure = classify(*status, &[], &error(kind, message));
        assert_eq!(failure.kind, *expected, "{status} {message}");
        assert_eq!(failure.message, *message, "the provider's own words");
        assert_eq!(failure.status, Some(*status));
        assert_eq!(failure.request_id.as_deref(), Some("req_body"));
    }
}

#[test]
fn a_body_that_is_no_provider_error_is_reported_by_its_first_line() {
    use FailureKind as K;
    let html = "<html>\n<head><title>502</title></head></html>";
    let table: &[(u16, &[(&str, &str)], &str, K, &str)] = &[
        (200, &[], html, K::ServerFault, "status 200: <html>"),
        (204, &[], "", K::ServerFault, "the server answered with status 204"),
        (
            301,
            &[("location", "https://elsewhere.test/v1")],
            "",
            K::Misconfigured,
            "the server redirects to https://elsewhere.test/v1; set the address to that one",
        ),
        (307, &[], &error("api_error", "moved"), K::Misconfigured, "moved"),
        (404, &[], html, K::Misconfigured, "status 404: <html>"),
        (404, &[], "", K::ModelGone, "the server answered with status 404"),
        (407, &[], "proxy says no", K::Misconfigured, "status 407: proxy says no"),
        (413, &[], html, K::PromptTooLong, "status 413: <html>"),
        (502, &[], html, K::ServerFault, "status 502: <html>"),
        (503, &[], "", K::Overloaded, "the server answered with status 503"),
        (500, &[], "{\"error\":\"plain\"}", K::ServerFault, "plain"),
        (500, &[], "{\"detail\":\"plain\"}", K::ServerFault, "plain"),
        (500, &[], "\u{1b}[31mred\u{7}", K::ServerFault, "status 500: [31mred"),
    ];
    for (status, headers, body, kind, message) in table {
        let failure = classify(*status, headers, body);
        assert_eq!((failure.kind, failure.message.as_str()), (*kind, *message), "{status} {body}");
    }
    let long = classify(500, &[], &error("api_error", &"x".repeat(9000)));
    assert_eq!(long.message.len(), 500);
    let binary = wire().classify_failure(&FailedResponse {
        status: 500,
        headers: &|_| None,
        body: &[0xFF, 0xFE, 0x00],
        now_unix_seconds: 0,
    });
    assert_eq!(binary.kind, FailureKind::ServerFault);
}

#[test]
fn retry_headers_of_the_server_are_respected() {
    use FailureKind as K;
    let spend = error("rate_limit_error", "You have hit your monthly spend limit");
    let busy = error("rate_limit_error", "busy");
    let odd = error("invalid_request_error", "odd");
    let long = error("invalid_request_error", "prompt is too long");
    let down = error("api_error", "down");
    let table: &[(u16, &[(&str, &str)], &str, K, Option<u64>)] = &[
        (429, &[("retry-after", "12")], &busy, K::RateLimited, Some(12_000)),
        (429, &[("retry-after-ms", "150"), ("retry-after", "1")], &busy, K::RateLimited, Some(150)),
        (
            429,
            &[("retry-after", "Tue, 14 Nov 2023 22:14:20 GMT")],
            &busy,
            K::RateLimited,
            Some(60_000),
        ),
        (429, &[("retry-after", "-1")], &busy, K::RateLimited, None),
        (429, &[("retry-after", "1e300")], &busy, K::RateLimited, Some(86_400_000)),
        (429, &[("retry-after", "60")], &spend, K::RateLimited, Some(60_000)),
        (429, &[], &spend, K::Quota, None),
        (429, &[("x-should-retry", "false")], &busy, K::Quota, None),
        (500, &[("x-should-retry", "false")], &down, K::Refused, None),
        (529, &[("x-should-retry", "true")], &down, K::Overloaded, None),
        (400, &[("x-should-retry", "true")], &odd, K::ServerFault, None),
        (400, &[("x-should-retry", "true")], &long, K::PromptTooLong, None),
        (529, &[("retry-after", "3")], &down, K::Overloaded, Some(3_000)),
    ];
    for (status, headers, body, kind, wait) in table {
        let failure = classify(*status, headers, body);
        assert_eq!(failure.kind, *kind, "{status} {headers:?}");
        assert_eq!(failure.retry_after, wait.map(Millis), "{status} {headers:?}");
    }
}

#[test]
fn the_request_id_is_read_from_the_header_first() {
    let failure = classify(500, &[("request-id", "req_header")], &error("api_error", "x"));
    assert_eq!(failure.request_id.as_deref(), Some("req_header"));
    assert_eq!(wire().request_id(&|_| None), None);
}

#[test]
fn only_event_stream_responses_are_decoded() {
    let table = [
        ("text/event-stream", true),
        ("Text/Event-Stream; charset=utf-8", true),
        ("", true),
        ("text/html; charset=utf-8", false),
        ("application/json", false),
    ];
    for (content_type, expected) in table {
        assert_eq!(wire().accepts_content_type(content_type), expected, "{content_type}");
    }
}
