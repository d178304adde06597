//! What an error in the words of this wire and of `POST /v1/responses` demands of the loop.
//! Codes decide where there are any; imitations often have only words.

use alloc::format;
use alloc::string::String;

use windlass_vocabulary::{FailureKind, Millis, ModelFailure};

use crate::json_writer::first_line;
use crate::provider_error::{
    FailedResponse, FailurePhrase, ProviderError, classify_by_phrase, classify_by_status,
    parse_provider_error, phrase,
};
use crate::retry_after::parse_duration_text;

/// A reply that is not a stream.
pub(crate) fn classify_response(reply: &FailedResponse<'_>) -> ModelFailure {
    let error = core::str::from_utf8(reply.body).ok().and_then(parse_provider_error);
    let retry_after_hint = error.as_ref().and_then(|error| parse_retry_hint(&error.message));
    let mut failure = reply.to_failure(error, |error| classify_provider_error(reply.status, error));
    failure.retry_after = failure.retry_after.or(retry_after_hint);
    failure.request_id = (reply.headers)("x-request-id").or(failure.request_id);
    failure
}

/// An error inside a stream that began well.
pub(crate) fn classify_stream_error(error: &ProviderError) -> ModelFailure {
    let mut message = first_line(&error.message);
    if message.is_empty() {
        message = String::from("the server reported an error in the middle of the answer");
    }
    ModelFailure {
        retry_after: parse_retry_hint(&error.message),
        request_id: error.request_id.clone(),
        ..ModelFailure::new(classify_provider_error(200, error), message)
    }
}

fn classify_provider_error(status: u16, error: &ProviderError) -> FailureKind {
    // Sometimes only the name of the parameter tells what the error is about.
    let message_and_param = format!("{} {}", error.message, error.param);
    let by_phrase = classify_by_phrase(PHRASES, &message_and_param);
    match status {
        // Waiting never makes a single request fit the limit per minute.
        413 | 429 if classify_by_phrase(TOO_LARGE_PHRASES, &error.message).is_some() => {
            FailureKind::PromptTooLong
        }
        200..=299 => {
            classify_by_code_or_type(error).or(by_phrase).unwrap_or(FailureKind::ServerFault)
        }
        400 | 404 | 413 | 422 | 429 => classify_by_code_or_type(error)
            .or(by_phrase)
            .unwrap_or_else(|| classify_by_status(status)),
        403 if by_phrase == Some(FailureKind::Refused) => FailureKind::Refused,
        // Local servers fail where others refuse.
        500 => by_phrase
            .filter(|kind| LOCAL_SERVER_KINDS.contains(kind))
            .unwrap_or(FailureKind::ServerFault),
        _ => classify_by_status(status),
    }
}

fn classify_by_code_or_type(error: &ProviderError) -> Option<FailureKind> {
    if error.code == "string_above_max_length" {
        let is_text = TEXT_FIELDS.iter().any(|text| error.param.ends_with(text));
        return Some(if is_text {
            FailureKind::PromptTooLong
        } else {
            FailureKind::InvalidRequest
        });
    }
    classify_by_code(&error.code).or_else(|| classify_by_code(&error.kind))
}

fn classify_by_code(name: &str) -> Option<FailureKind> {
    Some(match name {
        "context_length_exceeded"
        | "exceed_context_size_error"
        | "model_max_prompt_tokens_exceeded" => FailureKind::PromptTooLong,
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
        "content_filter" => FailureKind::Refused,
        name if name.contains("policy") => FailureKind::Refused,
        _ => return None,
    })
}

/// `Please try again in 1.3s.`
fn parse_retry_hint(message: &str) -> Option<Millis> {
    let (_, after) = message.split_once("try again in ")?;
    parse_duration_text(after)
}

/// Messages for a request that exceeds the limit per minute all by itself.
const TOO_LARGE_PHRASES: &[FailurePhrase] =
    &[phrase(FailureKind::PromptTooLong, &["request too large"])];

/// What a local server may mean when it says that it failed.
const LOCAL_SERVER_KINDS: &[FailureKind] =
    &[FailureKind::PromptTooLong, FailureKind::BadImage, FailureKind::Misconfigured];

