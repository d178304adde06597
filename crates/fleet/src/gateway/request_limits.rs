//! Parses requests within limits on size, time and the form of the token.

use std::collections::BTreeMap;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Request, StatusCode};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::http_error::HttpError;

pub(crate) fn read_token(request: &Request<Incoming>) -> Result<String, HttpError> {
    let missing =
        || HttpError::new(StatusCode::UNAUTHORIZED, "send a token: `Authorization: Bearer …`");
    let value = request.headers().get(AUTHORIZATION).ok_or_else(missing)?;
    let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    let token = token.map(str::trim).filter(|token| (1..=200).contains(&token.len()));
    token.map(str::to_owned).ok_or_else(missing)
}

/// Parses the body as JSON. Stops reading a body that is too large or too slow.
pub(crate) async fn read_json<T: DeserializeOwned>(
    request: Request<Incoming>,
) -> Result<T, HttpError> {
    let too_large =
        || HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {BODY_BYTES_MAX} bytes"));
    let length = request.headers().get(hyper::header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    let body = tokio::time::timeout(BODY_WAIT, body).await.map_err(|_| {
        HttpError::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")
    })?;
    let bytes = body.map_err(|_| too_large())?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| HttpError::bad_request(error.to_string()))
}

/// Parses the query string. Unknown names are rejected, because a mistyped filter would list
/// everything.
pub(crate) fn read_query(
    request: &Request<Incoming>,
    known: &[&str],
) -> Result<BTreeMap<String, String>, HttpError> {
    let mut values = BTreeMap::new();
    for pair in request.uri().query().unwrap_or_default().split('&').filter(|it| !it.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !known.contains(&name) {
            let words = format!("there is no parameter `{name}`; there are {}", known.join(", "));
            return Err(HttpError::bad_request(words));
        }
        let decoded = percent_decode_str(value).decode_utf8().ok();
        let is_usable = |value: &str| {
            value.chars().count() <= QUERY_VALUE_MAX && !value.chars().any(char::is_control)
        };
        let Some(decoded) = decoded.filter(|decoded| is_usable(decoded)) else {
            return Err(HttpError::bad_request(format!(
                "`{name}` has a value that cannot be used"
            )));
        };
        values.insert(name.to_owned(), decoded.into_owned());
    }
    Ok(values)
}

const BODY_BYTES_MAX: usize = 2 << 20;
/// The id of a batch has the names of its tenant and of itself.
const QUERY_VALUE_MAX: usize = 300;
const BODY_WAIT: Duration = Duration::from_secs(30);
