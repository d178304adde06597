//! What every `classify` shares: status classes, tables of phrases, and how a reply that is not a
//! stream becomes a [`ModelFailure`]. Each dialect has its own table of phrases.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::value::RawValue;

use windlass_vocabulary::{FailureKind, ModelFailure};

use crate::json_writer::first_line;
use crate::retry_after::parse_retry_after;
use crate::{HeaderLookup, lenient_json};

/// The error that a provider reports, verbatim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// The provider's name for the kind of error.
    pub(crate) kind: String,
    /// A more specific name that some providers add.
    pub(crate) code: String,
    /// The part of the request that the error is about, if it is separate from the message.
    pub(crate) param: String,
    /// For people.
    pub(crate) message: String,
    /// The provider's name for the request, if the body has it.
    pub(crate) request_id: Option<String>,
    /// The whole error, verbatim, for providers that hide more in it.
    pub(crate) json: String,
}

/// Reads an error in any of the forms servers use: an `error` that is an object or a text, in
/// an object or a list of one, or a bare `message` or `detail`. A gateway that passes on what
/// another server said is taken out of the way.
pub(crate) fn parse_provider_error(body: &str) -> Option<ProviderError> {
    parse_nested_provider_error(body, GATEWAYS_MAX)
}

fn parse_nested_provider_error(body: &str, wrappings_max: usize) -> Option<ProviderError> {
    let body = match serde_json::from_str::<Vec<&RawValue>>(body) {
        Ok(list) => list.first()?.get(),
        Err(_) => body,
    };
    let envelope: ProviderErrorEnvelope<'_> = serde_json::from_str(body).ok()?;
    let request_id = envelope.request_id.map(|id| first_line(&id)).filter(|id| !id.is_empty());
    let Some(raw) = envelope.error else {
        let message = envelope.message.or(envelope.detail)?;
        return Some(ProviderError { message, request_id, ..ProviderError::default() });
    };
    let error: ProviderErrorBody<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    if let Some(inner) = error.parse_upstream_error(wrappings_max) {
        return Some(ProviderError { request_id: inner.request_id.or(request_id), ..inner });
    }
    let text = serde_json::from_str::<String>(raw.get()).ok();
    let mut message = error.message.or(text).unwrap_or_default();
    let param = error.param.unwrap_or_default();
    // Only an index of a message is useful; `input` alone identifies nothing.
    if param.contains(|c: char| c.is_ascii_digit()) && !message.contains(&param) {
        message = format!("{message} (at {param})");
    }
    Some(ProviderError {
        kind: error.kind.or(error.status).unwrap_or_default(),
        code: error.code.unwrap_or_default(),
        param,
        message,
        request_id,
        json: String::from(raw.get()),
    })
}

#[derive(Deserialize)]
struct ProviderErrorEnvelope<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    detail: Option<String>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    request_id: Option<String>,
}

#[derive(Default, Deserialize)]
struct ProviderErrorBody<'a> {
    #[serde(rename = "type", default, deserialize_with = "lenient_json::optional")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    code: Option<String>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    param: Option<String>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient_json::optional")]
    metadata: Option<ProviderErrorMetadata>,
    #[serde(borrow)]
    upstream_error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ProviderErrorMetadata {
    #[serde(default, deserialize_with = "lenient_json::optional")]
    raw: Option<String>,
}

impl ProviderErrorBody<'_> {
    /// The error of the server behind a gateway.
    fn parse_upstream_error(&self, wrappings_max: usize) -> Option<ProviderError> {
        let wrappings_max = wrappings_max.checked_sub(1)?;
        let raw = self.metadata.as_ref().and_then(|metadata| metadata.raw.as_deref());
        let upstream = self.upstream_error.map(RawValue::get);
        let places = [raw, upstream, self.message.as_deref()];
        let inner = |text: &str| parse_nested_provider_error(text, wrappings_max);
        places.into_iter().flatten().find_map(inner).filter(|inner| !inner.message.is_empty())
    }
}

/// A phrase that identifies a failure, whatever its status. All parts must occur, ignoring case.
pub(crate) struct FailurePhrase {
    pub(crate) kind: FailureKind,
    pub(crate) parts: &'static [&'static str],
}

/// Names an error by all the parts that must occur in it.
pub(crate) const fn phrase(kind: FailureKind, parts: &'static [&'static str]) -> FailurePhrase {
    FailurePhrase { kind, parts }
}

/// The first row whose parts all occur. The table's order is its priority.
pub(crate) fn classify_by_phrase(table: &[FailurePhrase], message: &str) -> Option<FailureKind> {
    let message = message.to_ascii_lowercase();
    table.iter().find(|row| row.parts.iter().all(|part| message.contains(part))).map(|row| row.kind)
}