/// Fields that hold conversation text. A limit exceeded in another field is not a long prompt.
const TEXT_FIELDS: &[&str] = &["content", "text", "output", "arguments", "instructions", "input"];

/// Money and settings first, because no repair helps there; then single pieces, then size.
const PHRASES: &[FailurePhrase] = &[
    phrase(FailureKind::Quota, &["exceeded your current quota"]),
    phrase(FailureKind::Quota, &["insufficient", "balance"]),
    phrase(FailureKind::Quota, &["insufficient", "credit"]),
    phrase(FailureKind::Quota, &["billing"]),
    phrase(FailureKind::Misconfigured, &["does not support tools"]),
    phrase(FailureKind::Misconfigured, &["support tool use"]),
    phrase(FailureKind::Misconfigured, &["unsupported param: tools"]),
    phrase(FailureKind::Misconfigured, &["requires --jinja"]),
    phrase(FailureKind::Misconfigured, &["--enable-auto-tool-choice"]),
    phrase(FailureKind::RateLimited, &["rate limit"]),
    phrase(FailureKind::Overloaded, &["overloaded"]),
    phrase(FailureKind::MediaTooLarge, &["image", "too large"]),
    phrase(FailureKind::MediaTooLarge, &["too many images"]),
    phrase(FailureKind::MediaTooLarge, &["total image size"]),
    phrase(FailureKind::BadImage, &["image", "invalid"]),
    phrase(FailureKind::BadImage, &["image", "not support"]),
    phrase(FailureKind::BadImage, &["image", "unsupported"]),
    phrase(FailureKind::BadImage, &["valid image"]),
    phrase(FailureKind::BadImage, &["support image input"]),
    phrase(FailureKind::BadImage, &["image(s) may be provided"]),
    phrase(FailureKind::BadImage, &["not a multimodal model"]),
    phrase(FailureKind::BadImage, &["unknown variant `image_url`"]),
    phrase(FailureKind::BadImage, &["failed to", "image"]),
    phrase(FailureKind::PromptTooLong, &["context length"]),
    phrase(FailureKind::PromptTooLong, &["context window"]),
    phrase(FailureKind::PromptTooLong, &["context size"]),
    phrase(FailureKind::PromptTooLong, &["context_length"]),
    phrase(FailureKind::PromptTooLong, &["too many tokens"]),
    phrase(FailureKind::PromptTooLong, &["token limit", "exceeded"]),
    phrase(FailureKind::PromptTooLong, &["token count", "exceeds"]),
    phrase(FailureKind::PromptTooLong, &["input tokens exceed"]),
    phrase(FailureKind::PromptTooLong, &["prompt", "too long"]),
    phrase(FailureKind::PromptTooLong, &["prompt exceeds"]),
    phrase(FailureKind::PromptTooLong, &["maximum prompt length"]),
    phrase(FailureKind::PromptTooLong, &["input", "too long"]),
    phrase(FailureKind::PromptTooLong, &["maximum", "tokens", "exceed"]),
    phrase(FailureKind::PromptTooLong, &["reduce the length of the messages"]),
    phrase(FailureKind::PromptTooLong, &["`inputs` tokens"]),
    // The window less the prompt is below nothing.
    phrase(FailureKind::PromptTooLong, &["must be at least 1, got -"]),
    phrase(FailureKind::ForeignSignature, &["encrypted content"]),
    phrase(FailureKind::ForeignSignature, &["encrypted_content"]),
    phrase(FailureKind::ForeignSignature, &["reasoning", "not support"]),
    phrase(FailureKind::ForeignSignature, &["reasoning", "item"]),
    phrase(FailureKind::ForeignSignature, &["reasoning_effort"]),
    phrase(FailureKind::ForeignSignature, &["items are not persisted"]),
    phrase(FailureKind::ForeignSignature, &["duplicate item", "rs_"]),
    phrase(FailureKind::ModelGone, &["model", "does not exist"]),
    phrase(FailureKind::ModelGone, &["model", "not found"]),
    phrase(FailureKind::Refused, &["content management policy"]),
    phrase(FailureKind::Refused, &["usage policies"]),
    phrase(FailureKind::Refused, &["usage policy"]),
    phrase(FailureKind::Refused, &["flagged"]),
];
