//! Classifies errors of this wire. The retry delay, and whether a quota is daily, are in the
//! details of the error, not in headers.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

use windlass_vocabulary::{FailureKind, Millis, ModelFailure};

use crate::json_writer::first_line;
use crate::lenient_json::optional;
use crate::provider_error::{
    FailedResponse, FailurePhrase, ProviderError, classify_by_phrase, classify_by_status,
    parse_provider_error, phrase,
};
use crate::retry_after::parse_duration_text;

/// A reply that is not a stream.
pub(super) fn classify_response(reply: &FailedResponse<'_>) -> ModelFailure {
    let error = core::str::from_utf8(reply.body).ok().and_then(parse_provider_error);
    let retry_after_hint = error.as_ref().and_then(parse_retry_delay);
    let mut failure = reply.to_failure(error, |error| classify_provider_error(reply.status, error));
    failure.retry_after = failure.retry_after.or(retry_after_hint);
    failure
}

/// An error inside a stream that began well.
pub(super) fn classify_stream_error(data: &str) -> ModelFailure {
    let error = parse_provider_error(data).unwrap_or_default();
    let mut message = first_line(&error.message);
    if message.is_empty() {
        message = String::from("the server reported an error in the middle of the answer");
    }
    ModelFailure {
        retry_after: parse_retry_delay(&error),
        ..ModelFailure::new(classify_provider_error(200, &error), message)
    }
}

fn classify_provider_error(status: u16, error: &ProviderError) -> FailureKind {
    let by_phrase = || classify_by_phrase(PHRASES, &error.message);
    match (status, error.kind.as_str()) {
        (429, _) | (200..=299, "RESOURCE_EXHAUSTED") => {
            if is_daily_quota(error) {
                FailureKind::Quota
            } else {
                FailureKind::RateLimited
            }
        }
        (400 | 403 | 413, _) => by_phrase().unwrap_or_else(|| classify_by_status(status)),
        (200..=299, "UNAVAILABLE") => FailureKind::Overloaded,
        (200..=299, "INVALID_ARGUMENT" | "FAILED_PRECONDITION") => {
            by_phrase().unwrap_or(FailureKind::InvalidRequest)
        }
        (200..=299, "PERMISSION_DENIED" | "UNAUTHENTICATED") => FailureKind::Unauthorised,
        (200..=299, "NOT_FOUND") => FailureKind::ModelGone,
        (200..=299, _) => by_phrase().unwrap_or(FailureKind::ServerFault),
        _ => classify_by_status(status),
    }
}

/// A quota per day, or money, does not come back in a minute.
fn is_daily_quota(error: &ProviderError) -> bool {
    let details = parse_error_details(error);
    let mut violations = details.iter().flat_map(|detail| detail.violations.iter().flatten());
    violations.any(|violation| {
        let id = violation.quota_id.as_deref().unwrap_or_default();
        id.contains("PerDay")
    }) || classify_by_phrase(PHRASES, &error.message) == Some(FailureKind::Quota)
}

/// `google.rpc.RetryInfo.retryDelay`, for example `37s`.
fn parse_retry_delay(error: &ProviderError) -> Option<Millis> {
    parse_error_details(error)
        .iter()
        .find_map(|detail| parse_duration_text(detail.retry_delay.as_deref()?))
}

fn parse_error_details(error: &ProviderError) -> Vec<GeminiErrorDetail<'_>> {
    serde_json::from_str::<GeminiErrorDetails<'_>>(&error.json)
        .ok()
        .and_then(|details| details.details)
        .unwrap_or_default()
}

#[derive(Deserialize)]
struct GeminiErrorDetails<'a> {
    #[serde(borrow, default, deserialize_with = "optional")]
    details: Option<Vec<GeminiErrorDetail<'a>>>,
}

#[derive(Deserialize)]
struct GeminiErrorDetail<'a> {
    #[serde(rename = "retryDelay", borrow, default, deserialize_with = "optional")]
    retry_delay: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    violations: Option<Vec<GeminiQuotaViolation<'a>>>,
}

#[derive(Deserialize)]
struct GeminiQuotaViolation<'a> {
    #[serde(rename = "quotaId", borrow, default, deserialize_with = "optional")]
    quota_id: Option<Cow<'a, str>>,
}

/// Money and keys first, because no repair helps there; then single pieces, then size.
const PHRASES: &[FailurePhrase] = &[
    phrase(FailureKind::Unauthorised, &["api key"]),
    phrase(FailureKind::Quota, &["billing"]),
    phrase(FailureKind::Quota, &["prepayment credits"]),
    phrase(FailureKind::ForeignSignature, &["thought signature"]),
    phrase(FailureKind::ForeignSignature, &["thought_signature"]),
    phrase(FailureKind::ForeignSignature, &["thinking", "not support"]),
    phrase(FailureKind::ForeignSignature, &["thinking_config"]),
    phrase(FailureKind::ForeignSignature, &["thinking mode"]),
    phrase(FailureKind::BadImage, &["unable to process input image"]),
    phrase(FailureKind::BadImage, &["image", "not valid"]),
    phrase(FailureKind::BadImage, &["unsupported mime type"]),
    phrase(FailureKind::BadImage, &["document", "no pages"]),
    phrase(FailureKind::BadImage, &["base64 decoding failed"]),
    phrase(FailureKind::MediaTooLarge, &["image", "too large"]),
    phrase(FailureKind::PromptTooLong, &["token count", "exceeds"]),
    phrase(FailureKind::PromptTooLong, &["payload size exceeds"]),
    phrase(FailureKind::PromptTooLong, &["too long"]),
    phrase(FailureKind::Refused, &["location is not supported"]),
];
