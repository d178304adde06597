//! Classifies errors of this wire. The phrases are matched loosely:
//! they are written for people and change without notice.

use alloc::string::String;

use windlass_vocabulary::{FailureKind, ModelFailure};

use crate::json_writer::first_line;
use crate::provider_error::{
    FailedResponse, FailurePhrase, ProviderError, classify_by_phrase, classify_by_status,
    parse_provider_error, phrase,
};

/// A reply that is not a stream.
pub(super) fn classify_response(reply: &FailedResponse<'_>) -> ModelFailure {
    let error = core::str::from_utf8(reply.body).ok().and_then(parse_provider_error);
    let mut failure = reply.to_failure(error, |error| classify_provider_error(reply, error));
    failure.request_id = super::request_id(reply.headers).or(failure.request_id);
    failure
}

/// An `error` event inside a stream that began well.
pub(super) fn classify_stream_error(data: &str) -> ModelFailure {
    let error = parse_provider_error(data).unwrap_or_default();
    let kind = classify_by_message(&error)
        .or_else(|| classify_by_type(&error.kind))
        .unwrap_or(FailureKind::ServerFault);
    let mut message = first_line(&error.message);
    if message.is_empty() {
        message = String::from("the server reported an error in the middle of the answer");
    }
    ModelFailure { request_id: error.request_id, ..ModelFailure::new(kind, message) }
}

fn classify_provider_error(reply: &FailedResponse<'_>, error: &ProviderError) -> FailureKind {
    let by_phrase = classify_by_message(error);
    match reply.status {
        // A limit per minute comes with a time to retry; a spending limit does not.
        429 if by_phrase == Some(FailureKind::Quota) && !reply.has_retry_after() => {
            FailureKind::Quota
        }
        429 => FailureKind::RateLimited,
        400 | 413 | 422 => by_phrase.unwrap_or_else(|| classify_by_status(reply.status)),
        // A stream was promised; an error came instead.
        200..=299 => {
            by_phrase.or_else(|| classify_by_type(&error.kind)).unwrap_or(FailureKind::ServerFault)
        }
        status => classify_by_status(status),
    }
}

fn classify_by_message(error: &ProviderError) -> Option<FailureKind> {
    match error.kind.as_str() {
        // These error types alone determine the failure kind.
        "authentication_error"
        | "permission_error"
        | "not_found_error"
        | "overloaded_error"
        | "api_error"
        | "timeout_error"
        | "conflict_error" => None,
        _ => classify_by_phrase(PHRASES, &error.message),
    }
}

fn classify_by_type(kind: &str) -> Option<FailureKind> {
    Some(match kind {
        "overloaded_error" => FailureKind::Overloaded,
        "rate_limit_error" => FailureKind::RateLimited,
        "api_error" | "timeout_error" | "conflict_error" => FailureKind::ServerFault,
        "invalid_request_error" => FailureKind::InvalidRequest,
        "request_too_large" => FailureKind::PromptTooLong,
        "authentication_error" | "permission_error" => FailureKind::Unauthorised,
        "billing_error" => FailureKind::Quota,
        "not_found_error" => FailureKind::ModelGone,
        _ => return None,
    })
}

/// In order of priority: money first, because no repair helps there; then size, then single
/// pieces that can be taken out.
const PHRASES: &[FailurePhrase] = &[
    phrase(FailureKind::Quota, &["credit balance"]),
    phrase(FailureKind::Quota, &["spend", "limit"]),
    phrase(FailureKind::Quota, &["usage limit"]),
    phrase(FailureKind::Quota, &["billing"]),
    phrase(FailureKind::Unauthorised, &["organization has been disabled"]),
    phrase(FailureKind::BadImage, &["image dimensions"]),
    phrase(FailureKind::MediaTooLarge, &["image", "exceed"]),
    phrase(FailureKind::MediaTooLarge, &["too many images"]),
    phrase(FailureKind::MediaTooLarge, &["too much media"]),
    phrase(FailureKind::MediaTooLarge, &["too many", "documents"]),
    phrase(FailureKind::MediaTooLarge, &["pdf pages"]),
    phrase(FailureKind::BadImage, &["could not process image"]),
    phrase(FailureKind::BadImage, &["could not process pdf"]),
    phrase(FailureKind::BadImage, &["image", "media type"]),
    phrase(FailureKind::BadImage, &["image", "does not match"]),
    phrase(FailureKind::BadImage, &["image", "base64"]),
    phrase(FailureKind::BadImage, &["invalid base64"]),
    phrase(FailureKind::BadImage, &["image", "unsupported"]),
    phrase(FailureKind::BadImage, &["pdf", "not valid"]),
    phrase(FailureKind::BadImage, &["pdf", "password"]),
    phrase(FailureKind::PromptTooLong, &["prompt is too long"]),
    phrase(FailureKind::PromptTooLong, &["context limit"]),
    phrase(FailureKind::PromptTooLong, &["context window"]),
    phrase(FailureKind::PromptTooLong, &["context length"]),
    phrase(FailureKind::PromptTooLong, &["maximum number of tokens"]),
    phrase(FailureKind::PromptTooLong, &["input is too long"]),
    phrase(FailureKind::PromptTooLong, &["too many total text bytes"]),
    phrase(FailureKind::PromptTooLong, &["request exceeds the maximum size"]),
    phrase(FailureKind::ForeignSignature, &["signature", "thinking"]),
    phrase(FailureKind::ForeignSignature, &["invalid", "signature"]),
    phrase(FailureKind::ForeignSignature, &["thinking", "cannot be modified"]),
    phrase(FailureKind::ForeignSignature, &["must start with a thinking block"]),
    phrase(FailureKind::ForeignSignature, &["invalid", "redacted_thinking"]),
    phrase(FailureKind::ForeignSignature, &["thinking", "adaptive"]),
    phrase(FailureKind::ForeignSignature, &["thinking", "not support"]),
    phrase(FailureKind::ForeignSignature, &["effort", "not support"]),
    phrase(FailureKind::Refused, &["content filtering policy"]),
    phrase(FailureKind::Refused, &["usage policy"]),
    phrase(FailureKind::ModelGone, &["model", "does not exist"]),
];
