//! The part of HTTP/1.1 that model clients use: what of a request is accepted, and encoded response
//! heads.
//!
//! Responses are written by hand because a rehearsal must be able to violate every rule at a chosen
//! byte, which a server library prevents.

use std::time::Duration;

use windlass_http_request::{BodyForm, HttpRequest, RequestLimits, is_loopback_authority};

/// Is the request for this machine by name, and not from a web page of another origin? Browsers
/// always send both headers.
pub(crate) fn is_from_this_machine(request: &HttpRequest) -> bool {
    let origin_is_here =
        |origin: &str| origin.split_once("://").is_some_and(|(_, at)| is_loopback_authority(at));
    request.header("host").is_some_and(is_loopback_authority)
        && request.header("origin").is_none_or(origin_is_here)
}

/// The head of a response. Characters that would break a header line are removed.
pub(crate) fn encode_response_head(status: u16, headers: &[(String, String)]) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Rehearsed",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
    for (name, value) in headers {
        let line: String =
            format!("{name}: {value}").chars().filter(|char| !char.is_control()).collect();
        head.push_str(&line);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// A complete response with its length, so that the connection can stay open.
pub(crate) fn encode_response(
    status: u16,
    mut headers: Vec<(String, String)>,
    body: &[u8],
) -> Vec<u8> {
    headers.push(("content-length".to_owned(), body.len().to_string()));
    let mut bytes = encode_response_head(status, &headers);
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) const REQUEST_LIMITS: RequestLimits = RequestLimits {
    head_bytes_max: 64 << 10,
    body_bytes_max: 64 << 20,
    minor_version_min: 1,
    body: BodyForm::AnyForm,
    idle_max: Duration::from_secs(600),
    arrival_max: Duration::from_secs(60),
};
