//! Classifies responses that are not a stream: a redirect, an error, a web page, compressed
//! content.
//!
//! Reads only as much as the dialect needs to classify it. The engine decides what to do about it.

use std::time::Duration;

use reqwest::Response;
use windlass_dialect::{Dialect, FailedResponse};
use windlass_vocabulary::{FailureKind, ModelFailure};

use crate::clock::{self, timeout};

/// Can the response be read as a stream?
pub(crate) fn is_stream(response: &Response, dialect: &dyn Dialect) -> bool {
    let content_type = header(response, "content-type").unwrap_or_default();
    response.status().as_u16() == 200
        && dialect.accepts_content_type(&content_type)
        && content_encoding(response).is_none()
}

pub(crate) async fn read_failure(mut response: Response, dialect: &dyn Dialect) -> ModelFailure {
    let status = response.status();
    if status.is_redirection() {
        return build_redirect_failure(&response);
    }
    let coding = content_encoding(&response);
    // A compressed body is not read: it could not be parsed, and a zip bomb does no harm unopened.
    let body = if coding.is_none() { read_body(&mut response).await } else { Vec::new() };
    let mut failure = dialect.classify_failure(&FailedResponse {
        status: status.as_u16(),
        headers: &|name| header(&response, name),
        body: &body,
        now_unix_seconds: clock::unix_millis() / 1000,
    });
    if let Some(coding) = coding {
        let coding: String = coding.chars().take(20).filter(char::is_ascii_graphic).collect();
        failure.message.push_str(&format!(
            "; the reply says it is compressed ({coding}), which was not asked for"
        ));
    }
    failure
}

fn build_redirect_failure(response: &Response) -> ModelFailure {
    let to = header(response, "location").unwrap_or_else(|| "another place".to_owned());
    let to: String = to.chars().filter(|c| !c.is_control()).take(LOCATION_CHARS_MAX).collect();
    let words = format!(
        "the server redirects to {to}; redirects are not followed, because the credential belongs \
         to the configured address alone. If the new address is right, configure it."
    );
    ModelFailure {
        status: Some(response.status().as_u16()),
        ..ModelFailure::new(FailureKind::Misconfigured, words)
    }
}

async fn read_body(response: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= REFUSAL_BYTES_MAX {
                break;
            }
        }
    };
    // What was read so far is enough to classify the error.
    let _ = timeout(REFUSAL_WAIT_MAX, read).await;
    body.truncate(REFUSAL_BYTES_MAX);
    body
}

/// The content encoding of the body, if any.
fn content_encoding(response: &Response) -> Option<String> {
    let coding = header(response, "content-encoding")?;
    let is_plain = matches!(coding.trim(), "" | "identity");
    (!is_plain).then_some(coding)
}

pub(crate) fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Limit on the bytes read of such a response.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// How long to wait for them.
const REFUSAL_WAIT_MAX: Duration = Duration::from_secs(10);
/// Limit on the characters shown of a redirect's address.
const LOCATION_CHARS_MAX: usize = 200;
