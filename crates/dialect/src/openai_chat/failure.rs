//! What a complaint in the words of this wire and of `POST /v1/responses` demands of the loop.
//! Codes decide where there are any; imitations often have only words.

use alloc::string::String;

use windlass_vocabulary::{FailureKind, Millis, ModelFailure};

use crate::fault::{Complaint, Phrase, Reply, by_phrase, by_status, complaint, phrase};
use crate::retry_after::span;
use crate::write::first_line;

/// A reply that is not a stream.
pub(crate) fn classify(reply: &Reply<'_>) -> ModelFailure {
    let complaint = core::str::from_utf8(reply.body).ok().and_then(complaint);
    let wish = complaint.as_ref().and_then(|complaint| wish(&complaint.message));
    let mut failure = reply.failure(complaint, |complaint| judge(reply.status, complaint));
    failure.retry_after = failure.retry_after.or(wish);
    failure.request_id = (reply.headers)("x-request-id").or(failure.request_id);
    failure
}

/// A complaint inside a stream that began well.
pub(crate) fn in_stream(complaint: &Complaint) -> ModelFailure {
    let mut message = first_line(&complaint.message);
    if message.is_empty() {
        message = String::from("the server reported an error in the middle of the answer");
    }
    ModelFailure {
        retry_after: wish(&complaint.message),
        request_id: complaint.request_id.clone(),
        ..ModelFailure::new(judge(200, complaint), message)
    }
}

fn judge(status: u16, complaint: &Complaint) -> FailureKind {
    let named = by_name(&complaint.code).or_else(|| by_name(&complaint.kind));
    match (status, named) {
        (400 | 404 | 413 | 422 | 429, Some(kind)) | (200..=299, Some(kind)) => kind,
        (400 | 413 | 422 | 429 | 200..=299, None) => by_phrase(PHRASES, &complaint.message)
            .unwrap_or(if status < 300 { FailureKind::ServerFault } else { by_status(status) }),
        _ => by_status(status),
    }
}

fn by_name(name: &str) -> Option<FailureKind> {
    Some(match name {
        "context_length_exceeded" | "string_above_max_length" => FailureKind::PromptTooLong,
        "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" => {
            FailureKind::Quota
        }
        "rate_limit_exceeded" | "tokens" | "requests" => FailureKind::RateLimited,
        "server_is_overloaded" | "slow_down" | "overloaded_error" => FailureKind::Overloaded,
        "server_error" | "vector_store_timeout" => FailureKind::ServerFault,
        "model_not_found" => FailureKind::ModelGone,
        "invalid_api_key" => FailureKind::Unauthorised,
        "invalid_image"
        | "invalid_image_format"
        | "invalid_base64_image"
        | "invalid_image_url"
        | "image_parse_error"
        | "unsupported_image_media_type"
        | "empty_image_file"
        | "image_content_policy_violation" => FailureKind::BadImage,
        "image_too_large" | "image_file_too_large" => FailureKind::MediaTooLarge,
        "invalid_encrypted_content" => FailureKind::ForeignSignature,
        name if name.contains("policy") => FailureKind::Refused,
        _ => return None,
    })
}

/// `Please try again in 1.3s.`
fn wish(message: &str) -> Option<Millis> {
    let (_, after) = message.split_once("try again in ")?;
    span(after)
}

/// Money first, because no repair helps there; then single pieces, then size.
const PHRASES: &[Phrase] = &[
    phrase(FailureKind::Quota, &["exceeded your current quota"]),
    phrase(FailureKind::Quota, &["insufficient", "balance"]),
    phrase(FailureKind::Quota, &["insufficient", "credit"]),
    phrase(FailureKind::Quota, &["billing"]),
    phrase(FailureKind::RateLimited, &["rate limit"]),
    phrase(FailureKind::Overloaded, &["overloaded"]),
    phrase(FailureKind::MediaTooLarge, &["image", "too large"]),
    phrase(FailureKind::MediaTooLarge, &["too many images"]),
    phrase(FailureKind::BadImage, &["image", "invalid"]),
    phrase(FailureKind::BadImage, &["image", "not support"]),
    phrase(FailureKind::BadImage, &["image", "unsupported"]),
    phrase(FailureKind::BadImage, &["failed to", "image"]),
    phrase(FailureKind::PromptTooLong, &["context length"]),
    phrase(FailureKind::PromptTooLong, &["context window"]),
    phrase(FailureKind::PromptTooLong, &["context size"]),
    phrase(FailureKind::PromptTooLong, &["context_length"]),
    phrase(FailureKind::PromptTooLong, &["too many tokens"]),
    phrase(FailureKind::PromptTooLong, &["prompt", "too long"]),
    phrase(FailureKind::PromptTooLong, &["input", "too long"]),
    phrase(FailureKind::PromptTooLong, &["maximum", "tokens", "exceed"]),
    phrase(FailureKind::ForeignSignature, &["encrypted content"]),
    phrase(FailureKind::ForeignSignature, &["encrypted_content"]),
    phrase(FailureKind::ForeignSignature, &["reasoning", "not support"]),
    phrase(FailureKind::ForeignSignature, &["reasoning", "item"]),
    phrase(FailureKind::ModelGone, &["model", "does not exist"]),
    phrase(FailureKind::ModelGone, &["model", "not found"]),
    phrase(FailureKind::Refused, &["content management policy"]),
    phrase(FailureKind::Refused, &["usage policies"]),
];