/// The failure kind that a status alone implies.
pub(crate) fn classify_by_status(status: u16) -> FailureKind {
    match status {
        // 405 and 501: this address takes no requests of this kind, and never will.
        300..=399 | 405 | 407 | 501 => FailureKind::Misconfigured,
        401 | 403 => FailureKind::Unauthorised,
        402 => FailureKind::Quota,
        404 => FailureKind::ModelGone,
        413 => FailureKind::PromptTooLong,
        429 => FailureKind::RateLimited,
        451 => FailureKind::Refused,
        503 | 529 => FailureKind::Overloaded,
        408 | 409 | 425 => FailureKind::ServerFault,
        400..=499 => FailureKind::InvalidRequest,
        _ => FailureKind::ServerFault,
    }
}

/// A reply that is not a stream, not yet classified.
pub struct FailedResponse<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The reply's headers.
    pub headers: HeaderLookup<'a>,
    /// As much of the body as was read.
    pub body: &'a [u8],
    /// The time now, because a server may say when to come back as a date.
    pub now_unix_seconds: u64,
}

impl FailedResponse<'_> {
    /// Builds the failure. `judge` names the kind of an error the body holds; without one the
    /// status decides.
    pub(crate) fn to_failure(
        &self,
        error: Option<ProviderError>,
        judge: impl FnOnce(&ProviderError) -> FailureKind,
    ) -> ModelFailure {
        let kind = match &error {
            Some(error) if !matches!(self.status, 300..=399 | 407) => judge(error),
            _ => self.classify_without_error_body(),
        };
        let ProviderError { message, request_id, .. } = error.unwrap_or_default();
        ModelFailure {
            kind: self.apply_should_retry_header(kind),
            message: self.describe(&message),
            status: Some(self.status),
            retry_after: parse_retry_after(self.headers, self.now_unix_seconds),
            request_id,
            offender: None,
        }
    }

    /// Does the server send a delay before the next attempt?
    pub(crate) fn has_retry_after(&self) -> bool {
        parse_retry_after(self.headers, self.now_unix_seconds).is_some()
    }

    /// A page or plain text instead of the provider's own error: a proxy, or a wrong address.
    fn classify_without_error_body(&self) -> FailureKind {
        let is_other_text = !self.body.trim_ascii().is_empty();
        match self.status {
            404 if is_other_text => FailureKind::Misconfigured,
            status => classify_by_status(status),
        }
    }

    /// The server's own hint on whether to retry takes precedence over its status.
    fn apply_should_retry_header(&self, kind: FailureKind) -> FailureKind {
        let should_retry = (self.headers)("x-should-retry");
        let should_retry = should_retry.as_deref().map(str::trim);
        let is_final = should_retry == Some("false");
        let is_temporary = should_retry == Some("true");
        match kind {
            FailureKind::RateLimited if is_final => FailureKind::Quota,
            FailureKind::ServerFault | FailureKind::Overloaded if is_final => FailureKind::Refused,
            FailureKind::InvalidRequest if is_temporary => FailureKind::ServerFault,
            FailureKind::PromptTooLong
            | FailureKind::MediaTooLarge
            | FailureKind::BadImage
            | FailureKind::Overloaded
            | FailureKind::RateLimited
            | FailureKind::ServerFault
            | FailureKind::Transport
            | FailureKind::ModelGone
            | FailureKind::InvalidRequest
            | FailureKind::ForeignSignature
            | FailureKind::Unauthorised
            | FailureKind::Quota
            | FailureKind::Refused
            | FailureKind::OutputLimit
            | FailureKind::Misconfigured => kind,
        }
    }

    fn describe(&self, message: &str) -> String {
        let line = first_line(message);
        if !line.is_empty() {
            return line;
        }
        if let (300..=399, Some(target)) = (self.status, (self.headers)("location")) {
            return first_line(&format!(
                "the server redirects to {target}; set the address to that one"
            ));
        }
        let head = self.body.get(..BODY_BYTES_SHOWN).unwrap_or(self.body);
        match first_line(&String::from_utf8_lossy(head)) {
            line if line.is_empty() => format!("the server answered with status {}", self.status),
            line => first_line(&format!("status {}: {line}", self.status)),
        }
    }
}

/// `text/event-stream`, in any case and with any parameters. A missing type
/// is accepted: if the body is no stream, the decoder fails at its first event.
pub(crate) fn is_event_stream(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.is_empty() || essence.eq_ignore_ascii_case("text/event-stream")
}

/// Limit on the gateways between us and the server that failed.
const GATEWAYS_MAX: usize = 4;

/// Enough of an unknown body to find its first line.
const BODY_BYTES_SHOWN: usize = 4096;
