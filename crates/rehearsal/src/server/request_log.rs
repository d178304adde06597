//! Keeps received requests for the test that embeds the server, up to a limit.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

#[derive(Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The number of the request, counted from 1.
    pub number: usize,
    /// For example `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body, as text, at most 4 MiB of it.
    pub body: Arc<str>,
    /// How long the body was.
    pub body_bytes: usize,
    /// The answer it got, counted from 1 in the script; `None` if it got none.
    pub answer: Option<usize>,
}

impl ReceivedRequest {
    /// The first header with this name, ignoring case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `None` if it is not JSON or was truncated.
    #[must_use]
    pub fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_str(&self.body).ok()
    }
}

/// Keys stay out of test output and logs.
impl fmt::Debug for ReceivedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, value): &(String, String)| {
            let secret = matches!(name.as_str(), "authorization" | "x-api-key" | "x-goog-api-key");
            (name.clone(), if secret { "(hidden)".to_owned() } else { value.clone() })
        };
        f.debug_struct("ReceivedRequest")
            .field("number", &self.number)
            .field("method", &self.method)
            .field("path", &self.path)
            .field("headers", &self.headers.iter().map(shown).collect::<Vec<_>>())
            .field("body", &self.body)
            .field("body_bytes", &self.body_bytes)
            .field("answer", &self.answer)
            .finish()
    }
}

#[derive(Debug, Default)]
pub(super) struct RequestLog {
    requests: VecDeque<ReceivedRequest>,
    bytes: usize,
}

impl RequestLog {
    /// Adds one, and drops the oldest beyond the limits.
    pub(super) fn add(&mut self, recorded: ReceivedRequest) {
        self.bytes += recorded.body.len();
        self.requests.push_back(recorded);
        while self.requests.len() > REQUESTS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.requests.pop_front() else {
                break;
            };
            self.bytes -= oldest.body.len();
        }
    }

    pub(super) fn to_vec(&self) -> Vec<ReceivedRequest> {
        self.requests.iter().cloned().collect()
    }
}

/// The body as text, truncated.
pub(super) fn truncate_body(body: &[u8]) -> Arc<str> {
    let shown = body.get(..BODY_MAX).unwrap_or(body);
    Arc::from(String::from_utf8_lossy(shown).as_ref())
}

const REQUESTS_MAX: usize = 1_000;
const BODY_MAX: usize = 4 * 1024 * 1024;
const BYTES_MAX: usize = 256 * 1024 * 1024;
