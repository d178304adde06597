//! One request with its answer, as data: no file and no socket.

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedExchange {
    pub request: RecordedRequest,
    /// The head of the answer; `None` if the connection ended before it.
    pub head: Option<RecordedResponseHead>,
    /// The body of the answer, in the chunks in which it arrived.
    pub chunks: Vec<RecordedChunk>,
    pub end: ExchangeEnd,
    /// When it ended, in milliseconds after the request.
    pub end_millis: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRequest {
    /// For example `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// A few headers that distinguish requests; names in lower case. Never a credential.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The head of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedResponseHead {
    pub status: u16,
    /// Names in lower case, without the headers that frame the body.
    pub headers: Vec<(String, String)>,
    /// The announced length of the body, if any.
    pub length: Option<u64>,
    /// When it arrived, in milliseconds after the request.
    pub millis: u64,
}

/// A chunk of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedChunk {
    /// When it arrived, in milliseconds after the request.
    pub millis: u64,
    /// Its bytes; never empty.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    Complete,
    /// The connection was closed before the end.
    Cut,
    /// The connection was reset before the end.
    Reset,
    /// It had not ended when the client disconnected or the timeout was reached.
    Unfinished,
}

impl ExchangeEnd {
    pub const ALL: [Self; 4] = [Self::Complete, Self::Cut, Self::Reset, Self::Unfinished];

    /// Its name in a file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cut => "cut",
            Self::Reset => "reset",
            Self::Unfinished => "silent",
        }
    }
}

impl RecordedExchange {
    /// The complete body of the answer.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect()
    }

    /// Does this answer have no body, whatever its headers say?
    pub(crate) fn is_bodiless(&self) -> bool {
        let status = self.head.as_ref().map_or(200, |head| head.status);
        has_no_body(&self.request.method, status)
    }
}

/// HTTP forbids a body here.
pub(crate) fn has_no_body(method: &str, status: u16) -> bool {
    method == "HEAD" || status < 200 || matches!(status, 204 | 304)
}
