//! Responses: a complete body, or a stream of events. All have security headers that keep a browser
//! from running, framing, sniffing or caching what it should not.

use serde_json::{Value, json};
use tokio::sync::mpsc;

pub(crate) enum HttpReply {
    Whole(HttpResponse),
    /// Server-sent events, already encoded.
    Events(mpsc::Receiver<String>),
}

#[derive(Clone, Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    content_type: &'static str,
    /// Headers in addition to those of every response.
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl HttpResponse {
    pub(crate) fn new(status: u16, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status, content_type, headers: Vec::new(), body }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::new(200, JSON_TYPE, value.to_string().into_bytes())
    }

    pub(crate) fn error(status: u16, code: &str, message: &str) -> Self {
        let body = json!({"error": {"code": code, "message": message}});
        Self::new(status, JSON_TYPE, body.to_string().into_bytes())
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// `is_head`: omits the body. `closes`: adds `connection: close`.
    pub(crate) fn encode(&self, is_head: bool, closes: bool) -> Vec<u8> {
        let mut head = encode_head(self.status, self.content_type);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.headers.iter().any(|(name, _)| *name == "cache-control") {
            head.push_str("cache-control: no-store\r\n");
        }
        if closes {
            head.push_str("connection: close\r\n");
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        let mut bytes = head.into_bytes();
        if !is_head {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

/// The head of an event stream, which ends with the connection.
pub(crate) fn encode_event_stream_head() -> Vec<u8> {
    let mut head = encode_head(200, "text/event-stream");
    head.push_str("cache-control: no-store\r\nconnection: close\r\n\r\n");
    head.into_bytes()
}

fn encode_head(status: u16, content_type: &str) -> String {
    let reason = match status {
        200 => "OK",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Refused",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\ncontent-type: {content_type}\r\n");
    for (name, value) in SECURITY_HEADERS {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

const JSON_TYPE: &str = "application/json; charset=utf-8";

/// Deliberately without CORS headers: no other site may read a response.
const SECURITY_HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
];

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'";
